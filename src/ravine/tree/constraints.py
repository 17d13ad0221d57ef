"""Constraints on clusters: pairs of rows that must, or cannot, be in one cluster, and limits of their sizes."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ravine._plurals import join_texts
from ravine._typing import Array
from ravine.checks import is_missing_value
from ravine.tree.editing import label_unions

Indices = NDArray[np.intp]
# Violated constraints that a warning names.
MOST_NAMED = 5
# Kind of a constraint, and its two rows.
Violation = tuple[str, int, int]
# The same, and whether the two rows must be in one cluster.
Constraint = tuple[str, int, int, bool]


@dataclass(frozen=True)
class Constraints:
    """Constraints on the clusters of rows.

    Attributes
    ----------
    group : ndarray of shape (n,), int
        First of the rows that must be in one cluster with each row; -1 for rows without a constraint.
    apart : frozenset of pairs of int
        Groups that cannot be in one cluster.
    links : list of (str, int, int, bool)
        All constraints as they were given: "must_link", "cannot_link" or "label", two rows, and whether these must be
        in one cluster.
    """

    group: Indices
    apart: frozenset[tuple[int, int]]
    links: list[Constraint]


def list_violations(constraints: list[Constraint], labels: Indices) -> list[Violation]:
    """Return the constraints that the clusters of all rows violate."""
    return [(kind, i, j) for kind, i, j, joint in constraints if (labels[i] == labels[j]) != joint]


def describe_violations(violated: list[Violation], n_constraints: int) -> str:
    """Return a sentence that names the constraints that are violated; empty if there are none."""
    if not violated:
        return ""
    names = join_texts([f"{kind} ({i}, {j})" for kind, i, j in violated], MOST_NAMED)
    return f"{len(violated)} of {n_constraints} constraints are not met: {names}. See violated_constraints_."


def describe_many_clusters(n_found: int, n_clusters: int | None) -> str:
    """Return a sentence that says that constraints need more clusters than asked for; empty if they do not."""
    if n_clusters is None or n_found <= n_clusters:
        return ""
    return (
        f"the constraints are met with {n_found} clusters, more than n_clusters={n_clusters}: allow more clusters, or "
        "remove constraints."
    )


def make_constraints(
    n: int,
    labels: Any = None,
    must_link: ArrayLike | None = None,
    cannot_link: ArrayLike | None = None,
    n_clusters: int | None = None,
) -> Constraints | None:
    """Return the constraints of labels and pairs; None if there are none.

    Parameters
    ----------
    n : int
        Number of rows.
    labels : array-like of shape (n,), optional
        Labels; -1, None or NaN for unlabelled rows.
    must_link, cannot_link : array-like of shape (m, 2), optional
        Pairs of indices of rows.
    n_clusters : int or None
        Number of clusters, if it is given; an error says if it is too small.
    """
    if labels is None and must_link is None and cannot_link is None:
        return None
    rows_of = {} if labels is None else _group_labels(labels, n)
    links: list[Constraint] = [("must_link", i, j, True) for i, j in _check_pairs("must_link", must_link, n)]
    links += [("cannot_link", i, j, False) for i, j in _check_pairs("cannot_link", cannot_link, n)]
    links += [("label", rows[0], i, True) for rows in rows_of.values() for i in rows[1:]]
    links += [("label", i, j, False) for i, j in combinations([rows[0] for rows in rows_of.values()], 2)]
    if n_clusters is not None and len(rows_of) > n_clusters:
        raise ValueError(
            f"labels has {len(rows_of)} different labels, more than n_clusters={n_clusters}: allow more clusters."
        )
    part = label_unions(n, [(i, j) for _, i, j, joint in links if joint])
    first = np.unique(part, return_index=True)[1][part]
    apart = [(kind, i, j) for kind, i, j, joint in links if not joint]
    if n_clusters == 1 and apart:
        raise ValueError("cannot_link needs at least two clusters, got n_clusters=1: allow more clusters.")
    for kind, i, j in apart:
        if first[i] == first[j]:
            raise ValueError(
                f"{'labels' if kind == 'label' else kind} says that rows {i} and {j} are in different clusters, but "
                f"must_link{' or the labels' if rows_of else ''} put them into one: remove one of these constraints."
            )
    known = list({row for _, i, j, _ in links for row in (i, j)})
    group = np.full(n, -1)
    group[known] = first[known]
    return Constraints(group, frozenset((int(first[i]), int(first[j])) for _, i, j in apart), links)


def _check_pairs(name: str, pairs: ArrayLike | None, n: int) -> list[tuple[int, int]]:
    """Return pairs of different rows."""
    try:
        values = np.zeros((0, 2)) if pairs is None else np.asarray(pairs)
    except ValueError:  # of different lengths
        values = np.zeros(1)
    if values.size == 0:
        return []
    if values.ndim != 2 or values.shape[1] != 2 or values.dtype.kind not in "iu":
        raise ValueError(f"{name} must be pairs of indices of rows, of shape (m, 2), got {pairs!r}.")
    for i, j in values.tolist():
        if not (0 <= min(i, j) <= max(i, j) < n and i != j):
            raise ValueError(f"{name} must be pairs of two different rows from 0 to {n - 1}, got ({i}, {j}).")
    return [(int(i), int(j)) for i, j in values.tolist()]


def _group_labels(labels: Any, n: int) -> dict[Any, list[int]]:
    """Return the rows of each label."""
    if np.ndim(labels) != 1 or len(labels) != n:
        raise ValueError(
            f"labels must contain one label for each of the {n} rows, got an array of shape {np.shape(labels)}."
        )
    found: dict[Any, list[int]] = {}
    for i, label in enumerate(labels):
        if not is_missing_value(label) and label != -1:
            found.setdefault(label, []).append(i)
    return found


# ----------------------------------------------------------------------------------------------- sizes


@dataclass(frozen=True)
class SizeLimits:
    """Limits on the sizes of clusters.

    Attributes
    ----------
    smallest : int
    largest : int or None
        None for no limit.
    """

    smallest: int
    largest: int | None = None


def count_rows(size: float, total: float) -> int:
    """Return a size as a number of rows, or a sum of weights; a float is a share of ``total``."""
    if isinstance(size, numbers.Integral):
        return int(size)
    return max(1, math.ceil(round(float(size) * total, 9)))


def make_limits(min_size: float, max_size: float | None, total: float, n_clusters: int | None) -> SizeLimits:
    """Return the limits; raise an error if no clusters can have such sizes.

    Parameters
    ----------
    min_size, max_size : int, float or None
        The parameters ``min_cluster_size`` and ``max_cluster_size``; only the latter may be None.
    total : float
        Number of rows, or sum of their weights.
    n_clusters : int or None
    """
    smallest = count_rows(min_size, total)
    if max_size is None:
        return SizeLimits(smallest)
    largest = count_rows(max_size, total)
    if largest < 2 * smallest:
        raise ValueError(
            f"max_cluster_size must be at least twice min_cluster_size, so that a larger cluster can be split, got "
            f"{largest} and {smallest} rows."
        )
    if n_clusters is not None and n_clusters * largest < total:
        raise ValueError(
            f"max_cluster_size must be at least {math.ceil(total / n_clusters)} for n_clusters={n_clusters} and "
            f"{total:g} rows, got {largest}."
        )
    return SizeLimits(smallest, largest)


def describe_large_clusters(labels: NDArray[np.intp], weights: Array | None, largest: int | None) -> str:
    """Return a sentence that names the clusters that are larger than allowed; empty if there are none."""
    if largest is None:
        return ""
    sizes = np.bincount(labels[labels >= 0], None if weights is None else weights[labels >= 0])
    large = [f"{k} ({sizes[k]:g} rows)" for k in np.flatnonzero(sizes > largest)]
    if not large:
        return ""
    names = f"clusters {join_texts(large, MOST_NAMED)} are" if large[1:] else f"cluster {large[0]} is"
    return f"{names} larger than max_cluster_size={largest}: allow more clusters, or larger ones."
