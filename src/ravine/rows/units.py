"""Working units: the centre and the scale in which sums over rows lose no digits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array

# Its inverse must be finite.
SMALLEST_UNIT = 2.0**-1000
# Number of rows from which units are guessed.
GUESS_ROWS = 128
# A centre of at most this many standard deviations costs sums about 0 two digits, and saves a pass that subtracts it.
NEAR_ZERO = 8.0
# Units of rounding of the data's magnitude up to which a spread counts as none.
ROUNDING = 4.0 * np.finfo(float).eps


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
