"""Rows of a sparse matrix: never densified, centred and scaled implicitly."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.sample.dense import DenseSample
from ravine.sample.measures import power_of_two
from ravine.sample.protocol import Aim, Moments, Noise, PullBack, Request, Scatter, Turn
from ravine.sample.tracks import BLOCK_ROWS, PassSample

__all__ = ["SparseSample", "project_sparse"]

# Up to this many columns the covariance is stored; with more, only its products with vectors are ever formed.
STORED_COLUMNS = 1000
# Beyond this ratio of squared mean to variance, second moments about zero lose too many digits.
OFF_CENTRE = 1e4
# Rows are gathered for a sum if they are fewer than this part of all; else zeros take part.
WORTH_GATHERING = 0.25
# Of rows that are made dense.
MOST_BYTES = 1 << 32
# Numbers of a block of projections on many directions.
BLOCK_NUMBERS = 1 << 20

T = TypeVar("T")


class SparseSample(PassSample):
    """A matrix in compressed sparse rows and optional weights; it is neither copied, changed nor densified.

    Projections are X·v − mean·v. The covariance is stored up to a thousand columns; with more columns only its
    products with vectors, Xᵀ(X·v), are formed.

    Parameters
    ----------
    X : scipy.sparse.csr_array or csr_matrix of shape (n, d), float64
    weights : ndarray of shape (n,), float64, optional
        Non-negative, not all zero.
    pool : ThreadPoolExecutor, optional
    origin, unit : optional
        Working units to use instead of the sample's own.
    """

    def __init__(
        self,
        X: Any,
        weights: Array | None = None,
        *,
        pool: ThreadPoolExecutor | None = None,
        origin: Array | None = None,
        unit: float | None = None,
    ) -> None:
        self.X = X
        self._transposed = X.T  # shares the arrays
        self._squared_lengths: Array | None = None
        self._set_up(X.shape, weights, pool, BLOCK_ROWS)
        if origin is None or unit is None:
            self._measure_sparse()
        else:
            self.origin, self.unit = origin, unit

    # ------------------------------------------------------------------------------------------- moments

    def _measure_sparse(self) -> None:
        """Mean, unit and either the covariance or its trace."""
        data = self.X.data
        scale = power_of_two(max(float(data.max(initial=0.0)), -float(data.min(initial=0.0))))
        values = data if 1e-100 < scale < 1e100 else data / scale
        scale = 1.0 if values is data else scale
        w = np.ones(self.n_rows) if self.weights is None else self.weights
        self.origin = (self._transposed @ w) / self.total
        mean = self.origin / scale
        squares = self.X._with_data(values * values, copy=False)  # shares the indices
        raw = (squares.T @ w) / self.total
        variances = np.maximum(raw - mean**2, 0.0)
        off_centre = mean**2 > OFF_CENTRE * variances
        if off_centre.any():
            variances = np.where(off_centre, self._careful_variances(mean, scale, values, w), variances)
        self.unit = max(scale * power_of_two(math.sqrt(float(variances.sum()))), 2.0**-1000)
        self._variance = float(variances.sum()) * (scale / self.unit) ** 2
        self._off_centre = bool(off_centre.any())

    def _careful_variances(self, mean: Array, scale: float, values: Array, w: Array) -> Array:
        """Variances from deviations: of the stored cells, and of the others, which are all zero."""
        deviations = (values - mean[self.X.indices]) ** 2
        stored = np.repeat(w, np.diff(self.X.indptr))
        sums = np.bincount(self.X.indices, deviations * stored, minlength=self.n_features)
        others = self.total - np.bincount(self.X.indices, stored, minlength=self.n_features)
        return np.asarray((sums + np.maximum(others, 0.0) * mean**2) / self.total)

    def moments(self) -> Moments:
        """Total weight and the covariance or, with many columns, its products, in working units."""
        if self._moments is None:
            if self.n_features <= STORED_COLUMNS:
                self._moments = Moments(self.total, self._covariance())
            else:
                self._moments = Moments(self.total, None, self._product, self._variance)
        return self._moments

    def _covariance(self) -> Array:
        if self._off_centre:  # few zeros in some columns: then small blocks are as good as dense
            second, shift = self._second_moments(self.origin, self.unit)
            return second - np.outer(shift, shift)
        w = self.weights
        weighted = self.X if w is None else self.X.multiply(w[:, None]).tocsr()
        second = (self._transposed @ weighted).toarray() / self.unit / self.unit / self.total
        mean = self.origin / self.unit
        covariance = second - np.outer(mean, mean)
        return np.asarray(0.5 * (covariance + covariance.T))

    def _each_centred(self, function: Callable[[Array, Array | None], T], center: Array, unit: float) -> Iterator[T]:
        step = max(64, BLOCK_NUMBERS // self.n_features)
        for start in range(0, self.n_rows, step):
            rows = slice(start, start + step)
            yield function((self.X[rows].toarray() - center) / unit, self._weights_of(rows))

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
        weights = None if self.weights is None else self.weights[rows]
        part = SparseSample(self.X[rows], weights, pool=self._given_pool, origin=self.origin, unit=self.unit)
        part._off_centre, part._variance = self._off_centre, self._variance
        return part

    def narrowed(self, directions: Array) -> DenseSample:
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
        return np.asarray((self.X[rows].toarray() - self.origin) / self.unit)

    def on(self, directions: Array) -> Array:
        """Projections on directions (rows), in working units: one column for each."""
        projections = np.empty((self.n_rows, len(directions)))
        for k, v in enumerate(directions / self.unit):  # SciPy is not faster with all of them at once
            projections[:, k] = self.X @ v - self.origin @ v
        return projections

    def _back(self, coefficients: Array) -> Array:
        """Σ cᵢ zᵢ over the rows, in working units."""
        return np.asarray((self._transposed @ coefficients - coefficients.sum() * self.origin) / self.unit)

    def _pass(self, aims: Sequence[Aim | Turn], sums: Sequence[PullBack | Scatter]) -> list[Array]:
        if aims:
            for aim in aims:
                (aim.track.p if isinstance(aim, Aim) else aim.track.q)[:] = self.on(aim.direction[None])[:, 0]
        return [self._scatter(r) if isinstance(r, Scatter) else self._pull_back(r) for r in sums]

    def _scatter(self, r: Scatter) -> Array:
        return self._back((r.track.p if self.weights is None else r.track.p * self.weights) / self.total)

    def _pull_back(self, r: PullBack) -> Array:
        near, shares = self._shares(r)
        if len(near) <= WORTH_GATHERING * self.n_rows:
            return np.asarray((self.X[near].T @ shares - shares.sum() * self.origin) / self.unit)
        everywhere = np.zeros(self.n_rows)
        everywhere[near] = shares
        return self._back(everywhere)

    def _shares(self, r: PullBack | Noise) -> tuple[NDArray[np.intp], Array]:
        """The rows near b, and the derivative of log f(b) by the projection of each (eq. Der)."""
        near = np.flatnonzero(np.abs(r.track.p - r.b) <= r.reach)
        u = (r.track.p[near] - r.b) / r.bandwidth
        shares = np.exp(-0.5 * u * u - r.log_sum) * u / -r.bandwidth
        return near, np.asarray(shares if self.weights is None else shares * self.weights[near])

    def _reply(self, r: Request, mapper: Callable[..., Iterable[Any]]) -> Any:
        return self._noise(r) if isinstance(r, Noise) else super()._reply(r, mapper)

    def _noise(self, r: Noise) -> float:
        if self._squared_lengths is None:
            squares = self.X._with_data((self.X.data / self.unit) ** 2, copy=False)  # shares the indices
            mean = self.origin / self.unit
            squared = squares @ np.ones(self.n_features)
            self._squared_lengths = squared - 2.0 * (self.X @ (mean / self.unit)) + mean @ mean
        near, shares = self._shares(r)
        across = np.maximum(self._squared_lengths[near] - r.track.p[near] ** 2, 0.0)
        return float(shares**2 @ across)


def project_sparse(X: Any, center: Array, direction: Array, rows: NDArray[np.intp] | None = None) -> Array:
    """``(X - center) @ direction`` of all or some rows of a sparse matrix."""
    some = X if rows is None else X[rows]
    return np.asarray(some @ direction - center @ direction)
