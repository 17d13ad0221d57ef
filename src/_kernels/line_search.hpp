// Weak Wolfe line search along a great circle (Lewis & Overton 2013); `ravine.optimise.line_search` is its twin.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace ravine {

struct Step {
    double angle;  // 0 if no decrease was found
    double value;
    int64_t trials;
};

// Weak Wolfe conditions: smallest share of the expected decrease, largest share of the slope that is left; most trials.
constexpr double kSufficientDecrease = 1e-4, kCurvature = 0.9;
constexpr int64_t kMaxTrials = 25;

namespace detail {

// Minimise the parabola given by value and slope at the low point and the value at the high point; the result stays well
// inside the bracket.
inline double interpolate(double low, double low_value, double slope, double high, double high_value) {
    const double width = high - low, rise = high_value - low_value - slope * width;
    if (!(std::isfinite(rise) && rise > 0.0)) return low + 0.5 * width;
    return low + std::min(std::max(-0.5 * slope * width / rise, 0.1), 0.6) * width;
}

}  // namespace detail

// Find an angle with sufficient decrease and a sufficiently increased slope, or the largest one. `value` and `slope` are
// those at angle 0.
template <class Objective>
Step search_weak_wolfe(Objective &objective, double value, double slope, double first, double resolution, double largest) {
    using namespace detail;
    double low = 0.0, low_value = value, high = INFINITY, t = std::min(first, largest), last = 0.0;
    int64_t trials = 0;
    while (trials < kMaxTrials) {
        const double at = objective.evaluate(t);
        ++trials;
        last = t;
        if (at > value + kSufficientDecrease * slope * t) {
            high = t;
            t = interpolate(low, low_value, low == 0.0 ? slope : NAN, high, at);
        } else {
            if (objective.differentiate(t) >= kCurvature * slope || t >= largest) return {t, at, trials};
            low = t;
            low_value = at;
            t = std::isinf(high) ? std::min(2.0 * t, largest) : 0.5 * (low + high);
        }
        if (!std::isinf(high) && std::fabs(slope) * (high - low) <= resolution) break;
    }
    if (low == 0.0) return {0.0, value, trials};
    if (last != low) {
        low_value = objective.evaluate(low);
        ++trials;
    }
    return {low, low_value, trials};
}

}  // namespace ravine
