"""Smallest and largest sizes of clusters, as numbers or as shares of all rows."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["SizeLimits", "check_size", "check_sizes"]


@dataclass(frozen=True)
class SizeLimits:
    """Limits on the sizes of clusters.

    Attributes
    ----------
    smallest : int
    largest : int or None
        None for no limit.
    """

    smallest: int
    largest: int | None = None


def check_size(name: str, value: Any, total: float) -> int:
    """Return a size as a number of rows, or of weights; a share counts from ``total``."""
    allowed = "an integer >= 1, or a share between 0 and 1"
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be {allowed}, got {value!r} of type {type(value).__name__}.")
    if isinstance(value, numbers.Integral):
        if int(value) < 1:
            raise ValueError(f"{name} must be {allowed}, got {value!r}.")
        return int(value)
    if not 0.0 < float(value) < 1.0:
        raise ValueError(f"{name} must be {allowed}, got {value!r}.")
    return max(1, math.ceil(round(float(value) * total, 9)))


def check_sizes(min_size: Any, max_size: Any, total: float, n_clusters: int | None) -> SizeLimits:
    """Return the limits; raise an error if no clusters can have such sizes.

    Parameters
    ----------
    min_size, max_size : int, float or None
        The parameters ``min_cluster_size`` and ``max_cluster_size``; only the latter may be None.
    total : float
        Number of rows, or sum of their weights.
    n_clusters : int or None
    """
    smallest = check_size("min_cluster_size", min_size, total)
    if max_size is None:
        return SizeLimits(smallest)
    largest = check_size("max_cluster_size", max_size, total)
    if largest < 2 * smallest:
        raise ValueError(
            f"max_cluster_size must be at least twice min_cluster_size, so that a larger cluster can be split, got "
            f"{largest} and {smallest} rows."
        )
    if n_clusters is not None and n_clusters * largest < total:
        raise ValueError(
            f"max_cluster_size must be at least {math.ceil(total / n_clusters)} for n_clusters={n_clusters} and "
            f"{total:g} rows, got {largest}."
        )
    return SizeLimits(smallest, largest)
