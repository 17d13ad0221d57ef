"""Rows of an array in memory, their sample, and their row space if they are fewer than the features."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ravine import _kernels
from ravine._properties import lazy_property
from ravine._typing import Array
from ravine.rows.base import GUESS_ROWS, Indices, Rows, center_and_scale, guess_units, sum_arrays
from ravine.rows.projections import BLOCK_ROWS, LocalSample, find_near, thin
from ravine.rows.questions import Gradient, Request, RowsIn, SetDirection, SetTangent

# Rows that are copied at a time, to be centred or gathered: few enough to stay in the cache.
COPY_BYTES = 1 << 20
# Arrays of up to this size are reused by malloc. Larger ones get new pages from the system, which take longer to touch
# than sums take to compute, so that they are used only where large blocks save more calls than that.
SMALL_BYTES = 120_000
# From this number of blocks on.
MANY_BLOCKS = 64
# With fewer rows at a time, to add up the sums of many features would cost more than to compute them.
FEWEST_ROWS = 256
# Rows whose signs are found at a time: their projections stay in the cache.
SIGN_ROWS = 1 << 14
# Rows whose mean and unit are smaller have values that are far from overflow.
MODERATE = 1e100
# A compiled stage runs on one thread, so with more rows than this their blocks are better shared by several.
MOST_STAGE_ROWS = 1 << 18
# With fewer rows, a compiled search is too short to run on a thread of its own.
ROWS_WORTH_A_SEARCH = 1_000
# Most bytes of rows that are gathered for a compiled stage.
MOST_GATHERED_BYTES = 1 << 26
T = TypeVar("T")


class ArrayRows(Rows):
    """Rows of an array in memory.

    Parameters
    ----------
    array : ndarray of shape (n, d), float32 or float64
        Neither copied nor changed.
    """

    in_memory = True

    def __init__(self, array: NDArray[np.floating[Any]]) -> None:
        self.array = array
        self.shape = array.shape
        self._measured: DenseSample | None = None

    def measure(self) -> bool:
        """Measure mean, covariance and scale for the samples of all rows; return whether all values are moderate.

        These are then known to be finite and far from overflow, at the cost of the one pass that a fit needs anyway.
        Other values must be checked one by one.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            self._measured = DenseSample(self.array)
        magnitude = max(float(np.abs(self._measured.origin).max(initial=0.0)), self._measured.unit)
        return math.isfinite(self._measured.moments().trace) and magnitude < MODERATE

    @property
    def data(self) -> NDArray[np.floating[Any]]:
        """The array."""
        return self.array

    def take(self, indices: Indices) -> NDArray[np.floating[Any]]:
        """Copy some rows into an array."""
        return self.array[indices]

    def glance(self, most: int) -> tuple[Array, Indices]:
        """Return rows at equal distances, and all features."""
        n, d = self.shape
        return self.array[:: -(-n // most)].astype(np.float64), np.arange(d)

    def to_array(self) -> NDArray[np.floating[Any]]:
        """Return the array."""
        return self.array

    def _copy(self, indices: Indices) -> ArrayRows:
        return ArrayRows(self.array[indices])

    def column(self, j: int, indices: Indices | None = None) -> NDArray[np.floating[Any]]:
        """Return one feature of the rows."""
        return self.array[slice(None) if indices is None else indices, j]

    def project(self, center: Array, direction: Array, indices: Indices | None = None) -> Array:
        """Compute ``(x - center) @ direction`` in double precision, without a copy of the rows."""
        return project_array(self.array, center, direction, indices)

    def signs(self, center: Array, direction: Array) -> NDArray[np.int8]:
        """Return the signs -1, 0 or 1 of ``(x - center) @ direction``, without a vector of the projections."""
        signs = np.empty(len(self.array), dtype=np.int8)
        for start in range(0, len(signs), SIGN_ROWS):
            few = slice(start, start + SIGN_ROWS)
            distance = project_array(self.array[few], center, direction)
            np.subtract((distance > 0.0).view(np.int8), (distance < 0.0).view(np.int8), out=signs[few])
        return signs

    def apply(self, function: Callable[[Any], NDArray[Any]], indices: Indices | None = None) -> NDArray[Any]:
        """Apply a function to all rows at once."""
        return function(self.array if indices is None else self.array[indices])

    def sample(
        self, weights: Array | None = None, pool: ThreadPoolExecutor | None = None, indices: Indices | None = None
    ) -> DenseSample:
        """Return the sample that answers the questions of a fit."""
        if self._measured is not None and weights is None and indices is None:
            return self._measured.copy_with(pool)
        return DenseSample(self.array, weights, pool=pool, indices=indices)


class DenseSample(LocalSample):
    """Sample of a two-dimensional float array with optional weights; the array is neither copied nor changed.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32 or float64
        Rows or columns contiguous in memory; other arrays are copied.
    weights : ndarray of shape (n,), float64, optional
        Non-negative, not all zero.
    pool : ThreadPoolExecutor, optional
        Threads that answer a round of questions; the answers do not depend on them.
    indices : ndarray of shape (m,), int, optional
        Rows of X that make up the sample. They are gathered in small blocks when needed, never all at once.
    origin, unit : optional
        Working units to use instead of those of the sample.
    """

    def __init__(
        self,
        X: NDArray[np.floating[Any]],
        weights: Array | None = None,
        *,
        pool: ThreadPoolExecutor | None = None,
        indices: Indices | None = None,
        origin: Array | None = None,
        unit: float | None = None,
    ) -> None:
        self.X = X if X.itemsize in X.strides else np.ascontiguousarray(X)
        self.indices = indices
        self._set_size((len(X) if indices is None else len(indices), X.shape[1]), weights, pool, BLOCK_ROWS)
        if origin is None or unit is None:
            few = self._rows_at(slice(None, None, max(1, self.n_rows // GUESS_ROWS)))
            self._set_units(*guess_units(few.astype(np.float64)))
        else:
            self.origin, self.unit = origin, unit

    def copy_with(self, pool: ThreadPoolExecutor | None) -> DenseSample:
        """Return the same sample with other threads."""
        other = DenseSample(self.X, self.weights, pool=pool, indices=self.indices, origin=self.origin, unit=self.unit)
        other._moments = self._moments
        return other

    def _map_centred(self, function: Callable[[Array, Array | None], T], center: Array, unit: float) -> Iterator[T]:
        size = 8 * self.n_rows * self.n_features
        step = _count_rows(self.n_features, min(COPY_BYTES, max(SMALL_BYTES, size // MANY_BLOCKS)))
        is_given = unit == 1.0 and self.X.dtype == np.float64 and not center.any()
        order: Any = "C" if self.X.strides[1] == self.X.itemsize else "F"
        buffer = np.empty((0 if is_given else min(step, self.n_rows), self.n_features), order=order)
        centers = np.empty_like(buffer)  # one centre per row is three times as fast as broadcasting
        centers[:] = center
        for start in range(0, self.n_rows, step):
            block = slice(start, min(start + step, self.n_rows))
            z: Any = self._rows_at(block)
            if not is_given:
                z = np.subtract(z, centers[: len(z)], out=buffer[: len(z)])
                if unit != 1.0:
                    z *= 1.0 / unit
            yield function(z, self._weights_in(block))

    def _rows_at(self, places: slice | Indices) -> NDArray[np.floating[Any]]:
        """Return rows by their places in the sample."""
        return self.X[places] if self.indices is None else np.ascontiguousarray(self.X[self.indices[places]])

    def _split_block(self, block: slice) -> Iterator[slice]:
        """Split a block of rows into blocks that are small enough to gather, if they have to be gathered."""
        if self.indices is None:
            yield block
            return
        step = _count_rows(self.n_features)
        for start in range(block.start, block.stop, step):
            yield slice(start, min(start + step, block.stop))

    @lazy_property
    def stage_rows(self) -> NDArray[np.floating[Any]] | None:
        """Rows as one array in memory for compiled stages; None if they are too many."""
        if self.n_rows > MOST_STAGE_ROWS:
            return None
        if self.indices is None:
            return self.X
        too_large = self.n_rows * self.n_features * self.X.itemsize > MOST_GATHERED_BYTES
        return None if too_large else self._rows_at(slice(None))

    @property
    def stage_pool(self) -> ThreadPoolExecutor | None:
        """Threads for whole searches; None if a search costs less than to hand it to a thread."""
        return self._given_pool if self.n_rows >= ROWS_WORTH_A_SEARCH and self.stage_rows is not None else None

    def take(self, indices: Indices) -> DenseSample:
        """Return the sample of some rows, in the same working units."""
        weights = None if self.weights is None else self.weights[indices]
        few = np.ascontiguousarray(self._rows_at(indices))
        return DenseSample(few, weights, pool=self._given_pool, origin=self.origin, unit=self.unit)

    def fetch(self, indices: Indices) -> Array:
        """Return some rows in working units."""
        return np.asarray((self._rows_at(indices) - self.origin) / self.unit)

    def answer(self, questions: Sequence[Sequence[Request]]) -> list[list[Any]]:
        """Answer the questions of one round; the projections of all questions share one pass over X."""
        self._project([r for question in questions for r in question if isinstance(r, SetDirection | SetTangent)])
        if len(questions) > 1:
            return self._map(lambda question: [self._reply(r, map) for r in question], questions)
        return [[self._reply(r, self._map) for r in question] for question in questions]

    def _reply(self, r: Request, mapper: Callable[..., Iterable[Any]]) -> Any:
        if isinstance(r, Gradient):
            return self._compute_gradient(r, mapper)
        return self._find_rows(r, mapper) if isinstance(r, RowsIn) else super()._reply(r, mapper)

    def _project(self, requests: Sequence[SetDirection | SetTangent]) -> None:
        if not requests:
            return
        directions = np.stack([r.direction for r in requests]) / self.unit
        targets = [r.projections.p if isinstance(r, SetDirection) else r.projections.q for r in requests]

        def project(block: slice) -> None:
            for few in self._split_block(block):
                _kernels.project(self._rows_at(few), self.origin, directions, [t[few] for t in targets])

        self._map(project, self._blocks)

    def _compute_gradient(self, r: Gradient, mapper: Callable[..., Iterable[Array]]) -> Array:
        def compute(block: slice) -> Array:
            out = np.zeros(self.n_features)
            for few in self._split_block(block):
                _kernels.pull_back(
                    self._rows_at(few), self.origin, r.projections.p[few], self._weights_in(few),
                    r.bandwidth, r.b, r.log_sum, r.reach, out,
                )  # fmt: skip
            return out

        return sum_arrays(mapper(compute, self._blocks)) / self.unit

    def _find_rows(self, r: RowsIn, mapper: Callable[..., Iterable[Indices]]) -> DenseSample:
        p = r.projections.p
        near = np.concatenate(list(mapper(lambda block: find_near(p[block], r) + block.start, self._blocks)))
        kept, weights = thin(near, p[near], None if self.weights is None else self.weights[near], r)
        near = near[kept] if self.indices is None else self.indices[near[kept]]
        slab = DenseSample(self.X, weights, pool=self._given_pool, indices=near, origin=self.origin, unit=self.unit)
        slab.measure_against(self)
        return slab


def project_array(
    X: NDArray[np.floating[Any]], center: Array, direction: Array, indices: Indices | None = None
) -> Array:
    """Compute ``(X - center) @ direction`` in double precision for all or some rows, without a copy of X."""
    directions = np.ascontiguousarray(direction)[None]
    if indices is None:
        out = np.empty(len(X))
        _kernels.project(X if X.itemsize in X.strides else np.ascontiguousarray(X), center, directions, [out])
        return out
    out = np.empty(len(indices))
    step = _count_rows(X.shape[1])
    for start in range(0, len(indices), step):
        few = slice(start, start + step)
        _kernels.project(np.ascontiguousarray(X[indices[few]]), center, directions, [out[few]])
    return out


def _count_rows(n_features: int, n_bytes: int | None = None) -> int:
    """Return the number of rows to copy at a time."""
    return max(FEWEST_ROWS, (COPY_BYTES if n_bytes is None else n_bytes) // (8 * n_features))


class RowSpace:
    """Coordinates of the rows in an orthonormal basis of the space that they span about their mean.

    A component of the normal outside this space only reduces the spread of the projections, so the minimum density
    hyperplane has none. No matrix of d x d is formed.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32 or float64
    weights : ndarray of shape (n,), float64, optional

    Attributes
    ----------
    sample : DenseSample
        The coordinates: one column for each dimension of the row space.
    basis : ndarray of shape (d, r)
        Orthonormal columns; a normal ``w`` in the row space is ``basis @ w`` in the space of X.
    origin : ndarray of shape (d,)
        Origin of the working units of the sample, in the units of X.
    unit : float
        Unit of the working units of the sample, in the units of X.
    """

    def __init__(
        self,
        X: NDArray[np.floating[Any]],
        weights: Array | None = None,
        *,
        pool: ThreadPoolExecutor | None = None,
    ) -> None:
        rows, mean, unit = center_and_scale(X, weights)
        values, vectors = np.linalg.eigh(rows @ rows.T)
        kept = values > values[-1] * len(values) * np.finfo(float).eps
        kept[-1] = True  # at least one direction, so that equal rows still have coordinates
        lengths = np.sqrt(np.maximum(values[kept], np.finfo(float).tiny))[::-1]
        directions = vectors[:, kept][:, ::-1]
        # Orthonormalise again by a QR decomposition: the Gram matrix squares the condition number.
        self.basis: Array = np.linalg.qr(rows.T @ (directions / lengths))[0]
        self.sample = DenseSample(rows @ self.basis, weights, pool=pool)
        self.origin: Array = mean + unit * (self.basis @ self.sample.origin)
        self.unit: float = unit * self.sample.unit
