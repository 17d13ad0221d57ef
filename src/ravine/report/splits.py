"""The splits of a fitted estimator and what lies on their two sides, in one form for all estimators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.hyperplane import Hyperplane
from ravine.report.curves import Curve, density_curve
from ravine.tree import Tree

__all__ = ["Cut", "PairSplit", "TreeSplit", "cuts_of", "single_split", "walk_pairs", "walk_tree"]

MOST_POINTS, ALL_POINTS = 400, 60_000


# ------------------------------------------------------------------------------------------------- trees


@dataclass(frozen=True)
class TreeSplit:
    """A node of a tree as the rows of X meet it.

    Attributes
    ----------
    node, size : int
    curve : Curve or None
        None for a leaf.
    """

    node: int
    size: int
    curve: Curve | None


def single_split(plane: Hyperplane, labels: NDArray[np.intp], pvalue: float) -> Tree:
    """One hyperplane as a tree of two leaves, or of one if it splits nothing."""
    m = 3 if plane.splits else 1
    unknown = np.full(m, np.nan)

    def at_root(value: float) -> Array:
        return np.where(np.arange(m) == 0, value if m == 3 else np.nan, np.nan)

    vectors = {"normal": np.full((m, len(plane.normal)), np.nan), "point": np.full((m, len(plane.normal)), np.nan)}
    if m == 3:
        assert plane.point is not None
        vectors["normal"][0], vectors["point"][0] = plane.normal, plane.point
    known = {name: at_root(getattr(plane, name)) for name in
             ("offset", "bandwidth", "alpha", "density", "relative_depth")}  # fmt: skip
    tested = unknown.copy()
    tested[0] = pvalue
    sizes = [len(labels), *np.bincount(labels, minlength=2).tolist()][:m]
    return Tree(
        parent=np.array([-1, 0, 0][:m]), left=np.array([1, -1, -1][:m] if m == 3 else [-1]),
        right=np.array([2, -1, -1][:m] if m == 3 else [-1]), pvalue=tested, size=np.array(sizes),
        order=np.array([0, -1, -1] if m == 3 else [-1]), cluster=np.array([-1, 0, 1] if m == 3 else [0]),
        **vectors, **known,
    )  # fmt: skip


def walk_tree(tree: Tree, X: NDArray[np.floating[Any]]) -> tuple[list[TreeSplit], NDArray[np.intp]]:
    """Every node with its rows and their density, and the leaf of each row.

    Parameters
    ----------
    tree : Tree
    X : ndarray of shape (n, d)
    """
    points = min(MOST_POINTS, max(ALL_POINTS // max(tree.n_leaves - 1, 1), 96))
    leaf_of_row = np.zeros(len(X), dtype=np.intp)
    found: dict[int, TreeSplit] = {}
    waiting: list[tuple[int, NDArray[np.intp] | None]] = [(0, None)]
    while waiting:
        k, rows = waiting.pop()
        size = len(X) if rows is None else len(rows)
        plane = tree.hyperplane(k)
        if plane is None:
            leaf_of_row[slice(None) if rows is None else rows] = k
            found[k] = TreeSplit(k, size, None)
            continue
        distance = plane.distance(X, rows)
        found[k] = TreeSplit(k, size, density_curve(distance, plane.bandwidth, points))
        rows = np.arange(len(X)) if rows is None else rows
        beyond = distance > 0.0
        waiting += [(int(tree.left[k]), rows[~beyond]), (int(tree.right[k]), rows[beyond])]
    return [found[k] for k in range(len(tree))], leaf_of_row


@dataclass(frozen=True)
class Cut:
    """A tree cut to some number of clusters.

    Attributes
    ----------
    frontier : list of (int, int)
        The nodes of the whole tree that are leaves now, from left to right, each with its cluster.
    n_clusters : int
    """

    frontier: list[tuple[int, int]]
    n_clusters: int


def cuts_of(tree: Tree) -> list[Cut]:
    """The tree cut to every number of clusters that it has, from one up; nothing is fitted again."""
    cuts, cut = [], tree
    # Each is cut from the one before, which undoes one split where the whole tree would have many undone.
    for k in range(tree.n_clusters, 0, -1):
        cut = cut.cut(n_clusters=k)
        if cut.n_clusters == k:
            cuts.append(Cut(_frontier(tree, cut), k))
    return cuts[::-1]


def _frontier(whole: Tree, cut: Tree) -> list[tuple[int, int]]:
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
class PairSplit:
    """The hyperplane between two classes, as the rows of the two meet it.

    Attributes
    ----------
    first, second : int
        Codes of the classes; the normal points to the second.
    plane : Hyperplane
    size : int
        Rows that belong to one of the two.
    sides : tuple of two int
        Of these, rows on the side of the first and of the second class.
    curve : Curve or None
    """

    first: int
    second: int
    plane: Hyperplane
    size: int
    sides: tuple[int, int]
    curve: Curve | None


def walk_pairs(
    pairs: Sequence[tuple[int, int, Hyperplane]],
    X: NDArray[np.floating[Any]],
    codes: NDArray[np.intp],
    n_classes: int,
) -> list[PairSplit]:
    """Every pair of classes with its rows and their density.

    Parameters
    ----------
    pairs : sequence of (int, int, Hyperplane)
    X : ndarray of shape (n, d)
    codes : ndarray of shape (n,)
        The class of each row.
    n_classes : int
    """
    points = min(MOST_POINTS, max(ALL_POINTS // max(len(pairs), 1), 96))
    rows_of = [np.flatnonzero(codes == k) for k in range(n_classes)] if n_classes > 2 else []
    found = []
    for first, second, plane in pairs:
        rows = np.sort(np.concatenate([rows_of[first], rows_of[second]])) if rows_of else None
        size = len(X) if rows is None else len(rows)
        if not plane.splits:
            sides = (0, size) if plane.offset < 0.0 else (size, 0)
            found.append(PairSplit(first, second, plane, size, sides, None))
            continue
        distance = plane.distance(X, rows)
        beyond = int((distance > 0.0).sum())
        curve = density_curve(distance, plane.bandwidth, points)
        found.append(PairSplit(first, second, plane, size, (size - beyond, beyond), curve))
    return found
