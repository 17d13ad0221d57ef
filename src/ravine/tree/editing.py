"""Edits of a tree: every function returns a new, consistent tree."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ravine.hyperplane import Hyperplane

if TYPE_CHECKING:
    from ravine.tree.nodes import LeafJoins, Tree

NONE = -1
NO_PAIRS = np.zeros((0, 2), dtype=np.intp)
HYPERPLANE_ARRAYS = ("normal", "point", "offset", "bandwidth", "alpha", "density", "relative_depth")


def prune(tree: Tree, nodes: Iterable[int]) -> Tree:
    """Turn nodes into leaves. Rows that were in one cluster stay in one."""
    becomes_leaf = np.isin(np.arange(len(tree)), list(nodes)) & (tree.left != NONE)
    if not becomes_leaf.any():
        return tree
    cluster = tree.cluster.copy()
    for node in np.flatnonzero(becomes_leaf):
        together = cluster[tree.leaves(int(node))]
        cluster[np.isin(cluster, together)] = together[0]
        cluster[node] = together[0]
    is_below = np.zeros(len(tree), dtype=bool)
    for k in range(1, len(tree)):  # parents come before their children
        is_below[k] = is_below[tree.parent[k]] or becomes_leaf[tree.parent[k]]
    is_kept = ~is_below
    arrays = {name: values[is_kept] for name, values in list_arrays(tree)}
    for name in (*HYPERPLANE_ARRAYS, "pvalue"):
        arrays[name][becomes_leaf[is_kept]] = np.nan
    for name in ("left", "right", "order"):
        arrays[name][becomes_leaf[is_kept]] = NONE
    number = np.append(np.cumsum(is_kept) - 1, NONE)  # new numbers; the last is that of NONE
    for name in ("parent", "left", "right"):
        arrays[name] = number[arrays[name]]
    inner = arrays["order"] != NONE
    arrays["order"][inner] = np.argsort(np.argsort(arrays["order"][inner]))
    return renumber_clusters(tree.with_arrays(joins=None, **arrays), cluster[is_kept])


def list_arrays(tree: Tree) -> list[tuple[str, NDArray[Any]]]:
    """List the names and values of the arrays with one element (or row) for each node."""
    return [(name, values) for name, values in vars(tree).items() if isinstance(values, np.ndarray)]


def merge(tree: Tree, leaf: int, other: int) -> Tree:
    """Put two leaves, and all leaves merged with them before, in one cluster."""
    for node in (leaf, other):
        if not tree.is_leaf(node):
            raise ValueError(f"node {node} is not a leaf: only leaves can be merged; prune({node}) turns it into one.")
    if leaf == other:
        raise ValueError(f"leaf {leaf} cannot be merged with itself.")
    merged = np.where(tree.cluster == tree.cluster[other], tree.cluster[leaf], tree.cluster)
    return renumber_clusters(tree.with_arrays(joins=None), merged)


def split(tree: Tree, leaf: int, plane: Hyperplane, sizes: tuple[int, int], pvalue: float) -> Tree:
    """Split a leaf; the left side stays in its cluster, the right side is a new one."""
    if not tree.is_leaf(leaf):
        raise ValueError(f"node {leaf} is not a leaf: it is already split; prune({leaf}) turns it into one.")
    are_integers = all(isinstance(size, numbers.Integral) and not isinstance(size, bool) for size in sizes)
    if not are_integers or min(sizes) < 1 or sum(sizes) != tree.size[leaf]:
        raise ValueError(
            f"sizes must be the (positive) numbers of rows on the two sides of leaf {leaf}, which has "
            f"{tree.size[leaf]} rows, got {sizes!r}."
        )
    if not plane.splits or len(plane.normal) != tree.normal.shape[1]:
        raise ValueError(f"plane must be a finite hyperplane in {tree.normal.shape[1]} dimensions, got {plane!r}.")
    if not (np.isnan(pvalue) or 0.0 <= pvalue <= 1.0):
        raise ValueError(f"pvalue must be NaN or lie in [0, 1], got {pvalue!r}.")
    arrays = {}
    for name, values in list_arrays(tree):
        blank = np.full((2, *values.shape[1:]), np.nan if values.dtype.kind == "f" else NONE)
        arrays[name] = np.concatenate([values, blank])
    for name in HYPERPLANE_ARRAYS:
        arrays[name][leaf] = getattr(plane, name)
    arrays["parent"][-2:], arrays["size"][-2:] = leaf, sizes
    arrays["left"][leaf], arrays["right"][leaf], arrays["pvalue"][leaf] = len(tree), len(tree) + 1, pvalue
    arrays["order"][leaf] = tree.order.max(initial=-1) + 1
    arrays["cluster"][-2:], arrays["cluster"][leaf] = (tree.cluster[leaf], tree.n_clusters), NONE
    return renumber_clusters(tree.with_arrays(joins=None, **arrays), arrays["cluster"])


def keep_first_splits(tree: Tree, n_clusters: int) -> Tree:
    """Keep the first splits that give a number of clusters."""
    if isinstance(n_clusters, bool) or not isinstance(n_clusters, numbers.Integral) or n_clusters < 1:
        raise ValueError(f"n_clusters must be an integer >= 1, got {n_clusters!r}.")
    if tree.joins is not None:
        return _change_joins(tree, tree.joins, int(n_clusters))
    if n_clusters > tree.n_clusters:
        raise ValueError(f"n_clusters={n_clusters} is more than the {tree.n_clusters} clusters of the tree.")
    # Without merged leaves k - 1 splits give k clusters; with them more may be necessary.
    for n_splits in range(int(n_clusters) - 1, int(tree.order.max(initial=-1)) + 2):
        cut = prune(tree, np.flatnonzero(tree.order >= n_splits).tolist())
        if cut.n_clusters == n_clusters:
            break
    return cut


def _change_joins(tree: Tree, joins: LeafJoins, n_clusters: int) -> Tree:
    """Undo the last joins of leaves, or make the next ones."""
    if n_clusters == tree.n_clusters:
        return tree
    if n_clusters > tree.n_leaves:
        raise ValueError(f"n_clusters={n_clusters} is more than the {tree.n_leaves} leaves of the tree.")
    group = joins.label_leaves(len(tree), tree.n_leaves - n_clusters)
    changed = tree.with_arrays(joins=replace(joins, boundaries=NO_PAIRS, boundary_evidence=np.zeros(0)))
    return renumber_clusters(changed, np.where(tree.left == NONE, group, NONE))


def keep_significant_splits(tree: Tree, significance: float) -> Tree:
    """Keep the splits whose P-value, and those of all splits above, are at most a level, or that were not tested."""
    is_number = isinstance(significance, numbers.Real) and not isinstance(significance, bool)
    if not is_number or not 0.0 <= significance <= 1.0:
        raise ValueError(f"significance must be a number in [0, 1], got {significance!r}.")
    inner = tree.left != NONE
    return prune(tree, np.flatnonzero(inner & (tree.pvalue > significance)).tolist())


def find_shown_splits(tree: Tree) -> NDArray[np.bool_]:
    """Return which nodes are splits that the tests show: they have a P-value, and no split on their path fails."""
    stands = ~(tree.pvalue > tree.level)
    for k in range(1, len(tree)):  # parents come before their children
        stands[k] &= stands[tree.parent[k]]
    return np.asarray(stands & (tree.left != NONE) & ~np.isnan(tree.pvalue) & ~np.isnan(tree.level))


def renumber_clusters(tree: Tree, cluster: NDArray[np.intp]) -> Tree:
    """Return the tree with clusters numbered in the order of their first leaves."""
    new_number: dict[int, int] = {}
    renumbered = np.full(len(tree), NONE, dtype=np.intp)
    for leaf in tree.leaves():
        renumbered[leaf] = new_number.setdefault(int(cluster[leaf]), len(new_number))
    return tree.with_arrays(cluster=renumbered)


def label_unions(n: int, pairs: ArrayLike) -> NDArray[np.intp]:
    """Return the union of each of n items after pairs are united: 0, 1, ... in the order of the first items."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    i, j = np.asarray(pairs, dtype=np.intp).reshape(-1, 2).T
    graph = coo_array((np.ones(len(i), dtype=np.int8), (i, j)), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.intp)


def find_new_nodes(old: Tree, new: Tree) -> NDArray[np.intp]:
    """Return for each node of a tree its number in the pruned tree, or that of the leaf that replaced it."""
    number = np.zeros(len(old), dtype=np.intp)
    for k in range(1, len(old)):
        parent = old.parent[k]
        children = new.left if old.left[parent] == k else new.right
        is_kept = new.left[number[parent]] != NONE
        number[k] = children[number[parent]] if is_kept else number[parent]
    return number
