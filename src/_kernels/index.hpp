// The clustering index phi_CL, eq. (13), as an objective on the sphere for one start: the minimum over b of the penalised
// density, and its derivatives. `ravine.index.ClusteringIndex` is its twin and documents the formulas.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "dense_rows.hpp"
#include "density.hpp"
#include "depth.hpp"
#include "hinges.hpp"
#include "minimise.hpp"
#include "vectors.hpp"

namespace ravine {

// Everything about the data and the problem that does not change during a search; the caller owns the arrays.
struct IndexData {
    const DenseRows &rows;
    const double *weights;     // or nullptr
    const double *covariance;  // d x d
    double *p, *q;             // projections on the normal and on the tangent
    int64_t n;
    size_t d;
    double total, lightest, h;
    Penalty penalty;
};

// One hyperplane: exact log-density, and log of 1 + relative depth.
struct Description {
    double log_density, log_depth;
};

class ClusteringIndex {
   public:
    ClusteringIndex(const IndexData &data, std::function<void()> check_interrupt)
        : data_(data), check_interrupt_(std::move(check_interrupt)) {}
    virtual ~ClusteringIndex() = default;

    double alpha = 0.0;
    double gamma = 0.0;                                      // weight of the labels
    double lowest_offset = -INFINITY, highest_offset = INFINITY;  // b is restricted to this interval and F(v)
    bool exact = false;                                      // skip the bins
    int64_t evaluations = 0, tied = 0;
    bool certified = true;
    Minimum minima;  // at the current normal

    // Forget the normal: the caller has changed the projections.
    void forget() {
        v_.clear();
        here_.clear();
    }
    bool has_normal() const { return !v_.empty(); }

    // ------------------------------------------------------------------------------------------- objective

    double begin(const Vector &v, Vector &gradient) {
        if (v != v_) go_to(v);
        minimise_here();
        gradient = compute_gradient(minima, 0.0);
        return minima.minimisers.front().log_index;
    }

    void set_tangent(const Vector &u) {
        project_tangent(u);
        u_ = u;
        cov_u_ = multiply_covariance(u);
        vv_ = dot(v_, cov_v_);
        vu_ = dot(v_, cov_u_);
        uu_ = dot(u, cov_u_);
    }

    double evaluate(double t) {
        trial_ = minimise_over_b(t);
        trial_gradient_.clear();
        return trial_.minimisers.front().log_index;
    }

    // The derivative by the angle at the angle evaluated last. The gradient is computed at once, since most trials whose
    // derivative is wanted are accepted.
    double differentiate(double t) {
        trial_gradient_ = compute_gradient(trial_, t);
        return std::cos(t) * dot(trial_gradient_, u_) - std::sin(t) * dot(trial_gradient_, v_);
    }

    void accept(double t, const Vector &v, Vector &gradient) {
        gradient = trial_gradient_.empty() ? compute_gradient(trial_, t) : trial_gradient_;
        cov_v_ = multiply_covariance(t);
        rotate(t);
        here_.clear();
        v_ = v;
        minima = trial_;
        gamma_of_minima_ = gamma;
    }

    // ------------------------------------------------------------------------------------------- search

    // Minimise over b at the current normal for another alpha or gamma; return whether b stays strictly inside F(v) where it
    // was, without a penalty that has changed, so that nothing else changes, either.
    bool adjust() {
        const Minimiser before = minima.minimisers.front();
        const double gamma_before = gamma_of_minima_;
        minimise_here();
        const Minimiser &now = minima.minimisers.front();
        const bool same_penalty = gamma == gamma_before || (is_unpenalised(before) && is_unpenalised(now));
        return std::fabs(now.b - before.b) <= 1e-9 * data_.h && same_penalty && before.side == 0.0 && now.side == 0.0;
    }

    // Density and, if wanted, depth of the hyperplane at the current normal.
    Description describe(bool depth) {
        check_interrupt_();
        const double b = minima.minimisers.front().b, log_density = loops().log_sum(turn(0.0), data_.h, b) - std::log(data_.total);
        if (!depth) return {log_density, NAN};
        auto bin = [&](double half) { return fill_bins(0.0, -half, half); };
        return {log_density, measure_log_depth(turn(0.0), data_.total, data_.h, b, sigma(0.0), log_density, bin, sorted_)};
    }

