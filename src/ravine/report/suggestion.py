"""Number of clusters that the test of a tree shows, beside the number that is suggested."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ravine.explain import format_plural
from ravine.tree import Tree

__all__ = ["Suggestion", "find_suggestion"]


@dataclass(frozen=True)
class Suggestion:
    """Suggested clusters of a fitted tree.

    Attributes
    ----------
    tree : Tree
        Tree with the suggested number of clusters. Its first splits are those that the test shows.
    n_shown : int
        Number of clusters that the test shows.
    """

    tree: Tree
    n_shown: int

    @property
    def n_suggested(self) -> int:
        """Number of clusters that is suggested."""
        return self.tree.n_clusters

    @property
    def adds_clusters(self) -> bool:
        """Whether more clusters are suggested than shown."""
        return self.n_suggested > self.n_shown

    def __str__(self) -> str:
        return f"{format_plural(self.n_shown, 'cluster')} shown by the test, {self.n_suggested} suggested"


def find_suggestion(estimator: Any) -> Suggestion | None:
    """Return the suggestion of a fitted estimator.

    None if it has none: only trees that choose their number of clusters have one, until they are edited.

    Parameters
    ----------
    estimator : object
    """
    if not isinstance(getattr(estimator, "n_clusters", None), str) or not hasattr(estimator, "suggested_tree_"):
        return None
    tree: Tree = estimator.tree_
    suggested: Tree = estimator.suggested_tree_
    if not _is_continued(tree, suggested):
        return None
    is_followed = estimator.n_clusters == "suggested"
    return Suggestion(suggested, _count_shown(suggested, estimator.alpha_test) if is_followed else tree.n_clusters)


def _is_continued(tree: Tree, other: Tree) -> bool:
    """Return whether another tree has the splits of a tree, then its own; false if the tree was edited."""
    m, inner = len(tree), tree.left >= 0
    if tree.n_clusters < tree.n_leaves or len(other) < m:
        return False
    at_nodes = ((getattr(tree, name), getattr(other, name)[:m]) for name in ("parent", "pvalue"))
    at_splits = ((getattr(tree, name)[inner], getattr(other, name)[:m][inner]) for name in ("left", "offset"))
    return all(np.array_equal(a, b, equal_nan=True) for a, b in (*at_nodes, *at_splits))


def _count_shown(tree: Tree, level: float) -> int:
    """Return the number of clusters that the first splits make, as long as they are significant."""
    splits = np.argsort(tree.order)[np.sum(tree.order < 0) :]
    is_shown = tree.pvalue[splits] <= tree.size[splits] / tree.size[0] * level
    return 1 + int(np.cumprod(is_shown).sum())
