"""Connected components of the level sets of a density, from the highest level down: modes, merges and cores."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree

from ravine_paper._typing import Array

__all__ = ["Merge", "ModeTree", "build_mode_tree", "find_cores"]

# Label of a row outside all cores.
NONE = -1

# Modes of the component that a row joins.
Modes = tuple[int, ...]


@dataclass(frozen=True)
class Merge:
    """Two groups of modes that become one.

    Attributes
    ----------
    modes : tuple of two tuples of int
        Numbers of the modes of either group, increasing.
    log_density : float
        At their saddle, the lowest row on the path between them.
    """

    modes: tuple[Modes, Modes]
    log_density: float


@dataclass(frozen=True)
class ModeTree:
    """Components of the level sets that appear and merge as the level falls.

    Attributes
    ----------
    mass : ndarray of shape (n_levels,)
        Least fraction of the rows at or above each level, increasing.
    levels : ndarray of shape (n_levels,)
        Logarithm of the density at each level, decreasing.
    n_components : ndarray of shape (n_levels,), int
        Number of components with at least two rows of each level set.
    births : ndarray of shape (n_modes,), int
        The level at which each mode appears.
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
        """Group the modes by undoing the lowest merges until there are ``n_clusters`` groups, or all modes.

        A group has the number of its first mode. There are more groups if the graph has more unconnected components.
        """
        group = np.arange(self.n_modes)
        missing = self.n_modes - n_clusters
        for merge in self.merges[: max(0, missing)]:
            one, other = (group[side[0]] for side in merge.modes)
            group[(group == one) | (group == other)] = min(one, other)
        return group


@dataclass
class Components:
    """Components of a growing graph: a union-find structure with the size and the modes of each component."""

    n: int
    parent: list[int] = field(init=False)
    size: list[int] = field(init=False)
    modes: list[Modes] = field(init=False)

    def __post_init__(self) -> None:
        self.parent = list(range(self.n))
        self.size = [1] * self.n
        self.modes = [()] * self.n

    def find_root(self, i: int) -> int:
        """Find the row that represents the component of row i."""
        while self.parent[i] != i:
            self.parent[i] = self.parent[self.parent[i]]
            i = self.parent[i]
        return i

    def join(self, one: int, other: int) -> None:
        """Join two different components, given by their roots."""
        if self.size[one] < self.size[other]:
            one, other = other, one
        self.parent[other] = one
        self.size[one] += self.size[other]
        self.modes[one] = tuple(sorted(self.modes[one] + self.modes[other]))


class _ModeTreeBuilder:
    """State of the construction of a mode tree while the level falls."""

    def __init__(self, n_rows: int) -> None:
        self.components = Components(n_rows)
        self.joined: list[Modes] = [()] * n_rows
        self.merges: list[Merge] = []
        self.births: list[int] = []
        self.n_components = 0  # with at least two rows
        self._alone: list[int] = []

    def add_edge(self, one: int, other: int, log_density: float) -> None:
        """Join the components of two rows by an edge that appears at this density."""
        components = self.components
        i, j = components.find_root(one), components.find_root(other)
        if components.modes[i] and components.modes[j]:
            sides = sorted((components.modes[i], components.modes[j]))
            self.merges.append(Merge((sides[0], sides[1]), log_density))
        self.n_components += 1 - (components.size[i] > 1) - (components.size[j] > 1)
        components.join(i, j)

    def add_rows(self, indices: list[int], level: int) -> None:
        """Let new rows, and those that were alone so far, join the modes of their component, or start a new mode."""
        waiting, self._alone = self._alone + indices, []
        for row in waiting:
            root = self.components.find_root(row)
            if self.components.size[root] == 1:
                self._alone.append(row)
                continue
            if not self.components.modes[root]:
                self.components.modes[root] = (len(self.births),)
                self.births.append(level)
            self.joined[row] = self.components.modes[root]


def _select_spanning_edges(edges: NDArray[np.intp], rank: NDArray[np.intp]) -> NDArray[np.intp]:
    """Select edges, by increasing rank, that connect every level set as all edges do.

    ``rank`` numbers the rows by decreasing density. An edge appears with its lower end, so a minimum spanning forest
    for the larger of the two ranks has the same components at every level.
    """
    n = len(rank)
    weight = rank[edges].max(axis=1).astype(np.float64) + 1.0  # SciPy ignores edges of weight zero
    ends = edges.astype(np.int32)  # the one type of indices that all versions of csgraph take
    graph = coo_array((weight, (ends[:, 0], ends[:, 1])), shape=(n, n)).tocsr()
    forest = minimum_spanning_tree(graph).tocoo()
    order = np.argsort(forest.data, kind="stable")
    return np.stack([forest.row[order], forest.col[order]], axis=1).astype(np.intp)


def build_mode_tree(log_density: Array, edges: NDArray[np.intp], n_grid: int) -> tuple[ModeTree, list[Modes]]:
    """Build the tree of modes on ``n_grid`` levels with equally many rows between them.

    Returns
    -------
    tree : ModeTree
    joined : list of tuple of int
        The modes that each row joins: those of its component at the first level where the row is not alone. Empty for
        rows that are alone, or below all levels.
    """
    n = len(log_density)
    order = np.argsort(-log_density, kind="stable")
    rank = np.empty(n, dtype=np.intp)
    rank[order] = np.arange(n)
    forest = _select_spanning_edges(edges, rank)
    entry = rank[forest].max(axis=1)
    steps = np.arange(1, n_grid + 1)
    levels = log_density[order[-(-steps * n // (n_grid + 1)) - 1]]  # ceil(mass n) rows, without rounding
    above = np.searchsorted(-log_density[order], -levels, side="right")  # rows at or above each level
    builder = _ModeTreeBuilder(n)
    counts: list[int] = []
    seen = done = 0
    for level, end in enumerate(above.tolist()):
        while done < len(forest) and entry[done] < end:
            one, other = forest[done].tolist()
            builder.add_edge(one, other, float(log_density[order[entry[done]]]))
            done += 1
        builder.add_rows(order[seen:end].tolist(), level)
        seen = end
        counts.append(builder.n_components)
    births = np.array(builder.births, dtype=np.intp)
    mass = steps / (n_grid + 1)
    tree = ModeTree(mass, levels, np.array(counts, dtype=np.intp), births, tuple(builder.merges))
    return tree, builder.joined


def find_cores(joined: list[Modes], groups: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the group of each row that joined modes of one group only; -1 for the others."""
    core = np.full(len(joined), NONE, dtype=np.intp)
    for row, modes in enumerate(joined):
        if modes and (groups[list(modes)] == groups[modes[0]]).all():
            core[row] = groups[modes[0]]
    return core