    const Vector &normal() const { return v_; }
    const Vector &covariance_times_normal() const { return cov_v_; }

   protected:
    // The interval of b to search at the angle t, with the convex terms there; F(v) is [-half, half].
    struct OffsetProblem {
        double lo, hi;
        std::optional<Hinges> hinges;
    };
    virtual OffsetProblem pose_offset_problem(double, double half) { return {-half, half, std::nullopt}; }

    // Derivative of log phi by sigma_v, which is not zero only where b lies outside F(v). At the minimiser the slope of the
    // penalty equals minus that of the density, eq. (10); the latter stays exact in the deepest valley.
    double sigma_derivative(const Minimiser &m) const {
        return m.side == 0.0 ? 0.0 : m.side * m.density.slope / data_.h * alpha * density_share(m);
    }
    virtual void add_penalty_gradient(const Minimiser &m, double t, Vector &gradient) {
        if (m.side != 0.0) add_scaled(gradient, sigma_derivative(m) / sigma(t), multiply_covariance(t));
    }

    // Product of the covariance with the normal at the angle t.
    Vector multiply_covariance(double t) const {
        return t == 0.0 ? cov_v_ : combine(std::cos(t), cov_v_, std::sin(t), cov_u_);
    }

    virtual void go_to(const Vector &v) {
        check_interrupt_();
        data_.rows.project(v, data_.p);
        here_.clear();
        v_ = v;
        cov_v_ = multiply_covariance(v);
    }
    virtual void project_tangent(const Vector &u) {
        check_interrupt_();
        data_.rows.project(u, data_.q);
    }
    virtual void rotate(double t) { loops().rotate(data_.p, data_.q, std::cos(t), std::sin(t), data_.n); }

    // Standard deviation of the projections at the angle t.
    double sigma(double t) const {
        if (t == 0.0) return std::sqrt(std::max(dot(v_, cov_v_), 0.0));
        const double c = std::cos(t), s = std::sin(t);
        return std::sqrt(std::max(c * c * vv_ + 2.0 * c * s * vu_ + s * s * uu_, 2.2250738585072014e-308));
    }

    static double density_share(const Minimiser &m) { return std::exp(m.density.log_value - m.log_index); }

    IndexData data_;

   private:
    static bool is_unpenalised(const Minimiser &m) { return m.log_index == m.density.log_value; }

    void minimise_here() {
        minima = minimise_over_b(0.0);
        gamma_of_minima_ = gamma;
    }

    double log_sum(const Minimiser &m) const { return m.density.log_value + std::log(data_.total); }

    // Distance from b beyond which rows together change the sums by less than 1e-10 of them.
    double reach(const Minimiser &m) const { return data_.h * std::sqrt(2.0 * (23.025850929940457 - m.density.log_value)); }

    Projections turn(double t) const {
        if (t == 0.0) return {data_.p, nullptr, data_.weights, 1.0, 0.0, data_.n};
        return {data_.p, data_.q, data_.weights, std::cos(t), std::sin(t), data_.n};
    }

    Vector multiply_covariance(const Vector &x) const {
        Vector out(data_.d);
        for (size_t i = 0; i < data_.d; ++i) out[i] = dot(data_.covariance + i * data_.d, x.data(), data_.d);
        return out;
    }

    // The gradient of log phi at the angle t, eq. (26): rows near b, and the penalty.
    Vector compute_gradient(const Minimum &at, double t) {
        check_interrupt_();
        const Minimiser &m = at.minimisers.front();
        Vector gradient = data_.rows.pull_back(turn(t), data_.h, m.b, log_sum(m), reach(m));
        scale(gradient, density_share(m));
        add_penalty_gradient(m, t, gradient);
        return gradient;
    }

    // Bins at the angle t for evaluations in [a, c]; nullptr if they would be too many. Those of the current normal are
    // used again as long as they cover the interval.
    const Bins *fill_bins(double t, double a, double c) {
        Bins &bins = t == 0.0 ? here_ : bins_;
        if (t == 0.0 && bins.covers(a, c)) return &bins;
        const auto window = Window::around(a, c, data_.h);
        if (!window) return nullptr;
        bins.fill(turn(t), *window, data_.h, data_.total);
        return &bins;
    }

