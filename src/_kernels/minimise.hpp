// Certified global minimisation of a penalised one-dimensional Gaussian density over b.
//
// In units of h, log f(b) + b^2/2 is convex (a log-sum-exp of linear functions). Between two points with known value and
// slope, log f is therefore at least both log f_a + f'_a x - x^2/2 and its mirror image; the lowest of the end values and
// of the crossing of the two parabolas bounds it from below. Best-first splitting at the crossing is therefore an exact
// branch and bound, for any spacing of the first nodes and any depth of the valley.
//
// With a convex term q (labels), g = f + q has two lower bounds, of which the larger is used: the bound above plus the
// lowest value of q in the cell; and, because f'' >= -f, parabolas of curvature -max f through both ends of g.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "hinges.hpp"
#include "loops.hpp"

namespace ravine {

// Balance penalty of eq. (10) in units of h and of the kernel's peak: k * e^(1+epsilon), where e is the distance from
// [a, c]. The density plus the penalty is strictly convex for 0 < e <= eta (ensured by the caller).
struct Penalty {
    double k, epsilon, eta;
    double value(double e) const { return k * std::pow(e, 1.0 + epsilon); }
    double slope(double e) const { return k * (1.0 + epsilon) * std::pow(e, epsilon); }
    double curvature(double e) const { return k * (1.0 + epsilon) * epsilon * std::pow(e, epsilon - 1.0); }
};

struct Minimiser {
    double b;
    double log_index;      // log(f + penalty)
    LogDensity density;    // log f at b
    double side;           // -1 or +1 outside the lower or upper end of the interval, 0 inside
};

struct Minimum {
    std::vector<Minimiser> minimisers;  // all within tolerance of the lowest, lowest first
    bool certified;
    int64_t evaluations;
};

namespace detail {

struct Node {
    double x;  // (b - a) / h
    LogDensity f;
    ConvexValue q;
    LogDensity g;  // f + q
};

inline LogDensity compute_log_sum(const LogDensity &f, const ConvexValue &q) {
    if (!(q.value > 0.0)) return f;
    const double log_q = std::log(q.value), gap = log_q - f.log_value;
    const double log_value = gap > 0.0 ? log_q + std::log1p(std::exp(-gap)) : f.log_value + std::log1p(std::exp(gap));
    const double share = std::exp(f.log_value - log_value), scale = std::exp(log_q - log_value) / q.value;
    const double slope = share * f.slope + scale * q.slope;
    return {log_value, slope, share * (f.curvature + f.slope * f.slope) + scale * q.curvature - slope * slope};
}

constexpr double kRounding = 4e-16;

struct Bound {
    double value;
    double at;  // distance from the left end
};

// Lower bound between two points at a distance w, of a function whose second derivative is at least -curvature.
// `rounding` is the relative error of its terms, whose difference may be much smaller than they are.
inline Bound bound_by_parabolas(double left, double left_slope, double right, double right_slope, double w, double curvature,
                       double rounding = 0.0) {
    const double slope_gap = right_slope - left_slope + curvature * w;  // increase of the slope of the convex part: >= 0
    double bound = std::min(left, right), x = 0.5 * w;
    if (slope_gap > 1e-14 * (curvature + std::fabs(left_slope) + std::fabs(right_slope))) {
        x = (left - right + right_slope * w + 0.5 * curvature * w * w) / slope_gap;
        x = std::min(std::max(x, 0.0), w);
        const double y = w - x;
        const double crossing = std::max(left + left_slope * x - 0.5 * curvature * x * x, right - right_slope * y - 0.5 * curvature * y * y);
        const double terms = std::fabs(left) + std::fabs(right) + w * (std::fabs(left_slope) + std::fabs(right_slope) + curvature * w);
        bound = std::min(bound, crossing - rounding * terms);
    }
    return {bound, x};
}

struct Cell {
    double bound;
    double split;        // where to evaluate next
    size_t left, right;  // places of its nodes
    bool operator<(const Cell &other) const { return bound > other.bound; }  // lowest bound on top of the heap
};

// Lower bound of f + q between two nodes, with the place where it is attained.
inline Bound bound_between(const Node &l, const Node &r) {
    const double w = r.x - l.x;
    Bound best = bound_by_parabolas(l.f.log_value, l.f.slope, r.f.log_value, r.f.slope, w, 1.0);
    if (!(l.q.value > 0.0 || r.q.value > 0.0)) return best;
    const double lowest_q = std::max(0.0, bound_by_parabolas(l.q.value, l.q.slope, r.q.value, r.q.slope, w, 0.0, kRounding).value);
    best.value = compute_log_sum({best.value, 0.0, 0.0}, {lowest_q, 0.0, 0.0}).log_value;
    // log f + x^2/2 is convex, so f is at most the larger end of its chord, measured from either end, and at most 1.
    const double highest = std::min({0.0, std::max(l.f.log_value, r.f.log_value + 0.5 * w * w),
                                     std::max(l.f.log_value + 0.5 * w * w, r.f.log_value)});
    const double scale = std::max(l.g.log_value, r.g.log_value);
    const double left = std::exp(l.g.log_value - scale), right = std::exp(r.g.log_value - scale);
    const Bound both = bound_by_parabolas(left, left * l.g.slope, right, right * r.g.slope, w, std::exp(highest - scale), kRounding);
    if (both.value > 0.0 && std::log(both.value) + scale > best.value) best = {std::log(both.value) + scale, both.at};
    return best;
}

// Distance from a node within which f is convex: the second derivative is positive there, and the third is at most 1.3802
// in units of h and of the kernel's peak. The factor 0.9 leaves room for the error of bins.
inline double find_convex_radius(const Node &at) {
    return 0.9 / 1.3802 * std::exp(at.f.log_value) * (at.f.curvature + at.f.slope * at.f.slope);
}

}  // namespace detail

// Minimisation of f + q over [a, c]; the first nodes are `spacing` (in h) apart.
template <class Evaluate, class Convex>
class Search {
    using Cell = detail::Cell;
    using Node = detail::Node;

