"""Squared Euclidean distances that keep their digits for rows that are almost equal."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from ravine_paper._typing import Array
from ravine_paper.baselines._shared.row_slices import split_into_blocks

__all__ = ["compute_squared_distances"]

# Up to this many features squared differences are summed directly, above by a matrix product.
FEW_FEATURES = 32
# Where a squared distance is this small a part of the squared norms, the product has lost too many digits.
CANCELLED = 1e-5


def compute_squared_distances(rows: Array, others: Array) -> Array:
    """Compute the squared distances between all pairs, accurately also for rows that are almost equal."""
    if rows.shape[1] <= FEW_FEATURES:
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
    for pairs in split_into_blocks(len(one), rows.shape[1]):
        difference = rows[one[pairs]] - others[other[pairs]]
        squared[one[pairs], other[pairs]] = np.einsum("ij,ij->i", difference, difference)
    return squared
