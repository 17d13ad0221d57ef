"""Working units: the centre and the scale in which sums over rows lose no digits."""

from __future__ import annotations

import math

import numpy as np

from ravine._typing import Array

__all__ = ["SMALLEST_UNIT", "guess_units", "is_rounding", "round_to_power_of_two"]

# Its inverse must be finite.
SMALLEST_UNIT = 2.0**-1000
# Units of rounding of the data's magnitude up to which a spread counts as none.
ROUNDING = 4.0 * np.finfo(float).eps


def guess_units(few: Array) -> tuple[Array, float]:
    """Return a centre and a unit from a few rows, near enough to the mean and the spread of all rows for their sums."""
    center = few[0] + np.mean(few - few[0], axis=0)
    return center, round_to_power_of_two(float(np.max(np.abs(few - center), initial=0.0)))


def round_to_power_of_two(x: float) -> float:
    """Return the largest power of two that is at most x; 1 for 0, infinity and NaN, which are not usable as a scale."""
    if not math.isfinite(x) or x <= 0.0:
        return 1.0
    return max(math.ldexp(1.0, math.frexp(x)[1] - 1), SMALLEST_UNIT)


def is_rounding(spread: float, center: Array) -> bool:
    """Return whether a spread is no more than the rounding of values of the magnitude of the centre."""
    return bool(spread <= ROUNDING * np.max(np.abs(center), initial=0.0))
