"""Rows of a sparse matrix: never densified, centred and scaled implicitly."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.rows.array import DenseSample
from ravine.rows.base import Indices, Rows
from ravine.rows.centred import CentredCells, column_sums, far_columns, stored_in_columns
from ravine.rows.moments import Moments, ProductMoments, StoredMoments
from ravine.rows.projections import BLOCK_ROWS, PassSample
from ravine.rows.questions import (
    CovarianceProduct,
    Gradient,
    GradientNoise,
    ProjectionRequest,
    Request,
    RowSumRequest,
    SetDirection,
)
from ravine.rows.units import round_to_power_of_two

__all__ = ["SparseRows", "SparseSample", "is_sparse_matrix"]

# Up to this many columns the covariance is stored; with more, only its products with vectors are ever formed.
STORED_COLUMNS = 1000
# Beyond this ratio of squared mean to variance, projections and second moments about zero lose too many digits.
OFF_CENTRE = 1e2
# With more than this part of all cells stored, the covariance is faster from small dense blocks.
WORTH_DENSE_BLOCKS = 0.25
# Rows are gathered for a sum if they are fewer than this part of all; else zeros take part.
WORTH_GATHERING = 0.25
# Of rows that are made dense.
MOST_BYTES = 1 << 32
# Numbers of a block of projections on many directions.
BLOCK_NUMBERS = 1 << 20

T = TypeVar("T")


def is_sparse_matrix(X: Any) -> bool:
    """Return whether X is a sparse matrix or array of SciPy; SciPy is not imported for anything else."""
    return hasattr(X, "tocsr") and type(X).__module__.startswith("scipy.sparse")


class SparseRows(Rows):
    """Rows of a sparse matrix, which is never densified as a whole.

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

    def subset(self, indices: Indices, copy: bool | None = None) -> SparseRows:
        """Return some rows, always as a copy."""
        return self._copy(indices)

    def _copy(self, indices: Indices) -> SparseRows:
        return SparseRows(self.matrix[indices])

    def column(self, j: int, indices: Indices | None = None) -> NDArray[np.floating[Any]]:
        """Return one feature of the rows."""
        some = self.matrix if indices is None else self.matrix[indices]
        return np.asarray(some[:, [j]].toarray()[:, 0])

    def project(self, center: Array, direction: Array, indices: Indices | None = None) -> Array:
        """Compute ``(x - center) @ direction``."""
        some = self.matrix if indices is None else self.matrix[indices]
        if not some.has_canonical_format:
            some = some.copy()
            some.sum_duplicates()  # otherwise a cell that is stored in two parts would be shifted twice
        return CentredCells.about(some, center, far_columns(some, center)).times(direction)

    def apply(self, function: Callable[[Any], NDArray[Any]], indices: Indices | None = None) -> NDArray[Any]:
        """Apply a function to all rows at once, as a sparse matrix."""
        return function(self.matrix if indices is None else self.matrix[indices])

    def sample(
        self, weights: Array | None = None, pool: ThreadPoolExecutor | None = None, indices: Indices | None = None
    ) -> SparseSample:
        """Return the sample that answers the questions of a fit."""
        return SparseSample(self.matrix if indices is None else self.matrix[indices], weights, pool=pool)


