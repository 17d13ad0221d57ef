// Projected density in units of one kernel's peak, in two forms: binned Taylor moments, and exact sums over sorted
// projections. `ravine.density` documents both; each is a function object that returns the log-density at b.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "loops.hpp"
#include "minimise.hpp"

namespace ravine {

// Beyond this number of bins exact sums are cheaper. It also bounds the rounding error of positions within a bin.
constexpr int64_t kMaxBins = 1 << 13;
// The same for bins per row, which are many only if the bandwidth is far below the distances of the rows.
constexpr double kMaxBinsPerRow = 100.0;
// Rows farther than this (in h) from every point of interest only count towards n: exp(-8^2/2) = 1.3e-14.
constexpr double kMargin = 8.0;
// Below this fraction of the kernel's peak exact sums replace the bins, whose error is up to 3.2e-10 of it.
constexpr double kDeep = 1e-6;
// Tolerances of the certified minimum (of bins: as a fraction of the kernel's peak; of exact sums: relative) and the most
// evaluations spent on it.
constexpr double kBinnedTolerance = 1e-9, kBinnedRounding = 1e-13, kSortedTolerance = 1e-10;
constexpr int64_t kBinnedBudget = 20'000, kSortedBudget = 200'000;
// First points (in h) of a minimisation over bins.
constexpr double kBinSpacing = 1.5;

struct BinnedEvaluator {
    LogDensity operator()(double b) const {
        double at[3];
        loops().evaluate(coefficients, n_bins, lo, h, b, at);
        const double f = std::max(at[0], 1e-14);  // below this bins contain only rounding errors
        const double slope = at[1] / f;
        return {std::log(f), slope, at[2] / f - slope * slope};
    }
    const double *coefficients;
    int64_t n_bins;
    double lo, h;
};

struct SortedEvaluator {
    LogDensity operator()(double b) const { return loops().evaluate_sorted(p, w, n, total, h, b); }
    const double *p, *w;
    int64_t n;
    double total, h;
};

// Equidistant bins for evaluations of the density in an interval.
struct Window {
    double lo, width;
    int64_t n_bins;

    // Place bins over [a, c] and a margin; nothing if they would be too many.
    static std::optional<Window> around(double a, double c, double h) {
        const double width = h / kBinsPerBandwidth, needed = (c - a + 2.0 * kMargin * h) / width;
        if (!(needed <= static_cast<double>(kMaxBins - 4))) return std::nullopt;
        return Window{a - kMargin * h, width, 4 * static_cast<int64_t>(std::ceil((needed + 1.0) / 4.0))};
    }

    // Whether the bins serve for evaluations in [a, c].
    bool covers(double a, double c, double h) const {
        return lo <= a - kMargin * h && lo + width * static_cast<double>(n_bins) >= c + kMargin * h;
    }
};

// Bins of one set of projections; the storage is used again for the next.
class Bins {
   public:
    void fill(const Projections &x, const Window &window, double h, double total) {
        window_ = window;
        h_ = h;
        const int64_t n_bins = window.n_bins;
        moments_.assign(static_cast<size_t>(kMoments * (n_bins + 2)), 0.0);
        loops().bin(x, window.lo, window.width, n_bins, moments_.data());
        coefficients_.resize(static_cast<size_t>(kMoments * n_bins));
        double factor = 1.0 / total;  // 4^-k / k!, of the Hermite expansion in units of h
        mass = 0.0;
        for (int64_t k = 0; k < kMoments; ++k) {
            for (int64_t j = 0; j < n_bins; ++j) coefficients_[k * n_bins + j] = factor * moments_[kMoments * (j + 1) + k];
            factor /= static_cast<double>(kBinsPerBandwidth * (k + 1));
        }
        for (int64_t j = 0; j < n_bins; ++j) mass += coefficients_[j];
    }

    void clear() { window_.reset(); }
    bool covers(double a, double c) const { return window_ && window_->covers(a, c, h_); }
    BinnedEvaluator evaluator() const { return {coefficients_.data(), window_->n_bins, window_->lo, h_}; }

    double mass = 0.0;  // share of the total weight inside the window

   private:
    std::optional<Window> window_;
    double h_ = 0.0;
    std::vector<double> moments_, coefficients_;
};

// Sorted projections in an interval, with their weights; the storage is used again for the next.
class SortedValues {
   public:
    void collect(const Projections &x, double lo, double hi) {
        values.clear();
        weights.clear();
        weighted_ = x.w != nullptr;
        pairs_.clear();
        for (int64_t i = 0; i < x.n; ++i) {
            const double z = x.q ? x.c * x.p[i] + x.s * x.q[i] : x.p[i];
            if (!(z >= lo && z <= hi)) continue;
            if (!weighted_)
                values.push_back(z);
            else if (x.w[i] > 0.0)
                pairs_.emplace_back(z, x.w[i]);
        }
        std::sort(values.begin(), values.end());
        std::stable_sort(pairs_.begin(), pairs_.end(), [](const auto &l, const auto &r) { return l.first < r.first; });
        for (const auto &[value, weight] : pairs_) {
            values.push_back(value);
            weights.push_back(weight);
        }
    }

    SortedEvaluator evaluator(double total, double h) const {
        return {values.data(), weighted_ ? weights.data() : nullptr, static_cast<int64_t>(values.size()), total, h};
    }

    // Largest distance from a point of [a, c] to the nearest value.
    double find_largest_gap(double a, double c) const {
        double to_a = INFINITY, to_c = INFINITY, gap = 0.0;
        for (size_t i = 0; i < values.size(); ++i) {
            to_a = std::min(to_a, std::fabs(values[i] - a));
            to_c = std::min(to_c, std::fabs(values[i] - c));
            if (i > 0 && values[i] > a && values[i - 1] < c) gap = std::max(gap, values[i] - values[i - 1]);
        }
        return std::max({to_a, to_c, 0.5 * gap});
    }

    // Distance (in h) between the first points that a minimisation over [a, c] evaluates.
    double choose_spacing(double a, double c, double h) const {
        const double n = static_cast<double>(std::max<size_t>(16, std::min<size_t>(1024, values.size())));
        return std::max(1.0, (c - a) / h / n);
    }

    std::vector<double> values, weights;

   private:
    bool weighted_ = false;
    std::vector<std::pair<double, double>> pairs_;
};

// Distance (in h) beyond which rows are below 1e-16 of a sum with its nearest row `nearest` away; n is the total weight
// relative to the smallest.
inline double compute_relevant_distance(double nearest, double n) {
    return std::sqrt(nearest * nearest + 2.0 * (36.841361487904734 + std::log(std::max(n, 1.0))));
}

}  // namespace ravine
