"""From rows to a tree of clusters: graph, proposals, choice, hyperplanes, test, in this order.

Read `fit_tree` first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.rows import Rows
from ravine.search import SearchSettings
from ravine.tree import constants
from ravine.tree.choice import (
    Proposals,
    choose_plan,
    choose_separated,
    find_joined_cells,
    find_separated,
    join_unseparated,
    measure_curvature,
)
from ravine.tree.constraints import Constraints, SizeLimits, list_violations
from ravine.tree.editing import find_new_nodes, keep_significant_splits
from ravine.tree.graph import NeighbourGraph
from ravine.tree.grow import Splitter, apply_split, grow, make_stump, split_rows
from ravine.tree.hyperplanes import Plan, build_tree, plan_splits
from ravine.tree.nodes import NONE, Tree
from ravine.tree.partitions import Partition, cut_cells, list_neighbours
from ravine.tree.selection import Selection
from ravine.tree.splitter import DensitySplitter
from ravine.validity import run_valley_test
from ravine.validity.cluster_test import FEW_DIMENSIONS, FEWEST_ROWS, find_sides, judge_sides, run_cluster_test

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class TreeSettings:
    """Settings of `fit_tree`.

    Attributes
    ----------
    n_clusters : int or None
        Number of clusters; None if evidence decides.
    splitter : SearchSettings or Splitter
        Settings of searches for hyperplanes, or an object that splits.
    limits : SizeLimits
    test : {"pooled", "exact"} or None
        Test of the splits; None for none.
    n_splits : int
        Number of repetitions of an exact test.
    level : float
        Level of the tests.
    only_shown : bool
        Whether splits that the test does not show are undone.
    """

    n_clusters: int | None
    splitter: SearchSettings | Splitter
    limits: SizeLimits
    test: str | None = None
    n_splits: int = 1
    level: float = 0.05
    only_shown: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.splitter, SearchSettings):
            if self.limits.largest is not None:
                raise ValueError("max_cluster_size needs a hyperplane that is a MinimumDensityHyperplane.")
            if self.n_clusters is None:
                raise ValueError(
                    "n_clusters must be a number if hyperplane is an object that splits: only a "
                    "MinimumDensityHyperplane tests its splits."
                )

    def make_splitter(self, weights: Array | None = None) -> Splitter:
        """Return a new splitter.

        For splits, ``init="auto"`` means ``"axes"``: it takes a third of the time, and deeper hyperplanes do not make
        better trees.
        """
        search = self.splitter
        if not isinstance(search, SearchSettings):
            if weights is not None:
                raise ValueError(
                    "sample_weight needs a hyperplane that is a MinimumDensityHyperplane: other objects that split are "
                    "called without weights."
                )
            return search
        if self.test is not None and weights is not None:
            raise ValueError(
                "sample_weight cannot be used with tests: they count rows, and repeated rows are not independent "
                "evidence. Give n_clusters a number, and a hyperplane without test."
            )
        if isinstance(search.init, str) and search.init == "auto":
            search = replace(search, init="axes")
        return DensitySplitter(search, weights)

    def compute_pvalue(self, rows: Rows, rng: np.random.Generator) -> float:
        """Return the P-value of the valley test of some rows."""
        assert isinstance(self.splitter, SearchSettings)
        method = self.test or "pooled"
        return run_valley_test(rows, self.n_splits, self.splitter, rng, method, self.level).pvalue


@dataclass(frozen=True)
class TreeFit:
    """Result of `fit_tree`.

    Attributes
    ----------
    tree : Tree
    leaves : ndarray of shape (n,), int
        Leaf of each row.
    pvalue : float
        P-value of the hypothesis that all rows are one cluster; NaN if it was not tested.
    n_shown : int
        Number of clusters that are left if splits that the test does not show are undone.
    """

    tree: Tree
    leaves: Indices
    pvalue: float = np.nan
    n_shown: int = 1


class _Work:
    """Inputs of one fit, which its steps share."""

    def __init__(
        self,
        rows: Rows,
        weights: Array | None,
        settings: TreeSettings,
        rng: np.random.Generator,
        notify: Callable[[Tree], object] | None,
    ) -> None:
        self.rows, self.weights, self.settings, self.rng, self.notify = rows, weights, settings, rng, notify
        self.splitter = settings.make_splitter(weights)
        self.seed = int(rng.integers(2**31))


def fit_tree(
    rows: Rows,
    weights: Array | None = None,
    constraints: Constraints | None = None,
    *,
    settings: TreeSettings,
    rng: np.random.Generator,
    notify: Callable[[Tree], object] | None = None,
) -> TreeFit:
    """Find clusters and the hyperplanes between them.

    1. Graph: the nearest neighbours of at most 4000 rows, with repeated values spread.
    2. Proposals: k-means, mixtures, eigenvectors of the graph, and cells that are joined where no valley is.
    3. Choice: the partition that agrees best with all, each weighted by the inverse of its normalised cut.
    4. Hyperplanes: a tree that separates the clusters, each hyperplane at the lowest density between its sides.
    5. Test: P-values of the splits.

    Without a given number of clusters, a test decides whether there is more than one; then the number is that of most
    groups of clusters with a valley between close neighbours.

    Parameters
    ----------
    rows : Rows
    weights : ndarray of shape (n,), optional
    constraints : Constraints, optional
    settings : TreeSettings
    rng : numpy.random.Generator
    notify : callable, optional
        Called with every tree.
    """
    work = _Work(rows, weights, settings, rng, notify)
    if isinstance(settings.splitter, SearchSettings):
        fit = _find_clusters(work)
    else:
        k, fewest = settings.n_clusters, settings.limits.smallest
        fit = TreeFit(*grow(rows, work.splitter, n_clusters=k, min_cluster_size=fewest, seed=work.seed, notify=notify))
    if constraints is not None or settings.limits.largest is not None:
        fit = _apply_rules(work, constraints, fit)
    tree = fit.tree.with_arrays(level=np.nan if settings.test is None else settings.level)
    return replace(fit, tree=tree, n_shown=keep_significant_splits(tree, settings.level).n_clusters)


def _find_clusters(work: _Work, n_clusters: int | None = None) -> TreeFit:
    """Find the clusters of all rows, without limits and constraints."""
    settings, rows, rng = work.settings, work.rows, work.rng
    k = settings.n_clusters if n_clusters is None else n_clusters
    graph = NeighbourGraph.of(rows, rng, k or 1, work.weights, drop_copies=k is None)
    total = rows.shape[0] if work.weights is None else float(work.weights.sum())
    fewest = settings.limits.smallest * len(graph) / max(total, 1e-300)
    plan, pvalue = _find_number(work, graph, fewest) if k is None else (_find_given(work, graph, k, fewest), np.nan)
    if plan is None:
        stump = make_stump(*rows.shape).with_arrays(pvalue=np.array([pvalue]))
        return TreeFit(stump, np.zeros(rows.shape[0], dtype=np.intp), pvalue)
    assert isinstance(settings.splitter, SearchSettings)
    bandwidth, smallest = settings.splitter.bandwidth, settings.limits.smallest
    tree, leaves = build_tree(rows, graph, plan, bandwidth, work.weights, work.notify, smallest)
    is_curved = k is None and np.isnan(pvalue)  # the evidence for each boundary is far above that of the test
    if settings.test is None or is_curved:
        return TreeFit(tree, leaves, pvalue)
    tree = _test_splits(work, graph, tree, leaves, pvalue)
    shown = keep_significant_splits(tree, settings.level)
    tree = _put_first(tree, find_new_nodes(tree, shown), shown)
    if settings.only_shown and shown is not tree:
        return TreeFit(shown, find_new_nodes(tree, shown)[leaves], pvalue)
    return TreeFit(tree, leaves, pvalue)


def _find_given(work: _Work, graph: NeighbourGraph, k: int, fewest: float) -> Plan | None:
    """Return the best partition into k clusters, or into fewer if there are fewer distinct rows."""
    if k == 1 or len(graph) < 2:
        return None
    k = min(k, len(np.unique(graph.rows.x, axis=0)))
    sets = cut_cells(graph, constants.N_CELL_SETS, k, work.rng)
    return choose_plan(Proposals(graph, work.rng, sets), k, fewest) if k > 1 else None


def _find_number(work: _Work, graph: NeighbourGraph, fewest: float) -> tuple[Plan | None, float]:
    """Return the clusters without a given number, and the P-value of one cluster; no plan if that is not rejected."""
    settings, rng = work.settings, work.rng
    has_few_dimensions = graph.dimension <= FEW_DIMENSIONS
    has_cells = has_few_dimensions and not graph.rows.has_repeated_values
    sets = cut_cells(graph, constants.N_CELL_SETS, 1, rng) if has_cells else []
    proposals = Proposals(graph, rng, sets)
    cells = find_joined_cells(graph, sets, fewest, settings.level)
    if cells is not None and measure_curvature(graph, cells) >= constants.CURVED:
        return plan_splits(graph, cells), np.nan
    if settings.test == "exact":
        pvalue = settings.compute_pvalue(work.rows, rng)
    else:
        pvalue = run_cluster_test(graph.rows, rng, settings.level).pvalue
        if pvalue > settings.level and not has_few_dimensions:
            pvalue = min(pvalue, _test_parts(proposals, settings.level))
    if pvalue > settings.level:
        if cells is None:
            return None, pvalue
        pvalue = np.nan
    support = max(settings.level, constants.SUPPORTED)
    groups = Partition(find_separated(proposals, fewest, support))
    if cells is not None and cells.labels.max() > groups.labels.max():
        groups = cells
    if groups.labels.max() == 0:
        groups = Partition(find_sides(graph.rows, rng))
    if groups.labels.max() == 0:
        return None, pvalue
    return _separate_shown(graph, choose_separated(proposals, groups, fewest, support), settings.level), pvalue


def _separate_shown(graph: NeighbourGraph, plan: Plan, level: float) -> Plan:
    """Return a plan whose first splits separate the groups of clusters that the test shows."""
    labels = np.unique(plan.labels, return_inverse=True)[1]
    k, first = int(labels.max()) + 1, np.unique(labels, return_index=True)[1]
    if k < len(plan.cluster):  # a cluster is a union of leaves
        return plan
    group = join_unseparated(graph, labels, k, level)[first]
    return plan_splits(graph, Partition(labels), group) if 0 < group.max() < k - 1 else plan


def _test_parts(proposals: Proposals, level: float) -> float:
    """Return the P-value of the hypothesis that no part of the rows has more than one cluster.

    Projections of many clusters overlap along every direction. The parts are the nodes of a tree of several clusters;
    those whose two sides show a valley are tested, and P is multiplied by the number of all.
    """
    graph = proposals.graph
    k = min(constants.MOST_PARTS, len(graph) // constants.ROWS_PER_PART)
    best = proposals.rank(k)[:1] if k > 2 else []
    nodes = [node for partition in best for node in plan_splits(graph, partition).list_nodes(graph)[1:k]]
    least = 1.0
    for inside, on_right in nodes:
        own_level = level / len(nodes)
        sides = np.zeros((2, len(graph)), dtype=bool)
        sides[on_right.astype(np.intp), inside] = True
        if judge_sides(graph.rows, sides[0], sides[1], own_level) <= level:
            pvalue = run_cluster_test(graph.rows.take(inside), proposals.rng, own_level).pvalue
            least = min(least, len(nodes) * pvalue)
            if least <= level:
                break
    return least


def _test_splits(work: _Work, graph: NeighbourGraph, tree: Tree, leaves: Indices, of_all: float) -> Tree:
    """Return the tree with the P-values of the splits that separate clusters: the largest P of the boundaries drawn.

    These are between close neighbours, or the two clusters with most edges. A single split has the P-value of all rows
    if that is smaller.
    """
    level, pvalue, labels = work.settings.level, tree.pvalue.copy(), tree.cluster[leaves[graph.indices]]
    edges = graph.count_edges(labels, tree.n_clusters)
    close = set(list_neighbours(edges, constants.CLOSE_SHARE))
    for k in np.flatnonzero(tree.left != NONE).tolist():
        sides = [set(tree.cluster[tree.leaves(int(side))].tolist()) for side in (tree.left[k], tree.right[k])]
        if not sides[0].isdisjoint(sides[1]):
            continue
        if work.settings.test == "exact":
            inside = np.flatnonzero(np.isin(leaves, tree.leaves(k)))
            pvalue[k] = work.settings.compute_pvalue(work.rows.subset(inside), work.rng)
            continue
        pairs = [(min(i, j), max(i, j)) for i, j in product(*sides)]
        drawn = close.intersection(pairs) or [max(pairs, key=lambda pair: float(edges[pair]))]
        pvalue[k] = max(judge_sides(graph.rows, labels == i, labels == j, level) for i, j in drawn)
    if tree.n_leaves == 2:
        pvalue[0] = np.fmin(pvalue[0], of_all)
    return tree.with_arrays(pvalue=pvalue)


def _put_first(tree: Tree, new_number: Indices, shown: Tree) -> Tree:
    """Return the tree with the splits that are shown before all others, so that the first splits are those shown."""
    is_shown = (tree.left != NONE) & (shown.left[new_number] != NONE)
    order = tree.order.copy()
    inner = np.flatnonzero(tree.left != NONE)
    order[inner[np.lexsort((tree.order[inner], ~is_shown[inner]))]] = np.arange(len(inner))
    return tree.with_arrays(order=order)


# ------------------------------------------------------------------------------------------------ limits, constraints


def _apply_rules(work: _Work, constraints: Constraints | None, fit: TreeFit) -> TreeFit:
    """Limit sizes and meet constraints; with a given number of clusters, more are found first if links join some."""
    number, met = fit.tree.n_clusters, _select_clusters(work, constraints, fit)
    wanted = work.settings.n_clusters if isinstance(work.settings.splitter, SearchSettings) else None
    while wanted is not None and met.tree.n_clusters < wanted <= number < 2 * wanted:
        number += wanted - met.tree.n_clusters
        more = _select_clusters(work, constraints, _find_clusters(work, number))
        if more.tree.n_clusters > wanted:
            break
        met = more
    return met


def _select_clusters(work: _Work, constraints: Constraints | None, fit: TreeFit) -> TreeFit:
    """Change the clusters where they are too large, violate a constraint, or are more than asked for."""
    wanted = work.settings.n_clusters
    most = None if wanted is None else max(wanted, fit.tree.n_clusters)
    selection = Selection(work.rows, work.weights, fit.tree, fit.leaves, work.settings.limits, work.notify)
    selection.limit_sizes(work.splitter, work.rng)
    selection.join_clusters(most)
    if constraints is not None and list_violations(constraints.links, selection.labels):
        selection.meet_constraints(constraints, most)
    selection.join_clusters(wanted, constraints)
    return replace(fit, tree=selection.tree, leaves=selection.leaves)


# --------------------------------------------------------------------------------------------------- one more split


def split_leaf(
    tree: Tree, leaves: Indices, leaf: int, rows: Rows, settings: TreeSettings, rng: np.random.Generator
) -> tuple[Tree, Indices]:
    """Split one leaf of a tree; return the new tree and the leaf of each row.

    Parameters
    ----------
    tree : Tree
    leaves : ndarray of shape (n,), int
        Leaf of each row.
    leaf : int
    rows : Rows
    settings : TreeSettings
    rng : numpy.random.Generator
    """
    if not tree.is_leaf(leaf):
        raise ValueError(f"node {leaf} is not a leaf: it is split already; prune({leaf}) makes it one.")
    inside, fewest = np.flatnonzero(leaves == leaf), settings.limits.smallest
    found = split_rows(settings.make_splitter(), rows, inside, rng)
    if found.hyperplane is None:
        raise ValueError(f"leaf {leaf} cannot be split: no hyperplane was found that splits it.")
    n_right = np.count_nonzero(found.hyperplane.on_positive_side(rows, inside))
    if min(n_right, len(inside) - n_right) < fewest:
        raise ValueError(
            f"leaf {leaf} cannot be split: a side would have fewer than min_cluster_size={fewest} rows; give split a "
            "smaller min_cluster_size."
        )
    pvalue = found.pvalue if settings.test is None else settings.compute_pvalue(rows.subset(inside), rng)
    return apply_split(tree, leaves, leaf, rows, found.hyperplane, pvalue)


# --------------------------------------------------------------------------------------------------- warnings


def describe_few_rows(settings: TreeSettings, n_rows: int) -> str:
    """Return a sentence that says that no split can be shown; empty if one can be."""
    if settings.n_clusters is not None or settings.test != "pooled" or n_rows >= FEWEST_ROWS:
        return ""
    return (
        f"the pooled test needs at least {FEWEST_ROWS} rows, but X has {n_rows}: no split can be shown. Give "
        "n_clusters a number, or use the exact test."
    )


def describe_few_clusters(fit: TreeFit, settings: TreeSettings, weights: Array | None, min_cluster_size: float) -> str:
    """Return a sentence that says that fewer clusters were found than are asked for; empty if they were not."""
    n_clusters, found = settings.n_clusters, fit.tree.n_clusters
    if n_clusters is None or found >= n_clusters:
        return ""
    text = (
        f"Only {found} cluster{'s' if found > 1 else ''} with at least min_cluster_size={min_cluster_size} rows each "
        f"could be found, fewer than n_clusters={n_clusters}."
    )
    if weights is not None and float(weights.sum()) < n_clusters * settings.limits.smallest:
        text += f" All weights sum to {float(weights.sum()):.6g}: multiply them, for example so that their mean is 1."
    return text
