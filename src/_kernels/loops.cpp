// Compiled once per instruction set; RAVINE_ARCH is the namespace. No included header has inline library code that the
// linker could share between the two objects, so that no AVX2 code ends up in the baseline.
#include "lanes.hpp"
#include "loops.hpp"

#include <cmath>
#include <cstring>

namespace ravine {
namespace RAVINE_ARCH {
namespace {

constexpr int kChunk = 256;

// x[i] <- exp(x[i]); the array must have room for a multiple of kLanes elements.
inline void exp_all(double *x, int64_t count) {
    for (int64_t i = count; i % kLanes; ++i) x[i] = 0.0;
    for (int64_t i = 0; i < count; i += kLanes) store(x + i, exp_lanes(load(x + i)));
}

inline int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }

// Return one chunk of projections at the current angle of the great circle.
inline const double *combine(const Projections &x, int64_t first, int64_t count, double *buffer) {
    if (!x.q) return x.p + first;
    const double *p = x.p + first, *q = x.q + first;
    const double c = x.c, s = x.s;
    for (int64_t i = 0; i < count; ++i) buffer[i] = c * p[i] + s * q[i];
    return buffer;
}

void rotate(double *p, const double *q, double c, double s, int64_t n) {
    for (int64_t i = 0; i < n; ++i) p[i] = c * p[i] + s * q[i];
}

// ---------------------------------------------------------------------------------------------- projection

// The last columns of a row that do not fill a group of lanes are read with the ones before them, which count as zero.
// Rows with fewer columns than lanes have no such group.
inline Lanes keep_last(const double *x, int64_t d) {
    double kept[kLanes] = {0.0, 0.0, 0.0, 0.0};
    const int64_t n_kept = d % kLanes == 0 ? kLanes : d % kLanes;
    for (int64_t l = kLanes - n_kept; l < kLanes && d >= kLanes; ++l) kept[l] = x ? x[d - kLanes + l] : 1.0;
    return load(kept);
}

// Project kRows rows at a time. The order of additions is always the same, so that the projection of a row does not
// depend on its position.
template <int kRows, class T>
inline void project_row_group(const T *row, int64_t row_stride, int64_t d, const double *center, const double *v, Lanes last,
                              double *out) {
    Lanes sums[kRows];
    for (int r = 0; r < kRows; ++r) sums[r] = broadcast(0.0);
    int64_t j = 0;
    for (; j + kLanes <= d; j += kLanes) {
        const Lanes m = load(center + j), f = load(v + j);
        for (int r = 0; r < kRows; ++r) sums[r] += (load(row + r * row_stride + j) - m) * f;
    }
    if (j < d) {
        const Lanes m = load(center + d - kLanes);
        for (int r = 0; r < kRows; ++r) sums[r] += (load(row + r * row_stride + d - kLanes) - m) * last;
    }
    for (int r = 0; r < kRows; ++r) out[r] = sum(sums[r]);
}

template <class T>
void project_rows(Rows<T> x, const double *center, const double *v, double *out) {
    const Lanes last = keep_last(v, x.d);
    int64_t i = 0;
    for (; i + 4 <= x.n; i += 4)
        project_row_group<4>(x.data + i * x.row_stride, x.row_stride, x.d, center, v, last, out + i);
    for (; i < x.n; ++i) project_row_group<1>(x.data + i * x.row_stride, x.row_stride, x.d, center, v, last, out + i);
}

template <class T>
void project_short_rows(Rows<T> x, const double *center, const double *v, double *out) {
    for (int64_t i = 0; i < x.n; ++i) {
        out[i] = 0.0;
        for (int64_t j = 0; j < x.d; ++j) out[i] += (static_cast<double>(x.data[i * x.row_stride + j]) - center[j]) * v[j];
    }
}

template <class T>
void project_columns(Rows<T> x, const double *center, const double *v, double *out) {
    for (int64_t i = 0; i < x.n; ++i) out[i] = 0.0;
    for (int64_t j = 0; j < x.d; ++j) {
        const T *column = x.data + j * x.col_stride;
        const double m = center[j], f = v[j];
        for (int64_t i = 0; i < x.n; ++i) out[i] += (static_cast<double>(column[i]) - m) * f;
    }
}

template <class T>
void project(Rows<T> x, const double *center, const double *directions, int64_t k, double *const *out) {
    for (int64_t first = 0; first < x.n; first += kChunk) {
        const int64_t count = at_most(kChunk, x.n - first);
        const Rows<T> chunk{x.data + first * x.row_stride, count, x.d, x.row_stride, x.col_stride};
        for (int64_t l = 0; l < k; ++l) {  // the chunk stays in the cache for all directions
            if (x.col_stride == 1 && x.d < kLanes)
                project_short_rows(chunk, center, directions + l * x.d, out[l] + first);
            else if (x.col_stride == 1)
                project_rows(chunk, center, directions + l * x.d, out[l] + first);
            else
                project_columns(chunk, center, directions + l * x.d, out[l] + first);
        }
    }
}

// ---------------------------------------------------------------------------------------------- binned density

// Add the powers of the place of a projection in its bin, times its weight, to the moments of the bin.
inline void add_powers(double place, double weight, double *m) {
    const double square = place * place, fourth = square * square;
    const double low[4] = {weight, weight * place, weight * square, weight * (square * place)};
    for (int k = 0; k < 4; ++k) m[k] += low[k];
    for (int k = 0; k < 4; ++k) m[k + 4] += low[k] * fourth;
}

// Do the same for a group of projections.
inline void add_powers(Lanes place, Lanes weight, const int32_t *bin, double *moments) {
    static_assert(kMoments == 2 * kLanes, "two groups of powers");
    const Lanes square = place * place, fourth = square * square;
    Lanes powers[kLanes] = {weight, weight * place, weight * square, weight * (square * place)};
    transpose(powers);  // now one vector for each projection
    for (int i = 0; i < kLanes; ++i) {
        double *m = moments + int64_t{kMoments} * bin[i];
        store(m, load(m) + powers[i]);
        store(m + kLanes, load(m + kLanes) + powers[i] * broadcast(fourth[i]));
    }
}

void bin(Projections x, double lo, double width, int64_t n_bins, double *moments) {
    const double inverse = 1.0 / width, top = static_cast<double>(n_bins) + 1.5;
    double buffer[kChunk], place[kChunk];
    int32_t index[kChunk];
    for (int64_t first = 0; first < x.n; first += kChunk) {
        const int64_t count = at_most(kChunk, x.n - first);
        const double *z = combine(x, first, count, buffer);
        for (int64_t i = 0; i < count; ++i) {
            double t = (z[i] - lo) * inverse + 1.0;
            t = t > 0.5 ? t : 0.5;  // in this form NaN ends up in the first bin, too, which is never read
            t = t < top ? t : top;
            const int32_t j = static_cast<int32_t>(t);
            index[i] = j;
            place[i] = t - j - 0.5;
        }
        const double *w = x.w ? x.w + first : nullptr;
        int64_t i = 0;
        for (; kLanesFitRegister && i + kLanes <= count; i += kLanes)
            add_powers(load(place + i), w ? load(w + i) : broadcast(1.0), index + i, moments);
        for (; i < count; ++i) add_powers(place[i], w ? w[i] : 1.0, moments + int64_t{kMoments} * index[i]);
    }
}

void evaluate(const double *coefficients, int64_t n_bins, double lo, double h, double b, double out[3]) {
    constexpr double width = 1.0 / kBinsPerBandwidth;
    const double place = (b - lo) / h * kBinsPerBandwidth;  // b in bins from the left edge
    const double reach = kReach * kBinsPerBandwidth;
    int64_t first = 0, last = n_bins;
    if (place - reach > 0.0) first = place - reach < static_cast<double>(n_bins) ? static_cast<int64_t>(place - reach) : n_bins;
    if (place + reach < static_cast<double>(n_bins)) last = place + reach > 0.0 ? static_cast<int64_t>(place + reach) + 1 : 0;
    first -= first % kLanes;
    Lanes value = broadcast(0.0), slope = broadcast(0.0), curvature = broadcast(0.0);
    const Lanes steps = {0.5, 1.5, 2.5, 3.5};
    // From one group of bins to the next u decreases by 1, so exp(-u^2/2) is multiplied by exp(u - 1/2), which is itself
    // divided by e. At most 17 groups are in reach, so that rounding errors do not add up.
    constexpr double inverse_e = 0.36787944117144233;
    static_assert(kLanes == kBinsPerBandwidth, "a group of bins is one bandwidth wide");
    Lanes u = (broadcast(place - static_cast<double>(first)) - steps) * broadcast(width);
    Lanes kernel = exp_lanes(u * u * broadcast(-0.5)), ratio = exp_lanes(u - broadcast(0.5));
    for (int64_t j = first; j < last; j += kLanes) {  // n_bins is a multiple of kLanes
        // Hermite functions He_k(u) exp(-u^2/2); the derivative of the k-th is minus the (k+1)-th.
        Lanes f0 = kernel, f1 = u * f0;
        for (int k = 0; k < kMoments; ++k) {
            const Lanes m = load(coefficients + k * n_bins + j), f2 = u * f1 - broadcast(k + 1) * f0;
            value += m * f0;
            slope -= m * f1;
            curvature += m * f2;
            f0 = f1;
            f1 = f2;
        }
        kernel *= ratio;
        ratio *= broadcast(inverse_e);
        u -= broadcast(1.0);
    }
    out[0] = sum(value);
    out[1] = sum(slope);
    out[2] = sum(curvature);
}

// ---------------------------------------------------------------------------------------------- exact sums

inline double square(double x) { return x * x; }

// Distance (in h) beyond which rows are below 1e-16 of a sum near b: (p - b)^2 > d_min^2 + 2 h^2 ln(1e16 n), where n is
// the weight of all rows relative to that of the nearest.
inline double compute_relevant_distance(double nearest, double n) {
    return std::sqrt(square(nearest) + 2.0 * (36.841361487904734 + std::log(n < 1.0 ? 1.0 : n)));
}

inline int64_t find_first_at_least(const double *p, int64_t n, double b) {
    int64_t low = 0;
    while (n > 0) {
        const int64_t half = n / 2;
        if (p[low + half] < b) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return low;
}

LogDensity evaluate_sorted(const double *p, const double *w, int64_t n, double total, double h, double b) {
    int64_t right = find_first_at_least(p, n, b), left = right - 1;
    while (w && right < n && !(w[right] > 0.0)) ++right;
    while (w && left >= 0 && !(w[left] > 0.0)) --left;
    double nearest = INFINITY, weight = 1.0;
    if (right < n) {
        nearest = (p[right] - b) / h;
        weight = w ? w[right] : 1.0;
    }
    if (left >= 0 && (b - p[left]) / h < nearest) {
        nearest = (b - p[left]) / h;
        weight = w ? w[left] : 1.0;
    }
    if (!(nearest < INFINITY)) return {-INFINITY, 0.0, 0.0};
    const double reach = compute_relevant_distance(nearest, total / weight);
    // In gaps of more than 1e8 h the reach rounds to the distance of the nearest rows, which must be included.
    int64_t first = find_first_at_least(p, n, b - reach * h), last = find_first_at_least(p, n, b + reach * h);
    if (left >= 0 && first > left) first = left;
    if (right < n && last < right + 1) last = right + 1;
    const double half_nearest = 0.5 * square(nearest);
    double sum = 0.0, sum1 = 0.0, sum2 = 0.0;
    double k[kChunk], u[kChunk];
    for (int64_t i0 = first; i0 < last; i0 += kChunk) {
        const int64_t count = at_most(kChunk, last - i0);
        for (int64_t i = 0; i < count; ++i) {
            u[i] = (p[i0 + i] - b) / h;
            const double exponent = half_nearest - 0.5 * square(u[i]);
            k[i] = exponent < 0.0 ? exponent : 0.0;
        }
        exp_all(k, count);
        if (w)
            for (int64_t i = 0; i < count; ++i) k[i] *= w[i0 + i];
        for (int64_t i = 0; i < count; ++i) {
            sum += k[i];
            sum1 += k[i] * u[i];
            sum2 += k[i] * u[i] * u[i];
        }
    }
    if (!(sum > 0.0)) return {-INFINITY, 0.0, 0.0};
    const double mean = sum1 / sum;
    return {std::log(sum / total) - half_nearest, mean, sum2 / sum - square(mean) - 1.0};
}

double log_sum(Projections x, double h, double b) {
    double buffer[kChunk];
    double nearest = INFINITY;
    for (int64_t first = 0; first < x.n; first += kChunk) {
        const int64_t count = at_most(kChunk, x.n - first);
        const double *z = combine(x, first, count, buffer);
        for (int64_t i = 0; i < count; ++i) {
            const double u = std::fabs(z[i] - b) / h;
            if (u < nearest && (!x.w || x.w[first + i] > 0.0)) nearest = u;
        }
    }
    if (!(nearest < INFINITY)) return -INFINITY;
    double sum = 0.0;
    const double half_nearest = 0.5 * square(nearest);
    double k[kChunk];
    for (int64_t first = 0; first < x.n; first += kChunk) {
        const int64_t count = at_most(kChunk, x.n - first);
        const double *z = combine(x, first, count, buffer);
        for (int64_t i = 0; i < count; ++i) {
            const double exponent = half_nearest - 0.5 * square((z[i] - b) / h);
            k[i] = exponent < 0.0 ? exponent : 0.0;
        }
        exp_all(k, count);
        if (x.w)
            for (int64_t i = 0; i < count; ++i) k[i] *= x.w[first + i];
        for (int64_t i = 0; i < count; ++i) sum += k[i];
    }
    return std::log(sum) - half_nearest;
}

// Rows of one chunk within `reach` of b: their indices in the chunk, u = (x - b)/h, and w K(u) exp(-log_sum).
struct NearRows {
    int32_t index[kChunk];
    double u[kChunk], k[kChunk];
    int64_t count;
};

inline void find_near(const Projections &x, int64_t first, int64_t count, double h, double b, double log_sum, double reach,
                      double *buffer, NearRows &near) {
    const double *z = combine(x, first, count, buffer);
    const double inverse = 1.0 / h, limit = reach * inverse;
    double u[kChunk];
    for (int64_t i = 0; i < count; ++i) u[i] = (z[i] - b) * inverse;
    int64_t found = 0;
    for (int64_t i = 0; i < count; ++i) {
        near.index[found] = static_cast<int32_t>(i);
        near.u[found] = u[i];
        found += std::fabs(u[i]) <= limit;
    }
    for (int64_t i = 0; i < found; ++i) {
        const double exponent = -0.5 * square(near.u[i]) - log_sum;
        near.k[i] = exponent < 700.0 ? exponent : 700.0;  // larger only for rows of weight 0 in a deep valley
    }
    exp_all(near.k, found);
    if (x.w)
        for (int64_t i = 0; i < found; ++i) near.k[i] *= x.w[first + near.index[i]];
    near.count = found;
}

double along(Projections x, double h, double b, double log_sum, double reach) {
    double buffer[kChunk];
    NearRows near;
    double sum = 0.0;
    for (int64_t first = 0; first < x.n; first += kChunk) {
        find_near(x, first, at_most(kChunk, x.n - first), h, b, log_sum, reach, buffer, near);
        const double *p = x.p + first, *q = x.q + first;
        for (int64_t i = 0; i < near.count; ++i)
            sum -= near.k[i] * near.u[i] * (x.c * q[near.index[i]] - x.s * p[near.index[i]]);
    }
    return sum / h;
}

// out_j += sum_i k_i (x_ij - center_j) over some rows of at most 4 kGroups columns, with two sums for each column in
// registers: for even and odd rows, so that fewer additions wait for each other.
template <int kGroups, class T>
inline void add_narrow_rows(const T *base, const Rows<T> &rows, const NearRows &near, const double *center, Lanes last, double *out) {
    const int64_t tail = rows.d - kLanes;  // first column of the last group, which overlaps the one before it
    Lanes sums[2][kGroups], m[kGroups];
    for (int g = 0; g < kGroups; ++g) {
        m[g] = load(center + (g < kGroups - 1 ? g * kLanes : tail));
        sums[0][g] = sums[1][g] = broadcast(0.0);
    }
    auto add = [&](int64_t i, Lanes *into) {
        const T *row = base + near.index[i] * rows.row_stride;
        const Lanes k = broadcast(near.k[i]);
        for (int g = 0; g < kGroups - 1; ++g) into[g] += (load(row + g * kLanes) - m[g]) * k;
        into[kGroups - 1] += (load(row + tail) - m[kGroups - 1]) * (last * k);
    };
    int64_t i = 0;
    for (; i + 2 <= near.count; i += 2) {
        add(i, sums[0]);
        add(i + 1, sums[1]);
    }
    if (i < near.count) add(i, sums[0]);
    for (int g = 0; g < kGroups; ++g) {
        double *target = out + (g < kGroups - 1 ? g * kLanes : tail);
        store(target, load(target) + (sums[0][g] + sums[1][g]));
    }
}

// out_j += sum_r k_r (x_rj - center_j) over kRows rows at once, so that `out` is read and written only once for them.
template <int kRows, class T>
inline void add_rows(const T *base, const Rows<T> &rows, const int32_t *index, const double *k, const double *center,
                     Lanes last, double *out) {
    const T *row[kRows];
    for (int r = 0; r < kRows; ++r) row[r] = base + index[r] * rows.row_stride;
    int64_t j = 0;
    for (; j + kLanes <= rows.d; j += kLanes) {
        const Lanes m = load(center + j);
        Lanes sums = load(out + j);
        for (int r = 0; r < kRows; ++r) sums += (load(row[r] + j) - m) * broadcast(k[r]);
        store(out + j, sums);
    }
    if (j < rows.d) {
        j = rows.d - kLanes;
        const Lanes m = load(center + j);
        Lanes sums = load(out + j);
        for (int r = 0; r < kRows; ++r) sums += (load(row[r] + j) - m) * (last * broadcast(k[r]));
        store(out + j, sums);
    }
}

template <class T>
void pull_back(Rows<T> rows, const double *center, Projections x, double h, double b, double log_sum, double reach,
               double *out) {
    double buffer[kChunk];
    NearRows near;
    const double inverse = 1.0 / h;
    const Lanes last = keep_last(nullptr, rows.d);
    for (int64_t first = 0; first < x.n; first += kChunk) {
        find_near(x, first, at_most(kChunk, x.n - first), h, b, log_sum, reach, buffer, near);
        for (int64_t i = 0; i < near.count; ++i) near.k[i] *= -near.u[i] * inverse;
        const T *base = rows.data + first * rows.row_stride;
        if (rows.col_stride == 1 && rows.d >= kLanes && rows.d <= 4 * kLanes) {
            switch ((rows.d + kLanes - 1) / kLanes) {
                case 1: add_narrow_rows<1>(base, rows, near, center, last, out); break;
                case 2: add_narrow_rows<2>(base, rows, near, center, last, out); break;
                case 3: add_narrow_rows<3>(base, rows, near, center, last, out); break;
                default: add_narrow_rows<4>(base, rows, near, center, last, out); break;
            }
        } else if (rows.col_stride == 1 && rows.d >= kLanes) {
            int64_t i = 0;
            for (; i + 4 <= near.count; i += 4) add_rows<4>(base, rows, near.index + i, near.k + i, center, last, out);
            for (; i < near.count; ++i) add_rows<1>(base, rows, near.index + i, near.k + i, center, last, out);
        } else {
            for (int64_t j = 0; j < rows.d; ++j) {
                const T *column = base + j * rows.col_stride;
                const double m = center[j];
                double sum = 0.0;
                for (int64_t i = 0; i < near.count; ++i)
                    sum += near.k[i] * (static_cast<double>(column[near.index[i] * rows.row_stride]) - m);
                out[j] += sum;
            }
        }
    }
}

#define RAVINE_TEXT_(x) #x
#define RAVINE_TEXT(x) RAVINE_TEXT_(x)

}  // namespace

const Loops &table() {
    static const Loops loops = {RAVINE_TEXT(RAVINE_ARCH), project<double>, project<float>, rotate, bin, evaluate,
                                evaluate_sorted, log_sum, along, pull_back<double>, pull_back<float>};
    return loops;
}

}  // namespace RAVINE_ARCH
}  // namespace ravine
