"""Means of clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.rows import Rows

__all__ = ["average_clusters"]

# Bytes of the rows of a block.
BLOCK_BYTES = 1 << 23


def average_clusters(rows: Rows, clusters: NDArray[np.intp], n_clusters: int, weights: Array | None = None) -> Array:
    """Return the mean of the rows of each cluster, with NaN for clusters without rows.

    Parameters
    ----------
    rows : Rows
    clusters : ndarray of shape (n,), int
        Cluster of each row; negative for rows of none.
    n_clusters : int
    weights : ndarray of shape (n,), optional
    """
    n, d = rows.shape
    step = max(1, BLOCK_BYTES // (8 * d))
    sums, totals = np.zeros((n_clusters, d)), np.zeros(n_clusters)
    origin = np.asarray(rows.take(np.arange(1)), dtype=np.float64)[0]  # sums of differences lose no digits
    for start in range(0, n, step):
        indices = np.arange(start, min(start + step, n))
        block = np.asarray(rows.take(indices), dtype=np.float64) - origin
        w = np.ones(len(indices)) if weights is None else weights[indices]
        for k in np.unique(clusters[indices]).tolist():
            if k >= 0:
                here = clusters[indices] == k
                sums[k] += w[here] @ block[here]
                totals[k] += w[here].sum()
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(origin + sums / totals[:, None])
