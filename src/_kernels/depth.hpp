// Depth of a valley below the modes next to it, eq. (30); `ravine.density.projected` is its twin.
#pragma once
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "density.hpp"

namespace ravine {

// Cells are not halved any more once there are this many nodes.
constexpr int64_t kMaxNodes = 1'000'000;

// Looks for the modes of a log-density next to a point, between nodes that are at most h/4 apart near rows.
template <class Evaluate>
class ModeSearch {
   public:
    ModeSearch(const Evaluate &evaluate, double h, double b) : evaluate_(evaluate), h_(h), b_(b) {}

    // Log ratio of the density at the lower of the two modes adjacent to b to that at b; -inf if there is none on a side.
    double compute_relative_log_depth(const std::vector<double> &nodes) {
        const size_t n = nodes.size();
        if (n < 2) return -INFINITY;
        size_t right = static_cast<size_t>(std::upper_bound(nodes.begin(), nodes.end(), b_) - nodes.begin());
        right = std::min(std::max<size_t>(right, 1), n - 1);  // b lies in the cell to the left of this node, or outside
        std::optional<double> lower, upper;
        Node left_node = evaluate_node(nodes[right - 1]), right_node = evaluate_node(nodes[right]);
        const Node first = left_node, last = right_node;
        search_cell(first, last, kHalvings, lower, upper);
        for (size_t i = right - 1; i > 0 && !lower; --i) {
            const Node next = evaluate_node(nodes[i - 1]);
            search_cell(next, left_node, kHalvings, lower, upper);
            left_node = next;
        }
        for (size_t i = right + 1; i < n && !upper; ++i) {
            const Node next = evaluate_node(nodes[i]);
            search_cell(right_node, next, kHalvings, lower, upper);
            right_node = next;
        }
        if (!lower || !upper) return -INFINITY;
        return std::min(evaluate_(*lower).log_value, evaluate_(*upper).log_value) - evaluate_(b_).log_value;
    }

   private:
    struct Node {
        double x, slope, curvature;
    };
    static constexpr int kHalvings = 19;

    Node evaluate_node(double x) {
        ++evaluations_;
        const LogDensity f = evaluate_(x);
        return {x, f.slope, f.curvature};
    }

    // Between two nodes the slope may cross zero more often than its signs at the ends suggest. It does so only if the
    // cubic through the end slopes and curvatures does, which requires that its Bernstein coefficients change sign more
    // than once; such cells are halved until no doubt remains.
    void search_cell(const Node &l, const Node &r, int halvings, std::optional<double> &lower, std::optional<double> &upper) {
        const double w = (r.x - l.x) / h_;
        const double inner[] = {l.slope, l.slope + l.curvature * w / 3.0, r.slope - r.curvature * w / 3.0, r.slope};
        int changes = 0;
        for (int k = 0; k < 3; ++k) changes += sign(inner[k]) != sign(inner[k + 1]);
        if (changes > 1 && w > 1e-5 && halvings > 0 && evaluations_ < kMaxNodes) {
            const Node middle = evaluate_node(0.5 * (l.x + r.x));
            search_cell(l, middle, halvings - 1, lower, upper);
            search_cell(middle, r, halvings - 1, lower, upper);
            return;
        }
        if (!(l.slope > 0.0 && !(r.slope > 0.0))) return;
        const double mode = find_root(l, r);
        if (mode < b_ && (!lower || mode > *lower)) lower = mode;
        if (mode > b_ && (!upper || mode < *upper)) upper = mode;
    }

    static int sign(double x) { return (x > 0.0) - (x < 0.0); }

    // Find the root of the decreasing slope by a safeguarded Newton method.
    double find_root(const Node &l, const Node &r) {
        double left = l.x, right = r.x;
        double x = left + l.slope / (l.slope - r.slope) * (right - left);
        if (!(x > left && x < right)) x = 0.5 * (left + right);
        for (int i = 0; i < 60; ++i) {
            const Node at = evaluate_node(x);
            (at.slope > 0.0 ? left : right) = x;
            double next = at.curvature == 0.0 ? x : x - at.slope / at.curvature * h_;
            if (!(next > left && next < right)) next = 0.5 * (left + right);
            const double step = std::fabs(next - x);
            x = next;
            if (step <= 1e-9 * h_) break;
        }
        return x;
    }

    const Evaluate &evaluate_;
    double h_, b_;
    int64_t evaluations_ = 0;
};

// Nodes in [a, c] at most h/4 apart within 1.25 h of a value, and farther apart across empty gaps: farther than h from
// every value each kernel is convex, so the density has no mode there.
inline std::vector<double> place_nodes(const std::vector<double> &values, double a, double c, double h) {
    const double step = h / kBinsPerBandwidth;
    std::vector<double> nodes{a};
    double last = -INFINITY;  // number of the last node on the grid that starts at a
    for (double value : values) {
        if (!(value >= a - 2.0 * h && value <= c + 2.0 * h)) continue;
        const double cell = std::nearbyint((value - a) / step);
        for (int offset = -6; offset <= 6; ++offset) {
            const double k = cell + offset, node = k * step + a;
            if (k > last && node > nodes.back() && node < c) nodes.push_back(node);
        }
        last = cell + 6.0;
    }
    if (c > nodes.back()) nodes.push_back(c);
    return nodes;
}

// Log of 1 + relative depth at b; the window widens until it contains the adjacent modes. `bin(half)` returns bins that
// cover [-half, half], or nullptr if they would be too many.
template <class Bin>
double measure_log_depth(const Projections &x, double total, double h, double b, double sigma, double log_density, const Bin &bin,
                         SortedValues &sorted) {
    double half = std::fabs(b) + 2.0 * sigma + h;
    while (log_density > std::log(kDeep)) {
        const Bins *bins = bin(half);
        if (!bins) break;
        const BinnedEvaluator density = bins->evaluator();
        const bool has_all_rows = bins->mass >= 1.0 - 1e-12;
        const double shown = half + (has_all_rows ? kMargin * h : 0.0);
        const auto n_cells = static_cast<size_t>(std::ceil(8.0 * shown / h));
        std::vector<double> nodes(n_cells + 1);
        for (size_t i = 0; i <= n_cells; ++i) nodes[i] = -shown + 2.0 * shown * static_cast<double>(i) / static_cast<double>(n_cells);
        const double log_depth = ModeSearch(density, h, b).compute_relative_log_depth(nodes);
        if (has_all_rows || log_depth > -INFINITY) return log_depth;
        half *= 4.0;
    }
    sorted.collect(x, -INFINITY, INFINITY);
    if (sorted.values.empty()) return -INFINITY;
    const SortedEvaluator density = sorted.evaluator(total, h);
    const auto nodes = place_nodes(sorted.values, sorted.values.front() - h, sorted.values.back() + h, h);
    return ModeSearch(density, h, b).compute_relative_log_depth(nodes);
}

}  // namespace ravine
