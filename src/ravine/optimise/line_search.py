"""Weak Wolfe line search along a great circle (Lewis & Overton 2013).

Only the weak conditions are required: at a kink the derivative jumps, and there may be no point that satisfies the
strong ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from ravine._kernels import CURVATURE, LARGEST_ANGLE, MAX_TRIALS, SUFFICIENT_DECREASE
from ravine.optimise.objective import Questions


@dataclass(frozen=True)
class Step:
    """Result of a line search: the angle (0 if no decrease was found), the value there and the number of trials."""

    angle: float
    value: float
    n_trials: int


class LineFunction(Protocol):
    """Function along a line or circle: everything that a line search needs."""

    def evaluate(self, t: float) -> Questions[float]:
        """Return the value at t."""

    def differentiate(self, t: float) -> Questions[float]:
        """Return the derivative at t, the point evaluated last."""


def search_weak_wolfe(
    objective: LineFunction,
    value: float,
    slope: float,
    first: float,
    resolution: float,
    largest: float = LARGEST_ANGLE,
) -> Questions[Step]:
    """Find an angle with sufficient decrease and a sufficiently increased slope.

    Parameters
    ----------
    objective : LineFunction
        A `SphereObjective` whose tangent is set, or any other function along a line.
    value, slope : float
        Value and (negative) slope at angle 0.
    first : float
        First angle to try.
    resolution : float
        Smallest significant difference of values.
    largest : float
        Largest angle to try.
    """
    low, low_value, high = 0.0, value, math.inf
    t, last = min(first, largest), 0.0
    n_trials = 0
    while n_trials < MAX_TRIALS:
        at = yield from objective.evaluate(t)
        n_trials, last = n_trials + 1, t
        if at > value + SUFFICIENT_DECREASE * slope * t:
            high = t
            t = _interpolate(low, low_value, slope if low == 0.0 else math.nan, high, at)
        else:
            slope_here = yield from objective.differentiate(t)
            if slope_here >= CURVATURE * slope or t >= largest:
                return Step(t, at, n_trials)
            low, low_value = t, at
            t = min(2.0 * t, largest) if math.isinf(high) else 0.5 * (low + high)
        if not math.isinf(high) and abs(slope) * (high - low) <= resolution:
            break
    if low == 0.0:
        return Step(0.0, value, n_trials)
    if last != low:
        low_value = yield from objective.evaluate(low)
        yield from objective.differentiate(low)
        n_trials += 1
    return Step(low, low_value, n_trials)


def _interpolate(low: float, low_value: float, slope: float, high: float, high_value: float) -> float:
    """Minimise the parabola given by value and slope at the low point and the value at the high point.

    The result stays well inside the bracket.
    """
    width = high - low
    rise = high_value - low_value - slope * width
    if not (math.isfinite(rise) and rise > 0.0):
        return low + 0.5 * width
    return low + min(max(-0.5 * slope * width / rise, 0.1), 0.6) * width
