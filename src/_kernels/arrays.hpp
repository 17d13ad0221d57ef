// Arrays that cross the boundary to Python. They are never converted: a wrong dtype or layout raises a TypeError instead of
// causing a silent copy.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "loops.hpp"
#include "minimise.hpp"

namespace ravine::binding {

namespace nb = nanobind;

using Array = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using MutableArray = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using MutableMatrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Edges = nb::ndarray<const int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using MutableLabels = nb::ndarray<int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using AnyMatrix = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
using OptionalArray = std::optional<Array>;

inline void require(bool condition, const char *message) {
    if (!condition) throw std::invalid_argument(message);
}

inline nb::object new_array(std::vector<double> values, size_t rows, size_t columns) {
    auto *owner = new std::vector<double>(std::move(values));
    nb::capsule capsule(owner, [](void *p) noexcept { delete static_cast<std::vector<double> *>(p); });
    return nb::cast(nb::ndarray<nb::numpy, double, nb::ndim<2>>(owner->data(), {rows, columns}, capsule));
}

inline Projections make_projections(const Array &p, const OptionalArray &q, double c, double s, const OptionalArray &w) {
    require(!q || q->size() == p.size(), "p and q must have the same length");
    require(!w || w->size() == p.size(), "weights must have the length of p");
    return {p.data(), q ? q->data() : nullptr, w ? w->data() : nullptr, c, s, static_cast<int64_t>(p.size())};
}

template <class T>
inline Rows<T> make_rows(const AnyMatrix<T> &x) {
    const auto n = static_cast<int64_t>(x.shape(0)), d = static_cast<int64_t>(x.shape(1));
    int64_t row = x.stride(0), column = x.stride(1);
    if (d <= 1) column = 1;
    if (n == 1 && column != 1) row = 1;
    if (n == 0) return {x.data(), 0, d, d, 1};
    require(row == 1 || column == 1, "X must have adjacent elements along its rows or its columns");
    return {x.data(), n, d, row, column};
}

using Minima = std::tuple<nb::object, bool, int64_t>;

inline Minima pack_minima(const Minimum &minimum) {
    std::vector<double> values;
    for (const auto &m : minimum.minimisers)
        values.insert(values.end(), {m.b, m.log_index, m.density.log_value, m.density.slope, m.density.curvature, m.side});
    return {new_array(std::move(values), minimum.minimisers.size(), 6), minimum.certified, minimum.evaluations};
}

}  // namespace ravine::binding
