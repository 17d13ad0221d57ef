"""Cells: many small convex parts of the rows, cut where a graph of nearest neighbours has the fewest edges.

A cluster that is not convex, such as a ring, is a union of cells. Hyperplanes cut the cells. In each node, directions
between the two halves of the rows and principal components are tried, with all thresholds; the least normalised cut
wins. No valley is necessary.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine import _kernels
from ravine._typing import Array
from ravine.hyperplane import Hyperplane
from ravine.rows import as_rows
from ravine.tree import constants
from ravine.tree.graph import NeighbourGraph
from ravine.tree.grow import Split, grow
from ravine.tree.nodes import Tree
from ravine.validity.discriminants import list_directions

Indices = NDArray[np.intp]


class CutSplitter:
    """Splitter by the hyperplane of least normalised cut of a graph, along some directions."""

    accepts_rows = True

    def __init__(self, graph: NeighbourGraph) -> None:
        self.graph = graph

    def split(self, X: Any, indices: Indices, rng: np.random.Generator) -> Split:
        """Split rows by the hyperplane of least normalised cut."""
        members = indices
        fewest = constants.FEWEST_CELL_ROWS
        if len(members) < 2 * fewest:
            return Split(None)
        x = self.graph.points[members]
        directions = _choose_directions(x, rng)
        if not len(directions):
            return Split(None)
        projections = np.ascontiguousarray(directions @ x.T)
        cut, best, threshold = _kernels.sweep_cuts(projections, self._list_edges(members), fewest)
        if not np.isfinite(cut):
            return Split(None)
        normal = directions[best]
        if 2 * np.count_nonzero(projections[best] > threshold) > len(members):
            normal, threshold = -normal, -threshold
        return Split(Hyperplane(normal, threshold, point=threshold * normal))

    def _list_edges(self, members: Indices) -> NDArray[np.int64]:
        """Return the edges inside a node, as pairs of positions among its members."""
        position = np.full(len(self.graph), -1, dtype=np.int64)
        position[members] = np.arange(len(members))
        targets = position[self.graph.nearest[members]]
        sources = np.broadcast_to(np.arange(len(members))[:, None], targets.shape)
        inside = targets >= 0
        return np.stack([sources[inside], targets[inside]], axis=1)


def _choose_directions(x: Array, rng: np.random.Generator) -> Array:
    """Return directions of cuts, from some of the rows."""
    most = constants.ROWS_FOR_DIRECTIONS
    some = x if len(x) <= most else x[rng.choice(len(x), most, replace=False)]
    return list_directions(some, constants.N_PAIRS, constants.N_COMPONENTS, rng)


def grow_cells(graph: NeighbourGraph, n_clusters: int, seed: int) -> tuple[Tree, Indices]:
    """Cut the rows of a graph into cells; return the tree in its coordinates, and the leaf of each row."""
    n_cells = min(
        max(len(graph) // constants.ROWS_PER_CELL, constants.FEWEST_CELLS),
        max(constants.MOST_CELLS, constants.CELLS_PER_CLUSTER * n_clusters),
    )
    return grow(
        as_rows(graph.points),
        CutSplitter(graph),
        n_clusters=n_cells,
        priority=None,
        min_cluster_size=constants.FEWEST_CELL_ROWS,
        seed=seed,
    )
