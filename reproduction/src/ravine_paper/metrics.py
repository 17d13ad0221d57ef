"""Scores of the paper: success ratio and V-measure of binary partitions, and regret."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ravine_paper._typing import Array

__all__ = [
    "binary_v_measure",
    "merge_clusters",
    "regret",
    "success_ratio",
]


def merge_clusters(y_true: ArrayLike, labels: ArrayLike) -> NDArray[Any]:
    """Merge true clusters into two by assigning each to the side of the partition with most of its members.

    A cluster that is divided equally is assigned to the smaller side, and between sides of equal size to that of the
    smaller label.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True clusters, of any type.
    labels : array-like of shape (n,)
        Partition into at most two sides: at most two distinct values, of any type.

    Returns
    -------
    ndarray of shape (n,)
        For each row the label of the side to which its cluster is assigned.

    Examples
    --------
    >>> from ravine_paper.metrics import merge_clusters
    >>> merge_clusters(["a", "a", "a", "b", "b", "c"], [0, 0, 1, 1, 1, 1])
    array([0, 0, 0, 1, 1, 1])
    """
    sides, counts, cluster = _count_on_two_sides(y_true, labels)
    return np.asarray(sides[_assign_clusters(counts)[cluster]])


def success_ratio(y_true: ArrayLike, labels: ArrayLike) -> float:
    """Compute the success ratio: how well the majority of at least one cluster is separated from the rest.

    With the true clusters merged into two (`merge_clusters`), the error E is the number of rows that are not on the
    side of their cluster (eq. (27)), the success S is the smaller of the two majorities (eq. (28)), and the ratio is
    S / (S + E), eq. (29). It is 0 if all clusters are assigned to one side.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True clusters, of any type.
    labels : array-like of shape (n,)
        Partition into at most two sides: at most two distinct values, of any type.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from ravine_paper.metrics import success_ratio
    >>> success_ratio(["a", "a", "a", "a", "b", "b", "c", "c"], [0, 0, 0, 0, 0, 1, 1, 1])
    0.75
    """
    overlap = _count_merged_rows(y_true, labels)
    if overlap is None:
        return 0.0
    error = min(overlap[0, 0] + overlap[1, 1], overlap[0, 1] + overlap[1, 0])  # eq. (27)
    success = overlap.max(axis=1).min()  # eq. (28)
    return float(success / (success + error))  # eq. (29)


def binary_v_measure(y_true: ArrayLike, labels: ArrayLike) -> float:
    """Compute the V-measure of the partition against the true clusters merged into two (`merge_clusters`).

    It is 0 if all clusters are assigned to one side, in particular if both sides have the same proportions of clusters.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True clusters, of any type.
    labels : array-like of shape (n,)
        Partition into at most two sides: at most two distinct values, of any type.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from ravine_paper.metrics import binary_v_measure
    >>> binary_v_measure(["a", "a", "b", "b", "c"], [1, 1, 0, 0, 0])
    1.0
    """
    overlap = _count_merged_rows(y_true, labels)
    if overlap is None:
        return 0.0
    sides, clusters, joint = (_compute_entropy(n) for n in (overlap.sum(axis=1), overlap.sum(axis=0), overlap.ravel()))
    mutual = max(0.0, sides + clusters - joint)
    return float(min(1.0, 2.0 * mutual / (sides + clusters)))  # harmonic mean of homogeneity and completeness


def regret(scores: ArrayLike, axis: int = -1) -> Array:
    """Compute the regret: how much worse each method is than the best one on the same data.

    Parameters
    ----------
    scores : array-like
        Scores of which larger ones are better; NaN for missing results.
    axis : int, default=-1
        Axis along which methods are compared.

    Returns
    -------
    ndarray
        Array of the same shape; 0 for the best method.

    Examples
    --------
    >>> from ravine_paper.metrics import regret
    >>> regret([[0.5, 0.75, 1.0]])
    array([[0.5 , 0.25, 0.  ]])
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim == 0:
        raise ValueError("scores must be an array with one score for each method.")
    best = np.max(np.where(np.isnan(values), -np.inf, values), axis=axis, keepdims=True)
    return np.asarray(np.where(np.isnan(values), np.nan, best - values))


def _count_rows(y_true: ArrayLike, labels: ArrayLike) -> tuple[NDArray[Any], NDArray[np.intp], NDArray[np.intp]]:
    """Return the distinct labels, the number of rows for each [label, cluster], and the true cluster of each row."""
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
    distinct, position = _encode(partition)
    clusters, cluster = _encode(truth)
    counts = np.zeros((len(distinct), len(clusters)), dtype=np.intp)
    np.add.at(counts, (position, cluster), 1)
    return distinct, counts, cluster


def _count_on_two_sides(
    y_true: ArrayLike, labels: ArrayLike
) -> tuple[NDArray[Any], NDArray[np.intp], NDArray[np.intp]]:
    """Return the same as `_count_rows` for a partition into at most two sides."""
    sides, counts, cluster = _count_rows(y_true, labels)
    if len(sides) > 2:
        raise ValueError(f"labels must have at most two distinct values, got {len(sides)}.")
    return sides, counts, cluster


def _encode(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the distinct labels, sorted if they can be, and the position of each row's label among them."""
    try:
        values, codes = np.unique(labels, return_inverse=True)
        return values, codes.astype(np.intp)
    except TypeError:  # None or labels of several types cannot be sorted
        positions: dict[Any, int] = {}
        codes = np.array([positions.setdefault(label, len(positions)) for label in labels.tolist()], dtype=np.intp)
        distinct = np.empty(len(positions), dtype=object)
        distinct[:] = list(positions)
        return distinct, codes


def _assign_clusters(counts: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the side of each cluster."""
    smaller = int(np.argmin(counts.sum(axis=1)))
    tied = (counts == counts.max(axis=0)).sum(axis=0) > 1
    return np.where(tied, smaller, counts.argmax(axis=0))


def _count_merged_rows(y_true: ArrayLike, labels: ArrayLike) -> NDArray[np.intp] | None:
    """Return the number of rows for each [side, merged cluster]; None if all rows or all clusters are on one side."""
    _, counts, _ = _count_on_two_sides(y_true, labels)
    assignment = _assign_clusters(counts)
    if len(counts) < 2 or len(np.unique(assignment)) < 2:
        return None
    return np.stack([counts[:, assignment == side].sum(axis=1) for side in (0, 1)], axis=1)


def _compute_entropy(counts: NDArray[np.intp]) -> float:
    """Compute the entropy of a distribution given by counts."""
    share = counts[counts > 0] / counts.sum()
    return float(-(share * np.log(share)).sum())
