"""Numbers of clusters in an order that does not depend on how they were found."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["number_by_size"]


def number_by_size(labels: NDArray[np.integer[Any]]) -> NDArray[np.intp]:
    """Labels from 0 on, by decreasing size, then by the first row."""
    _, first, inverse, counts = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.lexsort((first, -counts))] = np.arange(len(first))
    return np.asarray(rank[inverse.ravel()])
