"""Proposals: partitions of the rows of a graph into a given number of clusters.

k-means, Gaussian mixtures that start from it, and the leading eigenvectors of the graph propose convex or nearly convex
clusters. Cells that are joined where no valley separates them propose clusters of any shape.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ravine import _kernels
from ravine._typing import Array
from ravine.tree import constants
from ravine.tree.boundaries import Joiner, label_cells, measure_contact
from ravine.tree.cells import grow_cells
from ravine.tree.graph import NeighbourGraph, measure_cut
from ravine.tree.nodes import Tree

Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Partition:
    """Clusters of the rows of a graph.

    Attributes
    ----------
    labels : ndarray of shape (m,), int
        Cluster of each row: 0, 1, ...
    cells : tuple of Tree and ndarray, or None
        Tree of cells in the coordinates of the graph, and the cluster of each of its leaves, by the number of the leaf.
    is_separated : bool
        Whether the clusters are joined cells and valleys separate all of them.
    """

    labels: Indices
    cells: tuple[Tree, Indices] | None = None
    is_separated: bool = False


@dataclass(frozen=True, eq=False)
class CellSet:
    """Cells of the rows of a graph.

    Attributes
    ----------
    tree : Tree
        Tree whose leaves are the cells, in the coordinates of the graph.
    cell_of_row : ndarray of shape (m,), int
        Cell of each row, in the order of the numbers of the leaves.
    """

    tree: Tree
    cell_of_row: Indices
    joiner: Joiner

    def join(self, n_clusters: int | None, fewest: float) -> Partition:
        """Join cells to a number of clusters, or to all that valleys separate.

        Parameters
        ----------
        fewest : float
            Groups with fewer rows are always joined.
        """
        joiner = self.joiner
        joiner.fewest = fewest
        joins = joiner.join(constants.SEPARATED)
        n_separated = joiner.n_cells - len(joins)
        wanted = n_separated if n_clusters is None else n_clusters
        joins = joiner.complete(joins, wanted)[: joiner.n_cells - wanted]
        groups = label_cells(joiner.n_cells, joins)
        cluster = np.full(len(self.tree), -1, dtype=np.intp)
        cluster[np.sort(self.tree.leaves())] = groups
        return Partition(np.asarray(groups[self.cell_of_row]), (self.tree, cluster), n_separated >= wanted)


def cut_cells(graph: NeighbourGraph, n_sets: int, n_clusters: int, rng: np.random.Generator) -> list[CellSet]:
    """Cut the rows of a graph into cells, a number of times with different random directions."""
    if graph.points.shape[1] == 1 or len(graph) < 2 * constants.FEWEST_CELL_ROWS:
        return []
    sets = []
    for seed in rng.integers(2**31, size=n_sets).tolist():
        tree, leaf_of_row = grow_cells(graph, n_clusters, seed)
        cell_of_row = np.unique(leaf_of_row, return_inverse=True)[1]
        sets.append(CellSet(tree, cell_of_row, Joiner(graph, cell_of_row)))
    return sets


def propose_partitions(
    graph: NeighbourGraph, k: int, rng: np.random.Generator, sets: list[CellSet]
) -> Iterator[Partition]:
    """Yield partitions into k clusters; all have k.

    Parameters
    ----------
    sets : list of CellSet
        Cells that are joined. The first set is also the start of mixtures.
    """
    x = graph.rows.x
    means = fit_means(x, k, rng)
    starts = [] if means is None else [means]
    if means is not None:
        yield Partition(means)
    for i, cells in enumerate(sets):
        if cells.joiner.n_cells < k:
            continue
        joined = cells.join(k, max(constants.FEWEST_CELL_ROWS, constants.LEAST_CLUSTER_SHARE * len(graph) / k))
        yield joined
        if i == 0:
            starts.append(joined.labels)
    for start in starts:
        for is_tied in (True, False):
            mixture = fit_mixture(x, start, is_tied)
            if mixture is not None:
                yield Partition(mixture)
    mapped = map_neighbours(graph, k)
    labels = None if mapped is None else fit_means(mapped, k, rng)
    if labels is not None:
        yield Partition(labels)


def fit_means(x: Array, k: int, rng: np.random.Generator) -> Indices | None:
    """Return the clusters of k-means, from the best of several seeds; None if there are fewer than k."""
    labels, n_trials = np.empty(len(x), dtype=np.int64), 2 + int(math.log(k))
    random = rng.random((constants.N_SEEDS * n_trials, k))
    _kernels.fit_means(np.ascontiguousarray(x), random, n_trials, constants.MEANS_STEPS, labels)
    return labels if len(np.unique(labels)) == k else None


def fit_mixture(x: Array, start: Indices, is_tied: bool) -> Indices | None:
    """Return the components of a Gaussian mixture that starts from a partition; None if there are fewer, or no rows.

    Parameters
    ----------
    is_tied : bool
        Whether all components have the same covariance matrix.
    """
    k, (n, d) = int(start.max()) + 1, x.shape
    if not is_tied and n < constants.ROWS_PER_COVARIANCE * d * k:
        return None
    labels = start.astype(np.int64)
    ridge = constants.RIDGE * float(x.var(axis=0).mean())
    if not ridge > 0.0:
        return None
    is_found = _kernels.fit_mixture(
        np.ascontiguousarray(x), k, is_tied, ridge, constants.MIXTURE_STEPS, constants.MIXTURE_TOLERANCE, labels
    )
    return labels if is_found and len(np.unique(labels)) == k else None


def map_neighbours(graph: NeighbourGraph, k: int) -> Array | None:
    """Return the leading k eigenvectors of the normalised graph, with rows scaled to length 1; None if too few."""
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import lobpcg

    if k * (1 if len(graph) <= constants.FEW_GRAPH_ROWS else 5) >= len(graph) - 1:
        return None
    degrees = np.asarray(graph.adjacency.sum(axis=1)).ravel()
    scale = diags_array(1.0 / np.sqrt(degrees))
    matrix = scale @ graph.adjacency @ scale
    if len(graph) <= constants.FEW_GRAPH_ROWS:
        vectors = np.linalg.eigh(matrix.toarray())[1][:, -k:]
    else:
        # A block method finds all eigenvectors of the parts of a graph that is not connected.
        start = np.random.default_rng(0).standard_normal((len(graph), k))
        start[:, 0] = np.sqrt(degrees)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # nearly converged vectors are good enough
            vectors = lobpcg(
                matrix.tocsr(), start, tol=constants.EIGEN_TOLERANCE, maxiter=constants.EIGEN_STEPS, largest=True
            )[1]
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12))


def weigh_partition(graph: NeighbourGraph, partition: Partition, k: int) -> float:
    """Return the weight of a proposal: the inverse of its normalised cut, times a factor if valleys separate it."""
    cut = measure_cut(graph.count_edges(partition.labels, k))
    return (constants.CLEAR if partition.is_separated else 1.0) / (cut + constants.LEAST_CUT)


def compare_partitions(first: Indices, second: Indices, k: int) -> float:
    """Return the adjusted Rand index of two partitions of the same rows into at most k clusters."""
    counts = np.bincount(k * first + second, minlength=k * k).reshape(k, k).astype(np.float64)
    together, of_first, of_second, total = (
        float((n * (n - 1.0)).sum()) for n in (counts, counts.sum(axis=1), counts.sum(axis=0), np.array([len(first)]))
    )
    expected, largest = of_first * of_second / total, 0.5 * (of_first + of_second)
    return (together - expected) / (largest - expected) if largest > expected else 1.0


def find_weakest(graph: NeighbourGraph, labels: Indices, edges: Array) -> float:
    """Return the least evidence for a valley between a cluster and the neighbour with which it has the most edges."""
    return min((measure_contact(graph, labels == i, labels == j) for i, j in list_neighbours(edges)), default=math.inf)


def list_neighbours(edges: Array, share: float = 1.0) -> list[tuple[int, int]]:
    """Return the pairs of each cluster and those with which it has at least a share of its most edges to another."""
    others = edges.copy()
    np.fill_diagonal(others, 0.0)
    are_close = (others >= share * others.max(axis=1, keepdims=True)) & (others > 0.0)
    return list(zip(*(some.tolist() for some in np.nonzero(np.triu(are_close | are_close.T, 1))), strict=True))
