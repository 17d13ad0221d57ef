// Certified global minimisation of a penalised one-dimensional Gaussian density over b.
//
// In units of h, log f(b) + b^2/2 is convex (a log-sum-exp of linear functions), so between two points with known value
// and slope  log f  lies above both  log f_a + f'_a x - x^2/2  and its mirror image; the lower of the end values and of
// the crossing of the two parabolas bounds it from below. Best-first splitting at the crossing is therefore an exact
// branch and bound, for any spacing of the first nodes and any depth of the valley.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <queue>
#include <vector>

#include "loops.hpp"

namespace ravine {

// The balance penalty of eq. PenalisedUL in units of h and of the kernel's peak: k * e^(1+epsilon), where e is the
// distance outside [a, c]; it is strictly convex together with the density for e <= eta (checked by the caller).
struct Penalty {
    double k, epsilon, eta;
    double value(double e) const { return k * std::pow(e, 1.0 + epsilon); }
    double slope(double e) const { return k * (1.0 + epsilon) * std::pow(e, epsilon); }
    double curvature(double e) const { return k * (1.0 + epsilon) * epsilon * std::pow(e, epsilon - 1.0); }
};

struct Minimiser {
    double b;              // where
    double log_index;      // log(f + penalty)
    LogDensity density;    // of f at b
    double side;           // -1, +1: outside the lower, upper end of the interval; 0: inside
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
};

struct Cell {
    double bound;
    double split;  // where to evaluate next
    Node left, right;
    bool operator<(const Cell &other) const { return bound > other.bound; }  // lowest bound on top of the queue
};

inline Cell make_cell(const Node &l, const Node &r) {
    const double w = r.x - l.x;
    const double slope_gap = r.f.slope - l.f.slope + w;  // increase of the convex part's slope: >= 0
    double bound = std::min(l.f.log_value, r.f.log_value), x = 0.5 * w;
    if (slope_gap > 1e-14 * (1.0 + std::fabs(l.f.slope) + std::fabs(r.f.slope))) {
        x = (l.f.log_value - r.f.log_value + r.f.slope * w + 0.5 * w * w) / slope_gap;
        x = std::min(std::max(x, 0.0), w);
        const double y = w - x;
        const double crossing = std::max(l.f.log_value + l.f.slope * x - 0.5 * x * x, r.f.log_value - r.f.slope * y - 0.5 * y * y);
        bound = std::min(bound, crossing);
    }
    return {bound, l.x + std::min(std::max(x, 0.05 * w), 0.95 * w), l, r};
}

}  // namespace detail

