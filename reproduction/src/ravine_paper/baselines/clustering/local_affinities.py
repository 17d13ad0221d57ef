"""Affinities with a scale of its own for each row, after Zelnik-Manor and Perona."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from ravine_paper._typing import Array
from ravine_paper.baselines._shared.distances import compute_squared_distances
from ravine_paper.baselines._shared.row_slices import split_into_blocks

__all__ = ["SCALE_FLOOR", "centre_and_scale", "compute_affinities", "compute_local_scales"]

# Scales are at least this fraction of their median, which replaces a scale of zero with ``duplicates="floor"``.
SCALE_FLOOR = 1e-8


def centre_and_scale(X: NDArray[np.floating[Any]]) -> tuple[Array, float]:
    """Return the centred rows divided by a power of two, so that no sum of squares overflows, and that power."""
    rows = np.array(X, dtype=np.float64, order="C")
    rows -= rows[0]  # constant features become zero, and the mean loses no digits to an offset
    rows -= rows.mean(axis=0)
    exponent = math.frexp(float(np.abs(rows).max()))[1]
    return np.ldexp(rows, -exponent), math.ldexp(1.0, exponent)


def compute_local_scales(rows: Array, n_neighbors: int, duplicates: str) -> Array:
    """Compute the distance of each row to its ``n_neighbors``-th nearest other row.

    Where it is zero, because as many rows are equal, it is the distance to the nearest row that differs
    (``duplicates="next"``), or the smallest scale allowed (``"floor"``).
    """
    n = len(rows)
    k = min(n_neighbors, n - 1)
    neighbours = NearestNeighbors(n_neighbors=k).fit(rows).kneighbors(return_distance=False)
    # The search may use a matrix product, which does not give exact zeros: distances are computed again.
    scales = np.empty(n)
    for block in split_into_blocks(n, k * rows.shape[1]):
        difference = rows[block, None] - rows[neighbours[block]]
        scales[block] = np.sqrt(np.einsum("ijk,ijk->ij", difference, difference).max(axis=1))
    if duplicates == "next" and not scales.all():
        scales[scales == 0.0] = _find_distance_to_distinct(rows, np.flatnonzero(scales == 0.0))
    positive = scales[scales > 0.0]
    return np.maximum(scales, SCALE_FLOOR * float(np.median(positive)) if len(positive) else 1.0)


def _find_distance_to_distinct(rows: Array, indices: NDArray[np.intp]) -> Array:
    """Find the distance of some rows to the nearest row that differs; zero if there is none."""
    distinct, place = np.unique(rows, axis=0, return_inverse=True)
    if len(distinct) < 2:
        return np.zeros(len(indices))
    own, back = np.unique(place.ravel()[indices], return_inverse=True)
    search = NearestNeighbors(n_neighbors=2).fit(distinct)
    neighbours = search.kneighbors(distinct[own], return_distance=False)
    nearest = np.where(neighbours[:, 0] == own, neighbours[:, 1], neighbours[:, 0])
    return np.asarray(np.sqrt(((distinct[own] - distinct[nearest]) ** 2).sum(axis=1))[back.ravel()])


def compute_affinities(rows: Array, scales: Array, others: Array, other_scales: Array) -> Array:
    """Compute exp(-‖x - y‖² / (s_x s_y)) for all pairs, with no other array of that size."""
    result = np.empty((len(rows), len(others)))
    for block in split_into_blocks(len(rows), len(others)):
        values = result[block]
        values[:] = compute_squared_distances(rows[block], others)
        with np.errstate(over="ignore", under="ignore"):
            values /= -scales[block, None]
            values /= other_scales
            np.exp(values, out=values)
    return result
