"""Splits of a fitted estimator, and boundaries between its clusters, with the rows on their two sides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.explain import BoundaryFinder, DensitySummary, get_known_evidence, summarise_density
from ravine.hyperplane import Hyperplane
from ravine.rows import as_rows
from ravine.tree import Tree, descend
from ravine.tree.grow import make_split_tree
from ravine.validity.contacts import Contact

# Points of one density, and of all densities of a report together.
MAX_POINTS, ALL_POINTS = 400, 60_000
MIN_POINTS = 96
# Boundaries that are shown, and rows that are drawn for one and for all of them.
MAX_BOUNDARIES, MAX_ROWS, ALL_ROWS = 200, 400, 20_000


def _allot_points(n_curves: int) -> int:
    """Return the number of points that each of ``n_curves`` densities may have."""
    return min(MAX_POINTS, max(ALL_POINTS // max(n_curves, 1), MIN_POINTS))


# ------------------------------------------------------------------------------------------------- trees


@dataclass(frozen=True)
class NodeSummary:
    """Node of a tree with the rows of X that reach it.

    Attributes
    ----------
    size : int
    curve : DensitySummary or None
        None for a leaf.
    """

    size: int
    curve: DensitySummary | None


def make_stump(plane: Hyperplane, labels: NDArray[np.intp], pvalue: float) -> Tree:
    """Return one hyperplane as a tree of two leaves, or of one leaf if it splits nothing."""
    n_right = int(np.count_nonzero(labels))
    tree = make_split_tree(plane, (len(labels) - n_right, n_right))
    return replace(tree, pvalue=np.where(np.arange(len(tree)) == 0, pvalue, np.nan))


def summarise_nodes(tree: Tree, X: NDArray[np.floating[Any]]) -> tuple[list[NodeSummary], NDArray[np.intp]]:
    """Summarise the rows that reach each node, and return the leaf of each row.

    Returns
    -------
    nodes : list of NodeSummary
        One for each node of the tree, in its order.
    leaf_of_row : ndarray of shape (n,)
    """
    most_points = _allot_points(tree.n_leaves - 1)
    leaf_of_row = np.zeros(len(X), dtype=np.intp)
    found: dict[int, NodeSummary] = {}
    for visit in descend(tree, X):
        curve = None
        if visit.hyperplane is None:
            leaf_of_row[visit.indices] = visit.node
        else:
            assert visit.distances is not None
            curve = summarise_density(visit.distances, visit.hyperplane.bandwidth, most_points)
        found[visit.node] = NodeSummary(len(visit.indices), curve)
    return [found[k] for k in range(len(tree))], leaf_of_row


@dataclass(frozen=True)
class TreeCut:
    """A tree cut to some number of clusters.

    Attributes
    ----------
    frontier : list of (int, int)
        Nodes of the whole tree that are leaves of the cut tree, from left to right, each with its cluster.
    n_clusters : int
    """

    frontier: list[tuple[int, int]]
    n_clusters: int


def list_cuts(tree: Tree) -> list[TreeCut]:
    """Cut the tree to every possible number of clusters, from one up, without fitting anything again."""
    cuts, cut = [], tree
    # Each tree is cut from the one before, which undoes a single split.
    for k in range(tree.n_clusters, 0, -1):
        cut = cut.cut(n_clusters=k)
        if cut.n_clusters == k:
            cuts.append(TreeCut(_find_frontier(tree, cut), k))
    return cuts[::-1]


def _find_frontier(whole: Tree, cut: Tree) -> list[tuple[int, int]]:
    found, waiting = [], [(0, 0)]
    while waiting:
        node, at = waiting.pop()
        if cut.left[at] < 0:
            found.append((node, int(cut.cluster[at])))
        else:
            waiting += [(int(whole.right[node]), int(cut.right[at])), (int(whole.left[node]), int(cut.left[at]))]
    return found


# ------------------------------------------------------------------------------------------------- pairs of classes


@dataclass(frozen=True)
class PairSummary:
    """Hyperplane between two classes with the rows of the two.

    Attributes
    ----------
    first, second : int
        Codes of the classes; the normal points to the second.
    plane : Hyperplane
    size : int
        Number of rows of the two classes.
    sides : tuple of two int
        Numbers of these rows on the side of the first and of the second class.
    curve : DensitySummary or None
        None if the hyperplane splits nothing.
    """

    first: int
    second: int
    plane: Hyperplane
    size: int
    sides: tuple[int, int]
    curve: DensitySummary | None


def summarise_pairs(
    pairs: Sequence[tuple[int, int, Hyperplane]],
    X: NDArray[np.floating[Any]],
    codes: NDArray[np.intp],
    n_classes: int,
) -> list[PairSummary]:
    """Summarise the rows of each pair of classes.

    Parameters
    ----------
    pairs : sequence of (int, int, Hyperplane)
    X : ndarray of shape (n, d)
    codes : ndarray of shape (n,)
        The class of each row.
    n_classes : int
    """
    most_points = _allot_points(len(pairs))
    members = [np.flatnonzero(codes == k) for k in range(n_classes)] if n_classes > 2 else []
    found = []
    for first, second, plane in pairs:
        indices = np.sort(np.concatenate([members[first], members[second]])) if members else None
        size = len(X) if indices is None else len(indices)
        if not plane.splits:
            sides = (0, size) if plane.offset < 0.0 else (size, 0)
            found.append(PairSummary(first, second, plane, size, sides, None))
            continue
        distances = plane.distance(X, indices)
        n_positive = int((distances > 0.0).sum())
        curve = summarise_density(distances, plane.bandwidth, most_points)
        found.append(PairSummary(first, second, plane, size, (size - n_positive, n_positive), curve))
    return found


# ----------------------------------------------------------------------------------------------- boundaries


@dataclass(frozen=True)
class BoundarySummary:
    """Boundary between two groups.

    Attributes
    ----------
    first, second : int
        Numbers of the groups.
    evidence : float
        z-score for a valley, for the clusters of the tree that of the fit. Minus infinity if there is no valley, NaN if
        too few rows are near the boundary.
    sizes : tuple of two int
        Numbers of rows of the two groups near the boundary, of which some may be drawn.
    coordinates : tuple of two ndarray
        Coordinates across the boundary of rows of the two groups, relative to the lowest density.
    curve : DensitySummary or None
        Density of all these coordinates; None if they are too few.
    """

    first: int
    second: int
    evidence: float
    sizes: tuple[int, int]
    coordinates: tuple[Array, Array]
    curve: DensitySummary | None


def summarise_boundaries(
    tree: Tree,
    X: NDArray[np.floating[Any]],
    leaf_of_row: NDArray[np.intp],
    cuts: Sequence[TreeCut],
    groups_of_cuts: Sequence[list[int]],
) -> list[BoundarySummary]:
    """Summarise the boundaries between the clusters of each cut; none if the leaves of the tree are not joined.

    Parameters
    ----------
    tree : Tree
    X : ndarray of shape (n, d)
    leaf_of_row : ndarray of shape (n,)
    cuts : sequence of TreeCut
    groups_of_cuts : sequence of list of int
        For each cut, the groups of its clusters.
    """
    if tree.joins is None or tree.n_clusters == 1:
        return []
    try:
        finder = BoundaryFinder(as_rows(X), leaf_of_row, tree.n_clusters)
    except ValueError:  # too few rows
        finder = None
    found: dict[frozenset[int], tuple[int, int, float, Contact | None]] = {}
    for cut, groups in zip(reversed(cuts), reversed(groups_of_cuts), strict=True):  # the clusters of the tree first
        cluster = np.full(len(tree), -1, dtype=np.intp)
        for leaf, number in cut.frontier:
            cluster[leaf] = number
        known = get_known_evidence(tree) if cut.n_clusters == tree.n_clusters else {}
        pairs = list(known) if known or finder is None else finder.list_pairs(cluster)
        for a, b in pairs:
            key = frozenset((groups[a], groups[b]))
            if key in found or len(found) == MAX_BOUNDARIES:
                continue
            sides = (np.flatnonzero(cluster == k).tolist() for k in (a, b))
            contact = None if finder is None else finder.measure(*sides)
            measured = math.nan if contact is None else contact.evidence
            found[key] = groups[a], groups[b], known.get((a, b), measured), contact
    n_points, n_rows = _allot_points(len(found)), min(MAX_ROWS, ALL_ROWS // max(len(found), 1))
    weakest_first = sorted(found.values(), key=lambda boundary: math.inf if math.isnan(boundary[2]) else boundary[2])
    return [_summarise(*boundary, n_points, n_rows) for boundary in weakest_first]


def _summarise(
    first: int, second: int, evidence: float, contact: Contact | None, n_points: int, n_rows: int
) -> BoundarySummary:
    """Summarise one boundary with at most some points of its curve and some rows."""
    if contact is None:
        return BoundarySummary(first, second, evidence, (0, 0), (np.zeros(0), np.zeros(0)), None)
    coordinates = contact.coordinates - contact.at
    sides = coordinates[~contact.is_second], coordinates[contact.is_second]
    step = math.ceil(len(coordinates) / n_rows)
    curve = summarise_density(coordinates, contact.bandwidth, n_points)
    sizes = len(sides[0]), len(sides[1])
    return BoundarySummary(first, second, evidence, sizes, (sides[0][::step], sides[1][::step]), curve)
