"""Growth of a tree with any splitter, and the policies that choose the leaves to split next."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ravine._kernels import StopFlag
from ravine._typing import Array
from ravine.hyperplane import Hyperplane
from ravine.rows import as_rows, open_pool
from ravine.tree.nodes import NONE, Tree


@dataclass(frozen=True)
class Candidate:
    """Split that could be made next.

    Attributes
    ----------
    size : int or float
        Number of rows of the leaf, or the sum of their weights.
    hyperplane : Hyperplane
        Hyperplane that would split it.
    pvalue : float
        P-value of the test of the split; NaN if there was none.
    """

    size: float
    hyperplane: Hyperplane
    pvalue: float


# The candidate with the largest value is split next.
Priority = Callable[[Candidate], float]


@dataclass
class Leaf:
    """Leaf of a growing tree.

    Attributes
    ----------
    indices : ndarray of int
        Indices of its rows.
    path : tuple of int
        Way from the root: 0 for left, 1 for right.
    size : int or float
        Number of rows, or the sum of their weights.
    is_evaluated : bool
        Whether the splitter was applied to it, and the policy may use the result.
    pvalue : float
        P-value of the test of its split; NaN if there was none.
    candidate : Candidate or None
        Split that can be made.
    children : tuple of Leaf
        The two sides of that split; empty if there is none.
    evaluation : Future or None
        Application of the splitter in another thread.
    """

    indices: NDArray[np.intp]
    path: tuple[int, ...]
    size: float
    is_evaluated: bool = False
    pvalue: float = math.nan
    candidate: Candidate | None = None
    children: tuple[Leaf, ...] = ()
    evaluation: Future[None] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, indices: NDArray[np.intp], path: tuple[int, ...], weights: Array | None) -> Leaf:
        """Make the leaf of some rows, of which each has a weight of 1 if there are no weights."""
        return cls(indices, path, len(indices) if weights is None else float(weights[indices].sum()))


Leaves = dict[int, Leaf]


# Applies the splitter to some leaves, by their numbers.
Evaluate = Callable[[list[int]], object]


# Chooses the numbers of the leaves to split next; none if no leaf can be split.
Policy = Callable[[Leaves, Evaluate], list[int]]


def make_policy(n_clusters: int | None, priority: Priority | None) -> Policy:
    """Return the policy that splits one leaf at a time, or every leaf if the number of clusters is not given."""
    if n_clusters is None:
        return choose_all
    return choose_largest if priority is None else lambda leaves, evaluate: choose_by(priority, leaves, evaluate)


def choose_all(leaves: Leaves, evaluate: Evaluate) -> list[int]:
    """Choose every leaf that can be split."""
    evaluate([k for k, leaf in leaves.items() if not leaf.is_evaluated])
    return [k for k, leaf in leaves.items() if leaf.candidate is not None]


def choose_by(priority: Priority, leaves: Leaves, evaluate: Evaluate) -> list[int]:
    """Choose the leaf with the largest priority."""
    splittable = choose_all(leaves, evaluate)
    return [max(splittable, key=lambda k: _compute_priority(priority, leaves[k]))] if splittable else []


def choose_largest(leaves: Leaves, evaluate: Evaluate) -> list[int]:
    """Choose the largest leaf that can be split, evaluating only leaves that may be larger."""
    while True:
        unknown = [k for k, leaf in leaves.items() if not leaf.is_evaluated]
        first = max(unknown, key=lambda k: leaves[k].size, default=None)
        if first is not None and leaves[first].size >= _find_largest_size(leaves):
            evaluate([first])
        largest = _find_largest_size(leaves)
        if not any(not leaf.is_evaluated and leaf.size > largest for leaf in leaves.values()):
            break
    splittable = [k for k, leaf in leaves.items() if leaf.candidate is not None]
    return [max(splittable, key=lambda k: leaves[k].size)] if splittable else []


def _find_largest_size(leaves: Leaves) -> float:
    """Return the size of the largest leaf that is known to be splittable."""
    return max((leaf.size for leaf in leaves.values() if leaf.candidate is not None), default=0)


def _compute_priority(priority: Priority, leaf: Leaf) -> float:
    assert leaf.candidate is not None
    value = priority(leaf.candidate)
    if math.isnan(value):
        raise ValueError("the priority of a split is NaN: the splitter does not provide the quantity that it needs.")
    return value


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
    """Object that splits rows by a hyperplane; with several threads it is called for several nodes at once."""

    def split(self, X: Any, indices: NDArray[np.intp], rng: np.random.Generator) -> Split:
        """Split the rows of X with these indices."""


def grow(
    X: Any,
    splitter: Splitter,
    *,
    n_clusters: int | None,
    priority: Priority | None,
    min_cluster_size: int,
    seed: int,
    n_threads: int = 1,
    notify: Callable[[Tree], object] | None = None,
    flag: StopFlag | None = None,
    weights: Array | None = None,
    start: tuple[Tree, NDArray[np.intp]] | None = None,
) -> tuple[Tree, NDArray[np.intp]]:
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
        Priority of the leaves to split; None for their size, for which leaves are fitted only when necessary.
    min_cluster_size : int
        A split with fewer rows, or a smaller sum of weights, on a side is rejected.
    seed : int
        Seed. Every node has its own generator, so that the result depends neither on threads nor on the order of fits.
    n_threads : int
        Number of leaves that are fitted in parallel, where more than one has to be. Without ``n_clusters`` the children
        of a leaf are fitted as soon as it has been.
    notify : callable, optional
        Called with the tree after every split.
    flag : StopFlag, optional
        Flag of other threads, which the splitter uses: an exception stops them, too.
    weights : ndarray of shape (n,), optional
        Weights of the rows, which count for the sizes of leaves.
    start : tuple of Tree and ndarray of shape (n,), optional
        Tree to continue, and the leaf of each row; one leaf by default.

    Returns
    -------
    tree : Tree
        Tree of hyperplanes.
    leaf_of_row : ndarray of shape (n,), int
        Number of the leaf of each row.
    """
    tree, leaf_of_row = start or (make_stump(*X.shape), np.zeros(X.shape[0], dtype=np.intp))
    leaves = {k: Leaf.of(np.flatnonzero(leaf_of_row == k), _find_path(tree, k), weights) for k in tree.leaves()}
    choose_leaves = make_policy(n_clusters, priority)

    with open_pool(n_threads, flag) as pool:

        def evaluate(leaf: Leaf) -> None:
            _evaluate_leaf(leaf, X, splitter, min_cluster_size, seed, weights)
            if pool is not None and n_clusters is None:  # every split is made, so its children can be fitted now
                for child in leaf.children:
                    child.evaluation = pool.submit(evaluate, child)

        def evaluate_all(numbers: list[int]) -> None:
            unknown = [leaves[k] for k in numbers]
            for leaf in unknown:
                if pool is not None and leaf.evaluation is None and len(unknown) > 1:
                    leaf.evaluation = pool.submit(evaluate, leaf)
            for leaf in unknown:
                if leaf.evaluation is None:
                    evaluate(leaf)
                else:
                    leaf.evaluation.result()
                leaf.is_evaluated = True

        while n_clusters is None or len(leaves) < n_clusters:
            chosen = choose_leaves(leaves, evaluate_all)
            if not chosen:
                break
            for k in chosen:
                tree = _split_leaf(tree, k, leaves)
                if notify is not None:
                    notify(tree)
    pvalue, leaf_of_row = tree.pvalue.copy(), np.empty(X.shape[0], dtype=np.intp)
    for k, leaf in leaves.items():
        if not math.isnan(leaf.pvalue):
            pvalue[k] = leaf.pvalue
        leaf_of_row[leaf.indices] = k
    return tree.with_arrays(pvalue=pvalue), leaf_of_row


