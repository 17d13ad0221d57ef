"""Growing a tree with any splitter."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ravine.hyperplane import Hyperplane
from ravine.tree.nodes import NONE, Tree

__all__ = ["Candidate", "Priority", "Split", "Splitter", "grow"]


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
    """Anything that can split rows by a hyperplane."""

    def split(self, X: NDArray[np.floating[Any]], rows: NDArray[np.intp], rng: np.random.Generator) -> Split:
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
    X: NDArray[np.floating[Any]],
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
    X : ndarray of shape (n, d)
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
        Leaves that are looked at together.
    notify : callable, optional
        Told of the tree after every split.

    Returns
    -------
    tree : Tree
    leaf_of_row : ndarray of shape (n,), int
    """
    tree = _stump(X)
    leaves: dict[int, _Leaf] = {0: _Leaf(np.arange(len(X)), ())}

    def look_at(number: int) -> None:
        leaf = leaves[number]
        leaf.evaluated = True
        if len(leaf.rows) < 2 * min_cluster_size:
            return
        found = splitter.split(X, leaf.rows, np.random.default_rng([seed, len(leaf.path), *leaf.path]))
        leaf.split = found
        if found.hyperplane is None:
            return
        beyond = found.hyperplane.distance(X, leaf.rows) > 0.0
        if min(int(beyond.sum()), int((~beyond).sum())) < min_cluster_size:
            leaf.split = Split(None, found.pvalue)
        else:
            leaf.beyond = beyond

    with ThreadPoolExecutor(n_threads) if n_threads > 1 else nullcontext() as pool:
        while n_clusters is None or len(leaves) < n_clusters:
            unknown = [k for k, leaf in leaves.items() if not leaf.evaluated]
            if n_clusters is not None and priority is None:  # only the largest leaves can be next
                unknown.sort(key=lambda k: -len(leaves[k].rows))
                unknown = [k for k in unknown if len(leaves[k].rows) >= _largest(leaves)][: n_clusters - len(leaves)]
                unknown = unknown[:n_threads]
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
    leaf_of_row = np.empty(len(X), dtype=np.intp)
    for k, leaf in leaves.items():
        leaf_of_row[leaf.rows] = k
    return tree.with_arrays(pvalue=pvalue), leaf_of_row


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
        return priority(Candidate(len(leaves[k].rows), split.hyperplane, split.pvalue))

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


def _stump(X: NDArray[np.floating[Any]]) -> Tree:
    """The tree of one leaf."""
    none, nan = np.full(1, NONE, dtype=np.intp), np.full(1, np.nan)
    nowhere = np.full((1, X.shape[1]), np.nan)
    return Tree(
        parent=none, left=none, right=none, normal=nowhere, point=nowhere, offset=nan, bandwidth=nan, alpha=nan,
        density=nan, relative_depth=nan, pvalue=nan, size=np.array([len(X)], dtype=np.intp), order=none,
        cluster=np.zeros(1, dtype=np.intp),
    )  # fmt: skip
