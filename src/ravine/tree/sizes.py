"""Smallest and largest sizes of clusters, as numbers or as shares of all rows."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array

# Clusters that a warning names.
MOST_NAMED = 5


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


def count_rows(size: float, total: float) -> int:
    """Return a size as a number of rows, or a sum of weights; a float is a share of ``total``."""
    if isinstance(size, numbers.Integral):
        return int(size)
    return max(1, math.ceil(round(float(size) * total, 9)))


def make_limits(min_size: float, max_size: float | None, total: float, n_clusters: int | None) -> SizeLimits:
    """Return the limits; raise an error if no clusters can have such sizes.

    Parameters
    ----------
    min_size, max_size : int, float or None
        The parameters ``min_cluster_size`` and ``max_cluster_size``; only the latter may be None.
    total : float
        Number of rows, or sum of their weights.
    n_clusters : int or None
    """
    smallest = count_rows(min_size, total)
    if max_size is None:
        return SizeLimits(smallest)
    largest = count_rows(max_size, total)
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


def describe_large_clusters(labels: NDArray[np.intp], weights: Array | None, largest: int | None) -> str:
    """Return a sentence that names the clusters that are larger than allowed; empty if there are none."""
    if largest is None:
        return ""
    sizes = np.bincount(labels[labels >= 0], None if weights is None else weights[labels >= 0])
    large = np.flatnonzero(sizes > largest).tolist()
    if not large:
        return ""
    names = ", ".join(f"{k} ({sizes[k]:g} rows)" for k in large[:MOST_NAMED])
    return (
        f"{'clusters' if large[1:] else 'cluster'} {names} {'are' if large[1:] else 'is'} larger than "
        f"max_cluster_size={largest}: allow more clusters, or larger ones."
    )
