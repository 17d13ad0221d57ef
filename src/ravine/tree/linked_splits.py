"""Splits that respect constraints on pairs of rows: assignment of rows to clusters, splitters, and unions of leaves."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.density import ProjectedDensity
from ravine.hyperplane import Hyperplane
from ravine.rows import Rows, as_rows, draw_indices
from ravine.tree import constants
from ravine.tree.constraints import Constraints
from ravine.tree.editing import renumber_clusters
from ravine.tree.grow import Split, Splitter, split_rows
from ravine.tree.nodes import Tree
from ravine.tree.separators import separate_by_svm

Indices = NDArray[np.intp]


class ConstrainedSplitter:
    """Splitter that moves hyperplanes which separate rows that belong together.

    Parameters
    ----------
    min_size : float
        Smallest number of rows on a side.
    is_exclusive : bool
        Whether only nodes are split that contain rows which cannot be in one cluster.
    """

    accepts_rows = True

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
        others = np.setdiff1d(indices, marked) if plane is not None else marked[:0]
        others = draw_indices(others, constants.MOST_OTHERS, rng)
        x = np.asarray(rows.take(np.concatenate([marked, others])), dtype=np.float64)
        on_right = sides
        if plane is not None:
            on_right = np.concatenate([sides, plane.on_positive_side(rows, others)])
        found = []
        for share in constants.WEIGHTS_OF_OTHERS if len(others) else (0.0,):
            counted = np.ones(len(x)) / len(marked)
            counted[len(marked) :] = share / max(len(others), 1)
            kept = counted > 0.0
            found.append(separate_by_svm(x[kept], on_right[kept], counted[kept] * len(marked)))
        return [plane for plane in found if plane is not None]


def _is_similar(plane: Hyperplane, other: Hyperplane, rows: Rows, indices: Indices, rng: np.random.Generator) -> bool:
    """Return whether a hyperplane is in a valley about as deep as that of another one."""
    some = draw_indices(indices, constants.MOST_OTHERS, rng)
    h = other.bandwidth
    if not 0.0 < h < np.inf:
        return True
    depth, depth_of_other = (
        ProjectedDensity(one.distance(rows, some), h).relative_depth(0.0) for one in (plane, other)
    )
    return depth >= constants.LEAST_KEPT_DEPTH * depth_of_other


def join_leaves(tree: Tree, leaves: Indices, rows: Rows, constraints: Constraints, n_clusters: int | None) -> Tree:
    """Return the tree whose leaves with linked rows are one cluster, with at most the given number of clusters.

    Clusters that may be in one are joined where that increases the sum of squares least, until there are few enough.

    Parameters
    ----------
    leaves : ndarray of shape (n,), int
        Leaf of each row.
    """
    parts = {k: np.flatnonzero(leaves == k) for k in tree.leaves()}
    cluster = np.arange(len(tree))

    def join(a: int, b: int) -> None:
        parts[a] = np.sort(np.concatenate([parts[a], parts.pop(b)]))
        cluster[cluster == b] = a

    for g in np.unique(constraints.group[constraints.group >= 0]).tolist():
        counts = np.bincount(leaves[constraints.group == g], minlength=len(tree))
        first, *others = [int(cluster[k]) for k in np.argsort(-counts, kind="stable").tolist() if counts[k]]
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
    return renumber_clusters(tree, cluster)


def _average(rows: Rows, indices: Indices, most: int = 1000) -> Array:
    step = max(1, len(indices) // most)
    return np.asarray(np.asarray(rows.take(indices[::step]), dtype=np.float64).mean(axis=0))


def _measure_increase(parts: dict[int, Indices], means: dict[int, Array], a: int, b: int) -> float:
    """Return the increase of the sum of squares if two clusters are joined (Ward's criterion)."""
    n_a, n_b = len(parts[a]), len(parts[b])
    return n_a * n_b / (n_a + n_b) * float(((means[a] - means[b]) ** 2).sum())


def complete_constraints(
    constraints: Constraints, rows: Rows, leaves: Indices, n_clusters: int | None = None
) -> Constraints:
    """Return constraints that put every row with a constraint into one of several clusters, all of them apart.

    Each group goes to the leaf with most of its rows, or to the nearest one, unless a group that is apart from it is
    there. More than ``n_clusters`` are used only if a search finds no other assignment.

    Parameters
    ----------
    leaves : ndarray of shape (n,), int
        Leaf of each row.
    """
    marked = np.flatnonzero(constraints.group >= 0)
    x = np.asarray(rows.take(marked), dtype=np.float64)
    node, apart = _unite_equal_rows(x, constraints.group[marked], constraints.apart)
    costs = _measure_costs(x, node, marked, rows, leaves)
    colour = None if n_clusters is None else _colour(apart, costs, n_clusters, constants.MOST_ASSIGNMENT_STEPS)
    if colour is None:
        colour = _colour(apart, costs, max(costs.shape[1], 1 + max(map(len, apart))), None)
    assert colour is not None
    _improve(colour, apart, costs)
    group = np.full(len(constraints.group), -1, dtype=np.intp)
    group[marked] = colour[node]
    pairs = frozenset(combinations(np.unique(colour).tolist(), 2))
    return Constraints(group, pairs, constraints.links, constraints.is_joint, constraints.n_classes)


def _unite_equal_rows(x: Array, group: Indices, apart: frozenset[tuple[int, int]]) -> tuple[Indices, list[set[int]]]:
    """Return the number of the united groups of each row, and those apart from each.

    No hyperplane separates equal rows, so their groups are united unless they are apart.
    """
    names, first = np.unique(group, return_inverse=True)
    number = {int(name): k for k, name in enumerate(names)}
    united = np.arange(len(names))
    neighbours: list[set[int]] = [set() for _ in names]
    for a, b in apart:
        neighbours[number[a]].add(number[b])
        neighbours[number[b]].add(number[a])
    same = np.unique(x, axis=0, return_inverse=True)[1].ravel()
    order = np.argsort(same, kind="stable")
    for i, j in zip(order[:-1].tolist(), order[1:].tolist(), strict=True):
        a, b = int(united[first[i]]), int(united[first[j]])
        if same[i] == same[j] and a != b and b not in neighbours[a]:
            united[united == b] = a
            for other in neighbours[b]:
                neighbours[other].discard(b)
                neighbours[other].add(a)
            neighbours[a] |= neighbours[b]
    kept, node = np.unique(united[first], return_inverse=True)
    place = {int(k): i for i, k in enumerate(kept)}
    return node, [{place[other] for other in neighbours[int(k)]} for k in kept]


def _measure_costs(x: Array, node: Indices, marked: Indices, rows: Rows, leaves: Indices) -> Array:
    """Return the cost of each group in each leaf: the share of its rows outside, and its distance if that is equal."""
    names = np.unique(leaves)
    n_nodes = int(node.max()) + 1
    sizes = np.bincount(node).astype(np.float64)
    means = np.stack([np.bincount(node, column, n_nodes) / sizes for column in x.T], axis=1)
    costs = np.empty((n_nodes, len(names)))
    for k, leaf in enumerate(names.tolist()):
        inside = np.flatnonzero(leaves == leaf)
        center = np.asarray(rows.take(inside[:: max(1, len(inside) // 1000)]), dtype=np.float64).mean(axis=0)
        costs[:, k] = ((means - center) ** 2).sum(axis=1)
    costs /= max(float(costs.max()), np.finfo(float).tiny) * (1.0 + sizes.max())
    for k, leaf in enumerate(names.tolist()):
        costs[:, k] += 1.0 - np.bincount(node, leaves[marked] == leaf, n_nodes) / sizes
    return costs


def _colour(apart: list[set[int]], costs: Array, n_colours: int, most_steps: int | None) -> Indices | None:
    """Return a colour of each node that differs from those of its neighbours; None if the search finds none.

    The node with the fewest colours left is next (Brelaz 1979), and its cheapest colour is tried first.
    """
    n, known = len(apart), costs.shape[1]
    colour = np.full(n, -1, dtype=np.intp)
    taken = np.zeros((n, max(n_colours, known)), dtype=np.intp)  # neighbours with each colour
    taken[:, n_colours:] = 1
    degree = np.array([len(some) for some in apart])
    path: list[tuple[int, list[int]]] = []

    def paint(node: int, value: int, step: int) -> None:
        colour[node] = value if step > 0 else -1
        for other in apart[node]:
            taken[other, value] += step

    def list_colours(node: int) -> list[int]:
        free = np.flatnonzero(taken[node] == 0)
        old = free[free < known]
        # Clusters that no leaf stands for are equal until one is used.
        used = max(int(colour.max(initial=-1)), known - 1)
        new = free[(free >= known) & (free <= used + 1)]
        return [*old[np.argsort(costs[node, old], kind="stable")].tolist(), *new.tolist()]

    steps = 0
    while len(path) < n:
        left = np.flatnonzero(colour < 0)
        n_taken = (taken[left] > 0).sum(axis=1)
        node = int(left[np.lexsort((-degree[left], -n_taken))[0]])
        choices = list_colours(node)
        while not choices:
            if not path:
                return None
            node, choices = path.pop()
            paint(node, int(colour[node]), -1)
        steps += 1
        if most_steps is not None and steps > most_steps:
            return None
        value, *others = choices
        paint(node, value, 1)
        path.append((node, others))
    return colour


def _improve(colour: Indices, apart: list[set[int]], costs: Array) -> None:
    """Move nodes to cheaper leaves in which they have no neighbour, in place."""
    cheapest = np.argsort(costs, axis=1, kind="stable")
    is_changed = True
    while is_changed:
        is_changed = False
        for node, others in enumerate(apart):
            taken = {int(colour[other]) for other in others}
            best = next((int(k) for k in cheapest[node] if int(k) not in taken), None)
            now = costs[node, colour[node]] if colour[node] < costs.shape[1] else np.inf
            if best is not None and costs[node, best] < now:
                colour[node], is_changed = best, True


class LabelSplitter:
    """Splitter of nodes that contain rows of different groups, until every node has one.

    Parameters
    ----------
    constraints : Constraints
        Constraints by which all groups are apart.
    min_size : float
        Smallest number of rows on a side.
    """

    accepts_rows = True

    def __init__(self, constraints: Constraints, min_size: float) -> None:
        self.constraints, self.min_size = constraints, min_size

    def split(self, X: Any, indices: Indices, rng: np.random.Generator) -> Split:
        """Split the rows of X with these indices by the hyperplane with the fewest rows of mixed groups."""
        rows, group = as_rows(X), self.constraints.group
        marked = indices[group[indices] >= 0]
        names, label, counts = np.unique(group[marked], return_inverse=True, return_counts=True)
        if len(names) < 2:
            return Split(None)
        x = np.asarray(rows.take(marked), dtype=np.float64)
        largest = np.argsort(-counts, kind="stable")[: constants.MOST_SEPARATED_LABELS].tolist()
        planes = [*(separate_by_svm(x, label == k, np.ones(len(x))) for k in largest), _cut_feature(x, label)]
        best, least = None, np.inf
        for plane in filter(None, planes):
            right = plane.on_positive_side(rows, indices)
            n_right = int(right.sum())
            sides = plane.on_positive_side(rows, marked)
            if min(n_right, len(indices) - n_right) < self.min_size or sides.all() or not sides.any():
                continue
            mixed = sum(_measure_mixture(np.bincount(label[side], minlength=len(names))) for side in (sides, ~sides))
            if mixed < least:
                best, least = plane, mixed
        return Split(best)


def _measure_mixture(counts: NDArray[np.integer[Any]]) -> float:
    """Return the Gini impurity of groups with these numbers of rows, times the number of rows."""
    total = float(counts.sum())
    return total - float((counts.astype(np.float64) ** 2).sum()) / total


def _cut_feature(x: Array, label: Indices) -> Hyperplane | None:
    """Return the hyperplane across a feature with the least impurity; None if all rows are equal."""
    is_of = np.eye(int(label.max()) + 1)[label]
    best, least = None, np.inf
    for j in np.flatnonzero(x.max(axis=0) > x.min(axis=0)).tolist():
        order = np.argsort(x[:, j], kind="stable")
        values, left = x[order, j], np.cumsum(is_of[order], axis=0)
        n_left = np.arange(1, len(x))
        squares = (left[:-1] ** 2).sum(axis=1) / n_left + ((left[-1] - left[:-1]) ** 2).sum(axis=1) / n_left[::-1]
        mixed = np.where(values[1:] > values[:-1], len(x) - squares, np.inf)
        k = int(np.argmin(mixed))
        if mixed[k] < least:
            middle = values[k] + 0.5 * (values[k + 1] - values[k])
            best, least = (j, middle if middle < values[k + 1] else values[k]), mixed[k]
    if best is None:
        return None
    normal, point = np.zeros(x.shape[1]), np.zeros(x.shape[1])
    normal[best[0]], point[best[0]] = 1.0, best[1]
    return Hyperplane(normal, float(best[1]), point=point)
