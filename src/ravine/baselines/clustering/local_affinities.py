"""Affinities with a scale of their own for each row, after Zelnik-Manor and Perona."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from ravine._typing import Array

__all__ = ["SCALE_FLOOR", "affinities", "local_scales", "squared_distances", "working_rows"]

# Scales are at least this fraction of their median: what a scale of zero becomes with ``duplicates="floor"``.
SCALE_FLOOR = 1e-8
# Numbers in a block of rows and of pairs.
BLOCK = 1 << 21
# Up to this many columns squared differences are summed directly, above by a matrix product.
FEW_COLUMNS = 32
# Where a squared distance is this small a part of the squared norms, the product has lost too many digits.
CANCELLED = 1e-5


def working_rows(X: NDArray[np.floating[Any]]) -> tuple[Array, float]:
    """The rows, centred and divided by a power of two, so that no sum of squares overflows, and that power."""
    rows = np.array(X, dtype=np.float64, order="C")
    rows -= rows[0]  # equal columns become zero, and the mean loses no digits to an offset
    rows -= rows.mean(axis=0)
    exponent = math.frexp(float(np.abs(rows).max()))[1]
    return np.ldexp(rows, -exponent), math.ldexp(1.0, exponent)


def squared_distances(rows: Array, others: Array) -> Array:
    """Squared Euclidean distances between all pairs, also exact for rows that are much alike."""
    if rows.shape[1] <= FEW_COLUMNS:
        return np.asarray(cdist(rows, others, "sqeuclidean"))
    norms = np.einsum("ij,ij->i", rows, rows)[:, None] + np.einsum("ij,ij->i", others, others)
    squared = rows @ others.T
    squared *= -2.0
    squared += norms
    norms *= CANCELLED
    close = squared < norms
    if np.count_nonzero(close) > 0.1 * close.size:
        return np.asarray(cdist(rows, others, "sqeuclidean"))
    one, other = np.nonzero(close)
    step = max(1, BLOCK // rows.shape[1])
    for start in range(0, len(one), step):
        pairs = slice(start, start + step)
        difference = rows[one[pairs]] - others[other[pairs]]
        squared[one[pairs], other[pairs]] = np.einsum("ij,ij->i", difference, difference)
    return squared


def local_scales(rows: Array, n_neighbors: int, duplicates: str) -> Array:
    """Distance of each row to its ``n_neighbors``-th nearest other row.

    Where that is zero, because as many rows are equal, it is the distance to the nearest row that differs
    (``duplicates="next"``), or the least scale allowed (``"floor"``).
    """
    n = len(rows)
    k = min(n_neighbors, n - 1)
    neighbours = NearestNeighbors(n_neighbors=k).fit(rows).kneighbors(return_distance=False)
    # The search may use a matrix product, which has no exact zeros: distances are summed again.
    scales = np.empty(n)
    step = max(1, BLOCK // (k * rows.shape[1]))
    for start in range(0, n, step):
        difference = rows[start : start + step, None] - rows[neighbours[start : start + step]]
        scales[start : start + step] = np.sqrt(np.einsum("ijk,ijk->ij", difference, difference).max(axis=1))
    if duplicates == "next" and not scales.all():
        scales[scales == 0.0] = _distance_to_another(rows, np.flatnonzero(scales == 0.0))
    positive = scales[scales > 0.0]
    return np.maximum(scales, SCALE_FLOOR * float(np.median(positive)) if len(positive) else 1.0)


def _distance_to_another(rows: Array, which: NDArray[np.intp]) -> Array:
    """Distance of some rows to the nearest row that differs; zero if there is none."""
    distinct, place = np.unique(rows, axis=0, return_inverse=True)
    if len(distinct) < 2:
        return np.zeros(len(which))
    mine, back = np.unique(place.ravel()[which], return_inverse=True)
    search = NearestNeighbors(n_neighbors=2).fit(distinct)
    neighbours = search.kneighbors(distinct[mine], return_distance=False)
    nearest = np.where(neighbours[:, 0] == mine, neighbours[:, 1], neighbours[:, 0])
    return np.asarray(np.sqrt(((distinct[mine] - distinct[nearest]) ** 2).sum(axis=1))[back.ravel()])


def affinities(rows: Array, scales: Array, others: Array, other_scales: Array) -> Array:
    """exp(-‖x - y‖² / (s_x s_y)) for all pairs, as the one array of that size that is made."""
    result = np.empty((len(rows), len(others)))
    step = max(1, BLOCK // len(others))
    for start in range(0, len(rows), step):
        block = result[start : start + step]
        block[:] = squared_distances(rows[start : start + step], others)
        with np.errstate(over="ignore", under="ignore"):
            block /= -scales[start : start + step, None]
            block /= other_scales
            np.exp(block, out=block)
    return result
