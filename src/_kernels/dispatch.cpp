#include "loops.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace ravine {

static bool supports_v3() {
#if defined(RAVINE_HAS_V3)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
#else
    return false;
#endif
}

static const Loops &choose_loops() {
    const char *given = std::getenv("RAVINE_KERNELS");
    const std::string wanted = given ? given : "";
    if (!wanted.empty() && wanted != "baseline" && wanted != "v3")
        throw std::invalid_argument("the environment variable RAVINE_KERNELS is '" + wanted.substr(0, 40) +
                                    "': set it to 'baseline' or 'v3', or unset it.");
    if (wanted == "v3" && !supports_v3())
        throw std::invalid_argument("RAVINE_KERNELS is 'v3', but this processor or build does not support AVX2 and FMA: "
                                    "set it to 'baseline', or unset it.");
#if defined(RAVINE_HAS_V3)
    if (wanted != "baseline" && supports_v3()) return v3::table();
#endif
    return baseline::table();
}

const Loops &loops() {
    static const Loops &chosen = choose_loops();
    return chosen;
}

}  // namespace ravine
