"""Weak Wolfe line search along a great circle (Lewis & Overton 2013).

Only the weak conditions are asked for: at a kink the derivative jumps, and no point may satisfy the strong ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from ravine.optimise.objective import Asking

__all__ = ["Line", "Step", "weak_wolfe"]

SUFFICIENT_DECREASE = 1e-4
CURVATURE = 0.9
MAX_TRIALS = 25
LARGEST_ANGLE = 0.5 * math.pi


@dataclass(frozen=True)
class Step:
    """Where a line search ended: the angle (0 if no decrease was found), the value there, trials made."""

    angle: float
    value: float
    n_trials: int


class Line(Protocol):
    """A function along a line or circle: all that a line search sees."""

    def trial(self, t: float) -> Asking[float]:
        """Value at t."""

    def slope(self, t: float) -> Asking[float]:
        """Derivative at t, the last trial."""


def weak_wolfe(
    objective: Line,
    value: float,
    slope: float,
    first: float,
    resolution: float,
    largest: float = LARGEST_ANGLE,
) -> Asking[Step]:
    """Find an angle with sufficient decrease and a slope that has risen enough.

    Parameters
    ----------
    objective : Line
        A `SphereObjective` that already faces along the circle, or anything else with values along a line.
    value, slope : float
        At angle 0; the slope is negative.
    first : float
        First angle to try.
    resolution : float
        Smallest difference of values that means anything.
    largest : float
        No angle beyond this is tried.
    """
    low, low_value, high = 0.0, value, math.inf
    t, last = min(first, largest), 0.0
    n_trials = 0
    while n_trials < MAX_TRIALS:
        at = yield from objective.trial(t)
        n_trials, last = n_trials + 1, t
        if at > value + SUFFICIENT_DECREASE * slope * t:
            high = t
            t = _interpolated(low, low_value, slope if low == 0.0 else math.nan, high, at)
        else:
            slope_here = yield from objective.slope(t)
            if slope_here >= CURVATURE * slope or t >= largest:
                return Step(t, at, n_trials)
            low, low_value = t, at
            t = min(2.0 * t, largest) if math.isinf(high) else 0.5 * (low + high)
        if not math.isinf(high) and abs(slope) * (high - low) <= resolution:
            break
    if low == 0.0:
        return Step(0.0, value, n_trials)
    if last != low:
        low_value = yield from objective.trial(low)
        yield from objective.slope(low)
        n_trials += 1
    return Step(low, low_value, n_trials)


def _interpolated(low: float, low_value: float, slope: float, high: float, high_value: float) -> float:
    """Minimum of the parabola through the low point with its slope and the high point, well inside the bracket."""
    width = high - low
    rise = high_value - low_value - slope * width
    if not (math.isfinite(rise) and rise > 0.0):
        return low + 0.5 * width
    return low + min(max(-0.5 * slope * width / rise, 0.1), 0.6) * width
