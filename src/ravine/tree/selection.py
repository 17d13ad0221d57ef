"""Selection rules: limits of sizes and constraints on pairs of rows change the clusters of a tree.

Clusters are unions of leaves. A rule that is broken changes the labels of rows; leaves with rows of several labels are
split, and each leaf gets the label of its rows.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.hyperplane import Hyperplane
from ravine.rows import Rows, center_and_scale
from ravine.tree import constants
from ravine.tree.constraints import Constraints, SizeLimits
from ravine.tree.editing import renumber_clusters
from ravine.tree.grow import Splitter, apply_split
from ravine.tree.nodes import NONE, Tree
from ravine.tree.separators import halve_rows, list_separators

Indices = NDArray[np.intp]
# Rows with a constraint count at least as much as this, also those of weight zero.
LEAST_WEIGHT = 1e-9


class Selection:
    """Clusters of a tree while rules change them.

    Attributes
    ----------
    tree : Tree
    leaves : ndarray of shape (n,), int
        Leaf of each row.
    """

    def __init__(
        self,
        rows: Rows,
        weights: Array | None,
        tree: Tree,
        leaves: Indices,
        limits: SizeLimits,
        notify: Callable[[Tree], object] | None = None,
    ) -> None:
        self.rows, self.tree, self.leaves, self.limits, self.notify = rows, tree, leaves, limits, notify
        self.weights = np.ones(rows.shape[0]) if weights is None else weights
        self.largest = np.inf if limits.largest is None else limits.largest

    @property
    def labels(self) -> Indices:
        """Cluster of each row."""
        return np.asarray(self.tree.cluster[self.leaves])

    def _split(self, leaf: int, plane: Hyperplane) -> None:
        self.tree, self.leaves = apply_split(self.tree, self.leaves, leaf, self.rows, plane)
        if self.notify is not None:
            self.notify(self.tree)

    def _relabel(self, cluster: Indices) -> None:
        """Set the cluster of each leaf."""
        self.tree = renumber_clusters(self.tree.with_arrays(joins=None), cluster)

    def _allows(self, plane: Hyperplane, indices: Indices) -> bool:
        """Return whether both sides of a hyperplane are large enough."""
        goes_right = plane.on_positive_side(self.rows, indices)
        sizes = [float(self.weights[indices[side]].sum()) for side in (goes_right, ~goes_right)]
        return bool(0 < goes_right.sum() < len(indices) and min(sizes) >= self.limits.smallest)

    # ------------------------------------------------------------------------------------------- sizes

    def limit_sizes(self, splitter: Splitter, rng: np.random.Generator) -> None:
        """Divide clusters that are too large between their leaves, or split their largest leaf."""
        whole: set[int] = set()  # leaves that cannot be split
        while True:
            sizes = np.bincount(self.leaves, self.weights, minlength=len(self.tree))
            large = np.flatnonzero(np.bincount(self.labels, self.weights) > self.largest)
            waiting = set(np.flatnonzero(np.isin(self.tree.cluster, large)).tolist()) - whole
            if not waiting:
                return
            leaf = max(waiting, key=lambda leaf: (sizes[leaf], -leaf))
            own = self.tree.cluster == self.tree.cluster[leaf]
            part = self._find_part(np.where(own, sizes, 0.0))
            if part is not None:
                self._relabel(np.where(own & part, self.tree.n_clusters, self.tree.cluster))
                continue
            plane = self._find_plane(np.flatnonzero(self.leaves == leaf), splitter, rng)
            if plane is None:
                whole.add(leaf)
            else:
                self._split(leaf, plane)

    def _find_part(self, sizes: Array) -> NDArray[np.bool_] | None:
        """Return the nodes below a node that has nearly half of the rows of a cluster; None if a part is too small."""
        below = sizes.copy()
        for k in range(len(self.tree) - 1, 0, -1):  # children have larger numbers than their parents
            below[self.tree.parent[k]] += below[k]
        node = int(np.abs(below - 0.5 * below[0]).argmin())
        is_enough = min(below[node], below[0] - below[node]) >= max(self.limits.smallest, 1e-300)
        return np.isin(np.arange(len(self.tree)), self.tree.leaves(node)) if is_enough else None

    def _find_plane(self, indices: Indices, splitter: Splitter, rng: np.random.Generator) -> Hyperplane | None:
        """Return the minimum density hyperplane, or one that halves the rows; None if a side would be too small."""
        plane = splitter.split(self.rows, indices, rng).hyperplane
        if plane is None or not self._allows(plane, indices):
            plane = halve_rows(self.rows, indices, self.weights[indices], rng)
        return plane if plane is not None and self._allows(plane, indices) else None

    # ------------------------------------------------------------------------------------------- constraints

    def meet_constraints(self, constraints: Constraints, n_clusters: int | None) -> None:
        """Assign rows with a constraint to clusters, and split leaves with rows of several clusters."""
        labels, is_known = self.labels, constraints.group >= 0
        labels[is_known] = assign_groups(constraints, self.rows, labels, n_clusters, self.weights)
        waiting = self.tree.leaves()
        while waiting:
            leaf = waiting.pop()
            plane = self._separate(np.flatnonzero(self.leaves == leaf), labels, is_known)
            if plane is not None:
                self._split(leaf, plane)
                waiting += [int(self.tree.left[leaf]), int(self.tree.right[leaf])]
        cluster = np.full(len(self.tree), NONE)
        for leaf in self.tree.leaves():
            inside = self.leaves == leaf
            known = inside & is_known
            seen = known if known.any() else inside
            cluster[leaf] = np.bincount(labels[seen], np.maximum(self.weights[seen], LEAST_WEIGHT)).argmax()
        self._relabel(cluster)

    def _separate(self, indices: Indices, labels: Indices, is_known: NDArray[np.bool_]) -> Hyperplane | None:
        """Return the hyperplane that separates known labels best, if possible with sides that are large enough."""
        known = indices[is_known[indices]]
        names, codes = np.unique(labels[known], return_inverse=True)
        if len(names) < 2:
            return None
        weights = self.weights[known]
        if (weights == np.round(weights)).all() and weights.sum() <= constants.MOST_GRAPH_ROWS:
            times = np.maximum(weights, 1.0).astype(np.intp)
            known, codes = np.repeat(known, times), np.repeat(codes, times)
        planes = list_separators(self.rows, known, codes)
        return next((plane for plane in planes if self._allows(plane, indices)), planes[0] if planes else None)

    # ------------------------------------------------------------------------------------------- number

    def join_clusters(self, n_clusters: int | None, constraints: Constraints | None = None) -> None:
        """Join clusters until a number is left, unless constraints keep all of them apart.

        Joins within the largest size are first, of these the one that increases the sum of squares least (Ward's
        criterion).
        """
        apart = [] if constraints is None else list(constraints.apart)
        while n_clusters is not None and self.tree.n_clusters > n_clusters:
            labels = self.labels
            kept_apart = {frozenset((int(labels[a]), int(labels[b]))) for a, b in apart}
            pairs = [pair for pair in combinations(range(self.tree.n_clusters), 2) if frozenset(pair) not in kept_apart]
            if not pairs:
                return
            i, j = np.array(pairs).T
            sizes = np.bincount(labels, self.weights)
            centers, _, _ = center_and_scale(_average_clusters(self.rows, labels, self.weights))
            together = sizes[i] + sizes[j]
            distances = ((centers[i] - centers[j]) ** 2).sum(axis=1)
            increase = sizes[i] * sizes[j] / np.maximum(together, 1e-300) * distances
            best = int(np.lexsort((increase, together > self.largest))[0])
            self._relabel(np.where(self.tree.cluster == j[best], i[best], self.tree.cluster))


def _average_clusters(rows: Rows, labels: Indices, weights: Array | None = None, most: int = 1000) -> Array:
    """Return the weighted means of some rows of each cluster; rows of weight zero count if there are no others."""
    weights = np.ones(len(labels)) if weights is None else weights
    means = []
    for k in range(int(labels.max()) + 1):
        own = np.flatnonzero((labels == k) & (weights > 0.0))
        own = own if len(own) else np.flatnonzero(labels == k)
        own = own[:: max(1, len(own) // most)]
        w = weights[own] if weights[own].any() else np.ones(len(own))
        means.append((w / w.sum()) @ np.asarray(rows.take(own), dtype=np.float64))
    return np.stack(means)


def assign_groups(
    constraints: Constraints, rows: Rows, labels: Indices, n_clusters: int | None, weights: Array | None = None
) -> Indices:
    """Return the cluster of each row with a constraint.

    Each group of linked rows goes to the cluster with most of its rows, or to the nearest one, unless a group that is
    apart from it is there. More than ``n_clusters`` are used only if a search finds no other assignment.

    Parameters
    ----------
    labels : ndarray of shape (n,), int
        Cluster of each row: 0, 1, ...
    """
    from scipy.spatial.distance import cdist

    known = np.flatnonzero(constraints.group >= 0)
    x = np.asarray(rows.take(known), dtype=np.float64)
    group, apart = _unite_equal_rows(x, constraints.group[known], constraints.apart)
    n_groups, n_labels = len(apart), int(labels.max()) + 1
    w = np.ones(len(known)) if weights is None else np.maximum(weights[known], LEAST_WEIGHT)
    counts = np.bincount(n_labels * group + labels[known], w, n_groups * n_labels).reshape(n_groups, n_labels)
    sizes = counts.sum(axis=1, keepdims=True)
    sizes = np.where(sizes > 0.0, sizes, 1.0)
    means = np.stack([np.bincount(group, w * column, n_groups) for column in x.T], axis=1) / sizes
    z, _, _ = center_and_scale(
        np.concatenate([means, _average_clusters(rows, labels, weights)])
    )  # squares do not overflow
    distances = cdist(z[:n_groups], z[n_groups:])
    # The share of the rows that would be moved; of equal shares, the nearest cluster.
    costs = 1.0 - counts / sizes + distances / (max(float(distances.max()), 1e-300) * (1.0 + sizes.max()))
    found = None
    if n_clusters is not None:
        found = color_groups(apart, costs, max(n_labels, n_clusters), constants.MOST_ASSIGNMENT_STEPS)
    if found is None:
        found = color_groups(apart, costs, max(n_labels, 1 + max(map(len, apart))))
    assert found is not None  # each group has fewer that are apart than there are clusters
    return np.asarray(found[group])


def _unite_equal_rows(x: Array, group: Indices, apart: frozenset[tuple[int, int]]) -> tuple[Indices, list[set[int]]]:
    """Return the number of the group of each row, and the groups that are apart from each.

    No hyperplane separates equal rows, so their groups are united unless they are apart.
    """
    names, group = np.unique(group, return_inverse=True)
    others: list[set[int]] = [set() for _ in names]
    for a, b in np.searchsorted(names, np.array(list(apart), dtype=np.intp).reshape(-1, 2)).tolist():
        others[a].add(b)
        others[b].add(a)
    row = np.unique(x, axis=0, return_inverse=True)[1].ravel()
    for i, j in pairwise(np.argsort(row, kind="stable").tolist()):
        a, b = int(group[i]), int(group[j])
        if row[i] == row[j] and a != b and b not in others[a]:
            group[group == b] = a
            for other in others[b]:
                others[other] = others[other] - {b} | {a}
            others[a], others[b] = others[a] | others[b], set()
    return group, others


def color_groups(apart: list[set[int]], costs: Array, n_colors: int, most_steps: float = np.inf) -> Indices | None:
    """Return a colour of each group that differs from those of all groups apart from it; None if none is found.

    The group with the fewest colours left is next (Brelaz 1979), and its cheapest colour is tried first.

    Parameters
    ----------
    apart : list of set of int
        Groups that are apart from each.
    costs : ndarray of shape (n_groups, n_known)
        Costs of the first colours; all others cost more.
    """
    n_groups, n_known = costs.shape
    costs = np.pad(costs, ((0, 0), (0, n_colors - n_known)), constant_values=np.inf)
    color = np.full(n_groups, NONE)
    n_taken = np.zeros(costs.shape, dtype=np.intp)  # groups apart from each that have a colour
    degree = np.array([len(others) for others in apart])
    path: list[tuple[int, list[int]]] = []
    n_steps = 0

    def move(group: int, old: int, new: int) -> None:
        color[group] = new
        for other in apart[group]:
            n_taken[other, old] -= old != NONE
            n_taken[other, new] += new != NONE

    while len(path) < n_groups:
        left = np.flatnonzero(color == NONE)
        n_excluded = np.count_nonzero(n_taken[left], axis=1)
        group = int(left[np.lexsort((-degree[left], -n_excluded))[0]])
        choices = [k for k in np.argsort(costs[group], kind="stable").tolist() if n_taken[group, k] == 0]
        while not choices:
            if not path:
                return None
            group, choices = path.pop()
            move(group, int(color[group]), NONE)
        n_steps += 1
        if n_steps > most_steps:
            return None
        move(group, NONE, choices[0])
        path.append((group, choices[1:]))
    return color
