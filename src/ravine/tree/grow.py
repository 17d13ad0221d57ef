"""Growth of a tree with any splitter: one leaf after another is split."""

from __future__ import annotations

import heapq
import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ravine.hyperplane import Hyperplane
from ravine.rows import Rows, as_rows
from ravine.tree.nodes import NONE, Tree

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Split:
    """Result of a splitter for some rows.

    Attributes
    ----------
    hyperplane : Hyperplane or None
        None if the rows should not be split.
    pvalue : float
        P-value of a test of the split; NaN if there was none.

    Examples
    --------
    A splitter of your own (the parameter ``hyperplane`` of `MinimumDensityTree`) returns it:

    >>> import numpy as np
    >>> from ravine import Hyperplane, Split
    >>> class MeanSplitter:
    ...     def split(self, X, indices, rng):
    ...         v = np.eye(X.shape[1])[0]
    ...         return Split(Hyperplane(v, np.mean(X.take(indices) @ v)))
    >>> Split(Hyperplane(np.array([1.0, 0.0]), 0.5), pvalue=0.01).pvalue
    0.01
    >>> Split(None).hyperplane is None
    True
    """

    hyperplane: Hyperplane | None
    pvalue: float = math.nan


class Splitter(Protocol):
    """Object that splits rows by a hyperplane."""

    def split(self, X: Any, indices: Indices, rng: np.random.Generator) -> Split:
        """Split the rows of X with these indices."""


def grow(
    X: Any,
    splitter: Splitter,
    *,
    n_clusters: int | None,
    priority: Callable[[Split], float] | None = None,
    min_cluster_size: int = 1,
    seed: int = 0,
    notify: Callable[[Tree], object] | None = None,
) -> tuple[Tree, Indices]:
    """Split rows recursively.

    Parameters
    ----------
    X : array, sparse matrix or source of rows, of shape (n, d)
        Data.
    splitter : Splitter
        Splits the rows of a node.
    n_clusters : int or None
        Number of leaves to stop at; None to split every leaf that the splitter splits.
    priority : callable or None
        The leaf whose split has the largest value is split next. None for the largest leaf; the splitter is then
        applied only to leaves that are next.
    min_cluster_size : int
        A split with fewer rows on a side is rejected.
    seed : int
        Seed. Every node has its own generator, so that the result does not depend on the order of the splits.
    notify : callable, optional
        Called with the tree after every split.

    Returns
    -------
    tree : Tree
        Tree of hyperplanes.
    leaf_of_row : ndarray of shape (n,), int
        Number of the leaf of each row.
    """
    rows = as_rows(X)
    tree, leaf_of_row = make_stump(*rows.shape), np.zeros(rows.shape[0], dtype=np.intp)

    def evaluate(leaf: int) -> Split | None:
        """Apply the splitter to a leaf; return the split if both sides are large enough."""
        nonlocal tree
        inside = np.flatnonzero(leaf_of_row == leaf)
        if len(inside) < max(2 * min_cluster_size, 2):
            return None
        path = [int(tree.right[tree.parent[k]] == k) for k in tree.ancestry(leaf)[1:]]
        split = split_rows(splitter, rows, inside, np.random.default_rng([seed, len(path), *path]))
        tree = tree.with_arrays(pvalue=np.where(np.arange(len(tree)) == leaf, split.pvalue, tree.pvalue))
        if split.hyperplane is None:
            return None
        n_right = np.count_nonzero(split.hyperplane.on_positive_side(rows, inside))
        return split if min(n_right, len(inside) - n_right) >= min_cluster_size else None

    new_leaves, waiting = [0], list[tuple[float, int, Split | None]]()
    while n_clusters is None or tree.n_leaves < n_clusters:
        for leaf in new_leaves:
            if priority is None:
                heapq.heappush(waiting, (-float(tree.size[leaf]), leaf, None))
            elif (split := evaluate(leaf)) is not None:
                heapq.heappush(waiting, (-_compute_priority(priority, split), leaf, split))
        if not waiting:
            break
        _, leaf, split = heapq.heappop(waiting)
        new_leaves, split = [], evaluate(leaf) if priority is None else split
        if split is None or split.hyperplane is None:
            continue
        tree, leaf_of_row = apply_split(tree, leaf_of_row, leaf, rows, split.hyperplane, split.pvalue)
        new_leaves = [int(tree.left[leaf]), int(tree.right[leaf])]
        if notify is not None:
            notify(tree)
    return tree, leaf_of_row


def apply_split(
    tree: Tree, leaf_of_row: Indices, leaf: int, rows: Rows, plane: Hyperplane, pvalue: float = math.nan
) -> tuple[Tree, Indices]:
    """Split a leaf by a hyperplane; return the tree and the leaf of each row."""
    inside = np.flatnonzero(leaf_of_row == leaf)
    goes_right = plane.on_positive_side(rows, inside)
    n_right = int(np.count_nonzero(goes_right))
    tree = tree.split(leaf, plane, (len(inside) - n_right, n_right), pvalue)
    leaf_of_row = leaf_of_row.copy()
    leaf_of_row[inside] = np.where(goes_right, tree.right[leaf], tree.left[leaf])
    return tree, leaf_of_row


def split_rows(splitter: Splitter, X: Any, rows: Indices, rng: np.random.Generator) -> Split:
    """Apply a splitter to some rows and validate its result."""
    all_rows = as_rows(X)
    found = splitter.split(all_rows if getattr(splitter, "accepts_rows", False) else all_rows.data, rows, rng)
    plane, pvalue = getattr(found, "hyperplane", found), getattr(found, "pvalue", None)
    if not (plane is None or isinstance(plane, Hyperplane)) or not isinstance(pvalue, numbers.Real):
        raise TypeError(f"split of the hyperplane must return a Split (with hyperplane and pvalue), got {found!r}.")
    p = float(pvalue)
    if not (math.isnan(p) or 0.0 <= p <= 1.0):
        raise ValueError(f"split of the hyperplane must return a pvalue that is NaN or in [0, 1], got {pvalue!r}.")
    return Split(plane, p)


def _compute_priority(priority: Callable[[Split], float], split: Split) -> float:
    value = priority(split)
    if math.isnan(value):
        raise ValueError("the priority of a split is NaN: the splitter does not provide the quantity that it needs.")
    return value


def make_split_tree(plane: Hyperplane, sizes: tuple[int, int] = (1, 1)) -> Tree:
    """Return the tree of one split with the sizes of its sides, or of one leaf if one of them is empty."""
    stump = make_stump(sum(sizes), len(plane.normal))
    return stump.split(0, plane, sizes) if plane.splits and min(sizes) > 0 else stump


def make_stump(n: int, d: int) -> Tree:
    """Make the tree of one leaf."""
    arrays: dict[str, Any] = {name: np.full(1, NONE, dtype=np.intp) for name in ("parent", "left", "right", "order")}
    for name in ("offset", "bandwidth", "alpha", "density", "relative_depth", "pvalue"):
        arrays[name] = np.full(1, np.nan)
    for name in ("normal", "point"):
        arrays[name] = np.full((1, d), np.nan)
    return Tree(size=np.array([n], dtype=np.intp), cluster=np.zeros(1, dtype=np.intp), **arrays)
