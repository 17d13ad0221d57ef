"""Interfaces of the data: `Rows` of any kind, and the `Sample` that answers the questions of a search."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.rows.moments import Moments, StoredMoments
from ravine.rows.questions import Request

# With fewer rows than this, to answer a question costs less than to hand it to a thread.
ROWS_WORTH_A_THREAD = 20_000
Indices = NDArray[np.intp]
# A smaller share of rows in memory than this is copied for a fit; a larger one is gathered block by block.
SMALL_SHARE = 0.5
# Of rows outside the memory of this process, at most this many bytes are copied into it.
SMALL_BYTES = 1 << 23
# Its inverse must be finite.
SMALLEST_UNIT = 2.0**-1000
# Number of rows from which units are guessed.
GUESS_ROWS = 128
# A centre of at most this many standard deviations costs sums about 0 two digits, and saves a pass that subtracts it.
NEAR_ZERO = 8.0
# Units of rounding of the data's magnitude up to which a spread counts as none.
ROUNDING = 4.0 * np.finfo(float).eps


class Sample(ABC):
    """Base class of everything that can sum over its rows; its answers are small, wherever the rows are.

    Coordinates are *working units*: ``z = (x - origin) / unit``, with the (weighted) mean as origin and a power of two
    as unit, so that neither huge offsets nor extreme scales cost accuracy.

    Attributes
    ----------
    total : float
        Sum of the weights.
    lightest : float
        Smallest positive weight.
    origin : ndarray of shape (d,)
    is_remote : bool
        Whether only sums are cheap, and not one number for each row.
    most_gathered : float
        Number of rows near a hyperplane that are worth gathering in the memory of this process.
    """

    n_rows: int
    n_features: int
    total: float
    lightest: float
    origin: Array
    unit: float
    weights: Array | None
    is_remote = False
    most_gathered = math.inf

    @property
    def stage_rows(self) -> NDArray[np.floating[Any]] | None:
        """Rows as one array in memory for compiled stages; None if they are elsewhere or too many."""
        return None

    @property
    def stage_pool(self) -> ThreadPoolExecutor | None:
        """Threads for whole searches; None if they do not pay."""
        return None

    def _set_size(
        self, shape: tuple[int, int], weights: Array | None, pool: ThreadPoolExecutor | None, block_rows: int
    ) -> None:
        self.n_rows, self.n_features = shape
        self.weights = weights
        self.total = float(self.n_rows) if weights is None else float(weights.sum())
        self.lightest = 1.0 if weights is None else float(weights[weights > 0].min(initial=math.inf))
        self._given_pool = pool
        self._pool = pool if self.n_rows >= ROWS_WORTH_A_THREAD else None
        self._blocks = [slice(i, min(i + block_rows, self.n_rows)) for i in range(0, self.n_rows, block_rows)]
        self._moments: Moments | None = None

    def moments(self) -> Moments:
        """Return the total weight and the covariance, in working units."""
        if self._moments is None:
            covariance, shift = self._second_moments(self.origin, self.unit)
            self._moments = StoredMoments(self.total, covariance - np.outer(shift, shift))
        return self._moments

    @property
    def column_variances(self) -> Array:
        """Variances of the features, in working units."""
        return np.maximum(np.diagonal(self.moments().covariance), 0.0)

    def _set_units(self, center: Array, unit: float) -> None:
        """Set mean, unit and covariance in one pass about a provisional centre, or in three if that loses digits."""
        with np.errstate(over="ignore", invalid="ignore"):
            covariance, shift = self._second_moments(center, unit)
        spread = np.diagonal(covariance) - shift**2
        if not np.isfinite(covariance).all() or (shift**2 > 1e3 * spread + 1e-6 * np.max(spread, initial=0.0)).any():
            unit = round_to_power_of_two(self._find_largest(center))
            _, shift = self._second_moments(center, unit)
            center = center + shift * unit
            covariance, shift = self._second_moments(center, unit)
        self.origin = center + shift * unit
        covariance = covariance - np.outer(shift, shift)
        rescale = max(round_to_power_of_two(math.sqrt(max(float(np.trace(covariance)), 0.0))), SMALLEST_UNIT / unit)
        self.unit = unit * rescale
        self._moments = StoredMoments(self.total, covariance / rescale**2)

    def _second_moments(self, center: Array, unit: float) -> tuple[Array, Array]:
        """Return the weighted means of z zᵀ and of z, for z = (x - center) / unit."""
        second, first = self.second_sums(center, unit)
        return second / self.total, first / self.total

    def fourth_moments(self, whitening: Array) -> Array:
        """Return the mean of |y|² y yᵀ over the rows y = whitening @ z, as for invariant coordinate selection."""
        return self.fourth_sums(whitening) / self.total

    def skewness_signs(self, directions: Array) -> Array:
        """Return 1 or -1 for each direction (row): the sign of the third moment of the projections on it."""
        return np.where(self.third_sums(directions) < 0.0, -1.0, 1.0)

    # ------------------------------------------------------------------------------------------- questions

    @abstractmethod
    def new_projections(self) -> Any:
        """Allocate the projections of one start."""

    @abstractmethod
    def answer(self, questions: Sequence[Sequence[Request]]) -> list[list[Any]]:
        """Answer the questions of one round."""

    @abstractmethod
    def fetch(self, indices: NDArray[np.intp]) -> Array:
        """Return some rows in working units."""

    @abstractmethod
    def take(self, indices: NDArray[np.intp]) -> Sample:
        """Return the sample of some rows, in the same working units."""

    def measure_against(self, whole: Sample) -> None:
        """Let densities be those of another sample that these rows are part of."""
        self.total, self.lightest = whole.total, whole.lightest

    def in_subspace(self, directions: Array) -> Sample:
        """Return the coordinates of the rows on a few orthonormal directions (rows), in the same working units."""
        from ravine.rows.array import DenseSample  # which is a Sample

        coordinates = self.fetch(np.arange(self.n_rows)) @ directions.T
        return DenseSample(coordinates, self.weights, pool=self._given_pool, origin=np.zeros(len(directions)), unit=1.0)

    # ------------------------------------------------------------------------------------------- sums over rows

    @abstractmethod
    def _find_largest(self, center: Array) -> float:
        """Return the largest distance of a value from the centre."""

    @abstractmethod
    def second_sums(self, center: Array, unit: float) -> tuple[Array, Array]:
        """Return the weighted sums of z zᵀ and of z, for z = (x - center) / unit."""

    @abstractmethod
    def side_sums(self, center: Array, direction: Array, scale: float) -> Array:
        """Return the weighted sums of the signs and of the cubes of ``(x - center) @ direction / scale``."""

    @abstractmethod
    def third_sums(self, directions: Array) -> Array:
        """Return the weighted sums of the cubes of the projections on the directions."""

    @abstractmethod
    def fourth_sums(self, whitening: Array) -> Array:
        """Return the weighted sum of |y|² y yᵀ over the rows y = whitening @ z."""


def sum_arrays(parts: Iterable[Array], shape: tuple[int, ...] | int = ()) -> Array:
    """Sum arrays, in place of the first; zeros of the shape if there are none."""
    parts = iter(parts)
    total = next(parts, None)
    if total is None:
        return np.zeros(shape)
    for part in parts:
        total += part
    return total


class Rows(ABC):
    """Rows of data, wherever they are stored; `as_rows` makes them from arrays, sparse matrices and other sources.

    Methods take ``indices``, which say which rows are meant; None stands for all rows. Indices are sorted unless they
    are those of `take`.

    Attributes
    ----------
    shape : tuple of int
        Rows and features.
    in_memory : bool
        Whether the rows are in the memory of this process.
    is_lazy : bool
        Whether `apply` returns a lazy collection, because results stay where the rows are.
    is_sparse : bool
        Whether most values are zeros that are not stored.
    """

    shape: tuple[int, int]
    in_memory: bool = False
    is_lazy: bool = False
    is_sparse: bool = False

    # ------------------------------------------------------------------------------------------- values

    @abstractmethod
    def take(self, indices: Indices) -> NDArray[np.floating[Any]]:
        """Copy some rows, in the order of the indices, into an array."""

    def to_array(self) -> NDArray[np.floating[Any]]:
        """Return all rows as an array, without a copy where they are one."""
        return self.take(np.arange(self.shape[0]))

    def glance(self, most: int) -> tuple[Array, Indices]:
        """Return a few rows that cost no pass over all, in some of the features, and which; none from elsewhere."""
        return np.empty((0, self.shape[1])), np.arange(self.shape[1])

    @abstractmethod
    def column(self, j: int, indices: Indices | None = None) -> NDArray[np.floating[Any]]:
        """Return one feature of the rows."""

    @abstractmethod
    def project(self, center: Array, direction: Array, indices: Indices | None = None) -> Array:
        """Compute ``(x - center) @ direction`` in double precision, without a copy of the rows."""

    def signs(self, center: Array, direction: Array) -> NDArray[np.int8]:
        """Return the signs -1, 0 or 1 of ``(x - center) @ direction``."""
        return np.sign(self.project(center, direction)).astype(np.int8)

    def sides(self, center: Array, direction: Array, indices: Indices | None = None) -> NDArray[np.bool_]:
        """Return whether ``(x - center) @ direction`` is positive."""
        return self.project(center, direction, indices) > 0.0

    @abstractmethod
    def apply(self, function: Callable[[Any], NDArray[Any]], indices: Indices | None = None) -> Any:
        """Apply a function to blocks of rows; it must return one result per row."""

    # ------------------------------------------------------------------------------------------- subsets

    def subset(self, indices: Indices, copy: bool | None = None) -> Rows:
        """Return some rows.

        Parameters
        ----------
        copy : bool, optional
            Whether they are copied into the memory of this process. By default they are if all rows are there, since
            passes over a copy take half the time of passes that gather the rows.
        """
        return self._copy(indices) if (self.in_memory if copy is None else copy) else Subset(self, indices)

    @abstractmethod
    def _copy(self, indices: Indices) -> Rows:
        """Copy some rows into the memory of this process."""

    @property
    def copy_limit(self) -> float:
        """Number of rows up to which a copy is worth its memory."""
        return SMALL_SHARE * self.shape[0] if self.in_memory else SMALL_BYTES / (8.0 * self.shape[1])

    @property
    def data(self) -> Any:
        """The array, matrix or source as the user gave it."""
        return self

    def densify_if_small(self) -> Rows:
        """Return sparse rows of few values and features as rows of an array; all others as they are."""
        return self

    # ------------------------------------------------------------------------------------------- fits

    @abstractmethod
    def sample(
        self, weights: Array | None = None, pool: ThreadPoolExecutor | None = None, indices: Indices | None = None
    ) -> Sample:
        """Return the sample that answers the questions of a fit.

        Parameters
        ----------
        weights : ndarray of shape (n,), optional
            Non-negative, not all zero; one for each of the indices if these are given.
        pool : ThreadPoolExecutor, optional
            Threads that share the work; the answers do not depend on them.
        """

    @property
    def needs_row_space(self) -> bool:
        """Whether a fit runs in the space that the rows span: dense rows that are fewer than the features."""
        return self.shape[0] < self.shape[1]

    def session(self) -> AbstractContextManager[None]:
        """Release at its end what a fit has opened elsewhere, also after an error."""
        return nullcontext()


class Subset(Rows):
    """Some rows of others, without a copy."""

    def __init__(self, rows: Rows, indices: Indices) -> None:
        self.rows, self.indices = rows, indices
        self.shape = (len(indices), rows.shape[1])
        self.in_memory, self.is_lazy, self.is_sparse = rows.in_memory, rows.is_lazy, rows.is_sparse

    def _in_whole(self, indices: Indices | None) -> Indices:
        return self.indices if indices is None else self.indices[indices]

    def take(self, indices: Indices) -> NDArray[np.floating[Any]]:
        """Copy some of them into an array."""
        return self.rows.take(self._in_whole(indices))

    def column(self, j: int, indices: Indices | None = None) -> NDArray[np.floating[Any]]:
        """Return one feature of them."""
        return self.rows.column(j, self._in_whole(indices))

    def project(self, center: Array, direction: Array, indices: Indices | None = None) -> Array:
        """Compute ``(x - center) @ direction``."""
        return self.rows.project(center, direction, self._in_whole(indices))

    def sides(self, center: Array, direction: Array, indices: Indices | None = None) -> NDArray[np.bool_]:
        """Return whether ``(x - center) @ direction`` is positive."""
        return self.rows.sides(center, direction, self._in_whole(indices))

    def apply(self, function: Callable[[Any], NDArray[Any]], indices: Indices | None = None) -> Any:
        """Apply a function to blocks of them."""
        return self.rows.apply(function, self._in_whole(indices))

    def subset(self, indices: Indices, copy: bool | None = None) -> Rows:
        """Return some of them."""
        return self.rows.subset(self._in_whole(indices), copy)

    def _copy(self, indices: Indices) -> Rows:
        return self.rows._copy(self._in_whole(indices))

    @property
    def copy_limit(self) -> float:
        """Number of rows up to which a copy is worth its memory."""
        return self.rows.copy_limit

    def sample(
        self, weights: Array | None = None, pool: ThreadPoolExecutor | None = None, indices: Indices | None = None
    ) -> Sample:
        """Return the sample that answers the questions of a fit."""
        return self.rows.sample(weights, pool, self._in_whole(indices))

    def session(self) -> AbstractContextManager[None]:
        """Release at its end what a fit has opened elsewhere."""
        return self.rows.session()


def draw_indices(indices: Indices, most: int, rng: np.random.Generator) -> Indices:
    """Return the indices or, if there are more than ``most``, a random choice of these in sorted order."""
    return indices if len(indices) <= most else np.sort(rng.choice(indices, most, replace=False))


def as_rows(X: Any) -> Rows:
    """Return X as `Rows`, without a copy where that is possible; no value is looked at.

    Parameters
    ----------
    X : array-like, sparse matrix or Rows
        `Rows` are returned as they are. Arrays of other types than float32 and float64 are converted to float64.
    """
    from ravine.rows.array import ArrayRows  # here, because they import this module
    from ravine.rows.sparse import SparseRows

    if isinstance(X, Rows):
        return X
    if is_sparse_matrix(X):
        return SparseRows(X.tocsr())
    array = np.asarray(X)
    if array.dtype not in (np.float32, np.float64) or not array.dtype.isnative:
        array = array.astype(np.float64)
    return ArrayRows(array)


# ----------------------------------------------------------------------------------------------- units


def guess_units(few: Array) -> tuple[Array, float]:
    """Return a centre and a unit from a few rows, near enough to the mean and the spread of all rows for their sums.

    The centre is 0 where that is near enough, so that the rows need not be centred.
    """
    center = few[0] + (few - few[0]).sum(axis=0) / len(few)
    deviations = few - center
    unit = round_to_power_of_two(max(float(deviations.max(initial=0.0)), -float(deviations.min(initial=0.0))))
    deviations /= unit
    spread = unit * np.sqrt(np.einsum("ij,ij->j", deviations, deviations) / len(few))
    return (np.zeros(len(center)) if (np.abs(center) <= NEAR_ZERO * spread).all() else center), unit


def center_and_scale(x: NDArray[np.floating[Any]], weights: Array | None = None) -> tuple[Array, Array, float]:
    """Return (x - center) / scale, the (weighted) mean as center, and a power of two as scale; squares do not overflow.

    Constant features are exactly zero: a mean has rounding errors, but the mean of differences of equal values has not.
    """
    origin = x[0].astype(np.float64)
    z = x - origin
    mean = z.mean(axis=0) if weights is None else (weights / weights.sum()) @ z
    z -= mean
    scale = round_to_power_of_two(float(np.max(np.abs(z), initial=0.0)))
    z /= scale
    return z, origin + mean, scale


def round_to_power_of_two(x: float) -> float:
    """Return the largest power of two that is at most x; 1 for 0, infinity and NaN, which are not usable as a scale."""
    if not math.isfinite(x) or x <= 0.0:
        return 1.0
    return max(math.ldexp(1.0, math.frexp(x)[1] - 1), SMALLEST_UNIT)


def is_rounding(spread: float, center: Array) -> bool:
    """Return whether a spread is no more than the rounding of values of the magnitude of the centre."""
    return bool(spread <= ROUNDING * np.max(np.abs(center), initial=0.0))


def is_sparse_matrix(X: Any) -> bool:
    """Return whether X is a sparse matrix or array of SciPy; SciPy is not imported for anything else."""
    return hasattr(X, "tocsr") and type(X).__module__.startswith("scipy.sparse")
