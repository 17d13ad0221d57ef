// The semi-supervised index phi_SSC, eq. (17): the clustering index with a hinge for every labelled row, eq. (16).
// `ravine.index.SemiSupervisedIndex` is its twin and documents the formulas.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "hinges.hpp"
#include "index.hpp"

namespace ravine {

// For a hinge closer to b than this (in h), the force computed from its rounded excess may be wrong.
constexpr double kTouching = 1e-6;

// Labelled rows in working units, those of class -1 first; the caller owns the arrays.
struct LabelData {
    const double *rows, *signs, *costs;  // l x d; +1 or -1; cost at a distance of h for gamma = 1
    size_t n, n_negative;
    double margin;
};

class SemiSupervisedIndex final : public ClusteringIndex {
   public:
    SemiSupervisedIndex(const IndexData &data, const LabelData &labels, std::function<void()> check_interrupt)
        : ClusteringIndex(data, std::move(check_interrupt)), labels_(labels), p_(labels.n), q_(labels.n) {}

   protected:
    // No b is optimal where the penalties exceed their minimum by more than the peak of the density. In b a label of class
    // +1 is a hinge to the right of v.x - margin, one of class -1 a hinge to the left of v.x + margin.
    OffsetProblem pose_offset_problem(double t, double half) override {
        const size_t k = labels_.n_negative;
        Vector left, left_costs, right, right_costs;
        for (size_t i = 0; i < labels_.n; ++i) {
            const double at = project_label(i, t) - labels_.signs[i] * labels_.margin, cost = gamma * labels_.costs[i];
            (i < k ? left : right).push_back(i < k ? -at : at);
            (i < k ? left_costs : right_costs).push_back(cost);
        }
        left.push_back(half);
        right.push_back(half);
        left_costs.push_back(data_.penalty.k);
        right_costs.push_back(data_.penalty.k);
        const double power = 1.0 + data_.penalty.epsilon, h = data_.h;
        OffsetProblem problem{0.0, 0.0,
                              Hinges(OneSidedHinges(std::move(right), right_costs, power, h),
                                     OneSidedHinges(std::move(left), left_costs, power, h), h)};
        problem.hinges->find_sublevel(1.0, problem.lo, problem.hi);
        return problem;
    }

    void add_penalty_gradient(const Minimiser &m, double t, Vector &gradient) override {
        compute_forces(m, t);
        for (size_t i = 0; i < labels_.n; ++i) add_scaled(gradient.data(), on_labels_[i], labels_.rows + i * data_.d, data_.d);
        if (on_sigma_ != 0.0) add_scaled(gradient, on_sigma_ / sigma(t), multiply_covariance(t));
    }

    void go_to(const Vector &v) override {
        ClusteringIndex::go_to(v);
        for (size_t i = 0; i < labels_.n; ++i) p_[i] = dot(labels_.rows + i * data_.d, v.data(), data_.d);
    }
    void project_tangent(const Vector &u) override {
        ClusteringIndex::project_tangent(u);
        for (size_t i = 0; i < labels_.n; ++i) q_[i] = dot(labels_.rows + i * data_.d, u.data(), data_.d);
    }
    void rotate(double t) override {
        ClusteringIndex::rotate(t);
        for (size_t i = 0; i < labels_.n; ++i) p_[i] = project_label(i, t);
    }

   private:

    double project_label(size_t i, double t) const { return t == 0.0 ? p_[i] : std::cos(t) * p_[i] + std::sin(t) * q_[i]; }

    // The derivatives of log phi by sigma_v and by the projection of each labelled row, at the minimiser b. There the slopes
    // of the hinges balance that of the density, eq. (17). In a deep valley, a hinge that b touches holds it by less than the
    // rounding of its place, so its force follows from the balance with the others.
    void compute_forces(const Minimiser &m, double t) {
        const size_t n = labels_.n;
        const double h = data_.h, epsilon = data_.penalty.epsilon;
        const double factor = (1.0 + epsilon) * std::exp(std::min(-m.log_index, 700.0));
        Vector force(n + 1), distance(n + 1);
        for (size_t i = 0; i <= n; ++i) {  // the last hinge is the end of F(v) on the side of b
            const double excess = i < n ? (labels_.margin - labels_.signs[i] * (project_label(i, t) - m.b)) / h
                                        : (std::fabs(m.b) - alpha * sigma(t)) / h;
            const double cost = i < n ? gamma * labels_.costs[i] : data_.penalty.k, active = std::max(excess, 0.0);
            force[i] = (epsilon == 1.0 ? active : std::pow(active, epsilon)) * cost * factor;
            distance[i] = cost == 0.0 ? INFINITY : std::fabs(excess);
        }
        auto downward = [&](size_t i) { return i < n ? labels_.signs[i] : m.b > 0.0 ? 1.0 : -1.0; };  // push on b
        for (int trial = 0; trial < 2; ++trial) {
            const auto nearest = static_cast<size_t>(std::min_element(distance.begin(), distance.end()) - distance.begin());
            if (!(distance[nearest] <= kTouching)) break;
            force[nearest] = 0.0;
            distance[nearest] = INFINITY;
            double rest = m.density.slope * density_share(m);
            for (size_t i = 0; i <= n; ++i) rest += downward(i) * force[i];
            if (downward(nearest) * rest <= 0.0) {
                force[nearest] = std::fabs(rest);
                break;
            }
        }
        on_sigma_ = -alpha * force[n] / h;
        on_labels_.resize(n);
        for (size_t i = 0; i < n; ++i) on_labels_[i] = -downward(i) * force[i] / h;
    }

    LabelData labels_;
    Vector p_, q_;  // projections of the labelled rows on the normal and on the tangent
    double on_sigma_ = 0.0;
    Vector on_labels_;
};

}  // namespace ravine
