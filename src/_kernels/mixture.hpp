// Partitions of rows: k-means from given centers, and Gaussian mixtures from a given partition.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace ravine {

// Rows whose distances are computed together: loops over them have no dependent steps, so that compilers vectorise them.
constexpr int64_t block_rows = 64;

// Rows as columns: loops over the rows of a column have no dependent steps, so that compilers vectorise them.
struct Columns {
    std::vector<double> values;
    int64_t n, d;

    Columns(const double *x, int64_t n_rows, int64_t n_features) : values(n_rows * n_features), n(n_rows), d(n_features) {
        for (int64_t i = 0; i < n; ++i) {
            for (int64_t c = 0; c < d; ++c) values[c * n + i] = x[i * d + c];
        }
    }

    // Squared distances of the rows from first on, `m` of them, to a center.
    void measure(const double *center, int64_t first, int64_t m, double *squares) const {
        std::fill(squares, squares + m, 0.0);
        for (int64_t c = 0; c < d; ++c) {
            const double place = center[c], *column = values.data() + c * n + first;
            for (int64_t r = 0; r < m; ++r) squares[r] += (column[r] - place) * (column[r] - place);
        }
    }
};

// Choose k of n rows as centers by greedy k-means++: of several candidates, each with a probability in proportion to its squared distance
// from the nearest center so far, the one that leaves the least sum of these distances. `random` has k uniform numbers for each candidate.
inline void seed_centers(const double *x, const Columns &rows, int64_t k, const double *random, int64_t n_trials, double *centers) {
    const int64_t n = rows.n, d = rows.d;
    std::vector<double> nearest(n, std::numeric_limits<double>::infinity()), squares(n), best(n);
    double total = 0.0;
    for (int64_t j = 0; j < k; ++j) {
        double least = std::numeric_limits<double>::infinity();
        int64_t place = 0;
        for (int64_t t = 0; t < (j > 0 ? n_trials : 1); ++t) {
            int64_t chosen = std::min<int64_t>(static_cast<int64_t>(random[0] * static_cast<double>(n)), n - 1);
            if (j > 0) {
                double left = random[t * k + j] * total;
                for (chosen = 0; chosen + 1 < n && (left -= nearest[chosen]) >= 0.0;) ++chosen;
            }
            rows.measure(x + chosen * d, 0, n, squares.data());
            double sum = 0.0;
            for (int64_t i = 0; i < n; ++i) sum += squares[i] = std::min(squares[i], nearest[i]);
            if (t == 0 || sum < least) {
                least = sum;
                place = chosen;
                best.swap(squares);
            }
        }
        nearest.swap(best);
        total = least;
        std::copy(x + place * d, x + (place + 1) * d, centers + j * d);
    }
}

// Assign rows to the nearest centers, with the sums and counts of the rows of each. Returns the sum of squared distances, and in `changed`
// whether a label changed.
inline double assign_rows(const double *x, const Columns &rows, int64_t k, const double *centers, int64_t *labels, double *sums,
                          int64_t *counts, bool &changed) {
    const int64_t n = rows.n, d = rows.d;
    std::vector<double> squares(block_rows), nearest(block_rows);
    std::vector<int64_t> best(block_rows);
    std::fill(sums, sums + k * d, 0.0);
    std::fill(counts, counts + k, int64_t{0});
    double total = 0.0;
    changed = false;
    for (int64_t first = 0; first < n; first += block_rows) {
        const int64_t m = std::min(block_rows, n - first);
        std::fill(nearest.begin(), nearest.end(), std::numeric_limits<double>::infinity());
        std::fill(best.begin(), best.end(), int64_t{0});
        for (int64_t j = 0; j < k; ++j) {
            rows.measure(centers + j * d, first, m, squares.data());
            for (int64_t r = 0; r < m; ++r) {
                best[r] = squares[r] < nearest[r] ? j : best[r];
                nearest[r] = std::min(squares[r], nearest[r]);
            }
        }
        for (int64_t r = 0; r < m; ++r) {
            const int64_t j = best[r];
            changed |= labels[first + r] != j;
            labels[first + r] = j;
            total += nearest[r];
            ++counts[j];
            for (int64_t c = 0; c < d; ++c) sums[j * d + c] += x[(first + r) * d + c];
        }
    }
    return total;
}

// Lloyd's iterations from each of several seeds; `random` has `n_trials` rows of k numbers for each. Returns the least sum of squared
// distances.
inline double fit_means(const double *x, int64_t n, int64_t d, int64_t k, const double *random, int64_t n_seeds, int64_t n_trials,
                        int64_t max_steps, int64_t *labels) {
    const Columns rows(x, n, d);
    std::vector<double> centers(k * d), sums(k * d);
    std::vector<int64_t> now(n), counts(k);
    double least = std::numeric_limits<double>::infinity();
    for (int64_t s = 0; s < n_seeds; ++s) {
        seed_centers(x, rows, k, random + s * n_trials * k, n_trials, centers.data());
        std::fill(now.begin(), now.end(), int64_t{-1});
        double total = 0.0;
        for (int64_t step = 0; step < max_steps; ++step) {
            bool changed = false;
            total = assign_rows(x, rows, k, centers.data(), now.data(), sums.data(), counts.data(), changed);
            if (!changed) break;
            for (int64_t j = 0; j < k; ++j) {
                if (counts[j] == 0) continue;
                for (int64_t c = 0; c < d; ++c) centers[j * d + c] = sums[j * d + c] / static_cast<double>(counts[j]);
            }
        }
        if (total < least) {
            least = total;
            std::copy(now.begin(), now.end(), labels);
        }
    }
    return least;
}

