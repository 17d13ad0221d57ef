"""Choice of a partition among the proposals, and of the number of clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ravine.tree import constants
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
from ravine.validity.cluster_test import measure_boundary
from ravine.validity.discriminants import find_discriminant

Indices = NDArray[np.intp]


def choose_plan(
    graph: NeighbourGraph,
    k: int,
    fewest: float,
    rng: np.random.Generator,
    sets: list[CellSet],
    any_shape: bool = True,
    is_strict: bool = True,
) -> Plan | None:
    """Return the best partition into k clusters, as hyperplanes; None if no proposal has k clusters.

    Parameters
    ----------
    fewest : float
        Smallest number of rows of the graph in a cluster.
    any_shape : bool
        Whether joined cells are among the proposals.
    is_strict : bool
        Whether the hyperplanes must separate k clusters that are large enough; otherwise the best proposal is returned
        if none do.
    """
    proposals = list(propose_partitions(graph, k, rng, sets, any_shape))
    plans = []
    for i in rank_proposals(graph, proposals, k, any_shape).tolist():
        plans.append(plan_splits(graph, proposals[i]))
        if plans[-1].n_clusters == k and np.bincount(plans[-1].labels, minlength=k).min() >= fewest:
            return plans[-1]
    return plans[0] if plans and not is_strict else None


def rank_proposals(graph: NeighbourGraph, proposals: list[Partition], k: int, any_shape: bool) -> Indices:
    """Rank proposals by their mean agreement with all, weighted by evidence over cut; the best is first.

    The proposal with the largest weight of its own depends on chance where several are nearly as good.
    """
    weights = np.array([weigh_partition(graph, one, k, any_shape) for one in proposals])
    agreement = np.array(
        [[compare_partitions(one.labels, other.labels, k) for other in proposals] for one in proposals]
    ).reshape(len(proposals), len(proposals))
    return np.argsort(-(agreement @ weights), kind="stable")


def choose_number(graph: NeighbourGraph, fewest: float, rng: np.random.Generator, sets: list[CellSet]) -> Plan | None:
    """Return the partition into the largest number of clusters whose boundaries all have the evidence of a valley.

    None if there is none, also of two clusters.
    """
    best, n_failures = None, 0
    for k in range(2, constants.MOST_CLUSTERS + 1):
        if n_failures == constants.PATIENCE or k * max(fewest, constants.FEWEST_PART_ROWS) > len(graph):
            break
        plan = choose_plan(graph, k, fewest, rng, sets, any_shape=False)
        if (
            plan is not None
            and plan.n_clusters == k
            and measure_support(graph, plan.labels, k, rng) >= constants.SUPPORTED
        ):
            best, n_failures = plan, 0
        else:
            n_failures += 1
    return best


def measure_support(graph: NeighbourGraph, labels: Indices, k: int, rng: np.random.Generator) -> float:
    """Return the evidence for the weakest boundary between a cluster and its closest neighbours."""
    weakest = np.inf
    for i, j in list_neighbours(graph.count_edges(labels, k), constants.CLOSE_SHARE):
        members = np.flatnonzero((labels == i) | (labels == j))
        weakest = min(weakest, measure_boundary(graph.rows, members, labels[members] == j, rng))
        if weakest < constants.SUPPORTED:
            break
    return weakest


def find_curved_clusters(graph: NeighbourGraph, sets: list[CellSet], fewest: float, level: float) -> Plan | None:
    """Return the clusters of joined cells that most sets of cells agree on; None unless these are curved.

    Parameters
    ----------
    level : float
        Level of tests: the evidence for every boundary must also be that of a normal test at this level.
    """
    from scipy.special import ndtri

    joined = [cells.join(None, max(fewest, constants.FEWEST_CELL_ROWS)) for cells in sets]
    numbers = [int(one.labels.max()) + 1 for one in joined]
    number = max(set(numbers), key=numbers.count, default=1)
    if number == 1 or 2 * numbers.count(number) <= len(sets):
        return None
    agreeing = [one for one, n in zip(joined, numbers, strict=True) if n == number]
    weakest = [find_weakest(graph, one.labels, graph.count_edges(one.labels, number)) for one in agreeing]
    best = agreeing[int(np.argmax(weakest))]
    if max(weakest) < -float(ndtri(level)) or measure_curvature(graph, best) < constants.CURVED:
        return None
    return plan_splits(graph, best)


def have_majority(sets: list[CellSet], fewest: float) -> bool:
    """Return whether most sets of cells have the same number of clusters after joins."""
    numbers = [int(one.join(None, max(fewest, constants.FEWEST_CELL_ROWS)).labels.max()) for one in sets]
    return any(2 * numbers.count(number) > len(numbers) for number in set(numbers))


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
