// Four doubles with element-wise addition, subtraction and multiplication: a vector register if the compiler has vector
// extensions, else an array.
#pragma once
#include <cstdint>
#include <cstring>

namespace ravine {
namespace RAVINE_ARCH {
namespace {

constexpr int kLanes = 4;
#if defined(__AVX__)
constexpr bool kLanesFitRegister = true;
#else
constexpr bool kLanesFitRegister = false;  // shuffles across two registers are slow
#endif

// Compilers with __builtin_shufflevector.
#if !defined(RAVINE_PORTABLE) && (defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 12))
typedef double Lanes __attribute__((vector_size(32)));
typedef float FloatLanes __attribute__((vector_size(16)));
typedef int64_t IntLanes __attribute__((vector_size(32)));
#define RAVINE_INLINE inline __attribute__((always_inline))
RAVINE_INLINE Lanes load(const double *x) {
    Lanes v;
    std::memcpy(&v, x, sizeof v);
    return v;
}
RAVINE_INLINE Lanes load(const float *x) {
    FloatLanes v;
    std::memcpy(&v, x, sizeof v);
    return __builtin_convertvector(v, Lanes);
}
RAVINE_INLINE void store(double *x, Lanes v) { std::memcpy(x, &v, sizeof v); }
RAVINE_INLINE Lanes broadcast(double x) { return Lanes{x, x, x, x}; }
RAVINE_INLINE Lanes at_least(Lanes x, double low) { return x < broadcast(low) ? broadcast(low) : x; }
RAVINE_INLINE void transpose(Lanes x[kLanes]) {
    const Lanes a = __builtin_shufflevector(x[0], x[1], 0, 4, 2, 6), b = __builtin_shufflevector(x[0], x[1], 1, 5, 3, 7);
    const Lanes c = __builtin_shufflevector(x[2], x[3], 0, 4, 2, 6), d = __builtin_shufflevector(x[2], x[3], 1, 5, 3, 7);
    x[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
    x[1] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
    x[2] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
    x[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}
// y * 2^k for the integer k held in the low mantissa bits of t.
RAVINE_INLINE Lanes times_power_of_two(Lanes y, Lanes t) {
    return reinterpret_cast<Lanes>(reinterpret_cast<IntLanes>(y) + (reinterpret_cast<IntLanes>(t) << 52));
}
#else
#define RAVINE_INLINE inline
struct Lanes {
    double v[kLanes];
    double operator[](int i) const { return v[i]; }
};
#define RAVINE_LANES_OPERATOR(op)                                       \
    RAVINE_INLINE Lanes operator op(Lanes a, Lanes b) {                 \
        for (int i = 0; i < kLanes; ++i) a.v[i] = a.v[i] op b.v[i];     \
        return a;                                                       \
    }                                                                   \
    RAVINE_INLINE Lanes &operator op##=(Lanes &a, Lanes b) { return a = a op b; }
RAVINE_LANES_OPERATOR(+)
RAVINE_LANES_OPERATOR(-)
RAVINE_LANES_OPERATOR(*)
#undef RAVINE_LANES_OPERATOR
RAVINE_INLINE Lanes broadcast(double x) { return {{x, x, x, x}}; }
template <class T>
RAVINE_INLINE Lanes load(const T *x) {
    return {{static_cast<double>(x[0]), static_cast<double>(x[1]), static_cast<double>(x[2]), static_cast<double>(x[3])}};
}
RAVINE_INLINE void store(double *x, Lanes v) { std::memcpy(x, v.v, sizeof v.v); }
RAVINE_INLINE Lanes at_least(Lanes x, double low) {
    for (int i = 0; i < kLanes; ++i) x.v[i] = x.v[i] < low ? low : x.v[i];
    return x;
}
RAVINE_INLINE void transpose(Lanes x[kLanes]) {
    for (int i = 0; i < kLanes; ++i)
        for (int j = 0; j < i; ++j) {
            const double swapped = x[i].v[j];
            x[i].v[j] = x[j].v[i];
            x[j].v[i] = swapped;
        }
}
RAVINE_INLINE Lanes times_power_of_two(Lanes y, Lanes t) {
    uint64_t bits[kLanes], exponent[kLanes];
    std::memcpy(bits, y.v, sizeof bits);
    std::memcpy(exponent, t.v, sizeof exponent);
    for (int i = 0; i < kLanes; ++i) bits[i] += exponent[i] << 52;
    std::memcpy(y.v, bits, sizeof bits);
    return y;
}
#endif

RAVINE_INLINE double sum(Lanes x) { return (x[0] + x[1]) + (x[2] + x[3]); }

// exp(x) for x <= 708, accurate to 2 units in the last place and without branches; 3e-308 for x below -708.
RAVINE_INLINE Lanes exp_lanes(Lanes x) {
    constexpr double log2e = 1.4426950408889634074, ln2_hi = 6.93147180369123816490e-01, ln2_lo = 1.90821492927058770002e-10;
    constexpr double round_to_integer = 6755399441055744.0;  // 1.5 * 2^52
    x = at_least(x, -708.0);
    const Lanes t = x * broadcast(log2e) + broadcast(round_to_integer);
    const Lanes k = t - broadcast(round_to_integer);
    const Lanes r = (x - k * broadcast(ln2_hi)) - k * broadcast(ln2_lo);
    constexpr double inverse_factorials[] = {1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720,
                                             1.0 / 120,      1.0 / 24,      1.0 / 6,      0.5,         1.0,        1.0};
    Lanes y = broadcast(1.0 / 479001600);
    for (double f : inverse_factorials) y = y * r + broadcast(f);
    return times_power_of_two(y, t);
}

}  // namespace
}  // namespace RAVINE_ARCH
}  // namespace ravine