   public:
    Search(const Evaluate &evaluate, const Convex &convex, double h, double a, double c, double tolerance_of_peak,
           double tolerance_relative)
        : evaluate_(evaluate), convex_(convex), h_(h), a_(a), length_(std::max(0.0, (c - a) / h)),
          tolerance_of_peak_(tolerance_of_peak), tolerance_relative_(tolerance_relative) {}

    void place_nodes(double spacing) {
        const auto n_cells = static_cast<int64_t>(std::min(std::max(std::ceil(length_ / spacing), 1.0), 65536.0));
        size_t last = evaluate_node(0.0);
        lower = nodes_[last];
        for (int64_t i = 1; i <= n_cells && length_ > 0.0; ++i) {
            const double x = i == n_cells ? length_ : length_ * static_cast<double>(i) / static_cast<double>(n_cells);
            const size_t next = evaluate_node(x);
            push_cell(last, next);
            last = next;
        }
        upper = nodes_[last];
    }

    // Take note of a value of f + q, or of one outside [a, c].
    void lower_best(double log_index) {
        if (!(log_index < best_)) return;
        best_ = log_index;
        const double rounding = 1e-14 * std::fabs(best_);  // of the logarithm, which matters in the deepest valleys
        tolerance_ = std::max({rounding, tolerance_relative_, std::log1p(tolerance_of_peak_ * std::exp(-std::max(best_, -700.0)))});
    }

    // Split cells until none can be lower than the best value by more than the tolerance.
    bool certify(int64_t budget) {
        while (!cells_.empty() && cells_.front().bound < best_ + tolerance_) {
            std::pop_heap(cells_.begin(), cells_.end());
            const Cell cell = cells_.back();
            cells_.pop_back();
            const Node &l = nodes_[cell.left], &r = nodes_[cell.right];
            if (is_settled(r.x - l.x, std::min(l.g.log_value, r.g.log_value) - cell.bound)) continue;
            if (evaluations >= budget) return false;
            if (l.g.slope < 0.0 && r.g.slope > 0.0) {
                descend(cell);
            } else {
                const size_t middle = evaluate_node(cell.split);
                push_cell(cell.left, middle);
                push_cell(middle, cell.right);
            }
        }
        return true;
    }

