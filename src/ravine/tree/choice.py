"""Choice of a partition among the proposals, and of the number of clusters."""

from __future__ import annotations

from itertools import islice

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ravine.tree import constants
from ravine.tree.editing import label_unions
from ravine.tree.graph import NeighbourGraph
from ravine.tree.hyperplanes import Plan, plan_splits
from ravine.tree.partitions import (
    CellSet,
    Partition,
    compare_partitions,
    find_weakest,
    list_neighbours,
    propose_partitions,
    weigh_partition,
)
from ravine.validity.cluster_test import judge_sides
from ravine.validity.discriminants import find_discriminant

Indices = NDArray[np.intp]


class Proposals:
    """Partitions of the rows of a graph into any number of clusters; those into k are made once.

    Parameters
    ----------
    sets : list of CellSet
        Cells that are joined.
    """

    def __init__(self, graph: NeighbourGraph, rng: np.random.Generator, sets: list[CellSet]) -> None:
        self.graph, self.rng, self.sets = graph, rng, sets
        self._ranked: dict[int, list[Partition]] = {}

    def rank(self, k: int) -> list[Partition]:
        """Return partitions in the order of their mean agreement with all, weighted by the inverses of their cuts.

        The one with the least cut depends on chance where several are nearly as good.
        """
        if k not in self._ranked:
            found = list(propose_partitions(self.graph, k, self.rng, self.sets))
            weights = np.array([weigh_partition(self.graph, one, k) for one in found])
            agreement = np.array(
                [[compare_partitions(one.labels, other.labels, k) for other in found] for one in found]
            )
            order = np.argsort(-(agreement.reshape(len(found), len(found)) @ weights), kind="stable")
            self._ranked[k] = [found[i] for i in order.tolist()]
        return self._ranked[k]


def choose_plan(proposals: Proposals, k: int, fewest: float) -> Plan | None:
    """Return the best partition into k clusters, as hyperplanes; None if no proposal has k clusters.

    Parameters
    ----------
    fewest : float
        Smallest number of rows of the graph in a cluster, if any proposal has clusters of this size.
    """
    first = None
    for proposal in proposals.rank(k):
        plan = plan_splits(proposals.graph, proposal)
        if _has_clusters(plan, k, fewest):
            return plan
        first = plan if first is None else first
    return first


def choose_separated(proposals: Proposals, start: Partition, fewest: float, level: float) -> Plan:
    """Return the best partition whose clusters are all separated by valleys, with as many clusters as a first one.

    Parameters
    ----------
    start : Partition
        Returned if no proposal is separated.
    level : float
        Level of the evidence for each valley.
    """
    k = int(start.labels.max()) + 1
    for proposal in proposals.rank(k):
        plan = plan_splits(proposals.graph, proposal)
        if _has_clusters(plan, k, fewest) and join_unseparated(proposals.graph, plan.labels, k, level).max() == k - 1:
            return plan
    return plan_splits(proposals.graph, start)


def _has_clusters(plan: Plan, k: int, fewest: float) -> bool:
    return plan.n_clusters == k and bool(np.bincount(plan.labels, minlength=k).min() >= fewest)


def find_separated(proposals: Proposals, fewest: float, level: float) -> Indices:
    """Return the labels of most groups that valleys separate, from partitions into 2, 3, ... clusters.

    Parameters
    ----------
    fewest : float
        Smallest number of rows of the graph in a cluster.
    level : float
        Level of the evidence for each valley.
    """
    n = len(proposals.graph)
    best, n_failures = np.zeros(n, dtype=np.intp), 0
    for k in range(2, constants.MOST_CLUSTERS + 1):
        if n_failures == constants.PATIENCE or k * max(fewest, constants.FEWEST_PART_ROWS) > n:
            break
        smallest = max(fewest, constants.LEAST_CLUSTER_SHARE * n / k)
        n_failures += 1
        large = (one.labels for one in proposals.rank(k) if np.bincount(one.labels).min() >= smallest)
        for labels in islice(large, 1):
            groups = join_unseparated(proposals.graph, labels, k, level)
            if groups.max() > best.max():
                best, n_failures = groups, 0
    return best


def join_unseparated(graph: NeighbourGraph, labels: Indices, k: int, level: float) -> Indices:
    """Return the labels of the groups that are left if close neighbours without a valley are joined."""
    pairs = list_neighbours(graph.count_edges(labels, k), constants.CLOSE_SHARE)
    weak = [(i, j) for i, j in pairs if judge_sides(graph.rows, labels == i, labels == j, level) > level]
    return np.asarray(label_unions(k, weak)[labels])


def find_joined_cells(graph: NeighbourGraph, sets: list[CellSet], fewest: float, level: float) -> Partition | None:
    """Return the clusters of joined cells if most sets agree on a number above 1; the clearest of these partitions.

    Parameters
    ----------
    level : float
        Level that the evidence for each valley must reach, too.
    """
    joined = [cells.join(None, max(fewest, constants.FEWEST_CELL_ROWS)) for cells in sets]
    numbers = [int(one.labels.max()) + 1 for one in joined]
    number = max(set(numbers), key=numbers.count, default=1)
    if number == 1 or 2 * numbers.count(number) <= len(sets):
        return None
    agreeing = [one for one, n in zip(joined, numbers, strict=True) if n == number]
    evidence = [find_weakest(graph, one.labels, graph.count_edges(one.labels, number)) for one in agreeing]
    return agreeing[int(np.argmax(evidence))] if max(evidence) >= -float(ndtri(level)) else None


def measure_curvature(graph: NeighbourGraph, partition: Partition) -> float:
    """Return the largest share of two clusters on the wrong side of the hyperplane between them."""
    labels, x = partition.labels, graph.points
    largest = 0.0
    for i in range(int(labels.max()) + 1):
        for j in range(i):
            inside = np.flatnonzero((labels == i) | (labels == j))
            is_second = labels[inside] == i
            direction = find_discriminant(x[inside], is_second)
            if direction is None:
                return 0.5
            p = x[inside] @ direction
            middle = 0.5 * (p[is_second].mean() + p[~is_second].mean())
            largest = max(largest, 0.5 * float(np.mean(p[~is_second] > middle) + np.mean(p[is_second] <= middle)))
    return largest
