"""Connected parts of the level sets of a density, from the highest level down: modes, their merging, and cores."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree

from ravine._typing import Array

__all__ = ["Merge", "ModeTree", "cores", "mode_tree", "spanning_edges"]

NONE = -1


@dataclass(frozen=True)
class Merge:
    """Two groups of modes become one.

    Attributes
    ----------
    modes : tuple of two tuples of int
        Numbers of the modes of either side, increasing.
    log_density : float
        Of the lowest row on the path between them: their saddle.
    """

    modes: tuple[tuple[int, ...], tuple[int, ...]]
    log_density: float


@dataclass(frozen=True)
class ModeTree:
    """How the parts of the level sets appear and merge as the level sinks.

    Attributes
    ----------
    mass : ndarray of shape (n_levels,)
        Fraction of the rows that are at least at or above each level, increasing.
    levels : ndarray of shape (n_levels,)
        Logarithm of the density at each level, decreasing.
    n_components : ndarray of shape (n_levels,), int
        Parts of at least two rows of each level set.
    births : ndarray of shape (n_modes,), int
        The level at which each mode is seen first.
    merges : tuple of Merge
        By decreasing density.
    """

    mass: Array
    levels: Array
    n_components: NDArray[np.intp]
    births: NDArray[np.intp]
    merges: tuple[Merge, ...]

    @property
    def n_modes(self) -> int:
        """Number of modes."""
        return len(self.births)

    def groups(self, n_clusters: int) -> NDArray[np.intp]:
        """The group of each mode when the lowest merges are undone until there are ``n_clusters`` groups, or all modes.

        Groups have the number of their first mode. There are more if the graph has more separate parts.
        """
        group = np.arange(self.n_modes)
        missing = self.n_modes - n_clusters
        for merge in self.merges[: max(0, missing)]:
            one, other = (group[side[0]] for side in merge.modes)
            group[(group == one) | (group == other)] = min(one, other)
        return group


@dataclass
class Components:
    """Parts of a growing graph: a union-find that knows size and modes of each part."""

    n: int
    parent: list[int] = field(init=False)
    size: list[int] = field(init=False)
    modes: list[tuple[int, ...]] = field(init=False)

    def __post_init__(self) -> None:
        self.parent = list(range(self.n))
        self.size = [1] * self.n
        self.modes = [()] * self.n

    def root(self, i: int) -> int:
        """The row that stands for the part of row i."""
        while self.parent[i] != i:
            self.parent[i] = self.parent[self.parent[i]]
            i = self.parent[i]
        return i

    def join(self, one: int, other: int) -> None:
        """Make one of two different parts, given by their roots."""
        if self.size[one] < self.size[other]:
            one, other = other, one
        self.parent[other] = one
        self.size[one] += self.size[other]
        self.modes[one] = tuple(sorted(self.modes[one] + self.modes[other]))


def spanning_edges(edges: NDArray[np.intp], rank: NDArray[np.intp]) -> NDArray[np.intp]:
    """The few edges that connect every level set as all of them do, by increasing rank.

    ``rank`` numbers the rows by decreasing density. An edge appears with its lower end, so a minimum spanning forest
    for the larger of the two ranks has the same parts at every level.
    """
    n = len(rank)
    weight = rank[edges].max(axis=1).astype(np.float64) + 1.0  # SciPy takes zero for no edge
    graph = coo_array((weight, (edges[:, 0], edges[:, 1])), shape=(n, n)).tocsr()
    forest = minimum_spanning_tree(graph).tocoo()
    order = np.argsort(forest.data, kind="stable")
    return np.stack([forest.row[order], forest.col[order]], axis=1).astype(np.intp)


def mode_tree(log_density: Array, edges: NDArray[np.intp], n_grid: int) -> tuple[ModeTree, list[tuple[int, ...]]]:
    """The tree of modes on ``n_grid`` levels between which equally many rows lie, and what each row joins.

    A row joins the modes that its part of the level set holds at the first level where it is not alone; none for rows
    that are always below the levels, or alone.
    """
    n = len(log_density)
    order = np.argsort(-log_density, kind="stable")
    rank = np.empty(n, dtype=np.intp)
    rank[order] = np.arange(n)
    forest = spanning_edges(edges, rank)
    entry = rank[forest].max(axis=1)
    steps = np.arange(1, n_grid + 1)
    mass = steps / (n_grid + 1)
    levels = log_density[order[-(-steps * n // (n_grid + 1)) - 1]]  # ceil(mass n) rows, without rounding
    above = np.searchsorted(-log_density[order], -levels, side="right")  # rows at or above each level
    parts = Components(n)
    joined: list[tuple[int, ...]] = [()] * n
    merges: list[Merge] = []
    births: list[int] = []
    counts: list[int] = []
    alone: list[int] = []
    seen = done = count = 0
    for level, end in enumerate(above.tolist()):
        while done < len(forest) and entry[done] < end:
            i, j = (parts.root(int(row)) for row in forest[done])
            if parts.modes[i] and parts.modes[j]:
                sides = sorted((parts.modes[i], parts.modes[j]))
                merges.append(Merge((sides[0], sides[1]), float(log_density[order[entry[done]]])))
            count += 1 - (parts.size[i] > 1) - (parts.size[j] > 1)
            parts.join(i, j)
            done += 1
        waiting, alone = alone + order[seen:end].tolist(), []
        seen = end
        for row in waiting:
            root = parts.root(row)
            if parts.size[root] == 1:
                alone.append(row)
                continue
            if not parts.modes[root]:
                parts.modes[root] = (len(births),)
                births.append(level)
            joined[row] = parts.modes[root]
        counts.append(count)
    tree = ModeTree(mass, levels, np.array(counts, dtype=np.intp), np.array(births, dtype=np.intp), tuple(merges))
    return tree, joined


def cores(joined: list[tuple[int, ...]], groups: NDArray[np.intp]) -> NDArray[np.intp]:
    """The group of each row that joined modes of one group only; -1 for the others."""
    core = np.full(len(joined), NONE, dtype=np.intp)
    for row, modes in enumerate(joined):
        if modes and (groups[list(modes)] == groups[modes[0]]).all():
            core[row] = groups[modes[0]]
    return core
