// Hot loops. Each is compiled once per instruction set and called through a table (see dispatch.cpp).
//
// Conventions. Projections, weights and all sums are double. Rows of X are float or double, with the elements of
// either a row or a column adjacent in memory. A projection along a great circle is `c*p + s*q`; `q == nullptr`
// means `p`. `w == nullptr` means unit weights. Nothing here allocates, throws or keeps state.
#pragma once
#include <cstdint>

namespace ravine {

constexpr int kMoments = 8;            // Taylor moments per bin
constexpr int kBinsPerBandwidth = 4;   // bin width = h / 4
constexpr double kReach = 7.2;         // bins farther than this (in h) are not summed

template <class T>
struct Rows {
    const T *data;
    int64_t n, d;
    int64_t row_stride, col_stride;  // in elements; one of them is 1
};

struct Projections {
    const double *p, *q, *w;
    double c, s;
    int64_t n;
};

// log f at a point b, and its first two derivatives in units of h.
struct LogDensity {
    double log_value, slope, curvature;
};

struct Loops {
    const char *name;

    // out[k][i] = sum_j (x_ij - center_j) * directions[k][j]
    void (*project_f64)(Rows<double> x, const double *center, const double *directions, int64_t k, double *const *out);
    void (*project_f32)(Rows<float> x, const double *center, const double *directions, int64_t k, double *const *out);

    // p <- c*p + s*q
    void (*rotate)(double *p, const double *q, double c, double s, int64_t n);

    // Add the powers 0..7 of the position of each projection in its bin (in bin widths, from the centre of the bin) to
    // `moments` of n_bins + 2 rows of 8. The first and last row collect projections outside the window and are never read.
    void (*bin)(Projections x, double lo, double width, int64_t n_bins, double *moments);

    // Value, slope and curvature at one point (in units of h and of the kernel's peak), from Hermite coefficients of shape
    // (8, n_bins).
    void (*evaluate)(const double *coefficients, int64_t n_bins, double lo, double h, double b, double out[3]);

    // Exact sum over sorted projections near b, by log-sum-exp. `total` is the sum of all weights.
    LogDensity (*evaluate_sorted)(const double *p, const double *w, int64_t n, double total, double h, double b);

    // Exact log of sum_i w_i K((x_i - b)/h), unsorted. -inf if there are no rows.
    double (*log_sum)(Projections x, double h, double b);

    // sum_i w_i K_i exp(-log_sum) (b - x_i)/h * (c*q_i - s*p_i)/h over rows within `reach` of b: d log f / dt.
    double (*along)(Projections x, double h, double b, double log_sum, double reach);

    // out_j += sum_i w_i K_i exp(-log_sum) (b - x_i)/h^2 * (x_ij - center_j) over rows within `reach` of b.
    void (*pull_back_f64)(Rows<double> rows, const double *center, Projections x, double h, double b, double log_sum,
                          double reach, double *out);
    void (*pull_back_f32)(Rows<float> rows, const double *center, Projections x, double h, double b, double log_sum,
                          double reach, double *out);
};

namespace baseline { const Loops &table(); }
#if defined(RAVINE_HAS_V3)
namespace v3 { const Loops &table(); }
#endif

// The fastest table that this processor supports; RAVINE_KERNELS=baseline in the environment forces the portable one.
// Throws std::invalid_argument if the variable has an unknown value.
const Loops &loops();

}  // namespace ravine
