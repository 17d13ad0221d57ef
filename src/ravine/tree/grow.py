"""Growing a tree with any splitter."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ravine.hyperplane import Hyperplane
from ravine.rows import as_rows
from ravine.tree.nodes import NONE, Tree

__all__ = ["Candidate", "Priority", "Split", "Splitter", "grow", "split_rows"]


@dataclass(frozen=True)
class Split:
    """What a splitter says about some rows.

    Attributes
    ----------
    hyperplane : Hyperplane or None
        None if they are not to be split.
    pvalue : float
        Of a test of the split; NaN if there was none.
    """

    hyperplane: Hyperplane | None
    pvalue: float = math.nan


class Splitter(Protocol):
    """Anything that can split rows by a hyperplane; with several threads, for several nodes at once."""

    def split(self, X: Any, rows: NDArray[np.intp], rng: np.random.Generator) -> Split:
        """Split some rows of X."""


@dataclass(frozen=True)
class Candidate:
    """A leaf that could be split next.

    Attributes
    ----------
    size : int
        Its rows.
    hyperplane : Hyperplane
        That would split it.
    pvalue : float
        Of the test; NaN if there was none.
    """

    size: int
    hyperplane: Hyperplane
    pvalue: float


# The candidate with the largest value is split next.
Priority = Callable[[Candidate], float]


@dataclass
class _Leaf:
    """A leaf while the tree grows."""

    rows: NDArray[np.intp]
    path: tuple[int, ...]
    evaluated: bool = False
    split: Split = field(default_factory=lambda: Split(None))
    beyond: NDArray[np.bool_] | None = None


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
) -> tuple[Tree, NDArray[np.intp]]:
    """Split rows again and again.

    Parameters
    ----------
    X : array, sparse matrix or source of rows, of shape (n, d)
    splitter : Splitter
    n_clusters : int or None
        Leaves to stop at; None to split whatever the splitter splits.
    priority : callable or None
        Which leaf is split next; None for the largest, which need not be known to be splittable before its turn.
    min_cluster_size : int
        A split with fewer rows on a side is not made.
    seed : int
        Every node has a generator of its own, so that the result depends neither on threads nor on order.
    n_threads : int
        Leaves that are looked at together; where the largest is next, they are looked at one by one.
    notify : callable, optional
        Told of the tree after every split.

    Returns
    -------
    tree : Tree
    leaf_of_row : ndarray of shape (n,), int
    """
    tree = _stump(X)
    leaves: dict[int, _Leaf] = {0: _Leaf(np.arange(X.shape[0]), ())}

    def look_at(number: int) -> None:
        leaf = leaves[number]
        leaf.evaluated = True
        if len(leaf.rows) < 2 * min_cluster_size:
            return
        found = split_rows(splitter, X, leaf.rows, np.random.default_rng([seed, len(leaf.path), *leaf.path]))
        leaf.split = found
        if found.hyperplane is None:
            return
        beyond = found.hyperplane.beyond(X, leaf.rows)
        if min(int(beyond.sum()), int((~beyond).sum())) < min_cluster_size:
            leaf.split = Split(None, found.pvalue)
        else:
            leaf.beyond = beyond

    with ThreadPoolExecutor(n_threads) if n_threads > 1 else nullcontext() as pool:
        while n_clusters is None or len(leaves) < n_clusters:
            unknown = [k for k, leaf in leaves.items() if not leaf.evaluated]
            if n_clusters is not None and priority is None:  # only the largest leaves can be next
                ready, k = _largest(leaves), max(unknown, key=lambda k: len(leaves[k].rows), default=None)
                unknown = [k] if k is not None and len(leaves[k].rows) >= ready else []
            list((pool.map if pool else map)(look_at, unknown))
            splittable = [k for k, leaf in leaves.items() if leaf.beyond is not None]
            largest = _largest(leaves) if priority is None and n_clusters is not None else math.inf
            if any(not leaf.evaluated and (not splittable or len(leaf.rows) > largest) for leaf in leaves.values()):
                continue
            if not splittable:
                break
            chosen = splittable if n_clusters is None else [_next(leaves, splittable, priority)]
            for k in chosen:
                tree = _split(tree, k, leaves)
                if notify is not None:
                    notify(tree)
    pvalue = tree.pvalue.copy()
    for k, leaf in leaves.items():
        pvalue[k] = leaf.split.pvalue if leaf.evaluated else math.nan
    leaf_of_row = np.empty(X.shape[0], dtype=np.intp)
    for k, leaf in leaves.items():
        leaf_of_row[leaf.rows] = k
    return tree.with_arrays(pvalue=pvalue), leaf_of_row


def split_rows(splitter: Splitter, X: Any, rows: NDArray[np.intp], rng: np.random.Generator) -> Split:
    """What a splitter says about some rows, if it makes sense."""
    found = splitter.split(as_rows(X).data, rows, rng)
    plane, pvalue = getattr(found, "hyperplane", found), getattr(found, "pvalue", None)
    if not (plane is None or isinstance(plane, Hyperplane)) or not isinstance(pvalue, numbers.Real):
        raise TypeError(f"the splitter must return an object with hyperplane and pvalue, got {found!r}.")
    p = float(pvalue)
    if not (math.isnan(p) or 0.0 <= p <= 1.0):
        raise ValueError(f"the splitter must return a pvalue that is NaN or in [0, 1], got {pvalue!r}.")
    return Split(plane, p)


def _largest(leaves: dict[int, _Leaf]) -> int:
    """Rows of the largest leaf that is known to be splittable."""
    return max((len(leaf.rows) for leaf in leaves.values() if leaf.beyond is not None), default=0)


def _next(leaves: dict[int, _Leaf], splittable: list[int], priority: Priority | None) -> int:
    """The leaf that is split next."""
    if priority is None:
        return max(splittable, key=lambda k: len(leaves[k].rows))

    def value(k: int) -> float:
        split = leaves[k].split
        assert split.hyperplane is not None
        at = priority(Candidate(len(leaves[k].rows), split.hyperplane, split.pvalue))
        if math.isnan(at):
            raise ValueError(
                "split_next gives NaN for a split: the splitter does not tell what it goes by. Use split_next='size', "
                "or a callable."
            )
        return at

    return max(splittable, key=value)


def _split(tree: Tree, k: int, leaves: dict[int, _Leaf]) -> Tree:
    """Split a leaf of the tree and of the dictionary."""
    leaf = leaves.pop(k)
    assert leaf.split.hyperplane is not None
    assert leaf.beyond is not None
    left, right = leaf.rows[~leaf.beyond], leaf.rows[leaf.beyond]
    grown = tree.split(k, leaf.split.hyperplane, (len(left), len(right)), leaf.split.pvalue)
    leaves[int(grown.left[k])] = _Leaf(left, (*leaf.path, 0))
    leaves[int(grown.right[k])] = _Leaf(right, (*leaf.path, 1))
    return grown


def _stump(X: Any) -> Tree:
    """The tree of one leaf."""
    arrays: dict[str, Any] = {name: np.full(1, NONE, dtype=np.intp) for name in ("parent", "left", "right", "order")}
    for name in ("offset", "bandwidth", "alpha", "density", "relative_depth", "pvalue"):
        arrays[name] = np.full(1, np.nan)
    for name in ("normal", "point"):
        arrays[name] = np.full((1, X.shape[1]), np.nan)
    return Tree(size=np.array([X.shape[0]], dtype=np.intp), cluster=np.zeros(1, dtype=np.intp), **arrays)
