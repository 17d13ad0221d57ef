"""One graph of nearest neighbours: how many neighbours a partition separates.

The normalised cut of such a graph is a discrete relative of the density integrated along the boundary of a cluster
(Maier, von Luxburg & Hein 2009), divided by the size of the cluster. It can be compared between partitions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._properties import lazy_property
from ravine._typing import Array
from ravine.rows import Rows, draw_indices
from ravine.tree import constants
from ravine.validity.spread_rows import SpreadRows, spread_rows

Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class NeighbourGraph:
    """Nearest neighbours of rows, or of a random sample, in coordinates without repeated values.

    Attributes
    ----------
    indices : ndarray of shape (m,), int
        Indices of the rows in the graph, in the order of their values; with weights, each as often as its weight says.
    rows : SpreadRows
        These rows, and their nearest neighbours.
    """

    indices: Indices
    rows: SpreadRows

    @classmethod
    def of(
        cls,
        rows: Rows,
        rng: np.random.Generator,
        n_clusters: int = 1,
        weights: Array | None = None,
        drop_copies: bool = False,
    ) -> NeighbourGraph:
        """Make the graph of rows.

        Parameters
        ----------
        n_clusters : int
            Number of clusters that are expected.
        weights : ndarray of shape (n,), optional
        drop_copies : bool
            Whether equal rows count once, unless all features repeat their values. Copies are not evidence.
        """
        most = max(constants.MOST_GRAPH_ROWS, constants.ROWS_PER_CLUSTER * n_clusters)
        indices = (
            draw_indices(np.arange(rows.shape[0]), most, rng) if weights is None else repeat_rows(weights, most, rng)
        )
        return cls(*spread_rows(rows, indices, rng, drop_copies))

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def points(self) -> Array:
        """Coordinates in which neighbours are found."""
        return self.rows.points

    @property
    def nearest(self) -> Indices:
        """Positions in the graph of the nearest neighbours of each row."""
        return self.rows.nearest

    @property
    def dimension(self) -> float:
        """Effective dimension of the rows near their neighbours."""
        return self.rows.dimension

    @lazy_property
    def edge_weights(self) -> Array:
        """Weights of the edges: 1 if each row is a neighbour of the other, else `ONE_SIDED_WEIGHT`."""
        m = len(self)
        edges = self.nearest + m * np.arange(m)[:, None]
        reverse = m * self.nearest + np.arange(m)[:, None]
        return np.where(np.isin(reverse, edges), 1.0, constants.ONE_SIDED_WEIGHT)

    def count_edges(self, labels: Indices, n_labels: int) -> Array:
        """Return the symmetric matrix of the weights of the edges between groups of rows."""
        counts = np.bincount(
            (n_labels * labels[:, None] + labels[self.nearest]).ravel(),
            weights=self.edge_weights.ravel(),
            minlength=n_labels * n_labels,
        ).reshape(n_labels, n_labels)
        return np.asarray(counts + counts.T)

    @lazy_property
    def adjacency(self) -> Any:
        """Symmetric sparse matrix of the weights of the edges."""
        from scipy.sparse import csr_array

        m, q = self.nearest.shape
        starts = np.arange(0, m * q + 1, q) if q else np.zeros(m + 1, dtype=np.intp)
        matrix = csr_array((self.edge_weights.ravel(), self.nearest.ravel(), starts), shape=(m, m))
        return matrix + matrix.T

    def find_members(self, indices: Indices) -> Indices:
        """Return the positions in the graph of those of some rows, by their sorted indices, that it contains."""
        at = np.minimum(np.searchsorted(indices, self.indices), len(indices) - 1)
        return np.flatnonzero(indices[at] == self.indices)


def measure_cut(edges: Array) -> float:
    """Return the normalised cut of groups: the sum of the shares of their edges that lead to other groups."""
    volumes = edges.sum(axis=1)
    return float((1.0 - np.diagonal(edges) / np.maximum(volumes, 1e-300)).sum())


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
