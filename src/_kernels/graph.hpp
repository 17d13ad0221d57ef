// Neighbour graphs: the hyperplane along given directions that cuts the fewest edges, and distances between two groups of rows.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace ravine {

struct Cut {
    double value = std::numeric_limits<double>::infinity();
    int64_t direction = -1;
    double threshold = 0.0;
};

// Find the direction and the threshold of least normalised cut. `projections` has one row of m values for each of k directions;
// `edges` has pairs of positions below m. Each side keeps at least `fewest` positions. Of equal cuts, the widest gap wins.
inline Cut sweep_cuts(const double *projections, int64_t k, int64_t m, const int64_t *edges, int64_t n_edges, int64_t fewest) {
    std::vector<int64_t> degree(m, 0), order(m), rank(m), change(m);
    for (int64_t e = 0; e < 2 * n_edges; ++e) ++degree[edges[e]];
    const double total = 2.0 * static_cast<double>(n_edges);
    Cut best;
    double widest = 0.0;
    for (int64_t j = 0; j < k; ++j) {
        const double *p = projections + j * m;
        std::iota(order.begin(), order.end(), int64_t{0});
        std::sort(order.begin(), order.end(), [p](int64_t a, int64_t b) { return p[a] < p[b] || (p[a] == p[b] && a < b); });
        for (int64_t i = 0; i < m; ++i) rank[order[i]] = i;
        std::fill(change.begin(), change.end(), int64_t{0});
        for (int64_t e = 0; e < n_edges; ++e) {
            const int64_t a = rank[edges[2 * e]], b = rank[edges[2 * e + 1]];
            ++change[std::min(a, b)];
            --change[std::max(a, b)];
        }
        int64_t crossing = 0, volume = 0;
        for (int64_t i = 0; i + 1 < m; ++i) {
            crossing += change[i];
            volume += degree[order[i]];
            if (i + 1 < fewest || m - 1 - i < fewest) continue;
            const double low = p[order[i]], high = p[order[i + 1]];
            const double rest = total - static_cast<double>(volume), threshold = low + 0.5 * (high - low);
            if (!(threshold > low && threshold < high) || volume == 0 || rest <= 0.0) continue;
            const double value = static_cast<double>(crossing) * total / (static_cast<double>(volume) * rest);
            if (value < best.value || (value == best.value && high - low > widest)) {
                best = {value, j, threshold};
                widest = high - low;
            }
        }
    }
    return best;
}

// The q smallest of some numbers, in increasing order.
class Smallest {
  public:
    explicit Smallest(int64_t q) : values_(q, std::numeric_limits<double>::infinity()) {}

    void add(double x) {
        if (values_.empty() || !(x < values_.back())) return;
        size_t i = values_.size() - 1;
        for (; i > 0 && values_[i - 1] > x; --i) values_[i] = values_[i - 1];
        values_[i] = x;
    }

    const std::vector<double> &values() const { return values_; }

    double mean_root() const {
        double sum = 0.0;
        for (const double x : values_) sum += std::sqrt(x);
        return sum / static_cast<double>(values_.size());
    }

  private:
    std::vector<double> values_;
};

// Measure the distances of m rows, of which the first `first` are one group, to their nearest other rows. `out` has 4 rows of m:
// mean distance to the `few` nearest of the own group, to those of the other group, to every second of the `many` nearest of all, and
// the sum of the logarithms of the ratios of the last of these to each other one.
inline void measure_contact(const double *x, int64_t m, int64_t d, int64_t first, int64_t few, int64_t many, double *out) {
    const int64_t n_all = std::min(many, m - 1);
    for (int64_t i = 0; i < m; ++i) {
        const int64_t n_own = i < first ? first : m - first;
        Smallest own(std::min(few, n_own - 1)), other(std::min(few, m - n_own)), all(n_all);
        for (int64_t j = 0; j < m; ++j) {
            if (j == i) continue;
            double square = 0.0;
            for (int64_t c = 0; c < d; ++c) {
                const double step = x[i * d + c] - x[j * d + c];
                square += step * step;
            }
            ((i < first) == (j < first) ? own : other).add(square);
            all.add(square);
        }
        const auto &near = all.values();
        const double last = std::sqrt(near.back());
        double sum = 0.0, ratios = 0.0;
        int64_t count = 0;
        for (int64_t r = 0; r < n_all; ++r) {
            if (r % 2 == 1 || n_all == 1) {
                sum += std::sqrt(near[r]);
                ++count;
            }
            if (r + 1 < n_all && near[r] > 0.0) ratios += std::log(last) - 0.5 * std::log(near[r]);
        }
        out[i] = own.values().empty() ? last : own.mean_root();
        out[m + i] = other.mean_root();
        out[2 * m + i] = sum / static_cast<double>(count);
        out[3 * m + i] = ratios;
    }
}

}  // namespace ravine
