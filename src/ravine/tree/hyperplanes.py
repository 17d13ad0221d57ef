"""Hyperplanes between the clusters of a partition: an oblique tree, which all rows are sent through.

Joined cells are a tree already. Other partitions are expressed by discriminants: each node separates two groups of its
clusters, the node with the fewest edges between the groups first. Every hyperplane between clusters then moves along
its normal to the lowest minimum of the density among the thresholds that separate the groups equally well.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.density import ProjectedDensity
from ravine.hyperplane import Hyperplane
from ravine.rows import Rows, center_and_scale
from ravine.search import BandwidthRule, resolve_bandwidth
from ravine.tree import constants
from ravine.tree.boundaries import Join, Joiner, measure_contact
from ravine.tree.editing import renumber_clusters
from ravine.tree.graph import NeighbourGraph, measure_cut
from ravine.tree.grow import make_stump
from ravine.tree.nodes import NONE, LeafJoins, Tree
from ravine.tree.partitions import Partition
from ravine.tree.separators import find_margin
from ravine.validity.discriminants import find_discriminant

Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class PlannedSplit:
    """Split of a node in the coordinates of a graph.

    Attributes
    ----------
    node : int
        Number of the node; its children have the next two free numbers.
    interval : tuple of float
        Thresholds that separate the clusters nearly as well.
    """

    node: int
    direction: Array
    threshold: float
    interval: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Plan:
    """Tree of hyperplanes in the coordinates of a graph.

    Attributes
    ----------
    splits : list of PlannedSplit
        In the order in which they are made.
    cluster : dict of int to int
        Cluster of each leaf, by its number.
    labels : ndarray of shape (m,), int
        Cluster that each row of the graph reaches.
    """

    splits: list[PlannedSplit]
    cluster: dict[int, int]
    labels: Indices

    @property
    def n_clusters(self) -> int:
        """Number of clusters with a leaf."""
        return len(set(self.cluster.values()))

    def list_nodes(self, graph: NeighbourGraph) -> list[tuple[Indices, NDArray[np.bool_]]]:
        """List the rows of the graph in each node that is split, in the order of the splits, and which go right."""
        members, found = {0: np.arange(len(graph))}, []
        for n_made, split in enumerate(self.splits):
            inside = members[split.node]
            goes_right = graph.rows.x[inside] @ split.direction > split.threshold
            members[2 * n_made + 1], members[2 * n_made + 2] = inside[~goes_right], inside[goes_right]
            found.append((inside, goes_right))
        return found


def plan_splits(graph: NeighbourGraph, partition: Partition, group: Indices | None = None) -> Plan:
    """Express a partition by hyperplanes; discriminants express joined cells if they cut no more edges.

    Parameters
    ----------
    group : ndarray of shape (k,), int, optional
        Group of each cluster. Discriminants separate the groups before the clusters of a group.
    """
    plan = _plan_discriminants(graph, partition, group)
    if partition.cells is None:
        return plan
    cells = _plan_cells(graph, *partition.cells)
    if len(plan.splits) > len(cells.splits) or plan.n_clusters < cells.n_clusters:
        return cells
    cuts = [measure_cut(graph.count_edges(one.labels, cells.n_clusters)) for one in (plan, cells)]
    return plan if cuts[0] <= cuts[1] else cells


def _plan_cells(graph: NeighbourGraph, cells: Tree, cluster: Indices) -> Plan:
    """Return the splits of a tree of cells, without those between cells of one cluster."""
    joined = renumber_clusters(cells, cluster)
    below: dict[int, set[int]] = {}
    for k in reversed(range(len(joined))):  # children have larger numbers than their parents
        is_leaf = joined.left[k] == NONE
        below[k] = {int(joined.cluster[k])} if is_leaf else below[int(joined.left[k])] | below[int(joined.right[k])]
    number, splits, leaves, labels = {0: 0}, [], {}, np.zeros(len(graph), dtype=np.intp)
    inner = sorted((k for k in range(len(joined)) if joined.left[k] != NONE), key=lambda k: joined.order[k])
    members = {0: np.arange(len(graph))}
    for k in inner:
        if k not in number or len(below[k]) == 1:
            continue
        left, right = int(joined.left[k]), int(joined.right[k])
        goes_right = graph.rows.x[members[k]] @ joined.normal[k] > joined.offset[k]
        members[left], members[right] = members[k][~goes_right], members[k][goes_right]
        threshold = float(joined.offset[k])
        splits.append(PlannedSplit(number[k], joined.normal[k], threshold, (threshold, threshold)))
        number[left], number[right] = 2 * len(splits) - 1, 2 * len(splits)
    for k, node in number.items():
        if len(below[k]) == 1:
            leaves[node] = next(iter(below[k]))
            labels[members[k]] = leaves[node]
    return Plan(splits, leaves, labels)


def _plan_discriminants(graph: NeighbourGraph, partition: Partition, group: Indices | None) -> Plan:
    """Separate the groups of clusters of a partition, then its clusters, by discriminants, the clearest first."""
    x, labels = graph.rows.x, partition.labels
    sizes = np.bincount(labels)
    group = np.zeros(len(sizes), dtype=np.intp) if group is None else group
    fewest = np.maximum(constants.LEAST_PART_OF_CLUSTER * sizes, min(constants.FEWEST_PART_ROWS, int(sizes.min())))
    heap: list[tuple[bool, float, int]] = []
    found: dict[int, tuple[PlannedSplit, NDArray[np.bool_]]] = {}
    members, cluster = {0: np.arange(len(x))}, {}

    def evaluate(node: int) -> None:
        inside = members[node]
        counts = np.bincount(labels[inside], minlength=len(sizes))
        present = np.flatnonzero(counts >= fewest)
        cluster[node] = int(counts.argmax())
        of_row, parts = group[labels], np.unique(group[present])
        is_within = len(parts) == 1
        if is_within:
            of_row, parts = labels, present
        split = _separate(x, of_row, inside, parts, node) if len(parts) > 1 else None
        if split is not None:
            goes_right = x[inside] @ split.direction > split.threshold
            found[node] = split, goes_right
            heapq.heappush(heap, (is_within, _measure_crossing(graph, inside, goes_right), node))

    evaluate(0)
    splits: list[PlannedSplit] = []
    while heap and len(splits) < constants.LEAVES_PER_CLUSTER * len(sizes):
        node = heapq.heappop(heap)[-1]
        split, goes_right = found[node]
        splits.append(split)
        del cluster[node]
        children = 2 * len(splits) - 1, 2 * len(splits)
        members[children[0]], members[children[1]] = members[node][~goes_right], members[node][goes_right]
        for child in children:
            evaluate(child)
    reached = np.zeros(len(x), dtype=np.intp)
    for node, k in cluster.items():
        reached[members[node]] = k
    return Plan(splits, cluster, reached)


def _separate(x: Array, labels: Indices, inside: Indices, present: Indices, node: int) -> PlannedSplit | None:
    """Separate two groups of clusters with the fewest rows on the wrong side; None if all rows would be on one side."""
    known = np.isin(labels[inside], present)
    z, of_row = x[inside[known]], np.searchsorted(present, labels[inside[known]])
    best, least, sides = None, len(z), None

    def consider(direction: Array | None, is_right: NDArray[np.bool_]) -> None:
        nonlocal best, least, sides
        if direction is not None:
            n_wrong, threshold, interval = _find_threshold(z @ direction, is_right)
            if n_wrong < least:
                best, least, sides = PlannedSplit(node, direction, threshold, interval), n_wrong, is_right

    for grouping in _list_groupings(z, of_row, len(present)):
        consider(find_discriminant(z, grouping[of_row]), grouping[of_row])
    if sides is not None and least > 0:  # a discriminant suffices for most; a margin counts the rows near the boundary
        consider(find_margin(z, sides), sides)
    return best


def _list_groupings(z: Array, of_row: Indices, k: int) -> list[NDArray[np.bool_]]:
    """List divisions of clusters into two groups: along the first axis of their means, and each against all others."""
    if k == 2:
        return [np.array([False, True])]
    means = np.array([z[of_row == j].mean(axis=0) for j in range(k)])
    shares = np.bincount(of_row, minlength=k) / len(of_row)
    centred = means - shares @ means
    axis = np.linalg.svd(centred * np.sqrt(shares)[:, None], full_matrices=False)[2][0]
    rank = np.argsort(np.argsort(centred @ axis, kind="stable"))
    return [rank > j for j in range(k - 1)] + [np.arange(k) == j for j in range(k) if 0 < rank[j] < k - 1]


def _find_threshold(projections: Array, is_right: NDArray[np.bool_]) -> tuple[int, float, tuple[float, float]]:
    """Return the least number of rows on the wrong side, the threshold, and the interval of nearly as good ones."""
    order = np.argsort(projections, kind="stable")
    ordered, values = is_right[order], projections[order]
    wrong = (np.cumsum(ordered) + np.count_nonzero(~ordered) - np.cumsum(~ordered))[:-1]
    middles = values[:-1] + 0.5 * (values[1:] - values[:-1])
    places = np.flatnonzero((middles > values[:-1]) & (middles < values[1:]))
    if not len(places):
        return len(order), 0.0, (0.0, 0.0)
    wrong = wrong[places]
    k = int(wrong.argmin())
    is_worse = np.flatnonzero(wrong > wrong[k] + constants.TOLERATED * len(order))
    before, after = is_worse[is_worse < k], is_worse[is_worse > k]
    first = places[before[-1] + 1] if len(before) else places[0]
    last = places[after[0] - 1] if len(after) else places[-1]
    return int(wrong[k]), float(middles[places[k]]), (float(values[first]), float(values[last + 1]))


def _measure_crossing(graph: NeighbourGraph, inside: Indices, goes_right: NDArray[np.bool_]) -> float:
    """Return the normalised cut of two parts of a node, by the edges inside it."""
    side = np.full(len(graph), -1, dtype=np.intp)
    side[inside] = goes_right
    ends, weights = side[graph.nearest[inside]], graph.edge_weights[inside]
    start = goes_right.astype(np.intp)[:, None]
    crossing = float(weights[(ends >= 0) & (ends != start)].sum())
    volumes = [max(float(weights[(ends >= 0) & (start == s)].sum()), 1e-300) for s in (0, 1)]
    return crossing / volumes[0] + crossing / volumes[1]


# ----------------------------------------------------------------------------------------------- all rows


def build_tree(
    rows: Rows,
    graph: NeighbourGraph,
    plan: Plan,
    bandwidth: BandwidthRule,
    weights: Array | None = None,
    notify: Callable[[Tree], object] | None = None,
    smallest: float = 0.0,
) -> tuple[Tree, Indices]:
    """Send all rows through a plan; return the tree and the leaf of each row.

    Parameters
    ----------
    bandwidth : "silverman", float or callable
        Rule for the density on the hyperplanes.
    weights : ndarray of shape (n,), optional
    notify : callable, optional
        Called with the tree after every split.
    smallest : float
        Smallest size of a cluster. A smaller one is dropped: its rows go to the other sides of its hyperplanes.
    """
    kept = set(plan.cluster.values())
    while True:
        tree, leaf_of_row, of_leaf = _send_rows(rows, graph, plan, kept, bandwidth, weights, notify)
        sizes = np.bincount(of_leaf[leaf_of_row], weights, minlength=max(kept) + 1)
        least = min(kept, key=lambda k: float(sizes[k]))
        if len(kept) == 1 or sizes[least] >= max(smallest, 1e-300):
            break
        kept -= {least}
    tree = renumber_clusters(tree, of_leaf)
    return (_join_leaves(tree, graph, leaf_of_row) if tree.n_clusters < tree.n_leaves else tree), leaf_of_row


def _send_rows(
    rows: Rows,
    graph: NeighbourGraph,
    plan: Plan,
    kept: set[int],
    bandwidth: BandwidthRule,
    weights: Array | None,
    notify: Callable[[Tree], object] | None,
) -> tuple[Tree, Indices, Indices]:
    """Return the tree of the splits between clusters that are kept, the leaf of each row, and the cluster of each leaf.

    A node takes the place of a split with all of its clusters, or all of its rows, on one side.
    """
    below = {node: {k} & kept for node, k in plan.cluster.items()}
    for n_made, split in reversed(list(enumerate(plan.splits))):
        below[split.node] = below[2 * n_made + 1] | below[2 * n_made + 2]
    tree, leaf_of_row = make_stump(*rows.shape), np.zeros(rows.shape[0], dtype=np.intp)
    number = {0: 0}
    for n_made, split in enumerate(plan.splits):
        children = 2 * n_made + 1, 2 * n_made + 2
        if split.node not in number:
            continue
        node = number.pop(split.node)
        if not (below[children[0]] and below[children[1]]):
            number[children[0] if below[children[0]] else children[1]] = node
            continue
        here = np.flatnonzero(leaf_of_row == node)
        plane = graph.rows.make_hyperplane(split.direction, split.threshold)
        distances = plane.distance(rows, None if len(here) == rows.shape[0] else here)
        w = None if weights is None else weights[here]
        h = _choose_bandwidth(bandwidth, graph, here, w)
        low, high = ((end - split.threshold) * graph.rows.scale for end in split.interval)
        plane, distances = _describe(plane, distances, h, w, low, high)
        goes_right = distances > 0.0
        sizes = int((~goes_right).sum()), int(goes_right.sum())
        if min(sizes) == 0:
            number[children[int(sizes[0] == 0)]] = node
            continue
        tree = tree.split(node, plane, sizes)
        number[children[0]], number[children[1]] = int(tree.left[node]), int(tree.right[node])
        leaf_of_row[here] = np.where(goes_right, number[children[1]], number[children[0]])
        if notify is not None:
            notify(tree)
    of_leaf = np.full(len(tree), NONE, dtype=np.intp)
    for planned, node in number.items():
        of_leaf[node] = plan.cluster[planned]
    return tree, leaf_of_row, of_leaf


def _join_leaves(tree: Tree, graph: NeighbourGraph, leaf_of_row: Indices) -> Tree:
    """Return the tree with the joins that make its clusters, and then one cluster across the weakest boundaries."""
    leaves, cell_of_row = np.unique(leaf_of_row[graph.indices], return_inverse=True)
    if len(leaves) < tree.n_leaves:  # a leaf without rows in the graph
        return tree
    joiner, joins = Joiner(graph, cell_of_row), []
    for k in range(tree.n_clusters):
        first, *others = np.flatnonzero(tree.cluster[leaves] == k).tolist()
        group = frozenset([first])
        for other in others:
            joins.append(Join(first, other, joiner.measure(group, frozenset([other]))))
            group |= {other}
    joins = joiner.complete(joins)
    clusters = tree.cluster[leaf_of_row[graph.indices]]
    edges = graph.count_edges(clusters, tree.n_clusters)
    touching = np.argwhere(np.triu(edges, 1) > 0.0)
    evidence = [measure_contact(graph, clusters == i, clusters == j) for i, j in touching]
    pairs = np.array([(leaves[one.first], leaves[one.second]) for one in joins], dtype=np.intp).reshape(-1, 2)
    z = np.array([one.evidence for one in joins])
    return tree.with_arrays(joins=LeafJoins(pairs, z, touching.astype(np.intp), np.array(evidence)))


def _choose_bandwidth(rule: BandwidthRule, graph: NeighbourGraph, here: Indices, weights: Array | None) -> float:
    """Return the bandwidth of a node, from the largest deviation of its rows in the graph."""
    x, _, scale = center_and_scale(graph.rows.x[graph.find_members(here)] if len(here) else graph.rows.x)
    if not x.any():  # rows of the graph that are equal, or none
        x, _, scale = center_and_scale(graph.rows.x)
    deviation = scale * float(np.sqrt(max(float(np.linalg.eigvalsh(x.T @ x / max(len(x), 1))[-1]), 0.0)))
    n = len(here) if weights is None else float(weights.sum())
    return resolve_bandwidth(rule, n, graph.rows.scale * deviation)


def _describe(
    plane: Hyperplane, distances: Array, h: float, weights: Array | None, low: float, high: float
) -> tuple[Hyperplane, Array]:
    """Return a hyperplane with its density and depth, moved to the lowest minimum of the density in an interval."""
    density = ProjectedDensity(distances, h, weights)
    minima = density.minima(low, high) if low < high else np.zeros(0)
    minima = minima[(minima > low) & (minima < high)]
    if len(minima) and plane.point is not None:
        b = float(minima[int(density(minima).argmin())])
        point = plane.point + b * plane.normal
        plane, distances = replace(plane, point=point, offset=float(plane.normal @ point)), distances - b
        density = ProjectedDensity(distances, h, weights)
    return replace(
        plane, density=float(density(0.0)), relative_depth=density.relative_depth(0.0), bandwidth=h
    ), distances
