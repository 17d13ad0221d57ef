"""Bandwidth of the projected density."""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["BandwidthRule", "resolve_bandwidth"]

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
    if callable(rule):
        bandwidth = float(rule(n, pc1_std))
        name = "the bandwidth returned by the callable"
    elif rule == "silverman":
        return 0.9 * pc1_std * math.pow(n, -0.2)
    elif isinstance(rule, str):
        raise ValueError(f"bandwidth must be 'silverman', a positive number or a callable, got {rule!r}.")
    else:
        bandwidth, name = float(rule), "bandwidth"
    if not (math.isfinite(bandwidth) and bandwidth > 0.0):
        raise ValueError(f"{name} must be a positive number, got {bandwidth!r}.")
    return bandwidth
