"""Exploration of a node whose rows do not show a valley.

If a node has many clusters, their projections overlap along every direction, so that the node may not show a valley.
Parts of the node with fewer clusters may. A finer tree is therefore grown without tests, and its nodes are tested from
the leaves upwards. If a part shows a valley, the node has more than one cluster. The leaves that remain without the
splits that show none are a guess of their number, and the node is split as a tree of that number would split it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ravine.rows import Rows
from ravine.tree.grow import Split, grow
from ravine.tree.neighbours import NeighbourGraph
from ravine.tree.nodes import Tree
from ravine.tree.policies import PRIORITIES
from ravine.tree.refine import refine_tree
from ravine.validity.directions import as_cloud, measure_separation

if TYPE_CHECKING:
    from ravine.tree.splitter import DensitySplitter, NodeTest

__all__ = ["find_hidden_split"]

# Nodes with fewer rows, or with a smaller share of all rows, are not explored: they are unlikely to have many clusters.
FEWEST_ROWS, LEAST_SHARE = 40, 0.2
# Largest number of rows that are explored.
MOST_ROWS = 10_000
# Largest number of leaves of the finer tree, and fewest rows for each.
MOST_LEAVES, ROWS_PER_LEAF = 10, 10
# The node itself was tested before: the tests of its parts get half of its level.
PART_OF_LEVEL = 0.5
# Evidence is larger on the rows that chose a split than on others. With less than this, the one-sided 5 % quantile of
# the normal distribution, a test is hopeless.
LEAST_EVIDENCE = 1.64

Indices = NDArray[np.intp]


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
    rng : numpy.random.Generator
    """
    n = rows.shape[0]
    if test.method != "pooled" or not test.level or n < FEWEST_ROWS or share < LEAST_SHARE:
        return None
    size = min(n, MOST_ROWS)
    sample = rows.subset(np.sort(rng.choice(n, size, replace=False)) if size < n else np.arange(n), copy=True)
    min_size = max(1, splitter.min_size * size // n)
    shown = _test_parts(*_grow_tree(sample, splitter, min(MOST_LEAVES, size // ROWS_PER_LEAF), min_size, rng),
                        sample, share, splitter, test, rng)  # fmt: skip
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
    cloud = as_cloud(rows)
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
        if k > 0 and measure_separation(cloud.take(members[k]), on_right) >= LEAST_EVIDENCE:
            part = PART_OF_LEVEL * share * size / rows.shape[0]
            pvalue = test.compute_pvalue(rows.subset(members[k], copy=True), part, rng, splitter.pool)
            if test.allows(pvalue, part):
                found[k] = _Shown(2, min(1.0, pvalue / PART_OF_LEVEL))
    return found[0]
