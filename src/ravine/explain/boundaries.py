"""Boundaries between clusters that are unions of leaves: the rows near them and the valley across them."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ravine.rows import Rows
from ravine.tree import Tree
from ravine.tree.graph import NeighbourGraph
from ravine.validity.contacts import Contact

# With fewer rows there is no neighbourhood of a boundary to look at.
FEWEST_ROWS = 20


@dataclass(frozen=True)
class Boundary:
    """Boundary between two clusters.

    Attributes
    ----------
    first, second : int
        Numbers of the clusters.
    evidence : float
        z-score for a valley: that of the fit, or of the rows that are shown if the fit has none. Minus infinity if
        there is no valley, NaN if too few rows are near the boundary.
    contact : Contact or None
        Rows that are shown near the boundary; None if they are too few.
    """

    first: int
    second: int
    evidence: float
    contact: Contact | None


class BoundaryFinder:
    """Finder of the boundaries between unions of leaves, by the nearest neighbours of rows.

    Parameters
    ----------
    rows : Rows of shape (n, d)
    leaf_of_row : ndarray of shape (n,), int
        Number of the leaf of each row.
    """

    def __init__(self, rows: Rows, leaf_of_row: NDArray[np.intp], n_clusters: int) -> None:
        if rows.shape[0] < FEWEST_ROWS:
            raise ValueError(
                f"the boundaries of these rows cannot be measured: there are fewer than {FEWEST_ROWS} rows."
            )
        self.graph = graph = NeighbourGraph.of(rows, np.random.default_rng(0), n_clusters)
        self.leaf_of_row = leaf_of_row[graph.indices]

    def list_pairs(self, cluster: NDArray[np.intp]) -> list[tuple[int, int]]:
        """List the pairs of clusters with nearest neighbours in each other; ``cluster`` has a number for each node."""
        edges = self.graph.count_edges(cluster[self.leaf_of_row], int(cluster.max()) + 1)
        return list(zip(*(some.tolist() for some in np.nonzero(np.triu(edges, 1))), strict=True))

    def measure(self, first: Collection[int], second: Collection[int]) -> Contact | None:
        """Measure the contact of two unions of leaves; None if too few rows are near their boundary."""
        sides = (np.isin(self.leaf_of_row, list(leaves)) for leaves in (first, second))
        return self.graph.rows.find_contact(*sides)


def find_boundaries(tree: Tree, rows: Rows) -> list[Boundary]:
    """Find the boundaries between the clusters of a tree, with the rows near them.

    Parameters
    ----------
    rows : Rows of shape (n, d)
    """
    finder = BoundaryFinder(rows, np.asarray(rows.apply(tree.apply)), tree.n_clusters)
    known = get_known_evidence(tree)
    leaves = [[leaf for leaf in tree.leaves() if tree.cluster[leaf] == k] for k in range(tree.n_clusters)]
    found = []
    for first, second in known or finder.list_pairs(tree.cluster):
        contact = finder.measure(leaves[first], leaves[second])
        measured = math.nan if contact is None else contact.evidence
        found.append(Boundary(first, second, known.get((first, second), measured), contact))
    return found


def get_known_evidence(tree: Tree) -> dict[tuple[int, int], float]:
    """Return the evidence for the boundaries between the clusters of a tree that its fit has measured."""
    if tree.joins is None:
        return {}
    pairs = zip(tree.joins.boundaries.tolist(), tree.joins.boundary_evidence.tolist(), strict=True)
    return {(first, second): z for (first, second), z in pairs}


def format_evidence(evidence: float) -> str:
    """Describe the evidence for a valley in a few characters."""
    if math.isnan(evidence):
        return "too few rows"
    if math.isinf(evidence):
        return "no valley" if evidence < 0.0 else "do not touch"
    return f"z = {evidence:.1f}"