def split_rows(splitter: Splitter, X: Any, rows: NDArray[np.intp], rng: np.random.Generator) -> Split:
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


def _evaluate_leaf(
    leaf: Leaf,
    X: Any,
    splitter: Splitter,
    min_cluster_size: int,
    seed: int,
    weights: Array | None,
) -> None:
    """Apply the splitter to a leaf and store the split if both sides are large enough."""
    if leaf.size < 2 * min_cluster_size or len(leaf.indices) < 2:
        return
    split = split_rows(splitter, X, leaf.indices, np.random.default_rng([seed, len(leaf.path), *leaf.path]))
    leaf.pvalue = split.pvalue
    if split.hyperplane is None:
        return
    goes_right = split.hyperplane.on_positive_side(X, leaf.indices)
    sides = (leaf.indices[~goes_right], 0), (leaf.indices[goes_right], 1)
    left, right = (Leaf.of(indices, (*leaf.path, side), weights) for indices, side in sides)
    if min(left.size, right.size) >= min_cluster_size:
        leaf.candidate = Candidate(leaf.size, split.hyperplane, split.pvalue)
        leaf.children = left, right


def _split_leaf(tree: Tree, k: int, leaves: dict[int, Leaf]) -> Tree:
    """Replace a leaf by its two children, in the dictionary and in the tree that is returned."""
    leaf = leaves.pop(k)
    assert leaf.candidate is not None
    left, right = leaf.children
    # The P-value of a leaf of a tree that is continued stays.
    pvalue = float(tree.pvalue[k]) if math.isnan(leaf.pvalue) else leaf.pvalue
    grown = tree.split(k, leaf.candidate.hyperplane, (len(left.indices), len(right.indices)), pvalue)
    leaves[int(grown.left[k])], leaves[int(grown.right[k])] = left, right
    return grown


def _find_path(tree: Tree, node: int) -> tuple[int, ...]:
    """Return the path from the root to a node: 0 for left, 1 for right."""
    return tuple(int(tree.right[tree.parent[k]] == k) for k in tree.ancestry(node)[1:])


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
