"""Joins of the leaves of a tree into clusters, in an order in which they can be undone."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array

__all__ = ["LeafJoins"]

Indices = NDArray[np.intp]


def _make_pairs() -> Indices:
    return np.zeros((0, 2), dtype=np.intp)


@dataclass(frozen=True, eq=False)
class LeafJoins:
    """Joins of leaves that no valley separates, and the evidence for valleys between the clusters that remain.

    Attributes
    ----------
    leaves : ndarray of shape (n_leaves - 1, 2), int
        A leaf of each of the two groups that are joined, in the order of the joins. The first joins make the clusters
        of the tree; the others would continue, across the weakest boundaries, to a single cluster.
    evidence : ndarray of shape (n_leaves - 1,)
        z-score for a valley between the two groups: minus infinity if there is none, infinity if they do not touch.
    boundaries : ndarray of shape (n_boundaries, 2), int
        Pairs of clusters that touch.
    boundary_evidence : ndarray of shape (n_boundaries,)
        z-score for a valley between these.
    """

    leaves: Indices
    evidence: Array
    boundaries: Indices = field(default_factory=_make_pairs)
    boundary_evidence: Array = field(default_factory=lambda: np.zeros(0))

    def label_leaves(self, n_nodes: int, n_joins: int) -> Indices:
        """Return the group of each leaf after some joins, by the number of one of its leaves; other nodes are alone."""
        group = np.arange(n_nodes)
        for first, second in self.leaves[:n_joins].tolist():
            group[group == group[second]] = group[first]
        return group

    def without_boundaries(self) -> LeafJoins:
        """Return the joins alone, for another number of clusters."""
        return LeafJoins(self.leaves, self.evidence)
