"""Boundaries between the clusters of every cut of a joined tree, with the density across them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.explain import BoundaryFinder, DensitySummary, get_known_evidence, summarise_density
from ravine.report.splits import TreeCut, allot_points
from ravine.rows import as_rows
from ravine.tree import Tree
from ravine.tree.boundaries import Contact

__all__ = ["BoundarySummary", "summarise_boundaries"]

# Boundaries that are shown, and rows that are drawn for one and for all of them.
MAX_BOUNDARIES, MAX_ROWS, ALL_ROWS = 200, 400, 20_000


@dataclass(frozen=True)
class BoundarySummary:
    """Boundary between two groups.

    Attributes
    ----------
    first, second : int
        Numbers of the groups.
    evidence : float
        z-score for a valley, for the clusters of the tree that of the fit. Minus infinity if there is no valley, NaN if
        too few rows are near the boundary.
    sizes : tuple of two int
        Numbers of rows of the two groups near the boundary, of which some may be drawn.
    coordinates : tuple of two ndarray
        Coordinates across the boundary of rows of the two groups, relative to the lowest density.
    curve : DensitySummary or None
        Density of all these coordinates; None if they are too few.
    """

    first: int
    second: int
    evidence: float
    sizes: tuple[int, int]
    coordinates: tuple[Array, Array]
    curve: DensitySummary | None


def summarise_boundaries(
    tree: Tree,
    X: NDArray[np.floating[Any]],
    leaf_of_row: NDArray[np.intp],
    cuts: Sequence[TreeCut],
    groups_of_cuts: Sequence[list[int]],
) -> list[BoundarySummary]:
    """Summarise the boundaries between the clusters of each cut; none if the leaves of the tree are not joined.

    Parameters
    ----------
    tree : Tree
    X : ndarray of shape (n, d)
    leaf_of_row : ndarray of shape (n,)
    cuts : sequence of TreeCut
    groups_of_cuts : sequence of list of int
        For each cut, the groups of its clusters.
    """
    if tree.joins is None or tree.n_clusters == 1:
        return []
    try:
        finder = BoundaryFinder(as_rows(X), leaf_of_row, tree.n_clusters)
    except ValueError:  # too few rows
        finder = None
    found: dict[frozenset[int], tuple[int, int, float, Contact | None]] = {}
    for cut, groups in zip(reversed(cuts), reversed(groups_of_cuts), strict=True):  # the clusters of the tree first
        cluster = np.full(len(tree), -1, dtype=np.intp)
        for leaf, number in cut.frontier:
            cluster[leaf] = number
        known = get_known_evidence(tree) if cut.n_clusters == tree.n_clusters else {}
        pairs = list(known) if known or finder is None else finder.list_pairs(cluster)
        for a, b in pairs:
            key = frozenset((groups[a], groups[b]))
            if key in found or len(found) == MAX_BOUNDARIES:
                continue
            sides = (np.flatnonzero(cluster == k).tolist() for k in (a, b))
            contact = None if finder is None else finder.measure(*sides)
            measured = math.nan if contact is None else contact.evidence
            found[key] = groups[a], groups[b], known.get((a, b), measured), contact
    n_points, n_rows = allot_points(len(found)), min(MAX_ROWS, ALL_ROWS // max(len(found), 1))
    weakest_first = sorted(found.values(), key=lambda boundary: math.inf if math.isnan(boundary[2]) else boundary[2])
    return [_summarise(*boundary, n_points, n_rows) for boundary in weakest_first]


def _summarise(
    first: int, second: int, evidence: float, contact: Contact | None, n_points: int, n_rows: int
) -> BoundarySummary:
    """Summarise one boundary with at most some points of its curve and some rows."""
    if contact is None:
        return BoundarySummary(first, second, evidence, (0, 0), (np.zeros(0), np.zeros(0)), None)
    coordinates = contact.coordinates - contact.at
    sides = coordinates[~contact.is_second], coordinates[contact.is_second]
    step = math.ceil(len(coordinates) / n_rows)
    curve = summarise_density(coordinates, contact.bandwidth, n_points)
    sizes = len(sides[0]), len(sides[1])
    return BoundarySummary(first, second, evidence, sizes, (sides[0][::step], sides[1][::step]), curve)
