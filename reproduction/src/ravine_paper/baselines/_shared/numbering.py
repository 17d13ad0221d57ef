"""Cluster numbers that do not depend on the order in which the clusters were found."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["number_by_size"]


def number_by_size(labels: NDArray[np.integer[Any]]) -> NDArray[np.intp]:
    """Renumber labels from 0 by decreasing cluster size; the cluster of the first row wins ties."""
    _, first, inverse, counts = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.lexsort((first, -counts))] = np.arange(len(first))
    return np.asarray(rank[inverse.ravel()])
