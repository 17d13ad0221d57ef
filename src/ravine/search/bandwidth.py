"""Bandwidth of the projected density."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable

__all__ = ["BandwidthRule", "resolve_bandwidth"]

# In standard deviations of the data: below it, the rounding of projections is no longer small.
SMALLEST_BANDWIDTH = 1e-11
# Above it, there is nothing left to see.
LARGEST_BANDWIDTH = 1e8

BandwidthRule = str | float | Callable[[float, float], float]


def resolve_bandwidth(rule: BandwidthRule, n: float, pc1_std: float) -> float:
    """The bandwidth that a rule, number or callable gives.

    Parameters
    ----------
    rule : "silverman", positive number or callable
        ``"silverman"`` is the paper's ``0.9 * pc1_std * n**(-1/5)``; a callable gets ``(n, pc1_std)``.
    n : float
        Sum of the weights.
    pc1_std : float
        Standard deviation along the first principal component, in the units of the data.
    """
    if rule == "silverman":
        given: object = 0.9 * pc1_std * math.pow(n, -0.2)
        name = f"the bandwidth 'silverman' for a total weight of {n:g}"
    elif callable(rule):
        given, name = rule(n, pc1_std), "the bandwidth returned by the callable"
    else:
        given, name = rule, "bandwidth"
    bandwidth = float(given) if isinstance(given, numbers.Real) else math.nan
    if not (math.isfinite(bandwidth) and bandwidth > 0.0):
        raise ValueError(f"{name} must be a positive number, got {given!r}.")
    if bandwidth < SMALLEST_BANDWIDTH * pc1_std:
        raise ValueError(
            f"{name} is {bandwidth:g}, less than {SMALLEST_BANDWIDTH:g} of the data's standard deviation "
            f"({pc1_std:g}): too small to tell rows apart."
        )
    if bandwidth > LARGEST_BANDWIDTH * pc1_std > 0.0:
        raise ValueError(
            f"{name} is {bandwidth:g}, more than {LARGEST_BANDWIDTH:g} standard deviations of the data ({pc1_std:g}): "
            "it would smooth everything away."
        )
    return bandwidth
