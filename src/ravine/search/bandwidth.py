"""Bandwidth of the projected density."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any

from ravine.checks import check_number
from ravine.density import compute_silverman_bandwidth

# In standard deviations of the data. Below it, the rounding of projections is no longer negligible.
SMALLEST_BANDWIDTH = 1e-11
# Above it, the density has no structure left.
LARGEST_BANDWIDTH = 1e8
# In the units of X. Fractions of a smaller bandwidth vanish.
SMALLEST_NUMBER = 1e-322

BandwidthRule = str | float | Callable[[float, float], float]


def check_bandwidth(rule: Any) -> BandwidthRule:
    """Return a rule's name, a positive number or a callable."""
    if rule is None or (isinstance(rule, str) and rule != "silverman"):
        raise ValueError(f"bandwidth must be 'silverman', a positive number or a callable, got {rule!r}.")
    if not isinstance(rule, str) and not callable(rule):
        check_number("bandwidth", rule, low=0.0, open_low=True)
    return rule  # type: ignore[no-any-return]


def check_representable(name: str, bandwidth: float, pc1_std: float) -> None:
    """Raise an error if a bandwidth is so small that fractions of it vanish."""
    if bandwidth < SMALLEST_NUMBER:
        raise ValueError(
            f"X has a standard deviation of {pc1_std:g}, and {name} is {bandwidth:g}, too near the smallest number "
            "that can be represented: multiply X by a large number."
        )


def resolve_bandwidth(rule: BandwidthRule, n: float, pc1_std: float) -> float:
    """Return the bandwidth of a rule, number or callable.

    Parameters
    ----------
    rule : "silverman", positive number or callable
        ``"silverman"`` is the paper's ``0.9 * pc1_std * n**(-1/5)``; a callable is called with ``(n, pc1_std)``.
    n : float
        Sum of the weights.
    pc1_std : float
        Standard deviation along the first principal component, in the units of the data.
    """
    if rule == "silverman":
        given: object = compute_silverman_bandwidth(pc1_std, n)
        name = f"the bandwidth 'silverman' for a total weight of {n:g}"
    elif callable(rule):
        given, name = rule(n, pc1_std), "the bandwidth returned by the callable"
    else:
        given, name = rule, "bandwidth"
    bandwidth = float(given) if isinstance(given, numbers.Real) else math.nan
    if rule == "silverman" or bandwidth > 0.0:
        check_representable(name, bandwidth, pc1_std)
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
            "it would smooth away all structure."
        )
    return bandwidth
