"""Most typical rows of clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array

__all__ = ["find_exemplars"]

MOST_EXEMPLARS = 5


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