    // Find the local minimum of each cell that may be low enough and whose slope changes sign, by safeguarded Newton.
    void refine() {
        std::sort(nodes_.begin(), nodes_.end(), [](const Node &l, const Node &r) { return l.x < r.x; });
        const std::vector<Node> known = nodes_;
        for (size_t i = 1; i < known.size(); ++i) {
            const Node &l = known[i - 1], &r = known[i];
            if (l.g.slope > 0.0 || r.g.slope <= 0.0 || detail::bound_between(l, r).value > best_ + tolerance_) continue;
            double left = l.x, right = r.x;
            Node at = l.g.log_value <= r.g.log_value ? l : r;
            Node lowest = at;
            for (int k = 0; k < 200 && right - left > 1e-15 * (1.0 + right); ++k) {
                (at.g.slope <= 0.0 ? left : right) = at.x;
                const double next = step_newton(at, left, right), step = std::fabs(next - at.x);
                at = nodes_[evaluate_node(next)];
                if (at.g.log_value <= lowest.g.log_value) lowest = at;
                if ((step <= 1e-12 && at.g.curvature > 0.0) || at.g.slope == 0.0) break;
            }
            if (lowest.g.log_value < at.g.log_value - tolerance_) at = lowest;  // on the wrong side of a kink
            add_minimiser(at);
            move_to_hinge();
        }
        // The minimum may also be at an end of [a, c] whose slope is exactly zero: bins without rows give such slopes.
        const Node &lowest = *std::min_element(
            known.begin(), known.end(), [](const Node &l, const Node &r) { return l.g.log_value < r.g.log_value; });
        if (std::none_of(found.begin(), found.end(),
                         [&](const Minimiser &m) { return m.log_index <= lowest.g.log_value + tolerance_; }))
            add_minimiser(lowest);
    }

    // Return all distinct minimisers within tolerance of the lowest, lowest first.
    std::vector<Minimiser> select_distinct() {
        std::sort(found.begin(), found.end(), [](const Minimiser &l, const Minimiser &r) { return l.log_index < r.log_index; });
        std::vector<Minimiser> kept;
        for (const Minimiser &m : found) {
            if (m.log_index > found.front().log_index + tolerance_) break;
            const bool repeated =
                std::any_of(kept.begin(), kept.end(), [&](const Minimiser &o) { return std::fabs(o.b - m.b) < 1e-6 * h_; });
            if (!repeated) kept.push_back(m);
        }
        return kept;
    }

    Node lower, upper;
    int64_t evaluations = 0;
    std::vector<Minimiser> found;

   private:
    size_t evaluate_node(double x) {
        ++evaluations;
        const double b = a_ + x * h_;
        const LogDensity f = evaluate_(b);
        const ConvexValue q = convex_(b);
        nodes_.push_back({x, f, q, detail::compute_log_sum(f, q)});
        lower_best(nodes_.back().g.log_value);
        return nodes_.size() - 1;
    }

    void push_cell(size_t left, size_t right) {
        const double w = nodes_[right].x - nodes_[left].x;
        const detail::Bound bound = detail::bound_between(nodes_[left], nodes_[right]);
        cells_.push_back({bound.value, nodes_[left].x + std::min(std::max(bound.at, 0.05 * w), 0.95 * w), left, right});
        std::push_heap(cells_.begin(), cells_.end());
    }

    bool is_settled(double width, double gap) const { return width < 1e-9 + 1e-15 * length_ || gap < 0.5 * tolerance_; }

    double step_newton(const Node &at, double left, double right) const {
        const double next = at.g.curvature > 0.0 ? at.x - at.g.slope / at.g.curvature : left - 1.0;
        return next > left && next < right ? next : 0.5 * (left + right);
    }

    // Go down to a local minimum in a cell that has one. Around it f is convex, so that nothing there is lower by more than
    // the slope allows. The rest of the cell, on both sides, is split as usual.
    void descend(const Cell &cell) {
        std::vector<size_t> path{cell.left, cell.right};
        double left = nodes_[cell.left].x, right = nodes_[cell.right].x;
        size_t at = nodes_[cell.left].g.log_value <= nodes_[cell.right].g.log_value ? cell.left : cell.right;
        for (int k = 0; k < 10; ++k) {
            at = evaluate_node(step_newton(nodes_[at], left, right));
            path.push_back(at);
            const Node &node = nodes_[at];
            (node.g.slope < 0.0 ? left : right) = node.x;
            if (node.g.curvature > 0.0 && node.g.slope * node.g.slope <= 0.02 * tolerance_ * node.g.curvature) break;
        }
        const Node middle = nodes_[at];
        double radius = detail::find_convex_radius(middle);
        if (!(std::fabs(middle.g.slope) * radius <= 0.25 * tolerance_)) radius = 0.0;
        for (double end : {middle.x - radius, middle.x + radius})
            if (end != middle.x && end > nodes_[cell.left].x && end < nodes_[cell.right].x) path.push_back(evaluate_node(end));
        std::sort(path.begin(), path.end(), [&](size_t l, size_t r) { return nodes_[l].x < nodes_[r].x; });
        for (size_t i = 1; i < path.size(); ++i)
            if (nodes_[path[i - 1]].x < middle.x - radius || nodes_[path[i]].x > middle.x + radius) push_cell(path[i - 1], path[i]);
    }