    // The global minimisers over b of the penalised density at the angle t, eq. (13).
    Minimum minimise_over_b(double t) {
        check_interrupt_();
        ++evaluations;
        const double half = alpha * sigma(t), eta = data_.penalty.eta * data_.h;
        OffsetProblem problem = pose_offset_problem(t, half);
        problem.lo = std::min(std::max(problem.lo, lowest_offset), highest_offset);
        problem.hi = std::min(std::max(problem.hi, lowest_offset), highest_offset);
        const bool few_rows = (problem.hi - problem.lo) / data_.h * kBinsPerBandwidth > kMaxBinsPerRow * static_cast<double>(data_.n);
        const Bins *bins = exact || few_rows ? nullptr : fill_bins(t, problem.lo - eta, problem.hi + eta);
        Minimum found = bins ? minimise_binned(t, problem, bins->evaluator()) : minimise_exactly(t, problem, problem.lo, problem.hi);
        if (problem.hinges)
            for (Minimiser &m : found.minimisers) m.side = (m.b > half) - (m.b < -half);
        tied += found.minimisers.size() > 1;
        certified = certified && found.certified;
        return found;
    }

    Minimum minimise_binned(double t, const OffsetProblem &problem, const BinnedEvaluator &density) {
        Minimum found = minimise_density(density, problem, problem.lo, problem.hi, kBinSpacing, kBinnedTolerance, kBinnedRounding, kBinnedBudget);
        if (!(found.minimisers.front().log_index < std::log(kDeep))) return found;
        const auto [a, c] = find_deep_part(density, problem.lo, problem.hi);
        return minimise_exactly(t, problem, a, c);
    }

    // Minimise over [a, c] by exact sums over the rows that matter there.
    Minimum minimise_exactly(double t, const OffsetProblem &problem, double a, double c) {
        const double h = data_.h, n = data_.total / data_.lightest;
        double reach = 0.5 * (c - a) + compute_relevant_distance(kMargin, n) * h;
        while (true) {
            check_interrupt_();
            sorted_.collect(turn(t), a - reach, c + reach);
            const double needed =
                sorted_.values.empty() ? 10.0 * reach : compute_relevant_distance(sorted_.find_largest_gap(a, c) / h, n) * h;
            if (reach >= needed) break;
            reach = needed;
        }
        return minimise_density(sorted_.evaluator(data_.total, h), problem, a, c, sorted_.choose_spacing(a, c, h), 0.0,
                                kSortedTolerance, kSortedBudget);
    }

    template <class Evaluate>
    Minimum minimise_density(const Evaluate &density, const OffsetProblem &problem, double a, double c, double spacing,
                             double tolerance_of_peak, double tolerance_relative, int64_t budget) const {
        if (problem.hinges)
            return minimise_with(density, *problem.hinges, data_.h, a, c, spacing, tolerance_of_peak, tolerance_relative, budget);
        return minimise(density, data_.h, a, c, spacing, data_.penalty, tolerance_of_peak, tolerance_relative, budget);
    }

    // The part of [lo, hi] where the density may be too low for bins. Only its ends are needed, so that the scans from both
    // sides stop at the first low point.
    std::pair<double, double> find_deep_part(const BinnedEvaluator &density, double lo, double hi) const {
        const double n_cells = std::max(1.0, std::ceil(4.0 * (hi - lo) / data_.h)), step = 0.25 * data_.h;
        const auto place = [&](double i) { return lo + (hi - lo) * i / n_cells; };
        const auto is_low = [&](double i) { return density(place(i)).log_value < std::log(10.0 * kDeep); };
        double first = 0.0, last = n_cells;
        while (first <= n_cells && !is_low(first)) ++first;
        if (first > n_cells) return {std::max(lo, hi - step), std::min(hi, lo + step)};
        while (last > first && !is_low(last)) --last;
        return {std::max(lo, place(first) - step), std::min(hi, place(last) + step)};
    }

    std::function<void()> check_interrupt_;
    Vector v_, u_, cov_v_, cov_u_;  // normal, tangent, and the products of the covariance with both
    double vv_ = 0.0, vu_ = 0.0, uu_ = 0.0;
    double gamma_of_minima_ = 0.0;
    Minimum trial_;          // at the angle evaluated last
    Vector trial_gradient_;  // if it is known
    Bins here_, bins_;       // at the current normal, and at the angle evaluated last
    SortedValues sorted_;
};

}  // namespace ravine
