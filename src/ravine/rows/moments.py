"""What every sample measures: size, mean, unit and moments, from sums over its rows wherever they are."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ravine._typing import Array
from ravine.rows.questions import Moments

__all__ = ["ROWS_WORTH_A_THREAD", "MeasuredSample", "provisional_units", "round_to_power_of_two", "total_of"]

# Below this many rows a question is cheaper than handing it to a thread.
ROWS_WORTH_A_THREAD = 20_000
# Its inverse must be finite.
SMALLEST_UNIT = 2.0**-1000


class MeasuredSample(ABC):
    """Rows of which sums can be had."""

    n_rows: int
    n_features: int
    origin: Array
    unit: float
    is_remote = False

    def _set_up(
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
        """Total weight and covariance, in working units."""
        if self._moments is None:
            covariance, shift = self._second_moments(self.origin, self.unit)
            self._moments = Moments(self.total, covariance - np.outer(shift, shift))
        return self._moments

    @property
    def column_variances(self) -> Array:
        """Variances of the features, in working units."""
        return np.maximum(np.diagonal(self.moments().matrix), 0.0)

    def _measure(self, center: Array, unit: float) -> None:
        """Mean, unit and covariance in one pass about a provisional centre, or two where that would lose digits."""
        with np.errstate(over="ignore", invalid="ignore"):
            covariance, shift = self._second_moments(center, unit)
        spread = np.diagonal(covariance) - shift**2
        if not np.isfinite(covariance).all() or (shift**2 > 1e3 * spread + 1e-6 * np.max(spread, initial=0.0)).any():
            unit = round_to_power_of_two(self._largest(center))
            _, shift = self._second_moments(center, unit)
            center = center + shift * unit
            covariance, shift = self._second_moments(center, unit)
        self.origin = center + shift * unit
        covariance = covariance - np.outer(shift, shift)
        rescale = max(round_to_power_of_two(math.sqrt(max(float(np.trace(covariance)), 0.0))), SMALLEST_UNIT / unit)
        self.unit = unit * rescale
        self._moments = Moments(self.total, covariance / rescale**2)

    def _second_moments(self, center: Array, unit: float) -> tuple[Array, Array]:
        """Weighted means of z zᵀ and of z, for z = (x - center) / unit."""
        second, first = self.second_sums(center, unit)
        return second / self.total, first / self.total

    def fourth_moments(self, whitening: Array) -> Array:
        """Mean of |y|² y yᵀ over the rows y = whitening @ z: the scatter of invariant coordinate selection."""
        return self.fourth_sums(whitening) / self.total

    def skewness_signs(self, directions: Array) -> Array:
        """1 or -1 for each direction (row): the sign of the third moment of the projections on it."""
        return np.where(self.third_sums(directions) < 0.0, -1.0, 1.0)

    @abstractmethod
    def _largest(self, center: Array) -> float:
        """The largest distance of a cell from the centre."""

    @abstractmethod
    def second_sums(self, center: Array, unit: float) -> tuple[Array, Array]:
        """Weighted sums of z zᵀ and of z, for z = (x - center) / unit."""

    @abstractmethod
    def side_sums(self, center: Array, direction: Array, scale: float) -> Array:
        """Sum over the rows, by weight, the signs and the cubes of ``(x - center) @ direction / scale``."""

    @abstractmethod
    def third_sums(self, directions: Array) -> Array:
        """Weighted sums of the cubes of the projections on the directions."""

    @abstractmethod
    def fourth_sums(self, whitening: Array) -> Array:
        """Weighted sum of |y|² y yᵀ over the rows y = whitening @ z."""


def provisional_units(rows: Array) -> tuple[Array, float]:
    """A centre and a unit from a few rows, near enough for sums that lose no digits."""
    center = rows[0] + np.mean(rows - rows[0], axis=0)
    return center, round_to_power_of_two(float(np.max(np.abs(rows - center), initial=0.0)))


def total_of(parts: Iterable[Array], shape: tuple[int, ...] | int = ()) -> Array:
    """Sum of arrays; zeros of the shape if there are none."""
    parts = iter(parts)
    total = next(parts, None)
    if total is None:
        return np.zeros(shape)
    for part in parts:
        total += part
    return total


def round_to_power_of_two(x: float) -> float:
    """Round down to a power of two; return 1 if x is not positive and finite."""
    if not math.isfinite(x) or x <= 0.0:
        return 1.0
    return max(math.ldexp(1.0, math.frexp(x)[1] - 1), SMALLEST_UNIT)