    // The distance of b from an active hinge may be below the rounding error of its position: then b is that position.
    void move_to_hinge() {
        Minimiser &last = found.back();
        const double hinge = convex_.find_nearest(last.b);
        if (!(std::fabs(hinge - last.b) <= 1e-8 * h_)) return;
        const LogDensity f = evaluate_(hinge);
        const double log_index = detail::compute_log_sum(f, convex_(hinge)).log_value;
        if (!(log_index < last.log_index)) return;
        last = {hinge, log_index, f, 0.0};
        lower_best(log_index);
    }

    void add_minimiser(const Node &at) { found.push_back({a_ + at.x * h_, at.g.log_value, at.f, 0.0}); }

    const Evaluate &evaluate_;
    const Convex &convex_;
    double h_, a_, length_, tolerance_of_peak_, tolerance_relative_;
    double best_ = INFINITY, tolerance_ = 0.0;
    std::vector<Node> nodes_;  // all nodes evaluated in [a, c]
    std::vector<Cell> cells_;  // a heap, lowest bound first
};

// Minimise f plus the balance penalty over [a - eta h, c + eta h]; `evaluate(b)` returns the LogDensity.
template <class Evaluate>
Minimum minimise(const Evaluate &evaluate, double h, double a, double c, double spacing, const Penalty &penalty,
                 double tolerance_of_peak, double tolerance_relative, int64_t budget) {
    const NoHinges no_hinges;
    Search<Evaluate, NoHinges> search(evaluate, no_hinges, h, a, c, tolerance_of_peak, tolerance_relative);
    search.place_nodes(spacing);

    // Search the strips outside the interval. If the density decreases outwards, slope(f) + penalty' has one root there.
    auto search_strip = [&](const detail::Node &end, double direction) {
        if (!(direction * end.f.slope < 0.0)) return;
        auto evaluate_slope = [&](double e, LogDensity &f) {
            f = evaluate(a + end.x * h + direction * e * h);
            ++search.evaluations;
            return direction * f.slope * std::exp(f.log_value) + penalty.slope(e);
        };
        double inside = 0.0, outside = penalty.eta;
        const double pull = std::fabs(end.f.slope) * std::exp(end.f.log_value);
        double e = std::min(penalty.eta, std::pow(pull / (penalty.k * (1.0 + penalty.epsilon)), 1.0 / penalty.epsilon));
        LogDensity f = end.f;
        if (e > 0.0)
            for (int i = 0; i < 60; ++i) {
                const double g = evaluate_slope(e, f);
                (g < 0.0 ? inside : outside) = e;
                const double curvature = std::exp(f.log_value) * (f.curvature + f.slope * f.slope) + penalty.curvature(e);
                double next = curvature > 0.0 ? e - g / curvature : -1.0;
                if (!(next > inside && next < outside)) next = 0.5 * (inside + outside);
                if (std::fabs(next - e) <= 1e-13 * penalty.eta || std::fabs(g) <= 1e-15 * pull) break;
                e = next;
            }
        // log(f + penalty) from both logarithms, since either term may underflow.
        const double gap = e > 0.0 ? std::log(penalty.k) + (1.0 + penalty.epsilon) * std::log(e) - f.log_value : -INFINITY;
        const double log_index = f.log_value + (gap > 0.0 ? gap + std::log1p(std::exp(-gap)) : std::log1p(std::exp(gap)));
        search.found.push_back({a + end.x * h + direction * e * h, log_index, f, direction});
        search.lower_best(log_index);
    };
    search_strip(search.lower, -1.0);
    search_strip(search.upper, +1.0);

    const bool certified = search.certify(budget);
    search.refine();
    return {search.select_distinct(), certified, search.evaluations};
}

// Minimise f plus a convex term over [a, c].
template <class Evaluate>
Minimum minimise_with(const Evaluate &evaluate, const Hinges &hinges, double h, double a, double c, double spacing,
                      double tolerance_of_peak, double tolerance_relative, int64_t budget) {
    Search<Evaluate, Hinges> search(evaluate, hinges, h, a, c, tolerance_of_peak, tolerance_relative);
    search.place_nodes(spacing);
    const bool certified = search.certify(budget);
    search.refine();
    return {search.select_distinct(), certified, search.evaluations};
}

}  // namespace ravine
