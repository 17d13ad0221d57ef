// Arithmetic of short vectors: normals, tangents and gradients.
#pragma once
#include <cmath>
#include <cstddef>
#include <vector>

namespace ravine {

using Vector = std::vector<double>;

// Four partial sums: independent chains of additions, in an order that depends only on the length.
inline double dot(const double *a, const double *b, size_t n) {
    double sums[4] = {0.0, 0.0, 0.0, 0.0};
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t k = 0; k < 4; ++k) sums[k] += a[i + k] * b[i + k];
    for (; i < n; ++i) sums[0] += a[i] * b[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}
inline double dot(const Vector &a, const Vector &b) { return dot(a.data(), b.data(), a.size()); }

// y += factor * x
inline void add_scaled(double *y, double factor, const double *x, size_t n) {
    for (size_t i = 0; i < n; ++i) y[i] += factor * x[i];
}
inline void add_scaled(Vector &y, double factor, const Vector &x) { add_scaled(y.data(), factor, x.data(), y.size()); }

inline void scale(Vector &x, double factor) {
    for (double &value : x) value *= factor;
}

inline Vector combine(double a, const Vector &x, double b, const Vector &y) {
    Vector out(x.size());
    for (size_t i = 0; i < x.size(); ++i) out[i] = a * x[i] + b * y[i];
    return out;
}

inline void normalise(Vector &x) {
    const double length = std::sqrt(dot(x, x));
    for (double &value : x) value /= length;
}

// Remove the component of x along the unit vector v.
inline void project_to_tangent(Vector &x, const Vector &v) { add_scaled(x, -dot(x, v), v); }

// Make a direction a unit tangent at v, orthogonal to v up to rounding.
inline Vector make_unit_tangent(Vector direction, const Vector &v) {
    normalise(direction);
    project_to_tangent(direction, v);
    normalise(direction);
    return direction;
}

// The unit vector cos t v + sin t u of the great circle through v with the unit tangent u.
inline Vector move_on_circle(const Vector &v, const Vector &u, double t) {
    Vector out = combine(std::cos(t), v, std::sin(t), u);
    normalise(out);
    return out;
}

// Transport a tangent vector at v along cos t v + sin t u; parallel transport preserves inner products.
inline void transport(double *x, const Vector &v, const Vector &u, double t) {
    const double along = dot(x, u.data(), u.size());
    add_scaled(x, along * (std::cos(t) - 1.0), u.data(), u.size());
    add_scaled(x, -along * std::sin(t), v.data(), v.size());
}

}  // namespace ravine
