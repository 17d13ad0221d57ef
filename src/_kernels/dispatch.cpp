#include "loops.hpp"

#include <cstdlib>
#include <cstring>

namespace ravine {

static const Loops &choose_loops() {
#if defined(RAVINE_HAS_V3)
    const char *wanted = std::getenv("RAVINE_KERNELS");
    const bool forced_baseline = wanted && std::strcmp(wanted, "baseline") == 0;
    __builtin_cpu_init();
    if (!forced_baseline && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
        return v3::table();
#endif
    return baseline::table();
}

const Loops &loops() {
    static const Loops &chosen = choose_loops();
    return chosen;
}

}  // namespace ravine