// Replace the lower triangle of a symmetric matrix by its Cholesky factor; false if the matrix is not positive definite.
inline bool factorise(double *a, int64_t d) {
    for (int64_t i = 0; i < d; ++i) {
        for (int64_t j = 0; j <= i; ++j) {
            double sum = a[i * d + j];
            for (int64_t c = 0; c < j; ++c) sum -= a[i * d + c] * a[j * d + c];
            if (i == j) {
                if (!(sum > 0.0)) return false;
                a[i * d + i] = std::sqrt(sum);
            } else {
                a[i * d + j] = sum / a[j * d + j];
            }
        }
    }
    return true;
}

// Squared lengths of the solutions of L z = x_i - mean for a lower triangle L and m <= block_rows rows x_i; `z` has room for d of each.
inline void measure_block(const double *x, int64_t m, int64_t d, const double *mean, const double *lower, double *z, double *squares) {
    for (int64_t r = 0; r < m; ++r) {
        for (int64_t c = 0; c < d; ++c) z[c * block_rows + r] = x[r * d + c] - mean[c];
    }
    std::fill(squares, squares + m, 0.0);
    for (int64_t i = 0; i < d; ++i) {
        double *own = z + i * block_rows;
        for (int64_t c = 0; c < i; ++c) {
            const double factor = lower[i * d + c], *other = z + c * block_rows;
            for (int64_t r = 0; r < m; ++r) own[r] -= factor * other[r];
        }
        const double diagonal = lower[i * d + i];
        for (int64_t r = 0; r < m; ++r) {
            own[r] /= diagonal;
            squares[r] += own[r] * own[r];
        }
    }
}

// Fit a Gaussian mixture by EM from a partition, with one covariance matrix for each component or, if `tied`, one for all. `ridge` is
// added to the variances. It ends after a step that changes the mean log-likelihood by less than `tolerance`. Labels are replaced by the
// most probable components; false if a component collapses.
inline bool fit_mixture(const double *x, int64_t n, int64_t d, int64_t k, bool tied, double ridge, int64_t max_steps, double tolerance,
                        int64_t *labels) {
    const int64_t n_matrices = tied ? 1 : k;
    std::vector<double> shares(n * k, 0.0), means(k * d), weights(k), lower(n_matrices * d * d), constants(k), z(d * block_rows),
        squares(block_rows);
    for (int64_t i = 0; i < n; ++i) shares[i * k + labels[i]] = 1.0;
    double last = -std::numeric_limits<double>::infinity();
    for (int64_t step = 0; step < max_steps; ++step) {
        std::fill(means.begin(), means.end(), 0.0);
        std::fill(weights.begin(), weights.end(), 0.0);
        std::fill(lower.begin(), lower.end(), 0.0);
        for (int64_t i = 0; i < n; ++i) {
            for (int64_t j = 0; j < k; ++j) {
                const double share = shares[i * k + j];
                if (share < 1e-12) continue;
                weights[j] += share;
                for (int64_t c = 0; c < d; ++c) means[j * d + c] += share * x[i * d + c];
            }
        }
        for (int64_t j = 0; j < k; ++j) {
            if (weights[j] < 2.0) return false;
            for (int64_t c = 0; c < d; ++c) means[j * d + c] /= weights[j];
        }
        for (int64_t i = 0; i < n; ++i) {
            for (int64_t j = 0; j < k; ++j) {
                const double share = shares[i * k + j];
                if (share < 1e-12) continue;
                double *matrix = lower.data() + (tied ? 0 : j * d * d);
                for (int64_t c = 0; c < d; ++c) z[c] = x[i * d + c] - means[j * d + c];
                for (int64_t a = 0; a < d; ++a) {
                    const double value = share * z[a];
                    for (int64_t b = 0; b <= a; ++b) matrix[a * d + b] += value * z[b];
                }
            }
        }
        for (int64_t j = 0; j < n_matrices; ++j) {
            double *matrix = lower.data() + j * d * d;
            const double total = tied ? static_cast<double>(n) : weights[j];
            for (int64_t c = 0; c < d * d; ++c) matrix[c] /= total;
            for (int64_t c = 0; c < d; ++c) matrix[c * d + c] += ridge;
            if (!factorise(matrix, d)) return false;
        }
        for (int64_t j = 0; j < k; ++j) {
            const double *matrix = lower.data() + (tied ? 0 : j * d * d);
            constants[j] = std::log(weights[j] / static_cast<double>(n));
            for (int64_t c = 0; c < d; ++c) constants[j] -= std::log(matrix[c * d + c]);
        }
        double likelihood = 0.0;
        for (int64_t first = 0; first < n; first += block_rows) {
            const int64_t m = std::min(block_rows, n - first);
            for (int64_t j = 0; j < k; ++j) {
                const double *matrix = lower.data() + (tied ? 0 : j * d * d);
                measure_block(x + first * d, m, d, means.data() + j * d, matrix, z.data(), squares.data());
                for (int64_t r = 0; r < m; ++r) shares[(first + r) * k + j] = constants[j] - 0.5 * squares[r];
            }
            for (int64_t i = first; i < first + m; ++i) {
                double *row = shares.data() + i * k, sum = 0.0;
                labels[i] = std::max_element(row, row + k) - row;
                const double largest = row[labels[i]];
                for (int64_t j = 0; j < k; ++j) sum += row[j] = std::exp(row[j] - largest);
                for (int64_t j = 0; j < k; ++j) row[j] /= sum;
                likelihood += largest + std::log(sum);
            }
        }
        likelihood /= static_cast<double>(n);
        if (!std::isfinite(likelihood)) return false;
        if (std::abs(likelihood - last) < tolerance) break;
        last = likelihood;
    }
    return true;
}

}  // namespace ravine