// `evaluate(b)` gives the LogDensity. Minimises over [a - eta h, c + eta h]; the first nodes lie `spacing` (in h) apart.
template <class Evaluate>
Minimum minimise(const Evaluate &evaluate, double h, double a, double c, double spacing, const Penalty &penalty,
                 double tolerance_of_peak, double tolerance_relative, int64_t budget) {
    using detail::Cell;
    using detail::Node;
    Minimum result{{}, true, 0};
    std::vector<Node> nodes;  // all that were evaluated in [a, c]
    auto node = [&](double x) {
        ++result.evaluations;
        nodes.push_back({x, evaluate(a + x * h)});
        return nodes.back();
    };
    const double length = std::max(0.0, (c - a) / h);
    const auto n_cells = static_cast<int64_t>(std::min(std::max(std::ceil(length / spacing), 1.0), 65536.0));

    std::vector<Cell> cells;
    double best = INFINITY;
    const Node lower = node(0.0);
    Node upper = lower;
    best = lower.f.log_value;
    if (length > 0.0) {
        for (int64_t i = 1; i <= n_cells; ++i) {
            const Node previous = upper;
            upper = node(i == n_cells ? length : length * static_cast<double>(i) / static_cast<double>(n_cells));
            best = std::min(best, upper.f.log_value);
            cells.push_back(detail::make_cell(previous, upper));
        }
    }

    // Strips outside the interval: only where the density still falls outwards, one root of slope(f) + penalty' each.
    std::vector<Minimiser> found;
    auto search_strip = [&](const Node &end, double direction) {
        if (!(direction * end.f.slope < 0.0)) return;
        auto outward = [&](double e, LogDensity &f) {
            f = evaluate(a + end.x * h + direction * e * h);
            ++result.evaluations;
            return direction * f.slope * std::exp(f.log_value) + penalty.slope(e);
        };
        double inside = 0.0, outside = penalty.eta;
        const double pull = std::fabs(end.f.slope) * std::exp(end.f.log_value);
        double e = std::min(penalty.eta, std::pow(pull / (penalty.k * (1.0 + penalty.epsilon)), 1.0 / penalty.epsilon));
        LogDensity f = end.f;
        if (e > 0.0)
            for (int i = 0; i < 60; ++i) {
                const double g = outward(e, f);
                (g < 0.0 ? inside : outside) = e;
                const double curvature = std::exp(f.log_value) * (f.curvature + f.slope * f.slope) + penalty.curvature(e);
                double next = curvature > 0.0 ? e - g / curvature : -1.0;
                if (!(next > inside && next < outside)) next = 0.5 * (inside + outside);
                if (std::fabs(next - e) <= 1e-13 * penalty.eta || std::fabs(g) <= 1e-15 * pull) break;
                e = next;
            }
        // log(f + penalty), by their logarithms: either may underflow.
        const double gap = e > 0.0 ? std::log(penalty.k) + (1.0 + penalty.epsilon) * std::log(e) - f.log_value : -INFINITY;
        const double log_index = f.log_value + (gap > 0.0 ? gap + std::log1p(std::exp(-gap)) : std::log1p(std::exp(gap)));
        found.push_back({a + end.x * h + direction * e * h, log_index, f, direction});
        best = std::min(best, found.back().log_index);
    };
    search_strip(lower, -1.0);
    search_strip(upper, +1.0);

    auto tolerance = [&] {
        const double rounding = 1e-14 * std::fabs(best);  // of a logarithm, in the deepest valleys
        return std::max({rounding, tolerance_relative, std::log1p(tolerance_of_peak * std::exp(-std::max(best, -700.0)))});
    };
    std::priority_queue<Cell> queue(std::less<Cell>(), std::move(cells));
    while (!queue.empty() && queue.top().bound < best + tolerance()) {
        const Cell cell = queue.top();
        queue.pop();
        const double width = cell.right.x - cell.left.x, value = std::min(cell.left.f.log_value, cell.right.f.log_value);
        if (width < 1e-9 + 1e-15 * length || value - cell.bound < 0.5 * tolerance()) continue;  // settled
        if (result.evaluations >= budget) {
            result.certified = false;
            break;
        }
        const Node middle = node(cell.split);
        best = std::min(best, middle.f.log_value);
        queue.push(detail::make_cell(cell.left, middle));
        queue.push(detail::make_cell(middle, cell.right));
    }

    // Each cell that may be low enough and whose slope changes sign holds a local minimum: safeguarded Newton.
    std::sort(nodes.begin(), nodes.end(), [](const Node &l, const Node &r) { return l.x < r.x; });
    const std::vector<Node> known = nodes;
    for (size_t i = 1; i < known.size(); ++i) {
        const Cell cell = detail::make_cell(known[i - 1], known[i]);
        if (cell.bound > best + tolerance() || cell.left.f.slope > 0.0 || cell.right.f.slope <= 0.0) continue;
        double left = cell.left.x, right = cell.right.x;
        Node at = cell.left.f.log_value <= cell.right.f.log_value ? cell.left : cell.right;
        for (int i = 0; i < 100 && right - left > 1e-15 * (1.0 + right); ++i) {
            (at.f.slope <= 0.0 ? left : right) = at.x;
            double next = at.f.curvature > 0.0 ? at.x - at.f.slope / at.f.curvature : left - 1.0;
            if (!(next > left && next < right)) next = 0.5 * (left + right);
            const double step = std::fabs(next - at.x);
            at = node(next);
            if (step <= 1e-12 || at.f.slope == 0.0) break;
        }
        found.push_back({a + at.x * h, at.f.log_value, at.f, 0.0});
        best = std::min(best, at.f.log_value);
    }
    // The minimum may also sit at an end of [a, c] whose slope is exactly zero, as it is where bins see no row.
    const Node &lowest = *std::min_element(
        known.begin(), known.end(), [](const Node &l, const Node &r) { return l.f.log_value < r.f.log_value; });
    if (std::none_of(found.begin(), found.end(),
                     [&](const Minimiser &m) { return m.log_index <= lowest.f.log_value + tolerance(); }))
        found.push_back({a + lowest.x * h, lowest.f.log_value, lowest.f, 0.0});

    std::sort(found.begin(), found.end(), [](const Minimiser &l, const Minimiser &r) { return l.log_index < r.log_index; });
    for (const Minimiser &m : found) {
        if (m.log_index > found.front().log_index + tolerance()) break;
        const bool repeated = std::any_of(result.minimisers.begin(), result.minimisers.end(),
                                          [&](const Minimiser &o) { return std::fabs(o.b - m.b) < 1e-6 * h; });
        if (!repeated) result.minimisers.push_back(m);
    }
    return result;
}

}  // namespace ravine
