"""Features of repeated values (counts, ratings, yes and no) in a test of densities.

A projection of such features consists of spikes, and the gaps between spikes look like valleys. A value on a grid
represents its whole cell, so it is spread uniformly over the cell: a histogram instead of spikes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.rows import Rows

__all__ = ["Grid", "Grids"]

# A feature lies on a grid if, among this many rows, at least this share have a value that another row has, too.
EXAMINED = 1000
SHARED = 0.5
# Number of rows from which the values of a grid are taken.
MOST_ROWS = 50_000
# Two features whose correlation differs from 1 or -1 by less than this are one.
SAME = 1e-6
# Features with a correlation above this are spread together, too.
RELATED = 0.5


@dataclass(frozen=True)
class Grid:
    """A feature on a grid, and the features that are linear functions of it (for example yes and no as two features).

    Attributes
    ----------
    columns : ndarray of shape (g,), int
        Indices of the features, the first one first.
    factors : ndarray of shape (g,)
        Change of each feature per unit of the first.
    values : ndarray of shape (k,)
        Distinct values of the first feature, sorted.
    """

    columns: NDArray[np.intp]
    factors: Array
    values: Array


@dataclass(frozen=True)
class Grids:
    """Features whose values lie on a grid.

    Attributes
    ----------
    grids : tuple of Grid
    kin : ndarray of shape (g,), int
        Number of the family of each grid: a family is strongly correlated.
    signs : ndarray of shape (g,)
        Whether each grid rises or falls with the first of its family.
    """

    grids: tuple[Grid, ...]
    kin: NDArray[np.intp]
    signs: Array

    @classmethod
    def of(cls, rows: Rows, rng: np.random.Generator) -> Grids:
        """Find the features in which at least half of (at most 1000 random) rows share their value with another row."""
        n = rows.shape[0]
        seen = rows.take(rng.choice(n, min(n, MOST_ROWS), replace=False))
        few = seen[:EXAMINED]
        columns, values = [], []
        for j in range(rows.shape[1]):
            _, counts = np.unique(few[:, j], return_counts=True)
            if counts[counts > 1].sum() >= SHARED * len(few):
                distinct = np.unique(seen[:, j]).astype(np.float64)
                if len(distinct) > 1:
                    columns.append(j)
                    values.append(distinct)
        grids = tuple(_group_features(seen, columns, values))
        return cls(grids, *_find_families(seen[:, [grid.columns[0] for grid in grids]].astype(np.float64)))

    @property
    def related(self) -> bool:
        """Whether any grids are strongly correlated."""
        return len(np.unique(self.kin)) < len(self.kin)

    @property
    def columns(self) -> list[int]:
        """All features on a grid."""
        return sorted(int(j) for grid in self.grids for j in grid.columns)

    def spread(
        self,
        rows: Rows,
        indices: NDArray[np.intp],
        direction: Array,
        rng: np.random.Generator,
        together: bool = False,
    ) -> Array:
        """Return what to add to the projections of some rows on a direction so that each value is uniform in its cell.

        A cell reaches half way to the neighbouring values; an outermost cell is twice as wide as its inner half. Grids
        are spread independently or, with ``together``, families of strongly correlated ones by the same amounts: the
        sum of two questions that nearly all people answer alike has twice the gaps.
        """
        out = np.zeros(len(indices))
        shared = [rng.random(len(indices)) for _ in range(int(self.kin.max(initial=-1)) + 1)] if together else []
        for k, grid in enumerate(self.grids):
            u = shared[self.kin[k]] if together else rng.random(len(indices))
            u = 1.0 - u if together and self.signs[k] < 0.0 else u
            values = grid.values
            middles = 0.5 * (values[1:] + values[:-1])
            edges = np.concatenate([[2.0 * values[0] - middles[0]], middles, [2.0 * values[-1] - middles[-1]]])
            x = rows.column(int(grid.columns[0]), indices).astype(np.float64)
            cell = np.clip(np.searchsorted(middles, x), 0, len(values) - 1)
            moved = edges[cell] + u * (edges[cell + 1] - edges[cell]) - x
            out += float(direction[grid.columns] @ grid.factors) * moved
        return out


def _group_features(rows: NDArray[np.floating[Any]], columns: list[int], values: list[Array]) -> Iterator[Grid]:
    """Yield features that are linear functions of one another together: spread separately they look independent."""
    if not columns:
        return
    z = rows[:, columns].astype(np.float64)
    z -= z.mean(axis=0)
    deviations = np.sqrt(np.mean(z**2, axis=0))
    z /= deviations
    correlations = z.T @ z / len(z)
    waiting = list(range(len(columns)))
    while waiting:
        first = waiting[0]
        same = [k for k in waiting if abs(correlations[first, k]) > 1.0 - SAME]
        factors = np.sign(correlations[first, same]) * deviations[same] / deviations[first]
        yield Grid(np.array([columns[k] for k in same], dtype=np.intp), factors, values[first])
        waiting = [k for k in waiting if k not in same]


def _find_families(z: Array) -> tuple[NDArray[np.intp], Array]:
    """Return the number of the family of strongly correlated features that each belongs to, and its sign in it."""
    kin, signs = np.full(z.shape[1], -1, dtype=np.intp), np.ones(z.shape[1])
    if not z.shape[1]:
        return kin, signs
    z = (z - z.mean(axis=0)) / z.std(axis=0)
    correlations = z.T @ z / len(z)
    for j in range(len(kin)):
        if kin[j] < 0:
            kin[j], waiting = kin.max() + 1, [j]
            while waiting:
                k = waiting.pop()
                new = np.flatnonzero((np.abs(correlations[k]) > RELATED) & (kin < 0))
                kin[new], signs[new] = kin[j], signs[k] * np.sign(correlations[k, new])
                waiting += new.tolist()
    return kin, signs
