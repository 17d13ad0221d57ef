"""Rows of a sparse matrix, which is centred without storing its zeros, and their sample."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.rows.array import ArrayRows, DenseSample
from ravine.rows.base import SMALLEST_UNIT, Indices, Rows, round_to_power_of_two
from ravine.rows.moments import Moments, ProductMoments, StoredMoments
from ravine.rows.projections import BLOCK_ROWS, SharedPassSample, find_near
from ravine.rows.questions import (
    CovarianceProduct,
    Gradient,
    GradientNoise,
    ProjectionRequest,
    Request,
    RowsIn,
    RowSumRequest,
    SetDirection,
)

# Up to this many features the covariance is stored; with more, only its products with vectors are ever formed.
STORED_FEATURES = 1000
# Beyond this ratio of squared mean to variance, projections and second moments about zero lose too many digits.
OFF_CENTRE = 1e2
# If more than this share of all values is stored, the covariance is faster from small dense blocks.
WORTH_DENSE_BLOCKS = 0.25
# Rows are gathered for a sum if they are fewer than this share of all; otherwise the others take part with zeros.
WORTH_GATHERING = 0.25
# Largest dense array that is made of rows.
MOST_BYTES = 1 << 32
# Up to this many values the sample is an array, for which a whole stage of the search is one call into C++.
FEW_VALUES = 1 << 12
# Up to this many values, rows of at most `STORED_FEATURES` features are an array in a test: 64 MB.
SMALL_VALUES = 1 << 23
# Numbers of a block of projections on many directions.
BLOCK_NUMBERS = 1 << 20
T = TypeVar("T")
# A value that differs from the origin by less than this share of it loses digits in X·v − origin·v.
NEAR = 1e-2


class SparseRows(Rows):
    """Rows of a sparse matrix, which is not densified as a whole unless it is small.

    Parameters
    ----------
    matrix : scipy.sparse.csr_array or csr_matrix of shape (n, d)
        Not changed.
    """

    in_memory = True
    is_sparse = True
    needs_row_space = False

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix
        self.shape = matrix.shape

    @property
    def data(self) -> Any:
        """The matrix."""
        return self.matrix

    def take(self, indices: Indices) -> NDArray[np.floating[Any]]:
        """Copy some rows into an array that stores the zeros, too."""
        return np.asarray(self.matrix[indices].toarray())

    def glance(self, most: int) -> tuple[Array, Indices]:
        """Return rows at equal distances, in the features most of whose values are stored."""
        few = self.matrix[:: -(-self.shape[0] // most)]
        columns = np.flatnonzero(2 * count_stored(few) > few.shape[0])
        return np.asarray(few[:, columns].toarray(), dtype=np.float64), columns

    def subset(self, indices: Indices, copy: bool | None = None) -> SparseRows:
        """Return some rows, always as a copy."""
        return self._copy(indices)

    def _copy(self, indices: Indices) -> SparseRows:
        return SparseRows(self.matrix[indices])

    def densify_if_small(self) -> Rows:
        """Return rows of few values and features as rows of an array."""
        n, d = self.shape
        return ArrayRows(self.matrix.toarray()) if d <= STORED_FEATURES and n * d <= SMALL_VALUES else self

    def column(self, j: int, indices: Indices | None = None) -> NDArray[np.floating[Any]]:
        """Return one feature of the rows."""
        some = self.matrix if indices is None else self.matrix[indices]
        return np.asarray(some[:, [j]].toarray()[:, 0])

    def project(self, center: Array, direction: Array, indices: Indices | None = None) -> Array:
        """Compute ``(x - center) @ direction``."""
        some = self.matrix if indices is None else self.matrix[indices]
        if not some.has_canonical_format:
            some = some.copy()
            some.sum_duplicates()  # otherwise a value that is stored in two parts would be shifted twice
        return CentredMatrix.about(some, center, find_near_columns(some, center)).times(direction)

    def apply(self, function: Callable[[Any], NDArray[Any]], indices: Indices | None = None) -> NDArray[Any]:
        """Apply a function to all rows at once, as a sparse matrix."""
        return function(self.matrix if indices is None else self.matrix[indices])

    def sample(
        self, weights: Array | None = None, pool: ThreadPoolExecutor | None = None, indices: Indices | None = None
    ) -> SparseSample | DenseSample:
        """Return the sample that answers the questions of a fit; few values are copied into an array."""
        some = self.matrix if indices is None else self.matrix[indices]
        if some.shape[0] * some.shape[1] <= FEW_VALUES:
            return DenseSample(some.toarray(), weights, pool=pool)
        return SparseSample(some, weights, pool=pool)


class SparseSample(SharedPassSample):
    """Sample of a matrix in compressed sparse rows with optional weights; it is neither changed nor densified.

    Projections are X·v − mean·v; only the values of columns that are far from zero for their spread are shifted, in a
    copy (see `CentredMatrix`). The covariance is stored up to a thousand features; with more features only its products
    with vectors, Xᵀ(X·v), are formed.

    Parameters
    ----------
    X : scipy.sparse.csr_array or csr_matrix of shape (n, d), float64
        In canonical format, without duplicate entries.
    weights : ndarray of shape (n,), float64, optional
        Non-negative, not all zero.
    """

    def __init__(self, X: Any, weights: Array | None = None, *, pool: ThreadPoolExecutor | None = None) -> None:
        self._squared_lengths: Array | None = None
        self._set_size(X.shape, weights, pool, BLOCK_ROWS)
        self._centre(X)

    # ------------------------------------------------------------------------------------------- moments

    def _centre(self, X: Any) -> None:
        """Set mean, unit, the variances of the features, and the matrix centred about the mean."""
        scale = round_to_power_of_two(max(float(X.data.max(initial=0.0)), -float(X.data.min(initial=0.0))))
        sums, squares = sum_columns(X, self.weights, scale)
        mean = sums / self.total
        variances = np.maximum(squares / self.total - mean**2, 0.0)
        off_centre = mean**2 > OFF_CENTRE * variances
        if off_centre.any():  # rows of negligible weight may store nothing there: then zeros stay implicit
            off_centre &= 2 * count_stored(X) > self.n_rows
        self.origin = mean * scale
        self._matrix = CentredMatrix.about(X, self.origin, off_centre)
        if off_centre.any():
            w = np.ones(self.n_rows) if self.weights is None else self.weights
            self.origin = self.origin + np.where(off_centre, self._matrix.transpose_times(w / self.total), 0.0)
            del self._matrix  # otherwise there would be two copies
            self._matrix = CentredMatrix.about(X, self.origin, off_centre)
            variances = np.where(off_centre, self._mean_squares(scale), variances)
        self.unit = max(scale * round_to_power_of_two(math.sqrt(float(variances.sum()))), SMALLEST_UNIT)
        self._column_variances = variances * (scale / self.unit) ** 2

    def _mean_squares(self, scale: float) -> Array:
        """Return the mean squares of the shifted values of each column, stored or missing."""
        parts = (self._matrix.shifted, self._matrix.missing)
        return sum(sum_columns(part, self.weights, scale)[1] for part in parts if part is not None) / self.total  # type: ignore[return-value]

    @property
    def column_variances(self) -> Array:
        """Variances of the features, in working units; those of all rows also for a sample of some."""
        return self._column_variances

    def moments(self) -> Moments:
        """Return the total weight and the covariance or, with many features, its products, in working units."""
        if self._moments is None:
            if self.n_features <= STORED_FEATURES:
                self._moments = StoredMoments(self.total, self._compute_covariance())
            else:
                trace = float(self._column_variances.sum())
                self._moments = ProductMoments(self.total, self._multiply_covariance, trace, self.n_features)
        return self._moments

    def _compute_covariance(self) -> Array:
        if self._matrix.shifted.nnz > WORTH_DENSE_BLOCKS * self.n_rows * self.n_features:
            second, shift = self._second_moments(self.origin, self.unit)
            return second - np.outer(shift, shift)
        rows = self._matrix.to_sparse()
        rows = rows._with_data(rows.data / self.unit, copy=False)  # shares the indices
        w = np.ones(self.n_rows) if self.weights is None else self.weights
        weighted = rows if self.weights is None else rows.multiply(w[:, None]).tocsr()
        mean = (rows.T @ w) / self.total
        covariance = (rows.T @ weighted).toarray() / self.total - np.outer(mean, mean)
        return np.asarray(0.5 * (covariance + covariance.T))

    def _multiply_covariance(self, v: Array) -> Array:
        """Return the covariance times a vector: Xᵀ(X·v), centred."""
        p = self._project(v[None])[:, 0]
        return self._sum_rows(p if self.weights is None else p * self.weights) / self.total

    def _map_centred(self, function: Callable[[Array, Array | None], T], center: Array, unit: float) -> Iterator[T]:
        step = max(64, BLOCK_NUMBERS // self.n_features)
        for start in range(0, self.n_rows, step):
            block = slice(start, start + step)
            yield function((self._matrix.to_array(block) - (center - self.origin)) / unit, self._weights_in(block))

    def _map_projected(self, function: Callable[[Array, Array | None], T], directions: Array) -> Iterator[T]:
        step = max(64, BLOCK_NUMBERS // len(directions))
        for start in range(0, self.n_rows, step):
            block = slice(start, min(start + step, self.n_rows))
            few = self if block == slice(0, self.n_rows) else self._take(block)
            yield function(few._project(directions).T, few.weights)

    # ------------------------------------------------------------------------------------------- rows

    def take(self, indices: Indices) -> SparseSample:
        """Return the sample of some rows, in the same working units."""
        return self._take(indices)

    def _take(self, indices: Indices | slice) -> SparseSample:
        few = SparseSample.__new__(SparseSample)
        few._squared_lengths = None
        few._matrix = self._matrix.subset(indices)
        few.origin, few.unit, few._column_variances = self.origin, self.unit, self._column_variances
        weights = None if self.weights is None else self.weights[indices]
        few._set_size(few._matrix.shifted.shape, weights, self._given_pool, BLOCK_ROWS)
        return few

    def in_subspace(self, directions: Array) -> DenseSample:
        """Return the coordinates of the rows on a few orthonormal directions (rows), in the same working units."""
        origin = np.zeros(len(directions))
        return DenseSample(self._project(directions), self.weights, pool=self._given_pool, origin=origin, unit=1.0)

    def fetch(self, indices: Indices) -> Array:
        """Return some rows in working units, as an array."""
        n, d = len(indices), self.n_features
        if 8 * n * d > MOST_BYTES:
            raise ValueError(
                f"{n} labelled rows of {d} features would make a dense array of {8e-9 * n * d:.1f} GB: label fewer "
                "rows, or reduce the number of features first (with sklearn.decomposition.TruncatedSVD)."
            )
        return np.asarray(self._matrix.to_array(indices) / self.unit)

    def _project(self, directions: Array) -> Array:
        """Return the projections on directions (rows), in working units: one column for each."""
        projections = np.empty((self.n_rows, len(directions)))
        # The unit of subnormal values is so small that directions longer than 1 would overflow.
        length = max(1.0, round_to_power_of_two(float(np.abs(directions).max(initial=0.0))))
        for k, v in enumerate(directions / length / self.unit):  # SciPy is not faster with all of them at once
            projections[:, k] = self._matrix.times(v)
        return projections if length == 1.0 else projections * length

    def _sum_rows(self, coefficients: Array) -> Array:
        """Return Σ cᵢ zᵢ, in working units."""
        return np.asarray(self._matrix.transpose_times(coefficients) / self.unit)

    # ------------------------------------------------------------------------------------------- answers

    def _pass_over_rows(self, to_set: Sequence[ProjectionRequest], sums: Sequence[RowSumRequest]) -> list[Any]:
        for r in to_set:
            target = r.projections.p if isinstance(r, SetDirection) else r.projections.q
            target[:] = self._project(r.direction[None])[:, 0]
        return [self._compute_sum(r) for r in sums]

    def _compute_sum(self, r: RowSumRequest) -> Any:
        if isinstance(r, RowsIn):
            slab = self._take(find_near(r.projections.p, r))
            slab.measure_against(self)
            return slab
        return self._sum_products(r) if isinstance(r, CovarianceProduct) else self._compute_gradient(r)

    def _sum_products(self, r: CovarianceProduct) -> Array:
        p = r.projections.p
        return self._sum_rows((p if self.weights is None else p * self.weights) / self.total)

    def _compute_gradient(self, r: Gradient) -> Array:
        near, shares = self._compute_shares(r)
        if len(near) <= WORTH_GATHERING * self.n_rows:
            return np.asarray(self._matrix.subset(near).transpose_times(shares) / self.unit)
        everywhere = np.zeros(self.n_rows)
        everywhere[near] = shares
        return self._sum_rows(everywhere)

    def _compute_shares(self, r: Gradient | GradientNoise) -> tuple[Indices, Array]:
        """Return the rows near b, and the derivative of log f(b) by the projection of each (eq. (26))."""
        p = r.projections.p
        near = np.flatnonzero(np.abs(p - r.b) <= r.reach)
        u = (p[near] - r.b) / r.bandwidth
        shares = np.exp(-0.5 * u * u - r.log_sum) * u / -r.bandwidth
        return near, np.asarray(shares if self.weights is None else shares * self.weights[near])

    def _reply(self, r: Request, mapper: Callable[..., Iterable[Any]]) -> Any:
        return self._compute_noise(r) if isinstance(r, GradientNoise) else super()._reply(r, mapper)

    def _compute_noise(self, r: GradientNoise) -> float:
        if self._squared_lengths is None:
            self._squared_lengths = self._matrix.squared_lengths(self.unit)
        near, shares = self._compute_shares(r)
        across = np.maximum(self._squared_lengths[near] - r.projections.p[near] ** 2, 0.0)
        return float(shares**2 @ across)


class CentredMatrix:
    """Z = X − 1·originᵀ as ``shifted + missing − 1·implicitᵀ``; X is not changed.

    In most columns of a sparse matrix the origin is implicit: Z·v = X·v − origin·v. This difference has few digits
    where the origin is much larger than the deviations from it. Such a column has few zeros, so its stored values are
    shifted (in a copy of ``X.data`` that shares everything else with X), the values that are not stored are listed in
    ``missing``, and nothing is left to be implicit.

    Parameters
    ----------
    shifted : sparse matrix
        X, or a copy with some columns shifted.
    missing : sparse matrix, optional
        Minus the origin where X stores no value in a shifted column.
    implicit : ndarray of shape (d,)
        The origin, with zeros in shifted columns.
    """

    def __init__(self, shifted: Any, missing: Any | None, implicit: Array) -> None:
        self.shifted, self.missing, self.implicit = shifted, missing, implicit

    @classmethod
    def about(cls, X: Any, origin: Array, columns: NDArray[np.bool_]) -> CentredMatrix:
        """Centre X, a matrix without duplicate entries, about an origin; ``columns`` are shifted value by value."""
        if not columns.any():
            return cls(X, None, origin)
        shift = np.where(columns, origin, 0.0)
        data = X.data.astype(np.float64)
        for part in _split_range(len(data)):
            data[part] -= shift[X.indices[part]]
        missing = _make_missing(X, shift, columns)
        return cls(X._with_data(data, copy=False), missing, np.where(columns, 0.0, origin))

    def subset(self, indices: NDArray[np.intp] | slice) -> CentredMatrix:
        """Return some rows."""
        missing = None if self.missing is None else self.missing[indices]
        return CentredMatrix(self.shifted[indices], missing, self.implicit)

    def times(self, v: Array) -> Array:
        """Return Z·v."""
        products = self.shifted @ v - self.implicit @ v
        return np.asarray(products if self.missing is None else products + self.missing @ v)

    def transpose_times(self, coefficients: Array) -> Array:
        """Return Zᵀ·c."""
        sums = self.shifted.T @ coefficients - coefficients.sum() * self.implicit
        return np.asarray(sums if self.missing is None else sums + self.missing.T @ coefficients)

    def to_array(self, indices: NDArray[np.intp] | slice) -> Array:
        """Return some rows of Z as an array."""
        few = self.shifted[indices].toarray() - self.implicit
        return np.asarray(few if self.missing is None else few + self.missing[indices].toarray())

    def to_sparse(self) -> Any:
        """Return Z + 1·implicitᵀ as one sparse matrix."""
        return self.shifted if self.missing is None else (self.shifted + self.missing).tocsr()

    def squared_lengths(self, unit: float) -> Array:
        """Return |z|² of the rows z of Z / unit."""
        implicit = self.implicit / unit
        lengths = _sum_squares(self.shifted, unit) - 2.0 * (self.shifted @ (implicit / unit)) + implicit @ implicit
        return np.asarray(lengths if self.missing is None else lengths + _sum_squares(self.missing, unit))


def _sum_squares(X: Any, unit: float) -> Array:
    """Sum the squares of the stored values of each row, in units of ``unit``."""
    sums = np.empty(X.shape[0])
    for rows, stored in _split_rows(X):
        n = rows.stop - rows.start
        row_of_value = np.repeat(np.arange(n), np.diff(X.indptr[rows.start : rows.stop + 1]))
        sums[rows] = np.bincount(row_of_value, (X.data[stored] / unit) ** 2, minlength=n)
    return sums


def _make_missing(X: Any, shift: Array, columns: NDArray[np.bool_]) -> Any | None:
    """Make a matrix of minus the shift where X stores no value in some columns; None if it stores them all."""
    n, d = X.shape
    gaps = np.flatnonzero(columns & (count_stored(X) < n))
    if not len(gaps):
        return None
    place = np.full(d, -1)
    place[gaps] = np.arange(len(gaps))
    counts, found = [np.zeros(1, dtype=np.intp)], []
    step = max(64, BLOCK_NUMBERS // len(gaps))
    for first in range(0, n, step):
        ends = X.indptr[first : first + step + 1]
        absent = np.ones((len(ends) - 1, len(gaps)), dtype=bool)
        where = place[X.indices[ends[0] : ends[-1]]]
        absent[np.repeat(np.arange(len(absent)), np.diff(ends))[where >= 0], where[where >= 0]] = False
        counts.append(absent.sum(axis=1))
        found.append(gaps[np.nonzero(absent)[1]])
    indices = np.concatenate(found)
    return type(X)((-shift[indices], indices, np.cumsum(np.concatenate(counts))), shape=X.shape)


def _split_range(n: int) -> Iterator[slice]:
    return (slice(first, first + BLOCK_NUMBERS) for first in range(0, n, BLOCK_NUMBERS))


def _split_rows(X: Any) -> Iterator[tuple[slice, slice]]:
    """Split the rows into blocks; each with the range of its stored values."""
    step = max(1, BLOCK_NUMBERS // max(1, len(X.data) // max(1, X.shape[0])))
    for first in range(0, X.shape[0], step):
        rows = slice(first, min(first + step, X.shape[0]))
        yield rows, slice(int(X.indptr[rows.start]), int(X.indptr[rows.stop]))


def count_stored(X: Any) -> NDArray[np.intp]:
    """Count the stored values of each column; in parts, since counting copies the indices."""
    counts = np.zeros(X.shape[1], dtype=np.intp)
    for part in _split_range(len(X.indices)):
        counts += np.bincount(X.indices[part], minlength=len(counts))
    return counts


def sum_columns(X: Any, weights: Array | None, scale: float) -> tuple[Array, Array]:
    """Return the weighted sums of the values of each column and of their squares, in units of ``scale``."""
    d = X.shape[1]
    sums, squares = np.zeros(d), np.zeros(d)
    for rows, stored in _split_rows(X):
        values, columns = X.data[stored] / scale, X.indices[stored]
        weighted = values
        if weights is not None:
            weighted = values * np.repeat(weights[rows], np.diff(X.indptr[rows.start : rows.stop + 1]))
        sums += np.bincount(columns, weighted, minlength=d)
        squares += np.bincount(columns, weighted * values, minlength=d)
    return sums, squares


def find_near_columns(X: Any, origin: Array) -> NDArray[np.bool_]:
    """Find columns where most values are so near an origin other than zero that X·v − origin·v would lose digits."""
    often: NDArray[np.bool_] = (2 * count_stored(X) > X.shape[0]) & (origin != 0.0)
    if not often.any():
        return often
    near = np.zeros(X.shape[1], dtype=np.intp)
    for part in _split_range(len(X.data)):
        columns = X.indices[part]
        some = np.flatnonzero(often[columns])
        columns, values = columns[some], X.data[part][some]
        close = np.abs(values - origin[columns]) < NEAR * np.abs(origin[columns])
        near += np.bincount(columns[close], minlength=len(near))
    return np.asarray(2 * near > X.shape[0])
