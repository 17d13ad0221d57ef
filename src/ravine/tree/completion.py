"""Choice of a cluster for every row with a constraint, and splits that put each of them there."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.hyperplane import Hyperplane
from ravine.rows import Rows, as_rows
from ravine.tree.constrained import separate_sides
from ravine.tree.constraints import Constraints
from ravine.tree.grow import Split

__all__ = ["LabelSplitter", "complete_constraints"]

Indices = NDArray[np.intp]

# Steps of the search for an assignment of groups to a given number of clusters.
MOST_STEPS = 20_000
# Labels of a node that hyperplanes separate from all others.
MOST_LABELS = 8


def complete_constraints(
    constraints: Constraints, rows: Rows, leaves: Indices, n_clusters: int | None = None
) -> Constraints:
    """Return constraints that put every row with a constraint into one of several clusters, all of them apart.

    Each group goes to the leaf with most of its rows, or to the nearest one, unless a group that is apart from it is
    there. More than ``n_clusters`` are used only if a search finds no other assignment.

    Parameters
    ----------
    constraints : Constraints
    rows : Rows
    leaves : ndarray of shape (n,), int
        Leaf of each row.
    n_clusters : int or None
    """
    marked = np.flatnonzero(constraints.group >= 0)
    x = np.asarray(rows.take(marked), dtype=np.float64)
    node, apart = _unite_equal_rows(x, constraints.group[marked], constraints.apart)
    costs = _measure_costs(x, node, marked, rows, leaves)
    colour = None if n_clusters is None else _colour(apart, costs, n_clusters, MOST_STEPS)
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

    takes_rows = True

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
        planes = []
        for k in np.argsort(-counts, kind="stable")[:MOST_LABELS].tolist():
            planes += separate_sides(x, label == k, np.ones(len(x)))
        planes += _cut_feature(x, label)
        best, least = None, np.inf
        for plane in planes:
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


def _cut_feature(x: Array, label: Indices) -> list[Hyperplane]:
    """Return the hyperplane across a feature with the least impurity; none if all rows are equal."""
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
        return []
    normal, point = np.zeros(x.shape[1]), np.zeros(x.shape[1])
    normal[best[0]], point[best[0]] = 1.0, best[1]
    return [Hyperplane(normal, float(best[1]), point=point)]
