"""Agreement of two partitions: their contingency table and the adjusted Rand index."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ravine._typing import Array

__all__ = ["adjusted_rand_index", "contingency_table"]


def contingency_table(y_true: ArrayLike, labels: ArrayLike) -> NDArray[np.intp]:
    """Count the rows that each pair of a cluster and a true cluster share.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True clusters, of any type.
    labels : array-like of shape (n,)
        Clusters, of any type.

    Returns
    -------
    ndarray of shape (n_clusters, n_true_clusters), int
        Numbers of common rows.

    Examples
    --------
    >>> from ravine.metrics import contingency_table
    >>> contingency_table(["a", "a", "b"], [0, 1, 1])
    array([[1, 0],
           [1, 1]])
    """
    truth, partition = np.asarray(y_true), np.asarray(labels)
    for name, values in (("y_true", truth), ("labels", partition)):
        if values.ndim != 1:
            raise ValueError(f"{name} must be one-dimensional, got an array of shape {values.shape}.")
        if values.dtype.kind == "f" and np.isnan(values).any():
            raise ValueError(f"{name} contains NaN.")
    if len(truth) != len(partition):
        raise ValueError(f"y_true and labels must have the same length, got {len(truth)} and {len(partition)}.")
    if not len(truth):
        raise ValueError("y_true and labels must have at least one row, got empty arrays.")
    n_clusters, cluster = _encode(partition)
    n_true, true_cluster = _encode(truth)
    return np.bincount(cluster * n_true + true_cluster, minlength=n_clusters * n_true).reshape(n_clusters, n_true)


def adjusted_rand_index(counts: ArrayLike) -> float:
    """Compute the adjusted Rand index of two partitions: 1 if they are equal, about 0 by chance.

    Parameters
    ----------
    counts : array-like of shape (n_clusters, n_true_clusters)
        Numbers of common rows, as `contingency_table` returns them.

    Returns
    -------
    float
        At most 1.

    Examples
    --------
    >>> from ravine.metrics import adjusted_rand_index
    >>> adjusted_rand_index([[4, 0], [0, 3]])
    1.0
    """
    table = np.asarray(counts, dtype=np.float64)

    def count_pairs(sizes: Array) -> float:
        return float((sizes * (sizes - 1.0)).sum()) / 2.0

    both, rows, columns = count_pairs(table), count_pairs(table.sum(axis=1)), count_pairs(table.sum(axis=0))
    everything = count_pairs(np.asarray(table.sum()))
    if everything == 0.0:
        return 1.0
    expected, most = rows * columns / everything, 0.5 * (rows + columns)
    return 1.0 if most == expected else (both - expected) / (most - expected)


def _encode(labels: NDArray[Any]) -> tuple[int, NDArray[np.intp]]:
    """Return the number of distinct labels, and the position of each among them, sorted if they can be."""
    try:
        values, codes = np.unique(labels, return_inverse=True)
        return len(values), codes.astype(np.intp)
    except TypeError:  # None or labels of several types cannot be sorted
        positions: dict[Any, int] = {}
        codes = np.array([positions.setdefault(label, len(positions)) for label in labels.tolist()], dtype=np.intp)
        return len(positions), codes
