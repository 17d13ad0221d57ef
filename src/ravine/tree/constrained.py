"""Splits that respect constraints on pairs of rows, and unions of leaves that meet the rest of them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.density import ProjectedDensity
from ravine.hyperplane import Hyperplane
from ravine.rows import Rows, as_rows
from ravine.tree.constraints import Constraints
from ravine.tree.editing import renumber_clusters
from ravine.tree.grow import Split, Splitter, split_rows
from ravine.tree.nodes import NONE, Tree

__all__ = ["ConstrainedSplitter", "join_leaves", "separate_sides"]

Indices = NDArray[np.intp]

# Rows without a constraint that keep a hyperplane near the one that it replaces, and their weight in total, in relation
# to the rows with one.
MOST_OTHERS, WEIGHTS_OF_OTHERS = 2000, (1.0, 0.01, 0.0)
# A hyperplane that is moved only to keep linked rows together has at least this share of its relative depth. Otherwise
# the leaves are joined.
LEAST_DEPTH = 0.5


class ConstrainedSplitter:
    """Splitter that moves hyperplanes which separate rows that belong together.

    Parameters
    ----------
    splitter : Splitter
    constraints : Constraints
    min_size : float
        Smallest number of rows on a side.
    is_exclusive : bool
        Whether only nodes are split that contain rows which cannot be in one cluster.
    """

    takes_rows = True

    def __init__(
        self, splitter: Splitter, constraints: Constraints, min_size: float = 1.0, is_exclusive: bool = False
    ) -> None:
        self.splitter, self.constraints = splitter, constraints
        self.min_size, self.is_exclusive = min_size, is_exclusive

    def split(self, X: Any, indices: Indices, rng: np.random.Generator) -> Split:
        """Split the rows of X with these indices, without separating linked rows if that is possible."""
        rows, conflicts = as_rows(X), self.constraints.list_conflicts(indices)
        if self.is_exclusive and not conflicts:
            return Split(None)
        found = Split(None) if self.is_exclusive else split_rows(self.splitter, rows, indices, rng)
        marked = indices[self.constraints.group[indices] >= 0]
        if not len(marked):
            return found
        planes = [] if found.hyperplane is None else [found.hyperplane]
        if planes and not self._count_separated(rows, marked, planes[0]):
            return found
        for sides in self._list_sides(rows, marked, conflicts, found.hyperplane):
            planes += self._list_planes(rows, indices, marked, sides, found.hyperplane, rng)
        allowed = [plane for plane in planes if self._has_two_sides(rows, indices, plane)]
        if found.hyperplane is not None and not conflicts:
            allowed = [
                plane
                for plane in allowed
                if plane is found.hyperplane or _is_similar(plane, found.hyperplane, rows, indices, rng)
            ]
        if not allowed:
            return Split(None, found.pvalue)
        # Leaves with rows that belong together are joined later, if they have to be.
        errors = [self._count_errors(rows, marked, plane, conflicts) for plane in allowed]
        return Split(allowed[int(np.argmin(errors))], found.pvalue)

    def _has_two_sides(self, rows: Rows, indices: Indices, plane: Hyperplane) -> bool:
        n_right = int(plane.on_positive_side(rows, indices).sum())
        return min(n_right, len(indices) - n_right) >= self.min_size

    def _count_separated(self, rows: Rows, marked: Indices, plane: Hyperplane) -> int:
        """Return the number of rows that a hyperplane separates from most rows of their group."""
        right = plane.on_positive_side(rows, marked)
        groups = np.unique(self.constraints.group[marked], return_inverse=True)[1]
        n_right, total = np.bincount(groups, right), np.bincount(groups)
        return int(np.minimum(n_right, total - n_right).sum())

    def _count_errors(self, rows: Rows, marked: Indices, plane: Hyperplane, conflicts: list[tuple[int, int]]) -> float:
        """Return the number of separated rows, and one if no conflict is resolved."""
        right, group = plane.on_positive_side(rows, marked), self.constraints.group[marked]
        side = {int(g): right[group == g].mean() > 0.5 for g in np.unique(group)}
        unresolved = bool(conflicts) and not any(side[a] != side[b] for a, b in conflicts)
        return self._count_separated(rows, marked, plane) + (1e9 if unresolved else 0.0)

    def _list_sides(
        self, rows: Rows, marked: Indices, conflicts: list[tuple[int, int]], plane: Hyperplane | None
    ) -> list[NDArray[np.bool_]]:
        """Return sides of the rows with a constraint, the same for all rows of a group.

        The sides are those of most rows of a group on the hyperplane, or along the line between the two groups that
        cannot be in one cluster and are farthest apart.
        """
        group = self.constraints.group[marked]
        if plane is None or (conflicts and len(np.unique(plane.on_positive_side(rows, marked))) == 1):
            if not conflicts:
                return []
            x = np.asarray(rows.take(marked), dtype=np.float64)
            centers = {g: x[group == g].mean(axis=0) for g in {g for pair in conflicts for g in pair}}
            a, b = max(conflicts, key=lambda pair: float(np.linalg.norm(centers[pair[0]] - centers[pair[1]])))
            values = (x - 0.5 * (centers[a] + centers[b])) @ (centers[b] - centers[a])
        else:
            values = plane.distance(rows, marked)
        sides = np.zeros(len(marked), dtype=bool)
        for g in np.unique(group):
            sides[group == g] = np.median(values[group == g]) > 0.0
        if sides.any() and not sides.all():
            return [sides]
        return [] if plane is None or conflicts else [sides, ~sides]

    def _list_planes(
        self,
        rows: Rows,
        indices: Indices,
        marked: Indices,
        sides: NDArray[np.bool_],
        plane: Hyperplane | None,
        rng: np.random.Generator,
    ) -> list[Hyperplane]:
        """Return hyperplanes between rows on given sides, near one that other rows should be separated by."""
        others = np.setdiff1d(indices, marked)
        if plane is None:
            others = others[:0]
        elif len(others) > MOST_OTHERS:
            others = np.sort(rng.choice(others, MOST_OTHERS, replace=False))
        x = np.asarray(rows.take(np.concatenate([marked, others])), dtype=np.float64)
        on_right = sides
        if plane is not None:
            on_right = np.concatenate([sides, plane.on_positive_side(rows, others)])
        found = []
        for share in WEIGHTS_OF_OTHERS if len(others) else (0.0,):
            counted = np.ones(len(x)) / len(marked)
            counted[len(marked) :] = share / max(len(others), 1)
            kept = counted > 0.0
            found += separate_sides(x[kept], on_right[kept], counted[kept] * len(marked))
        return found


def _is_similar(plane: Hyperplane, other: Hyperplane, rows: Rows, indices: Indices, rng: np.random.Generator) -> bool:
    """Return whether a hyperplane is in a valley about as deep as that of another one."""
    some = indices if len(indices) <= MOST_OTHERS else np.sort(rng.choice(indices, MOST_OTHERS, replace=False))
    h = other.bandwidth
    if not 0.0 < h < np.inf:
        return True
    depth, depth_of_other = (
        ProjectedDensity(one.distance(rows, some), h).relative_depth(0.0) for one in (plane, other)
    )
    return depth >= LEAST_DEPTH * depth_of_other


def separate_sides(x: Array, on_right: NDArray[np.bool_], weights: Array) -> list[Hyperplane]:
    """Return the hyperplane between two sides by a linear support vector machine; none if the rows are equal."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import SVC

    if on_right.all() or not on_right.any():
        return []
    center = x[0] + (x - x[0]).mean(axis=0)
    z = x - center
    scale = float(np.abs(z).max())
    if not scale > 0.0:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the rows on wrong sides are counted later
        model = SVC(kernel="linear", C=1e4, max_iter=100_000).fit(z / scale, on_right, sample_weight=weights)
    normal = model.coef_[0]
    length = float(np.linalg.norm(normal))
    if not length > 0.0:
        return []
    point = center - (scale * float(model.intercept_[0]) / length) * (normal / length)
    return [Hyperplane(normal / length, float(normal @ point) / length, point=point)]


