// Partitions of rows: k-means from given centers, and Gaussian mixtures from a given partition.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace ravine {

// Squared distance of two points.
inline double square_distance(const double *a, const double *b, int64_t d) {
    double sum = 0.0;
    for (int64_t c = 0; c < d; ++c) {
        const double step = a[c] - b[c];
        sum += step * step;
    }
    return sum;
}

// Choose k of n rows as centers by k-means++: each with a probability in proportion to its squared distance from the nearest center so
// far. `random` has k uniform numbers.
inline void seed_centers(const double *x, int64_t n, int64_t d, int64_t k, const double *random, double *centers) {
    std::vector<double> nearest(n, std::numeric_limits<double>::infinity());
    int64_t chosen = std::min<int64_t>(static_cast<int64_t>(random[0] * static_cast<double>(n)), n - 1);
    for (int64_t j = 0; j < k; ++j) {
        if (j > 0) {
            double total = 0.0;
            for (const double value : nearest) total += value;
            double left = random[j] * total;
            for (chosen = 0; chosen + 1 < n && (left -= nearest[chosen]) >= 0.0;) ++chosen;
        }
        std::copy(x + chosen * d, x + (chosen + 1) * d, centers + j * d);
        for (int64_t i = 0; i < n; ++i) nearest[i] = std::min(nearest[i], square_distance(x + i * d, centers + j * d, d));
    }
}

// Lloyd's iterations from the best of several seeds; `random` has `n_seeds` rows of k numbers. Returns the sum of squared distances.
inline double fit_means(const double *x, int64_t n, int64_t d, int64_t k, const double *random, int64_t n_seeds, int64_t max_steps,
                        int64_t *labels) {
    std::vector<double> centers(k * d), sums(k * d);
    std::vector<int64_t> now(n), counts(k);
    double least = std::numeric_limits<double>::infinity();
    for (int64_t s = 0; s < n_seeds; ++s) {
        seed_centers(x, n, d, k, random + s * k, centers.data());
        std::fill(now.begin(), now.end(), int64_t{-1});
        double total = 0.0;
        for (int64_t step = 0; step < max_steps; ++step) {
            bool changed = false;
            total = 0.0;
            std::fill(sums.begin(), sums.end(), 0.0);
            std::fill(counts.begin(), counts.end(), int64_t{0});
            for (int64_t i = 0; i < n; ++i) {
                int64_t best = 0;
                double nearest = std::numeric_limits<double>::infinity();
                for (int64_t j = 0; j < k; ++j) {
                    const double square = square_distance(x + i * d, centers.data() + j * d, d);
                    if (square < nearest) {
                        nearest = square;
                        best = j;
                    }
                }
                changed |= now[i] != best;
                now[i] = best;
                total += nearest;
                ++counts[best];
                for (int64_t c = 0; c < d; ++c) sums[best * d + c] += x[i * d + c];
            }
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

// Rows whose distances are computed together: loops over them have no dependent steps, so that compilers vectorise them.
constexpr int64_t block_rows = 64;

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
