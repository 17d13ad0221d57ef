"""Constraints on pairs of rows: assign rows to clusters, split leaves until each has rows of one, and join leaves."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.hyperplane import Hyperplane
from ravine.rows import Rows, as_rows, center_and_scale
from ravine.tree import constants
from ravine.tree.constraints import Constraints
from ravine.tree.editing import renumber_clusters
from ravine.tree.grow import Split
from ravine.tree.nodes import Tree
from ravine.tree.separators import separate_by_svm

Indices = NDArray[np.intp]


def join_leaves(
    tree: Tree,
    leaves: Indices,
    clusters: Indices,
    complete: Constraints,
    constraints: Constraints,
    rows: Rows,
    n_clusters: int | None,
) -> Tree:
    """Return the tree whose leaves are joined to clusters: those of their rows with a constraint, or those they had.

    Further clusters that may be in one are joined where that increases the sum of squares least, until there are at
    most the given number.

    Parameters
    ----------
    leaves : ndarray of shape (n,), int
        Leaf of each row.
    clusters : ndarray of shape (n,), int
        Cluster of each row before leaves were split.
    complete : Constraints
        Constraints whose groups are clusters, of `complete_constraints`.
    constraints : Constraints
        Constraints that joins respect.
    """
    of_row = np.where(complete.group >= 0, complete.group, clusters)
    cluster = np.full(len(tree), -1, dtype=np.intp)
    parts: dict[int, list[Indices]] = {}
    for leaf in tree.leaves():
        inside = np.flatnonzero(leaves == leaf)
        marked = inside[complete.group[inside] >= 0]
        cluster[leaf] = np.bincount(of_row[marked if len(marked) else inside]).argmax()
        parts.setdefault(int(cluster[leaf]), []).append(inside)
    members = {k: np.sort(np.concatenate(some)) for k, some in sorted(parts.items())}
    z, _, _ = center_and_scale(np.stack([_average(rows, some) for some in members.values()]))  # squares do not overflow
    means = dict(zip(members, z, strict=True))
    while n_clusters is not None and len(members) > n_clusters:
        pairs = [(a, b) for a, b in combinations(members, 2) if constraints.allows(members[a], members[b])]
        if not pairs:
            break
        a, b = min(pairs, key=lambda pair: _measure_increase(members, means, *pair))
        n_a, n_b = len(members[a]), len(members[b])
        means[a] = (n_a * means[a] + n_b * means.pop(b)) / (n_a + n_b)
        members[a] = np.sort(np.concatenate([members[a], members.pop(b)]))
        cluster[cluster == b] = a
    return renumber_clusters(tree, cluster)


def _average(rows: Rows, indices: Indices, most: int = 1000) -> Array:
    step = max(1, len(indices) // most)
    return np.asarray(np.asarray(rows.take(indices[::step]), dtype=np.float64).mean(axis=0))


def _measure_increase(parts: dict[int, Indices], means: dict[int, Array], a: int, b: int) -> float:
    """Return the increase of the sum of squares if two clusters are joined (Ward's criterion)."""
    n_a, n_b = len(parts[a]), len(parts[b])
    return n_a * n_b / (n_a + n_b) * float(((means[a] - means[b]) ** 2).sum())


def complete_constraints(
    constraints: Constraints, rows: Rows, clusters: Indices, n_clusters: int | None = None
) -> Constraints:
    """Return constraints that put every row with a constraint into one of several clusters, all of them apart.

    Each group goes to the cluster with most of its rows, or to the nearest one, unless a group that is apart from it is
    there. More than ``n_clusters`` are used only if a search finds no other assignment.

    Parameters
    ----------
    clusters : ndarray of shape (n,), int
        Cluster of each row: 0, 1, ...
    """
    marked = np.flatnonzero(constraints.group >= 0)
    x = np.asarray(rows.take(marked), dtype=np.float64)
    node, apart = _unite_equal_rows(x, constraints.group[marked], constraints.apart)
    costs = _measure_costs(x, node, marked, rows, clusters)
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


def _measure_costs(x: Array, node: Indices, marked: Indices, rows: Rows, clusters: Indices) -> Array:
    """Return the cost of each group in each cluster: the share of its rows outside, then its distance."""
    names = np.arange(int(clusters.max()) + 1)
    n_nodes = int(node.max()) + 1
    sizes = np.bincount(node).astype(np.float64)
    means = np.stack([np.bincount(node, column, n_nodes) / sizes for column in x.T], axis=1)
    centers = np.stack([_average(rows, np.flatnonzero(clusters == k)) for k in names])
    z, _, _ = center_and_scale(np.concatenate([means, centers]))
    costs = np.stack([((z[:n_nodes] - center) ** 2).sum(axis=1) for center in z[n_nodes:]], axis=1)
    costs /= max(float(costs.max()), np.finfo(float).tiny) * (1.0 + sizes.max())
    for k in names.tolist():
        costs[:, k] += 1.0 - np.bincount(node, clusters[marked] == k, n_nodes) / sizes
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
        # New clusters are equal until one is used.
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
    """Move nodes to cheaper clusters in which they have no neighbour, in place."""
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