class SparseSample(PassSample):
    """A matrix in compressed sparse rows and optional weights; it is neither changed nor densified.

    Projections are X·v − mean·v; only the cells of columns that are far from zero for their spread are shifted, in a
    copy (see `CentredCells`). The covariance is stored up to a thousand columns; with more columns only its products
    with vectors, Xᵀ(X·v), are formed.

    Parameters
    ----------
    X : scipy.sparse.csr_array or csr_matrix of shape (n, d), float64
        In canonical format: no cell in two parts.
    weights : ndarray of shape (n,), float64, optional
        Non-negative, not all zero.
    pool : ThreadPoolExecutor, optional
    """

    def __init__(
        self,
        X: Any,
        weights: Array | None = None,
        *,
        pool: ThreadPoolExecutor | None = None,
    ) -> None:
        self._squared_lengths: Array | None = None
        self._set_up(X.shape, weights, pool, BLOCK_ROWS)
        self._measure_sparse(X)

    # ------------------------------------------------------------------------------------------- moments

    def _measure_sparse(self, X: Any) -> None:
        """Mean, unit and the variance of all columns together, and the cells about the mean."""
        scale = round_to_power_of_two(max(float(X.data.max(initial=0.0)), -float(X.data.min(initial=0.0))))
        sums, squares = column_sums(X, self.weights, scale)
        mean = sums / self.total
        variances = np.maximum(squares / self.total - mean**2, 0.0)
        off_centre = mean**2 > OFF_CENTRE * variances
        if off_centre.any():  # rows of hardly any weight may have no cell there: then zeros stay implicit
            off_centre &= 2 * stored_in_columns(X) > self.n_rows
        self.origin = mean * scale
        self._cells = CentredCells.about(X, self.origin, off_centre)
        if off_centre.any():
            w = np.ones(self.n_rows) if self.weights is None else self.weights
            self.origin = self.origin + np.where(off_centre, self._cells.back(w / self.total), 0.0)
            del self._cells  # or there would be two copies
            self._cells = CentredCells.about(X, self.origin, off_centre)
            variances = np.where(off_centre, self._mean_squares(scale), variances)
        self.unit = max(scale * round_to_power_of_two(math.sqrt(float(variances.sum()))), 2.0**-1000)
        self._column_variances = variances * (scale / self.unit) ** 2

    def _mean_squares(self, scale: float) -> Array:
        """Of the cells, shifted or missing, by column."""
        parts = (self._cells.shifted, self._cells.missing)
        return sum(column_sums(part, self.weights, scale)[1] for part in parts if part is not None) / self.total  # type: ignore[return-value]

    @property
    def column_variances(self) -> Array:
        """Variances of the features, in working units; those of all rows also for a sample of some."""
        return self._column_variances

    def moments(self) -> Moments:
        """Total weight and the covariance or, with many columns, its products, in working units."""
        if self._moments is None:
            if self.n_features <= STORED_COLUMNS:
                self._moments = StoredMoments(self.total, self._covariance())
            else:
                trace = float(self._column_variances.sum())
                self._moments = ProductMoments(self.total, self._product, trace, self.n_features)
        return self._moments

    def _covariance(self) -> Array:
        if self._cells.shifted.nnz > WORTH_DENSE_BLOCKS * self.n_rows * self.n_features:
            second, shift = self._second_moments(self.origin, self.unit)
            return second - np.outer(shift, shift)
        rows = self._cells.explicit()
        rows = rows._with_data(rows.data / self.unit, copy=False)  # shares the indices
        w = np.ones(self.n_rows) if self.weights is None else self.weights
        weighted = rows if self.weights is None else rows.multiply(w[:, None]).tocsr()
        mean = (rows.T @ w) / self.total
        covariance = (rows.T @ weighted).toarray() / self.total - np.outer(mean, mean)
        return np.asarray(0.5 * (covariance + covariance.T))

    def _each_centred(self, function: Callable[[Array, Array | None], T], center: Array, unit: float) -> Iterator[T]:
        step = max(64, BLOCK_NUMBERS // self.n_features)
        for start in range(0, self.n_rows, step):
            rows = slice(start, start + step)
            yield function((self._cells.toarray(rows) - (center - self.origin)) / unit, self._weights_of(rows))

    def _product(self, v: Array) -> Array:
        """The covariance times a vector: Xᵀ(X·v), centred."""
        p = self.on(v[None])[:, 0]
        return self._back(p if self.weights is None else p * self.weights) / self.total

    def _each_projected(self, function: Callable[[Array, Array | None], T], directions: Array) -> Iterator[T]:
        step = max(64, BLOCK_NUMBERS // len(directions))
        for start in range(0, self.n_rows, step):
            rows = slice(start, min(start + step, self.n_rows))
            part = self if rows == slice(0, self.n_rows) else self._part(rows)
            yield function(part.on(directions), part.weights)

    # ------------------------------------------------------------------------------------------- protocol

    def take(self, rows: NDArray[np.intp]) -> SparseSample:
        """The sample of some rows, in the same working units."""
        return self._part(rows)

    def _part(self, rows: NDArray[np.intp] | slice) -> SparseSample:
        part = SparseSample.__new__(SparseSample)
        part._squared_lengths = None
        part._cells = self._cells.part(rows)
        part.origin, part.unit, part._column_variances = self.origin, self.unit, self._column_variances
        weights = None if self.weights is None else self.weights[rows]
        part._set_up(part._cells.shifted.shape, weights, self._given_pool, BLOCK_ROWS)
        return part

    def in_subspace(self, directions: Array) -> DenseSample:
        """The coordinates of the rows on a few orthonormal directions (rows), in the same working units."""
        nowhere = np.zeros(len(directions))
        return DenseSample(self.on(directions), self.weights, pool=self._given_pool, origin=nowhere, unit=1.0)

    def fetch(self, rows: NDArray[np.intp]) -> Array:
        """Some rows, in working units; as an array."""
        if 8 * len(rows) * self.n_features > MOST_BYTES:
            raise ValueError(
                f"{len(rows)} labelled rows of {self.n_features} columns would make a dense array of "
                f"{8e-9 * len(rows) * self.n_features:.1f} GB: label fewer rows, or reduce the columns first (with "
                "sklearn.decomposition.TruncatedSVD)."
            )
        return np.asarray(self._cells.toarray(rows) / self.unit)

    def on(self, directions: Array) -> Array:
        """Projections on directions (rows), in working units: one column for each."""
        projections = np.empty((self.n_rows, len(directions)))
        for k, v in enumerate(directions / self.unit):  # SciPy is not faster with all of them at once
            projections[:, k] = self._cells.times(v)
        return projections

    def _back(self, coefficients: Array) -> Array:
        """Σ cᵢ zᵢ over the rows, in working units."""
        return np.asarray(self._cells.back(coefficients) / self.unit)

    def _pass(self, aims: Sequence[ProjectionRequest], sums: Sequence[RowSumRequest]) -> list[Array]:
        if aims:
            for aim in aims:
                (aim.track.p if isinstance(aim, SetDirection) else aim.track.q)[:] = self.on(aim.direction[None])[:, 0]
        return [self._scatter(r) if isinstance(r, CovarianceProduct) else self._pull_back(r) for r in sums]

    def _scatter(self, r: CovarianceProduct) -> Array:
        return self._back((r.track.p if self.weights is None else r.track.p * self.weights) / self.total)

    def _pull_back(self, r: Gradient) -> Array:
        near, shares = self._shares(r)
        if len(near) <= WORTH_GATHERING * self.n_rows:
            return np.asarray(self._cells.part(near).back(shares) / self.unit)
        everywhere = np.zeros(self.n_rows)
        everywhere[near] = shares
        return self._back(everywhere)

    def _shares(self, r: Gradient | GradientNoise) -> tuple[NDArray[np.intp], Array]:
        """The rows near b, and the derivative of log f(b) by the projection of each (eq. (26))."""
        near = np.flatnonzero(np.abs(r.track.p - r.b) <= r.reach)
        u = (r.track.p[near] - r.b) / r.bandwidth
        shares = np.exp(-0.5 * u * u - r.log_sum) * u / -r.bandwidth
        return near, np.asarray(shares if self.weights is None else shares * self.weights[near])

    def _reply(self, r: Request, mapper: Callable[..., Iterable[Any]]) -> Any:
        return self._noise(r) if isinstance(r, GradientNoise) else super()._reply(r, mapper)

    def _noise(self, r: GradientNoise) -> float:
        if self._squared_lengths is None:
            self._squared_lengths = self._cells.squared_lengths(self.unit)
        near, shares = self._shares(r)
        across = np.maximum(self._squared_lengths[near] - r.track.p[near] ** 2, 0.0)
        return float(shares**2 @ across)
