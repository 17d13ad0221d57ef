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
from ravine.rows import Rows
from ravine.validity.repeated_values import Grids

__all__ = ["NeighbourGraph"]

# Number of rows in the graph, at least, and for each cluster.
FEWEST_ROWS, ROWS_PER_CLUSTER = 3000, 100
# Each row has this many neighbours, or fewer if clusters of equal size would have fewer than twice as many rows.
MOST_NEIGHBOURS, FEWEST_NEIGHBOURS = 40, 5
# Smaller evidence counts as this.
LEAST_EVIDENCE = 0.1


class NeighbourGraph:
    """Nearest neighbours of rows, or of a random sample if these are many.

    Parameters
    ----------
    rows : Rows
    n_clusters : int or None
        Number of clusters that are expected.
    rng : numpy.random.Generator

    Attributes
    ----------
    indices : ndarray of shape (m,), int
        Indices of the rows in the graph, sorted.
    edges : csr_array of shape (m, m)
        Number of times that one of two rows is a neighbour of the other: 0, 1 or 2.
    degrees : ndarray of shape (m,)
        Sums of the rows of ``edges``.
    """

    def __init__(self, rows: Rows, n_clusters: int | None, rng: np.random.Generator) -> None:
        k = 2 if n_clusters is None else n_clusters
        n, most = rows.shape[0], max(FEWEST_ROWS, ROWS_PER_CLUSTER * k)
        self.indices = np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
        self.rows = rows if n <= most and rows.in_memory else rows.subset(self.indices, copy=True)
        m = len(self.indices)
        n_neighbours = min(max(m // (2 * k), FEWEST_NEIGHBOURS), MOST_NEIGHBOURS, m - 1)
        self.edges = _connect_neighbours(_scale_rows(self.rows), n_neighbours)
        self.seed = int(rng.integers(2**31))
        self.grids = Grids((), np.zeros(0, dtype=np.intp), np.zeros(0)) if rows.is_sparse else Grids.of(self.rows, rng)
        self.degrees = np.asarray(self.edges.sum(axis=1), dtype=np.float64)

    def find_members(self, indices: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the positions in the graph of those of some rows, by their sorted indices, that it contains."""
        at = np.minimum(np.searchsorted(indices, self.indices), len(indices) - 1)
        return np.flatnonzero(indices[at] == self.indices)

    def measure_cut(self, indices: NDArray[np.intp], plane: Hyperplane) -> float:
        """Return the increase of the normalised cut if a hyperplane splits a node with these rows.

        The normalised cut is the sum over all clusters of the share of their edges that leave the cluster.
        """
        members = self.find_members(indices)
        sides = plane.on_positive_side(self.rows, members)
        return float(self._sum_shares(members, sides[:, None])[0] - self._measure_share(members))

    def sum_cut(self, clusters: NDArray[np.intp]) -> float:
        """Return the normalised cut of the clusters of all rows of the graph."""
        return sum(self._measure_share(np.flatnonzero(clusters == k)) for k in np.unique(clusters))

    def choose_hyperplane(
        self, indices: NDArray[np.intp], planes: Sequence[Hyperplane], min_size: int
    ) -> Hyperplane | None:
        """Return the hyperplane with the smallest normalised cut in relation to the evidence for its valley.

        Parameters
        ----------
        indices : ndarray of int
            Indices of the rows of a node.
        planes : sequence of Hyperplane
        min_size : int
            Fewest rows on a side; None is returned if every hyperplane leaves fewer.
        """
        members = self.find_members(indices)
        if not planes or not len(members):
            return None
        rows = self.rows.subset(members)
        distances = np.array([plane.distance(rows) for plane in planes])
        sides = distances > 0.0
        share = len(members) / len(indices)
        smaller = np.minimum(sides.sum(axis=1), (~sides).sum(axis=1))
        allowed = np.flatnonzero(smaller >= max(1.0, share * min_size)).tolist()
        if not allowed:
            return None
        cuts = self._sum_shares(members, sides[allowed].T)
        widening = share**-0.2  # of the bandwidth, for fewer rows
        evidence = [self._measure_evidence(rows, planes[k], distances[k], widening) for k in allowed]
        best = allowed[int(np.argmin(cuts / np.maximum(evidence, LEAST_EVIDENCE)))]
        is_larger = 2 * np.count_nonzero(sides[best]) > len(members)
        return planes[best].reversed() if is_larger else planes[best]

    def _measure_evidence(self, rows: Rows, plane: Hyperplane, distances: Array, widening: float) -> float:
        """Return the evidence for the valley of a hyperplane, after repeated values are spread over their cells."""
        spread = self.grids.spread(rows, plane.normal, np.random.default_rng(self.seed))
        return min(min(measure_evidence(distances + added, widening * plane.bandwidth, 0.0)) for added in spread)

    def _measure_share(self, members: NDArray[np.intp]) -> float:
        """Return the share of the edges of some rows that lead to other rows."""
        total = float(self.degrees[members].sum())
        return 1.0 - float(self.edges[members][:, members].sum()) / total if total else 1.0

    def _sum_shares(self, members: NDArray[np.intp], sides: NDArray[np.bool_]) -> Array:
        """Return, for every split of some rows (column), the sum of the shares of edges that leave either side."""
        edges, degrees = self.edges[members][:, members], self.degrees[members]
        right = sides.astype(np.float64)
        reached = edges @ right
        inside = np.einsum("ij,ij->j", right, reached)
        inside_left = edges.sum() - 2.0 * reached.sum(axis=0) + inside
        total = degrees @ right
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = 2.0 - inside / total - inside_left / (degrees.sum() - total)
        return np.where(np.isfinite(shares), shares, 2.0)


def _scale_rows(rows: Rows) -> Any:
    """Return rows in units in which their squares do not overflow: centred, unless they are sparse."""
    if rows.is_sparse:
        return rows.data / (float(abs(rows.data).max()) or 1.0)
    x = np.asarray(rows.to_array(), dtype=np.float64)
    x = x / (float(np.abs(x).max()) or 1.0)
    x -= x.mean(axis=0)
    return x / (float(np.abs(x).max()) or 1.0)


def _connect_neighbours(data: Any, n_neighbours: int) -> Any:
    """Return the symmetric matrix of the numbers of times that rows are neighbours."""
    from scipy.sparse import csr_array
    from sklearn.neighbors import NearestNeighbors

    n = data.shape[0]
    if n_neighbours < 1:
        return csr_array((n, n))
    graph = csr_array(NearestNeighbors(n_neighbors=n_neighbours).fit(data).kneighbors_graph())
    return csr_array(graph + graph.T)
