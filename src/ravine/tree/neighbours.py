"""Graph of nearest neighbours: how many neighbours a hyperplane separates.

The normalised cut of such a graph is a discrete relative of the density integrated along the boundary of a cluster
(Maier, von Luxburg & Hein 2009), divided by the size of the cluster. Unlike densities of different nodes along
different directions, it can be compared and summed over all clusters of a tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.density import measure_evidence
from ravine.hyperplane import Hyperplane
from ravine.rows import Rows, as_rows, draw_indices
from ravine.tree import constants
from ravine.validity.directions import ENOUGH_EVIDENCE
from ravine.validity.repeated_values import Grids

Indices = NDArray[np.intp]

# Cells of neighbouring floating-point numbers may have the width 0.
TINY = 2.2250738585072014e-308


class NeighbourGraph:
    """Nearest neighbours of rows, or of a random sample if these are many.

    Parameters
    ----------
    n_clusters : int or None
        Number of clusters that are expected.
    weights : ndarray of shape (n,), optional
        Weights of the rows; a row is in the graph as often as its weight says, as nearly as the size of the graph
        allows.
    spread : bool
        Whether neighbours are found after repeated values are spread over their cells.

    Attributes
    ----------
    indices : ndarray of shape (m,), int
        Indices of the rows in the graph, sorted.
    nearest : ndarray of shape (m, q), int
        Positions in the graph of the nearest neighbours of each row: the edges that start there.
    degrees : ndarray of shape (m,), int
        Number of edges that start or end at each row.
    grids : Grids
        Features of repeated values.
    shifts : list of ndarray
        Differences added to these values before evidence is measured. With ``spread``, the first is also added before
        neighbours are found.
    """

    def __init__(
        self,
        rows: Rows,
        n_clusters: int | None,
        rng: np.random.Generator,
        weights: Array | None = None,
        spread: bool = False,
    ) -> None:
        k = 2 if n_clusters is None else n_clusters
        n, most = rows.shape[0], max(constants.MOST_NEIGHBOUR_ROWS, constants.ROWS_PER_CLUSTER * k)
        self.weights = weights
        if weights is None:
            self.indices = draw_indices(np.arange(n), most, rng)
        else:
            self.indices = repeat_rows(weights, most, rng)
        if rows.is_sparse and rows.shape[1] <= constants.MOST_DENSE_FEATURES:
            self.rows = as_rows(rows.take(self.indices))
        else:
            is_whole = n <= most and rows.in_memory and weights is None
            self.rows = rows if is_whole else rows.subset(self.indices, copy=True)
        m = len(self.indices)
        n_neighbours = min(max(m // (2 * k), constants.FEWEST_NEIGHBOURS), constants.MOST_NEIGHBOURS, m - 1)
        is_sparse = self.rows.is_sparse
        self.grids = Grids((), np.zeros(0, dtype=np.intp), np.zeros(0)) if is_sparse else Grids.of(self.rows, rng)
        self.shifts = self.grids.draw_shifts(self.rows, rng)
        self.nearest = find_neighbours(self._scale_rows(spread), n_neighbours)
        self.degrees = self._count_edges(n_neighbours)

    def find_members(self, indices: Indices) -> Indices:
        """Return the positions in the graph of those of some rows, by their sorted indices, that it contains."""
        return find_positions(self.indices, indices)

    def measure_cut(self, indices: Indices, plane: Hyperplane) -> float:
        """Return the increase of the normalised cut if a hyperplane splits a node with these rows.

        The normalised cut is the sum over all clusters of the share of their edges that leave the cluster. A cluster
        that has fewer rows than neighbours of each seems to be cut whatever its boundary is. If a side is small,
        therefore, only as many of the nearest neighbours count as half of its rows.
        """
        members = self.find_members(indices)
        sides = plane.on_positive_side(self.rows, members)
        smaller = min(np.count_nonzero(sides), np.count_nonzero(~sides))
        q = min(self.nearest.shape[1], max(1, int(smaller) // 2))
        return self._sum_shares(members, sides, q) - self._measure_share(members, q)

    def sum_cut(self, clusters: Indices) -> float:
        """Return the normalised cut of the clusters of all rows of the graph, by few neighbours of each row."""
        q = min(self.nearest.shape[1], constants.N_CUT_NEIGHBOURS)
        return sum(self._measure_share(np.flatnonzero(clusters == k), q) for k in np.unique(clusters))

    def choose_hyperplane(self, indices: Indices, planes: Sequence[Hyperplane], min_size: int) -> Hyperplane | None:
        """Return the hyperplane with the smallest normalised cut in relation to the evidence for its valley.

        Parameters
        ----------
        indices : ndarray of int
            Indices of the rows of a node.
        min_size : int
            Fewest rows on a side; None is returned if every hyperplane leaves fewer.
        """
        members = self.find_members(indices)
        if not planes or not len(members):
            return None
        rows = self.rows.subset(members)
        shifts = [shift[:, members] for shift in self.shifts]
        distances = np.array([plane.distance(rows) for plane in planes])
        sides = distances > 0.0
        share = len(members) / (len(indices) if self.weights is None else float(self.weights[indices].sum()))
        smaller = np.minimum(sides.sum(axis=1), (~sides).sum(axis=1))
        allowed = np.flatnonzero(smaller >= max(1.0, share * min_size)).tolist()
        if not allowed:
            return None
        cuts = np.array([self._sum_shares(members, sides[k]) for k in allowed])
        widening = share**-0.2  # of the bandwidth, for fewer rows
        evidence = np.array([self._measure_evidence(planes[k], distances[k], shifts, widening) for k in allowed])
        # A gap between repeated values may cut nothing, but is not evidence. If any hyperplane has enough evidence,
        # those with less are left out.
        is_shown = evidence > ENOUGH_EVIDENCE
        scores = cuts / np.maximum(evidence, constants.SMALLEST_EVIDENCE)
        best = allowed[int(np.argmin(np.where(is_shown | ~is_shown.any(), scores, np.inf)))]
        is_larger = 2 * np.count_nonzero(sides[best]) > len(members)
        return planes[best].reversed() if is_larger else planes[best]

    def _measure_evidence(self, plane: Hyperplane, distances: Array, shifts: list[Array], widening: float) -> float:
        """Return the evidence for the valley of a hyperplane, after repeated values are spread over their cells."""
        h, changes = widening * plane.bandwidth, self.grids.project(plane.normal)
        return min(min(measure_evidence(distances + changes @ shift, h, 0.0)) for shift in shifts)

    def _scale_rows(self, spread: bool) -> Any:
        """Return the rows in units in which their squares do not overflow; centred, unless they are sparse.

        Without spreading, the neighbours of a row of repeated values are its copies and those that share most of its
        values, so that a boundary between two values of a feature cuts almost nothing.
        """
        if self.rows.is_sparse:
            return self.rows.data / (float(abs(self.rows.data).max()) or 1.0)
        x = np.array(self.rows.to_array(), dtype=np.float64)
        unit = float(np.abs(x).max()) or 1.0
        x /= unit
        for grid, shift in zip(self.grids.grids, self.shifts[0], strict=True) if spread else ():
            widest = constants.WIDEST_SPREAD * x[:, grid.columns[0]].std() * unit
            with np.errstate(over="ignore"):
                limit = np.minimum(1.0, widest / np.maximum(grid.locate_cells(self.rows)[1], TINY))
            x[:, grid.columns] += np.outer(limit * shift / unit, grid.factors)
        x -= x.mean(axis=0)
        return x / (float(np.abs(x).max()) or 1.0)

    def _count_edges(self, q: int) -> Indices:
        """Return the number of edges that start or end at each row, with q neighbours."""
        return q + np.bincount(self.nearest[:, :q].ravel(), minlength=len(self.indices))

    def _measure_share(self, members: Indices, q: int | None = None) -> float:
        """Return the share of the edges of some rows that lead to other rows, with q neighbours (all by default)."""
        q = self.nearest.shape[1] if q is None else q
        degrees = self.degrees if q == self.nearest.shape[1] else self._count_edges(q)
        total = float(degrees[members].sum())
        is_member = np.zeros(len(self.indices), dtype=bool)
        is_member[members] = True
        return 1.0 - 2.0 * np.count_nonzero(is_member[self.nearest[members, :q]]) / total if total else 1.0

    def _sum_shares(self, members: Indices, side: NDArray[np.bool_], q: int | None = None) -> float:
        """Return the sum of the shares of edges that leave either side of a split of some rows."""
        return self._measure_share(members[side], q) + self._measure_share(members[~side], q)


def repeat_rows(weights: Array, most: int, rng: np.random.Generator) -> Indices:
    """Return sorted indices in which each row occurs in proportion to its weight.

    Integers that sum up to at most ``most`` are the numbers of repetitions. Otherwise at most ``most`` rows are drawn
    systematically, so that every row occurs as often as expected, up to rounding.
    """
    total = float(weights.sum())
    if total <= most and (weights == np.round(weights)).all():
        return np.repeat(np.arange(len(weights)), weights.astype(np.intp))
    m = min(most, int(np.count_nonzero(weights)))
    places = np.concatenate([[0.0], np.cumsum(weights) * (m / total)])
    counts = np.diff(np.floor(places + rng.random()))
    return np.repeat(np.arange(len(weights)), counts.astype(np.intp))


def find_positions(all_indices: Indices, some: Indices) -> Indices:
    """Return the positions of those sorted indices that are among some others, which are sorted, too."""
    at = np.minimum(np.searchsorted(some, all_indices), len(some) - 1)
    return np.flatnonzero(some[at] == all_indices)


def find_neighbours(data: Any, n_neighbours: int) -> Indices:
    """Return the positions of the nearest other rows of each row."""
    from sklearn.neighbors import NearestNeighbors

    if n_neighbours < 1:
        return np.zeros((data.shape[0], 0), dtype=np.intp)
    return np.asarray(NearestNeighbors(n_neighbors=n_neighbours).fit(data).kneighbors(return_distance=False))