def join_leaves(tree: Tree, leaves: Indices, rows: Rows, constraints: Constraints, n_clusters: int | None) -> Tree:
    """Return the tree whose leaves with linked rows are one cluster, with at most the given number of clusters.

    Clusters that may be in one are joined where that increases the sum of squares least, until there are few enough.

    Parameters
    ----------
    tree : Tree
    leaves : ndarray of shape (n,), int
        Leaf of each row.
    rows : Rows
    constraints : Constraints
    n_clusters : int or None
    """
    members = {k: [np.flatnonzero(leaves == k)] for k in tree.leaves()}
    parts = {k: np.concatenate(some) for k, some in members.items()}
    cluster = {k: k for k in parts}

    def join(a: int, b: int) -> None:
        parts[a] = np.sort(np.concatenate([parts[a], parts.pop(b)]))
        for leaf, number in cluster.items():
            cluster[leaf] = a if number == b else number

    for g in np.unique(constraints.group[constraints.group >= 0]).tolist():
        counts = np.bincount(leaves[constraints.group == g], minlength=len(tree))
        first, *others = [cluster[k] for k in np.argsort(-counts, kind="stable").tolist() if counts[k]]
        for other in dict.fromkeys(others):
            if other in parts and other != first and constraints.allows(parts[first], parts[other]):
                join(first, other)
    means = {k: _average(rows, some) for k, some in parts.items()}
    while n_clusters is not None and len(parts) > n_clusters:
        pairs = [(a, b) for a in parts for b in parts if a < b and constraints.allows(parts[a], parts[b])]
        if not pairs:
            break
        a, b = min(pairs, key=lambda pair: _measure_increase(parts, means, *pair))
        n_a, n_b = len(parts[a]), len(parts[b])
        means[a] = (n_a * means[a] + n_b * means.pop(b)) / (n_a + n_b)
        join(a, b)
    numbers = np.full(len(tree), NONE, dtype=np.intp)
    for leaf, number in cluster.items():
        numbers[leaf] = number
    return renumber_clusters(tree, numbers)


def _average(rows: Rows, indices: Indices, most: int = 1000) -> Array:
    step = max(1, len(indices) // most)
    return np.asarray(np.asarray(rows.take(indices[::step]), dtype=np.float64).mean(axis=0))


def _measure_increase(parts: dict[int, Indices], means: dict[int, Array], a: int, b: int) -> float:
    """Return the increase of the sum of squares if two clusters are joined (Ward's criterion)."""
    n_a, n_b = len(parts[a]), len(parts[b])
    return n_a * n_b / (n_a + n_b) * float(((means[a] - means[b]) ** 2).sum())
