"""Stability: how many clusters trees of random halves of the rows agree on.

It is the prediction strength of Tibshirani & Walther (2005): the share of pairs of rows in a cluster of one tree that
are in one cluster of another tree, for the worst cluster.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.rows import Rows
from ravine.tree import constants
from ravine.tree.grow import PRIORITIES, grow
from ravine.tree.neighbours import NeighbourGraph
from ravine.tree.nodes import Tree
from ravine.tree.splitter import DensitySplitter


def suggest_tree(
    tree: Tree,
    leaf_of_row: NDArray[np.intp],
    rows: Rows,
    splitter: DensitySplitter,
    rng: np.random.Generator,
    **options: Any,
) -> tuple[Tree, NDArray[np.intp]]:
    """Continue a tree to the largest number of clusters that is stable; return it with the leaf of each row.

    Parameters
    ----------
    tree : Tree
        Tree of the clusters that are shown to be real.
    leaf_of_row : ndarray of shape (n,), int
    splitter : DensitySplitter
        Splitter of that tree.
    **options
        Options of `grow`.
    """
    if rows.shape[0] < constants.FEWEST_ROWS_FOR_HALVES or tree.n_leaves >= constants.MOST_SUGGESTED:
        return tree, leaf_of_row
    quiet = {**options, "notify": None}
    n_stable = count_stable_clusters(measure_stability(rows, splitter, constants.MOST_SUGGESTED, rng, **quiet))
    if n_stable <= tree.n_leaves:
        return tree, leaf_of_row
    finder = splitter.without_test(splitter.graph or NeighbourGraph(rows, n_stable, rng), splitter.min_size)
    return grow(
        rows,
        finder,
        n_clusters=n_stable,
        priority=PRIORITIES["cut"],
        graph=finder.graph,
        start=(tree, leaf_of_row),
        **quiet,
    )


def count_stable_clusters(stability: Array) -> int:
    """Return the largest number of clusters on which the trees agree; 1 if they agree on none."""
    stable = np.flatnonzero(stability >= constants.STABLE_AGREEMENT)
    return int(stable[-1]) + 2 if len(stable) else 1


def measure_stability(
    rows: Rows, splitter: DensitySplitter, n_clusters: int, rng: np.random.Generator, **options: Any
) -> Array:
    """Return how well trees of random halves of the rows agree on 2, 3, ..., ``n_clusters`` clusters.

    The result, of shape (n_clusters - 1,), has the mean prediction strengths of all pairs of trees. A tree that cannot
    make a number of clusters agrees with no other.

    Parameters
    ----------
    splitter : DensitySplitter
        Finds hyperplanes; they are not tested.
    n_clusters : int
        Largest number of clusters.
    **options
        Options of `grow`.
    """
    n = rows.shape[0]
    judges = rows.subset(_draw(rng, n, min(n, constants.MOST_ROWS_OF_HALF)), copy=True)
    generators = [np.random.default_rng(seed) for seed in rng.integers(2**31, size=constants.N_HALVES)]
    trees = [_grow_on_half(rows, splitter, n_clusters, generator, options) for generator in generators]
    found = [[tree.cut(n_clusters=k).predict(judges) for k in range(2, tree.n_clusters + 1)] for tree in trees]
    stability = np.zeros(n_clusters - 1)
    for one, other in permutations(found, 2):
        for k, (labels, others) in enumerate(zip(one, other, strict=False)):
            stability[k] += measure_prediction_strength(labels, others)
    return stability / (constants.N_HALVES * (constants.N_HALVES - 1))


def measure_prediction_strength(labels: NDArray[np.intp], others: NDArray[np.intp]) -> float:
    """Return the smallest share, of all clusters, of pairs of their rows that have the same other label."""
    counts = np.zeros((labels.max() + 1, others.max() + 1))
    np.add.at(counts, (labels, others), 1.0)
    sizes = counts.sum(axis=1)
    pairs, kept = sizes * (sizes - 1.0), (counts * (counts - 1.0)).sum(axis=1)
    return float((kept[pairs > 0.0] / pairs[pairs > 0.0]).min(initial=1.0))


def _grow_on_half(
    rows: Rows, splitter: DensitySplitter, n_clusters: int, rng: np.random.Generator, options: dict[str, Any]
) -> Tree:
    """Grow a tree on a random half of the rows."""
    n = rows.shape[0]
    size = min(n // 2, constants.MOST_ROWS_OF_HALF)
    half = rows.subset(_draw(rng, n, size), copy=True)
    graph, min_size = NeighbourGraph(half, n_clusters, rng), max(1, splitter.min_size * size // n)
    options = {**options, "min_cluster_size": min_size, "seed": int(rng.integers(2**31))}
    finder = splitter.without_test(graph, min_size)
    return grow(half, finder, n_clusters=n_clusters, priority=PRIORITIES["cut"], graph=graph, **options)[0]


def _draw(rng: np.random.Generator, n: int, size: int) -> NDArray[np.intp]:
    """Draw sorted indices of some of n rows."""
    return np.sort(rng.choice(n, size, replace=False))
