"""Number of clusters that the test of a tree shows, beside the number that is suggested."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
    if not hasattr(estimator, "suggested_tree_"):
        return None
    return Suggestion(estimator.suggested_tree_, estimator.n_shown_)
