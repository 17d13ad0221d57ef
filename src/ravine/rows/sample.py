"""Interface of the data as the search sees it: working units, moments and answers to questions."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.rows.moments import Moments, StoredMoments
from ravine.rows.questions import Request
from ravine.rows.units import SMALLEST_UNIT, round_to_power_of_two

__all__ = ["ROWS_WORTH_A_THREAD", "Sample", "sum_arrays"]

# With fewer rows than this, to answer a question costs less than to hand it to a thread.
ROWS_WORTH_A_THREAD = 20_000


class Sample(ABC):
    """Base class of everything that can sum over its rows; its answers are small, wherever the rows are.

    Coordinates are *working units*: ``z = (x - origin) / unit``, with the (weighted) mean as origin and a power of two
    as unit, so that neither huge offsets nor extreme scales cost accuracy.

    Attributes
    ----------
    n_rows, n_features : int
    total : float
        Sum of the weights.
    lightest : float
        Smallest positive weight.
    origin : ndarray of shape (d,)
    unit : float
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
