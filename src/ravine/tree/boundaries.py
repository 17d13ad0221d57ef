"""Boundaries between groups of rows of a graph, and joins of cells that no valley separates.

Clusters of any shape are unions of convex cells. The two groups of cells with the most edges between them, in relation
to their sizes, are joined first. A pair is left apart if a valley separates it. Where a number of clusters is given,
joins go on across the weakest boundaries.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.tree.editing import label_unions
from ravine.tree.graph import NeighbourGraph

Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]


def measure_contact(graph: NeighbourGraph, first: Mask, second: Mask) -> float:
    """Return the evidence for a valley between two groups of rows; infinity if too few rows are near the boundary."""
    contact = graph.rows.find_contact(first, second)
    return math.inf if contact is None else contact.evidence


@dataclass(frozen=True)
class Join:
    """Join of two groups of cells.

    Attributes
    ----------
    first, second : int
        A cell of each group.
    evidence : float
        z-score for a valley between the groups; minus infinity if there is none, infinity if they do not touch.
    """

    first: int
    second: int
    evidence: float


@dataclass
class _Groups:
    """Groups of cells while they are joined; a group has the number of one of its cells."""

    members: dict[int, frozenset[int]]
    edges: Array
    volumes: Array
    sizes: Array
    joins: list[Join] = field(default_factory=list)

    def join(self, i: int, j: int, evidence: float) -> None:
        """Join group j to group i."""
        self.members[i] |= self.members.pop(j)
        for values in (self.edges, self.edges.T, self.volumes, self.sizes):
            values[i] += values[j]
            values[j] = 0.0
        self.edges[i, i] = 0.0
        self.joins.append(Join(i, j, evidence))

    def list_pairs(self) -> Iterator[tuple[int, int]]:
        """Yield all pairs of groups with edges between them, the most edges in relation to their volumes first."""
        numbers = np.fromiter(self.members, dtype=np.intp)
        i, j = (numbers[places] for places in np.triu_indices(len(numbers), 1))
        connected = self.edges[i, j] > 0.0
        i, j = i[connected], j[connected]
        order = np.argsort(-self.edges[i, j] / (self.volumes[i] * self.volumes[j]), kind="stable")
        yield from zip(i[order].tolist(), j[order].tolist(), strict=True)


class Joiner:
    """Cells of the rows of a graph, and the evidence for valleys between groups of them.

    Parameters
    ----------
    cell_of_row : ndarray of shape (m,), int
        Cell of each row of the graph: 0, 1, ...
    fewest : int
        Groups with fewer rows of the graph are always joined.
    """

    def __init__(self, graph: NeighbourGraph, cell_of_row: Indices, fewest: float = 0.0) -> None:
        self.graph, self.cell_of_row, self.fewest = graph, cell_of_row, fewest
        self.n_cells = int(cell_of_row.max()) + 1
        self.edges = graph.count_edges(cell_of_row, self.n_cells)
        self._known: dict[frozenset[frozenset[int]], float] = {}

    def measure(self, first: frozenset[int], second: frozenset[int]) -> float:
        """Return the evidence for a valley between two groups; infinity if only a few rows of one are near the other.

        Such rows are strays: without a neighbour in their own group, they are in one of its cells by chance.
        """
        key = frozenset((first, second))
        if key not in self._known:
            self._known[key] = measure_contact(self.graph, self._contain(first), self._contain(second))
        return self._known[key]

    def _contain(self, cells: frozenset[int]) -> NDArray[np.bool_]:
        """Return which rows of the graph are in some cells."""
        chosen = np.zeros(self.n_cells, dtype=bool)
        chosen[list(cells)] = True
        return np.asarray(chosen[self.cell_of_row])

    def join(self, threshold: float, n_clusters: int = 1) -> list[Join]:
        """Join all pairs that no valley separates, with an evidence of at least ``threshold``."""
        groups = self._make_groups()
        while len(groups.members) > n_clusters:
            for i, j in groups.list_pairs():
                evidence = self.measure(groups.members[i], groups.members[j])
                if not evidence >= threshold or min(groups.sizes[i], groups.sizes[j]) < self.fewest:
                    groups.join(i, j, evidence)
                    break
            else:
                small = [i for i in groups.members if groups.sizes[i] < self.fewest]
                if not small:
                    break
                groups.join(*self._find_nearest(groups, small[:1]), math.inf)
        return groups.joins

    def complete(self, joins: list[Join], n_clusters: int = 1) -> list[Join]:
        """Continue joins across the weakest boundaries, then to the nearest centre, until some clusters remain."""
        groups = self._make_groups()
        for made in joins:
            groups.join(made.first, made.second, made.evidence)
        while len(groups.members) > n_clusters:
            pairs = [(self.measure(groups.members[i], groups.members[j]), i, j) for i, j in groups.list_pairs()]
            if pairs:
                evidence, i, j = min(pairs, key=lambda pair: pair[0])
            else:
                evidence, (i, j) = math.inf, self._find_nearest(groups, list(groups.members))
            groups.join(i, j, evidence)
        return groups.joins

    def _make_groups(self) -> _Groups:
        sizes = np.bincount(self.cell_of_row, minlength=self.n_cells).astype(np.float64)
        volumes = self.edges.sum(axis=1)
        edges = self.edges.copy()
        np.fill_diagonal(edges, 0.0)
        return _Groups({i: frozenset([i]) for i in range(self.n_cells)}, edges, volumes, sizes)

    def _find_nearest(self, groups: _Groups, some: list[int]) -> tuple[int, int]:
        """Return the two groups with the closest centres, of which one is among some; the larger one first."""
        numbers = list(groups.members)
        centers = np.array([self.graph.points[self._contain(groups.members[i])].mean(axis=0) for i in numbers])
        distances = np.linalg.norm(centers[:, None] - centers, axis=2)
        np.fill_diagonal(distances, np.inf)
        distances[~np.isin(numbers, some)] = np.inf
        i, j = (numbers[k] for k in np.unravel_index(int(distances.argmin()), distances.shape))
        return (i, j) if groups.sizes[i] >= groups.sizes[j] else (j, i)


def label_cells(n_cells: int, joins: list[Join]) -> Indices:
    """Return the group of each cell after some joins: 0, 1, ... in the order of the first cells."""
    return label_unions(n_cells, [(made.first, made.second) for made in joins])
