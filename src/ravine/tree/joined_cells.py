"""Clusters of any shape: cells that are cut by hyperplanes and joined where no valley separates them.

Cells depend on random directions. A few sets of cells are therefore cut and joined, and the clusters with the strongest
weakest boundary are kept. They replace the convex clusters of a tree if their weakest boundary is clearly stronger.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._kernels import StopFlag
from ravine._plurals import count
from ravine.rows import Rows
from ravine.search import BandwidthRule, resolve_bandwidth
from ravine.tree import constants
from ravine.tree.boundaries import Join, Joiner, find_weakest, label_cells, measure_boundaries
from ravine.tree.cells import CellGraph, grow_cells
from ravine.tree.editing import find_new_nodes, prune, renumber_clusters
from ravine.tree.nodes import NONE, LeafJoins, Tree, descend
from ravine.tree.refine import describe_plane, find_largest_deviation
from ravine.tree.separators import measure_overlap

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class JoinedCells:
    """Clusters of any shape.

    Attributes
    ----------
    cells : Tree
        Tree whose leaves are the cells.
    leaf_of_row : ndarray of shape (n,), int
        Cell of each row, by the number of its leaf.
    joins : list of Join
        Joins that make the clusters.
    weakest : float
        Least evidence for a valley between a cluster and its closest neighbour.
    """

    graph: CellGraph
    cells: Tree
    leaf_of_row: Indices
    joiner: Joiner
    joins: list[Join]
    weakest: float

    @property
    def clusters(self) -> Indices:
        """Cluster of each row of the graph."""
        return np.asarray(label_cells(self.joiner.n_cells, self.joins)[self.joiner.cell_of_row])

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return self.joiner.n_cells - len(self.joins)

    def count_separated(self) -> int:
        """Return how many clusters valleys separate, if fewer joins than asked for are not made."""
        return self.joiner.n_cells - len(self.joiner.join(constants.LEAST_JOINED_EVIDENCE))

    @property
    def smallest_size(self) -> int:
        """Number of rows of the smallest cluster."""
        sizes = self.cells.size[np.sort(self.cells.leaves())]
        return int(np.bincount(label_cells(len(sizes), self.joins), weights=sizes).min())

    def measure_curvature(self) -> float:
        """Return the largest share of two clusters on the wrong side of the hyperplane between them."""
        clusters = self.clusters
        overlaps = []
        for first, second in combinations(range(self.n_clusters), 2):
            inside = (clusters == first) | (clusters == second)
            overlaps.append(measure_overlap(self.graph.points[inside], clusters[inside] == second))
        return max(overlaps, default=0.0)


def find_joined_cells(
    rows: Rows,
    n_clusters: int | None,
    min_size: int,
    rng: np.random.Generator,
    flag: StopFlag | None = None,
    level: float = constants.USUAL_LEVEL,
) -> JoinedCells | str:
    """Find clusters of any shape; return the reason, as a part of a sentence, if that is impossible.

    Parameters
    ----------
    n_clusters : int or None
        Number of clusters; None for all that valleys separate.
    min_size : int
        Smallest number of rows of a cluster.
    level : float
        Level of tests, which moves the evidence that separates clusters if their number is not given.
    """
    n, d = rows.shape
    if d == 1:
        return "there is only one feature"
    if n_clusters is None and n < constants.FEWEST_ROWS_FOR_CELLS:
        return f"there are fewer than {constants.FEWEST_ROWS_FOR_CELLS} rows"
    graph = CellGraph.of(rows, n_clusters, rng)
    if isinstance(graph, str):
        return graph
    fewest = max(constants.FEWEST_CLUSTER_ROWS, math.ceil(min_size * len(graph.indices) / n))
    best: list[JoinedCells] = []
    for seed in rng.integers(2**31, size=constants.N_CELL_SETS).tolist():
        cells, leaf_of_row = grow_cells(rows, graph, n_clusters, seed, flag)
        found, cell_of_row = np.unique(leaf_of_row[graph.indices], return_inverse=True)
        # A cell of many rows may have none in the graph, by chance.
        if cells.n_leaves < (n_clusters or 2) or len(found) < cells.n_leaves:
            continue
        joiner = Joiner(graph, cell_of_row, fewest)
        different = {
            label_cells(joiner.n_cells, joins).tobytes(): joins for joins in _list_joins(joiner, n_clusters, level)
        }
        tried = [
            JoinedCells(graph, cells, leaf_of_row, joiner, joins, _rate(joiner, joins, n_clusters))
            for joins in different.values()
        ]
        large_enough = [groups for groups in tried if groups.smallest_size >= min_size]
        if not large_enough:
            continue
        best.append(max(large_enough, key=lambda groups: groups.weakest))
        if _find_agreement(best) or sum(groups.n_clusters == 1 for groups in best) >= constants.ENOUGH_SINGLE_CLUSTERS:
            break
    if not best:
        return "the rows cannot be cut into enough cells, or clusters would be too small"
    separated = [groups for groups in best if groups.n_clusters > 1]
    # A valley that few sets of cells show may be one of the gaps between few rows.
    if n_clusters is None and not _find_agreement(best) and 2 * len(separated) <= len(best):
        return next(groups for groups in best if groups.n_clusters == 1)
    return max(separated or best, key=lambda groups: groups.weakest)


def _find_agreement(tried: list[JoinedCells]) -> bool:
    """Return whether two sets of cells have nearly the same clusters, and more than one."""
    clusters = [groups.clusters for groups in tried if groups.n_clusters > 1]
    return any(_agree(one, other) for one, other in combinations(clusters, 2))


def _list_joins(joiner: Joiner, n_clusters: int | None, level: float) -> Iterator[list[Join]]:
    """Yield joins that make the number of clusters, or those of all groups that no valley separates."""
    if n_clusters is None:
        from scipy.special import ndtri

        yield joiner.join(
            max(constants.SEPARATED + float(ndtri(constants.USUAL_LEVEL) - ndtri(level)), constants.LEAST_SEPARATED)
        )
        return
    share = constants.LEAST_CLUSTER_SHARE * len(joiner.cell_of_row) / n_clusters
    for fewest in sorted({joiner.fewest, max(joiner.fewest, share)}):
        joiner.fewest = fewest
        yield joiner.complete(joiner.join(constants.SEPARATED, n_clusters), n_clusters)
    yield joiner.complete(joiner.join_to(n_clusters), n_clusters)


def _rate(joiner: Joiner, joins: list[Join], n_clusters: int | None) -> float:
    """Return the evidence for the weakest boundary; minus infinity if a cluster is too small."""
    clusters = label_cells(joiner.n_cells, joins)[joiner.cell_of_row]
    sizes = np.bincount(clusters)
    if n_clusters is not None and sizes.min() < constants.LEAST_CLUSTER_SHARE * len(clusters) / n_clusters:
        return -math.inf
    return find_weakest(joiner.graph, clusters)


def _agree(clusters: Indices, others: Indices) -> bool:
    """Return whether nearly all rows are in the same clusters."""
    if clusters.max() != others.max():
        return False
    counts = np.bincount(clusters * (others.max() + 1) + others, minlength=(clusters.max() + 1) ** 2)
    return bool(counts.reshape(clusters.max() + 1, -1).max(axis=1).sum() >= constants.SAME_CLUSTERS * len(clusters))


def find_curved(groups: JoinedCells) -> str:
    """Return why joined cells are better than any convex clusters, as a sentence; empty if they may not be."""
    if groups.n_clusters < 2 or groups.weakest < constants.SEPARATED:
        return ""
    curvature = groups.measure_curvature()
    if curvature < constants.CURVED:
        return ""
    return (
        f"Valleys separate clusters that are not convex: {100 * curvature:.0f} % of two clusters are on the wrong side "
        f"of the best hyperplane between them, and {_describe_weakest('clusters', groups.weakest)}."
    )


def choose_shape(groups: JoinedCells, tree: Tree, leaf_of_row: Indices, n_clusters: int | None) -> tuple[bool, str]:
    """Return whether joined cells are clearly better clusters than the leaves of a tree, and why, as a sentence.

    Parameters
    ----------
    leaf_of_row : ndarray of shape (n,), int
        Leaf of each row in that tree.
    n_clusters : int or None
        Number of clusters that is asked for.
    """
    if groups.n_clusters < 2:
        return False, "Joined cells do not show more than one cluster."
    joined = _describe_weakest("groups of joined cells", groups.weakest)
    if tree.n_clusters < (n_clusters or 2):
        is_better = n_clusters is None or groups.weakest >= constants.LEAST_JOINED_EVIDENCE
        return is_better, f"The convex tree has only {count(tree.n_clusters, 'cluster')}; {joined}."
    weakest = find_weakest(groups.graph, tree.cluster[leaf_of_row[groups.graph.indices]])
    is_better = weakest < math.inf and groups.weakest >= max(
        weakest + constants.EVIDENCE_MARGIN, constants.LEAST_JOINED_EVIDENCE
    )
    if n_clusters is None and tree.n_clusters >= groups.n_clusters:
        is_better = weakest < constants.IN_DOUBT and constants.STRONG <= groups.weakest < math.inf
    convex = _describe_weakest("convex clusters", weakest)
    return is_better, f"{convex[0].upper()}{convex[1:]}; {joined}."


def _describe_weakest(clusters: str, evidence: float) -> str:
    """Describe the weakest boundary between some clusters, as a part of a sentence."""
    if evidence == math.inf:
        return f"no two {clusters} touch"
    strength = "has no valley" if evidence == -math.inf else f"has z = {evidence:.1f}"
    return f"the weakest boundary between {clusters} {strength}"


def build_tree(groups: JoinedCells, rows: Rows, bandwidth: BandwidthRule) -> tuple[Tree, Indices]:
    """Return the tree whose joined leaves are the clusters, and the leaf of each row.

    Cells of one cluster that share a node become one leaf.

    Parameters
    ----------
    bandwidth : "silverman", float or callable
        Rule for the density on the hyperplanes.
    """
    cells = groups.cells
    leaves = np.sort(cells.leaves())  # cells are numbered in this order
    cluster = np.full(len(cells), NONE, dtype=np.intp)
    cluster[leaves] = label_cells(len(leaves), groups.joins)
    joined = renumber_clusters(cells, cluster)
    tree = prune(joined, _list_uniform_nodes(joined))
    new_leaf = find_new_nodes(joined, tree)
    tree = _describe_splits(tree, groups.graph, rows, bandwidth)
    all_joins = groups.joiner.complete(groups.joins)
    pairs, evidence = _contract_joins(all_joins, new_leaf[leaves])
    of_row = tree.cluster[new_leaf[leaves]][groups.joiner.cell_of_row]
    found = measure_boundaries(groups.graph, of_row)
    touching = np.array(list(found), dtype=np.intp).reshape(-1, 2)
    joins = LeafJoins(pairs, evidence, touching, np.array(list(found.values()), dtype=np.float64))
    return tree.with_arrays(joins=joins), new_leaf[groups.leaf_of_row]


def _list_uniform_nodes(tree: Tree) -> list[int]:
    """Return the inner nodes below which all leaves belong to one cluster."""
    cluster = tree.cluster.copy()
    uniform = []
    for k in reversed(range(len(tree))):  # children have larger numbers than their parents
        if tree.left[k] != NONE and cluster[tree.left[k]] == cluster[tree.right[k]] != NONE:
            cluster[k] = cluster[tree.left[k]]
            uniform.append(k)
    return uniform


def _describe_splits(tree: Tree, graph: CellGraph, rows: Rows, bandwidth: BandwidthRule) -> Tree:
    """Return the tree with bandwidths, densities and depths of its hyperplanes."""
    arrays = {name: getattr(tree, name).copy() for name in ("bandwidth", "density", "relative_depth")}
    for visit in descend(tree, rows):
        if visit.hyperplane is None or visit.distances is None:
            continue
        here = graph.points[graph.find_members(visit.indices)]
        h = resolve_bandwidth(bandwidth, len(visit.indices), graph.scale * find_largest_deviation(here))
        plane = describe_plane(visit.hyperplane, visit.distances, h)
        for name, values in arrays.items():
            values[visit.node] = getattr(plane, name)
    return tree.with_arrays(**arrays)


def _contract_joins(joins: list[Join], leaf_of_cell: Indices) -> tuple[Indices, NDArray[np.float64]]:
    """Return the joins between different leaves, as pairs of leaves with the evidence, without those inside a leaf."""
    from scipy.cluster.hierarchy import DisjointSet

    groups: Any = DisjointSet(np.unique(leaf_of_cell).tolist())
    pairs, evidence = [], []
    for made in joins:
        pair = int(leaf_of_cell[made.first]), int(leaf_of_cell[made.second])
        if groups.merge(*pair):
            pairs.append(pair)
            evidence.append(made.evidence)
    return np.array(pairs, dtype=np.intp).reshape(-1, 2), np.array(evidence, dtype=np.float64)
