"""Cells: many small convex parts of the rows, cut where a graph of nearest neighbours has the fewest edges.

A cluster that is not convex, such as a ring, is a union of cells. Hyperplanes cut the cells. In each node, directions
between the two halves of the rows and principal components are tried, with all thresholds; the least normalised cut
wins. No valley is necessary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine import _kernels
from ravine._kernels import StopFlag
from ravine._typing import Array
from ravine.hyperplane import Hyperplane
from ravine.rows import Rows, as_rows, draw_indices
from ravine.tree import constants
from ravine.tree.grow import Split, grow
from ravine.tree.neighbours import find_neighbours, find_positions
from ravine.tree.nodes import Tree
from ravine.validity.repeated_values import Grids

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class CellGraph:
    """Nearest neighbours of rows, or of a random sample, in coordinates without repeated values.

    Attributes
    ----------
    indices : ndarray of shape (m,), int
        Indices of the rows in the graph, sorted.
    points : ndarray of shape (m, d)
        Coordinates: (x - center) / scale, after features of repeated values are spread over their cells.
    center : ndarray of shape (d,)
    nearest : ndarray of shape (m, q), int
        Positions in the graph of the nearest neighbours of each row.
    is_mutual : ndarray of shape (m, q), bool
        Whether the row is one of the nearest neighbours of that neighbour, too.
    dimension : float
        Effective dimension of the rows.
    """

    indices: Indices
    points: Array
    center: Array
    scale: float
    nearest: Indices
    is_mutual: NDArray[np.bool_]
    dimension: float

    @classmethod
    def of(cls, rows: Rows, n_clusters: int | None, rng: np.random.Generator) -> CellGraph | str:
        """Make the graph of rows; return the reason, as a part of a sentence, if there is none."""
        n, most = rows.shape[0], max(constants.MOST_GRAPH_ROWS, constants.ROWS_PER_CLUSTER * (n_clusters or 0))
        if rows.is_sparse and rows.shape[1] > constants.MOST_DENSE_FEATURES:
            return f"sparse rows have more than {constants.MOST_DENSE_FEATURES} features"
        indices = draw_indices(np.arange(n), most, rng)
        sample = as_rows(rows.take(indices)) if rows.is_sparse else rows.subset(indices, copy=True)
        grids = Grids.of(sample, rng)
        coarse = [k for k, grid in enumerate(grids.grids) if len(grid.values) < constants.MOST_COARSE_VALUES]
        if len(np.unique(grids.families[coarse])) < len(coarse):
            return "features with few different values are strongly correlated"
        x = np.array(sample.to_array(), dtype=np.float64)
        if _encode_categories(x, [int(grids.grids[k].columns[0]) for k in coarse]):
            return "features encode the categories of a column"
        origin = x[0].copy()
        x -= origin  # exactly zero in constant features, where a mean has rounding errors
        scale = float(np.abs(x).max()) or 1.0
        middle = (x / scale).mean(axis=0) * scale
        x -= middle
        for grid, shifts in zip(grids.grids, grids.draw_shifts(sample, rng)[0], strict=True):
            x[:, grid.columns] += shifts[:, None] * grid.factors
        x /= scale
        nearest = find_neighbours(x, min(constants.N_CELL_NEIGHBOURS, len(x) - 1))
        edges = nearest + len(x) * np.arange(len(x))[:, None]
        reverse = len(x) * nearest + np.arange(len(x))[:, None]
        return cls(indices, x, origin + middle, scale, nearest, np.isin(reverse, edges), _measure_dimension(x, nearest))

    def find_members(self, indices: Indices) -> Indices:
        """Return the positions in the graph of those of some rows, by their sorted indices, that it contains."""
        return find_positions(self.indices, indices)


def _encode_categories(x: Array, columns: list[int]) -> bool:
    """Return whether features with few different values have a constant sum, as the indicators of categories have."""
    if len(columns) < 3:
        return False
    with np.errstate(all="ignore"):
        correlations = np.corrcoef(x[:, columns].T)
    return bool(np.isfinite(correlations).all() and np.linalg.eigvalsh(correlations)[0] < constants.SINGULAR_EIGENVALUE)


def _measure_dimension(points: Array, nearest: Indices) -> float:
    """Return the effective dimension of some rows of a graph near their neighbours."""
    some = np.linspace(0, len(points) - 1, min(len(points), constants.ROWS_FOR_DIMENSION)).astype(np.intp)
    distances = np.linalg.norm(points[nearest[some]] - points[some, None], axis=2)
    last = distances[:, -1:]
    inner = np.where(distances[:, :-1] > 0.0, distances[:, :-1], np.where(last > 0.0, last, 1.0))
    return estimate_dimension(np.log(np.where(last > 0.0, last, 1.0) / inner).sum(axis=1), distances.shape[1])


def estimate_dimension(log_ratios: Array, n_neighbours: int) -> float:
    """Return the effective dimension of rows near their neighbours (Levina & Bickel 2004).

    Parameters
    ----------
    log_ratios : ndarray of shape (m,)
        Sums of the logarithms of the ratios of the last distance to the others, of each row.
    """
    known = log_ratios[log_ratios > 0.0]
    return (n_neighbours - 2) / float(known.mean()) if len(known) and n_neighbours > 2 else 1.0


class CutSplitter:
    """Splitter by the hyperplane of least normalised cut of a graph, along some directions."""

    accepts_rows = True

    def __init__(self, graph: CellGraph) -> None:
        self.graph = graph

    def split(self, X: Any, indices: Indices, rng: np.random.Generator) -> Split:
        """Split rows by the hyperplane of least normalised cut."""
        members = self.graph.find_members(indices)
        fewest = max(constants.FEWEST_CELL_ROWS, int(np.ceil(constants.LEAST_CELL_SHARE * len(members))))
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
        point = self.graph.center + self.graph.scale * threshold * normal
        return Split(Hyperplane(normal, float(normal @ point), point=point))

    def _list_edges(self, members: Indices) -> NDArray[np.int64]:
        """Return the edges inside a node, as pairs of positions among its members."""
        position = np.full(len(self.graph.indices), -1, dtype=np.int64)
        position[members] = np.arange(len(members))
        targets = position[self.graph.nearest[members]]
        sources = np.broadcast_to(np.arange(len(members))[:, None], targets.shape)
        inside = targets >= 0
        return np.stack([sources[inside], targets[inside]], axis=1)


def _choose_directions(x: Array, rng: np.random.Generator) -> Array:
    """Return unit vectors between the halves of rows that are nearer to either of two random rows, and components.

    The former are one step of k-means with two centres; the latter are the first principal components.
    """
    if x.shape[1] == 1:
        return np.ones((1, 1))
    most = constants.ROWS_FOR_DIRECTIONS
    some = x if len(x) <= most else x[rng.choice(len(x), most, replace=False)]
    pairs = some[rng.integers(len(some), size=(2, constants.N_PAIRS))]
    between = pairs[1] - pairs[0]
    nearer = (some @ between.T > 0.5 * np.einsum("ij,ij->i", between, pairs[0] + pairs[1])).astype(np.float64)
    counts, sums = nearer.sum(axis=0)[:, None], nearer.T @ some
    means = sums / np.maximum(counts, 1.0), (some.sum(axis=0) - sums) / np.maximum(len(some) - counts, 1.0)
    found = [means[0] - means[1]]
    if x.shape[1] <= constants.MOST_FEATURES_FOR_COMPONENTS:
        centred = some - some.mean(axis=0)
        found.append(np.linalg.eigh(centred.T @ centred)[1][:, : -constants.N_COMPONENTS - 1 : -1].T)
    directions = np.concatenate(found)
    lengths = np.linalg.norm(directions, axis=1)
    usable = lengths > 1e-12
    return np.ascontiguousarray(directions[usable] / lengths[usable, None])


def grow_cells(
    rows: Rows, graph: CellGraph, n_clusters: int | None, seed: int, flag: StopFlag | None = None
) -> tuple[Tree, Indices]:
    """Cut rows into cells; return the tree and the leaf of each row."""
    n_cells = len(graph.indices) // constants.ROWS_PER_CELL
    n_cells = min(
        max(n_cells, constants.FEWEST_CELLS), max(constants.MOST_CELLS, constants.CELLS_PER_CLUSTER * (n_clusters or 0))
    )
    min_size = constants.FEWEST_CELL_ROWS * rows.shape[0] // len(graph.indices)
    splitter = CutSplitter(graph)
    return grow(rows, splitter, n_clusters=n_cells, priority=None, min_cluster_size=min_size, seed=seed, flag=flag)
