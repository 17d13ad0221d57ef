"""Splitters of `MinimumDensityTree`: minimum density hyperplanes, tested if asked to.

If a node has many clusters, their projections overlap along every direction, so that the node may not show a valley.
Parts of the node with fewer clusters may (`find_hidden_split`). A finer tree is therefore grown without tests, and its
nodes are tested from the leaves upwards. If a part shows a valley, the node has more than one cluster. The leaves that
remain without the splits that show none are a guess of their number, and the node is split as a tree of that number
would split it. Clusters that are larger than allowed are split with or without a valley (`SizeLimitSplitter`).
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.hyperplane import Hyperplane
from ravine.rows import Rows, as_rows, center_and_scale, draw_indices
from ravine.search import Fit, SearchSettings, fit_hyperplane
from ravine.tree import constants
from ravine.tree.grow import PRIORITIES, Candidate, Priority, Split, grow
from ravine.tree.neighbours import NeighbourGraph
from ravine.tree.nodes import Tree
from ravine.tree.refine import refine_tree
from ravine.validity import run_valley_test
from ravine.validity.directions import as_choosers, measure_separation

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class NodeTest:
    """Valley test of the rows of nodes.

    Attributes
    ----------
    settings : SearchSettings
        Settings of the searches of the test.
    n_splits : int
        Number of repetitions.
    level : float or None
        Only splits with a P-value of at most this, times the node's share of all rows, are made; None to make them all.
    """

    settings: SearchSettings
    n_splits: int = 1
    method: str = "pooled"
    level: float | None = None

    def compute_pvalue(
        self, rows: Rows, share: float, rng: np.random.Generator, pool: ThreadPoolExecutor | None
    ) -> float:
        """Return the P-value of some rows, which are a share of all."""
        near = share * constants.USUAL_LEVEL
        return run_valley_test(rows, self.n_splits, self.settings, rng, pool, self.method, near).pvalue

    def allows(self, pvalue: float, share: float) -> bool:
        """Return whether rows that are a share of all may be split.

        The levels of all nodes at one depth of the tree add up to that of the root.
        """
        return self.level is None or pvalue <= share * self.level


class DensitySplitter:
    """Splitter by the minimum density hyperplane.

    Parameters
    ----------
    test : NodeTest, optional
        Test that every split must pass.
    pool : ThreadPoolExecutor, optional
        Threads that the fits of all nodes share.
    graph : NeighbourGraph, optional
        Graph that chooses among all hyperplanes of a search; without it the deepest one splits.
    min_size : int
        Smallest number of rows, or sum of weights, on a side of the hyperplane that the graph chooses.
    weights : ndarray of shape (n,), optional
        Weights of all rows. Not with tests: repeated rows are not independent evidence.
    """

    # X is passed as `Rows`, which are measured already.
    accepts_rows = True

    def __init__(
        self,
        settings: SearchSettings,
        test: NodeTest | None = None,
        *,
        pool: ThreadPoolExecutor | None = None,
        graph: NeighbourGraph | None = None,
        min_size: int = 1,
        weights: Array | None = None,
    ) -> None:
        self.settings = settings
        self.test = test
        self.pool = pool
        self.graph = graph
        self.min_size = min_size
        self.weights = weights

    def split(self, X: Any, indices: NDArray[np.intp], rng: np.random.Generator) -> Split:
        """Find the hyperplane of some rows, and test it if asked to."""
        all_rows = as_rows(X)
        with all_rows.share_rounds():
            # A small part is copied. A large one is gathered block by block, so that X is never doubled.
            is_whole = len(indices) == all_rows.shape[0]
            copy = len(indices) <= all_rows.copy_limit
            rows = all_rows if is_whole and not copy else all_rows.subset(indices, copy=copy)
            pvalue = np.nan
            if self.test is not None:
                share = len(indices) / all_rows.shape[0]
                pvalue = self.test.compute_pvalue(rows, share, rng, self.pool)
                if not self.test.allows(pvalue, share):
                    return find_hidden_split(rows, share, self, self.test, rng) or Split(None, pvalue)
            weights = None if self.weights is None else self.weights[indices]
            if weights is not None and np.count_nonzero(weights) < 2:
                return Split(None)
            fit = fit_hyperplane(rows, weights, settings=self.settings, rng=rng, pool=self.pool)
        plane = fit.hyperplane
        if self.graph is not None:
            planes = list_hyperplanes(fit, len(indices) if weights is None else int(np.count_nonzero(weights)))
            plane = self.graph.choose_hyperplane(indices, planes, self.min_size) or plane
        return Split(plane if plane.splits else None, pvalue)

    def without_test(self, graph: NeighbourGraph | None, min_size: int) -> DensitySplitter:
        """Return a splitter with the same settings that makes all splits, with another graph and smallest side."""
        return DensitySplitter(self.settings, pool=self.pool, graph=graph, min_size=min_size, weights=self.weights)

    def has_enough(self, indices: NDArray[np.intp]) -> bool:
        """Return whether some rows are enough for a side of a split."""
        return (len(indices) if self.weights is None else float(self.weights[indices].sum())) >= self.min_size


def list_hyperplanes(fit: Fit, n_rows: int) -> list[Hyperplane]:
    """Return the distinct hyperplanes of a search that were fitted to all rows and separate two modes."""
    found = {
        (step.hyperplane.offset, step.hyperplane.normal.tobytes()): step.hyperplane
        for step in fit.log.steps
        if step.n_rows == n_rows and step.hyperplane.relative_depth > 0.0
    }
    return list(found.values())


@dataclass(frozen=True)
class _Shown:
    """Leaves of a part of the finer tree if only splits that show a valley, and those above them, remain; P-value."""

    n_leaves: int = 1
    pvalue: float = 1.0


def find_hidden_split(
    rows: Rows, share: float, splitter: DensitySplitter, test: NodeTest, rng: np.random.Generator
) -> Split | None:
    """Find a split of a node of which a part, but not the whole, shows a valley; None if no part does.

    Parameters
    ----------
    rows : Rows
        Rows of the node.
    share : float
        Share of the node of all rows.
    splitter : DensitySplitter
        Grows trees; its own graph and tests are not used.
    test : NodeTest
        Test of the parts. The exact test is proved for the root only, so that nothing is explored with it.
    """
    n = rows.shape[0]
    if (
        test.method != "pooled"
        or not test.level
        or n < constants.FEWEST_EXPLORED_ROWS
        or share < constants.LEAST_EXPLORED_SHARE
    ):
        return None
    sample = rows.subset(draw_indices(np.arange(n), constants.MOST_EXPLORED_ROWS, rng), copy=True)
    size = sample.shape[0]
    min_size = max(1, splitter.min_size * size // n)
    n_leaves = min(constants.MOST_EXPLORED_LEAVES, size // constants.ROWS_PER_EXPLORED_LEAF)
    tree, leaf_of_row = _grow_tree(sample, splitter, n_leaves, min_size, rng)
    shown = _test_parts(tree, leaf_of_row, sample, share, splitter, test, rng)
    if shown.n_leaves == 1:
        return None
    plane = _grow_tree(sample, splitter, shown.n_leaves, min_size, rng)[0].hyperplane(0)
    return None if plane is None else Split(plane, shown.pvalue)


def _grow_tree(
    rows: Rows, splitter: DensitySplitter, n_clusters: int, min_size: int, rng: np.random.Generator
) -> tuple[Tree, Indices]:
    """Grow and refine a tree with a given number of clusters; return it with the leaf of each row."""
    graph = NeighbourGraph(rows, n_clusters, rng)
    tree, leaf_of_row = grow(
        rows,
        splitter.without_test(graph, min_size),
        n_clusters=n_clusters,
        priority=PRIORITIES["cut"],
        min_cluster_size=min_size,
        seed=int(rng.integers(2**31)),
        graph=graph,
    )
    return refine_tree(tree, leaf_of_row, rows, graph, (min_size, math.inf), splitter.settings.bandwidth, n_clusters)


def _test_parts(
    tree: Tree,
    leaf_of_row: Indices,
    rows: Rows,
    share: float,
    splitter: DensitySplitter,
    test: NodeTest,
    rng: np.random.Generator,
) -> _Shown:
    """Test the nodes of a tree below its root, from the leaves upwards, until a test shows a valley.

    The splits that show a valley remain, and those above them. The P-value of a part of which a smaller part shows a
    valley is that of the latter, divided by its share of the rows and by its part of the level. Nodes above others that
    fail are tested, too, so that this is not a bound but is calibrated by simulation (benchmarks/trees.py).
    """
    members = {k: np.flatnonzero(leaf_of_row == k) for k in tree.leaves()}
    found = dict.fromkeys(members, _Shown())
    choosers = as_choosers(rows)
    for k in reversed(range(len(tree))):  # children have larger numbers than their parents
        if tree.is_leaf(k):
            continue
        sides = int(tree.left[k]), int(tree.right[k])
        members[k] = np.sort(np.concatenate([members[side] for side in sides]))
        n_leaves, size = sum(found[side].n_leaves for side in sides), len(members[k])
        if n_leaves > 2:
            pvalue = min(found[side].pvalue * size / len(members[side]) for side in sides)
            found[k] = _Shown(n_leaves, min(1.0, pvalue))
            continue
        found[k] = _Shown()
        on_right = np.isin(members[k], members[sides[1]], assume_unique=True)
        if k > 0 and measure_separation(choosers.take(members[k]), on_right) >= constants.LEAST_TESTED_EVIDENCE:
            part = constants.PART_OF_LEVEL * share * size / rows.shape[0]
            pvalue = test.compute_pvalue(rows.subset(members[k], copy=True), part, rng, splitter.pool)
            if test.allows(pvalue, part):
                found[k] = _Shown(2, min(1.0, pvalue / constants.PART_OF_LEVEL))
    return found[0]


class SizeLimitSplitter:
    """Splitter of large nodes: by the minimum density hyperplane, or in halves along the first principal component.

    Parameters
    ----------
    largest : int
        Nodes with more rows, or a larger sum of weights, are always split.
    is_exclusive : bool
        Whether other nodes are not split at all.
    """

    accepts_rows = True

    def __init__(self, splitter: DensitySplitter, largest: int, is_exclusive: bool) -> None:
        self.splitter, self.largest, self.is_exclusive = splitter, largest, is_exclusive

    def split(self, X: Any, indices: Indices, rng: np.random.Generator) -> Split:
        """Split the rows of X with these indices."""
        rows, splitter = as_rows(X), self.splitter
        weights = None if splitter.weights is None else splitter.weights[indices]
        is_large = (len(indices) if weights is None else float(weights.sum())) > self.largest
        if not is_large:
            return Split(None) if self.is_exclusive else splitter.split(rows, indices, rng)
        found = (splitter.without_test(splitter.graph, splitter.min_size) if self.is_exclusive else splitter).split(
            rows, indices, rng
        )
        if found.hyperplane is not None:
            goes_right = found.hyperplane.on_positive_side(rows, indices)
            if splitter.has_enough(indices[goes_right]) and splitter.has_enough(indices[~goes_right]):
                return found
        return Split(_halve(rows, indices, weights, rng), found.pvalue)


def _halve(rows: Rows, indices: Indices, weights: Array | None, rng: np.random.Generator) -> Hyperplane | None:
    """Return the hyperplane across the first principal component with half of the rows on each side; None if equal."""
    x = np.asarray(rows.take(draw_indices(indices, constants.MOST_HALVED_ROWS, rng)), dtype=np.float64)
    z, center, _ = center_and_scale(x)
    if not z.any():
        return None
    normal = np.linalg.svd(z, full_matrices=False)[2][0]
    projections = rows.project(center, normal, indices)
    order = np.argsort(projections, kind="stable")
    steps = np.diff(projections[order])
    total = np.cumsum(np.ones(len(order)) if weights is None else weights[order])
    # The cut between two different values that is closest to the middle.
    cuts = np.flatnonzero(steps > 0.0)
    if not len(cuts):
        return None
    k = int(cuts[np.argmin(np.abs(total[cuts] - 0.5 * total[-1]))])
    low, high = projections[order[k]], projections[order[k + 1]]
    point = center + (low + 0.5 * (high - low)) * normal
    return Hyperplane(normal, float(normal @ point), point=point)


def prefer_large(priority: Priority, largest: int, n_rows: float) -> Priority:
    """Return the priority by which nodes that are larger than allowed come first, the largest one before the others."""

    def rank(candidate: Candidate) -> float:
        return 1e300 * (candidate.size / n_rows) if candidate.size > largest else priority(candidate)

    return rank
