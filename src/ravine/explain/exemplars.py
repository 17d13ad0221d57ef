"""Most typical rows and centres of clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.rows import Rows

# Exemplars of each cluster.
MOST_EXEMPLARS = 5
# Bytes of the rows of a block.
BLOCK_BYTES = 1 << 23


def leave_out_outliers(clusters: NDArray[np.intp], is_outlier: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the cluster of each row, with -1 for outliers of clusters that have other rows."""
    others = np.bincount(clusters[~is_outlier], minlength=int(clusters.max(initial=-1)) + 1)
    return np.where(is_outlier & (others[clusters] > 0), -1, clusters)


def find_exemplars(
    scores: Array, clusters: NDArray[np.intp], n_clusters: int, most: int = MOST_EXEMPLARS
) -> list[NDArray[np.intp]]:
    """Return the indices of the rows with the smallest scores of each cluster, the smallest first.

    Parameters
    ----------
    scores : ndarray of shape (n,)
    clusters : ndarray of shape (n,), int
        Cluster of each row; negative for rows of none.
    n_clusters : int
    most : int
        Number of rows for each cluster, if it has as many.
    """
    found = []
    for k in range(n_clusters):
        members = np.flatnonzero(clusters == k)
        few = min(most, len(members))
        if few < len(members):  # the first of equal scores
            members = members[scores[members] <= np.partition(scores[members], few - 1)[few - 1]]
        found.append(members[np.argsort(scores[members], kind="stable")[:few]])
    return found


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
