"""Policies that choose the leaves of a growing tree to split next."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.hyperplane import Hyperplane

__all__ = ["PRIORITIES", "Candidate", "Leaf", "Policy", "Priority", "check_split_next", "make_policy"]


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
    cut : float
        Increase of the normalised cut of a graph of nearest neighbours; NaN if there was no graph.
    """

    size: float
    hyperplane: Hyperplane
    pvalue: float
    cut: float = math.nan


# The candidate with the largest value is split next.
Priority = Callable[[Candidate], float]

# Values of ``split_next``. None means the largest leaf, which can be found without fitting all leaves.
PRIORITIES: Mapping[str, Priority | None] = {
    "cut": lambda candidate: -candidate.cut,
    "size": None,
    "density": lambda candidate: -candidate.hyperplane.density,
    "depth": lambda candidate: candidate.hyperplane.relative_depth,
    "significance": lambda candidate: -candidate.pvalue,
}


def check_split_next(split_next: Any) -> Priority | None:
    """Return the priority for a value of ``split_next``."""
    if callable(split_next):
        return split_next  # type: ignore[no-any-return]
    if not isinstance(split_next, str) or split_next not in PRIORITIES:
        allowed = ", ".join(map(repr, PRIORITIES))
        raise ValueError(f"split_next must be one of {allowed} or a callable, got {split_next!r}.")
    return PRIORITIES[split_next]


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
        raise ValueError(
            "split_next gives NaN for a split: the splitter does not provide the quantity that it needs. Use "
            "split_next='size' or 'cut', or another callable."
        )
    return value
