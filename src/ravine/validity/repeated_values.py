"""Columns of repeated values (counts, ratings, yes and no), and what to do about them in a test of densities.

A projection of such columns is a comb of spikes, and the gaps between spikes look like valleys. A value on a grid
stands for its whole cell, so it is spread uniformly over the cell: a histogram instead of a comb.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.rows import as_rows

__all__ = ["Grid", "Grids"]

# A column is on a grid if, among this many rows, at least this share have a value that another row has, too.
LOOKED_AT = 1000
SHARED = 0.5
# Rows from which the values of a grid are read off.
READ_OFF = 50_000
# Two columns whose correlation differs from 1 or -1 by less than this are one.
SAME = 1e-6
# From this correlation on they are spread together, too.
RELATED = 0.5


@dataclass(frozen=True)
class Grid:
    """A column on a grid, and the columns that are linear functions of it (yes and no as two columns, say).

    Attributes
    ----------
    columns : ndarray of shape (g,), int
        The column itself first.
    factors : ndarray of shape (g,)
        By how much each changes with the first.
    values : ndarray of shape (k,)
        The distinct values of the first, sorted.
    """

    columns: NDArray[np.intp]
    factors: Array
    values: Array


@dataclass(frozen=True)
class Grids:
    """The columns that are on a grid.

    Attributes
    ----------
    grids : tuple of Grid
    kin : ndarray of shape (g,), int
        Number of the family of each grid: those that are strongly correlated.
    signs : ndarray of shape (g,)
        Whether it rises or falls with the first of its family.
    """

    grids: tuple[Grid, ...]
    kin: NDArray[np.intp]
    signs: Array

    @classmethod
    def of(cls, X: Any, rows: NDArray[np.intp], rng: np.random.Generator) -> Grids:
        """Look at (at most 1000 random) rows: on a grid is a column where at least half share their value."""
        more = rng.choice(rows, min(len(rows), READ_OFF), replace=False)
        seen = as_rows(X).take(more)
        few = seen[:LOOKED_AT]
        columns, values = [], []
        for j in range(X.shape[1]):
            _, counts = np.unique(few[:, j], return_counts=True)
            if counts[counts > 1].sum() >= SHARED * len(few):
                distinct = np.unique(seen[:, j]).astype(np.float64)
                if len(distinct) > 1:
                    columns.append(j)
                    values.append(distinct)
        grids = tuple(_grouped(seen, columns, values))
        return cls(grids, *_families(seen[:, [grid.columns[0] for grid in grids]].astype(np.float64)))

    @property
    def related(self) -> bool:
        """Whether any are strongly correlated."""
        return len(np.unique(self.kin)) < len(self.kin)

    @property
    def columns(self) -> list[int]:
        """All columns on a grid."""
        return sorted(int(j) for grid in self.grids for j in grid.columns)

    def spread(
        self,
        X: Any,
        rows: NDArray[np.intp],
        direction: Array,
        rng: np.random.Generator,
        together: bool = False,
    ) -> Array:
        """What to add to the projections of rows on a direction so that each is uniform in its cell.

        A cell reaches half way to the neighbouring values; the outermost are as wide as their inner half, twice. Grids
        are spread independently or, with ``together``, families of strongly correlated ones by the same amounts: of two
        questions that nearly everybody answers alike, the sum is a comb with twice the gaps.
        """
        out = np.zeros(len(rows))
        shared = [rng.random(len(rows)) for _ in range(int(self.kin.max(initial=-1)) + 1)] if together else []
        for k, grid in enumerate(self.grids):
            u = shared[self.kin[k]] if together else rng.random(len(rows))
            u = 1.0 - u if together and self.signs[k] < 0.0 else u
            values = grid.values
            middles = 0.5 * (values[1:] + values[:-1])
            edges = np.concatenate([[2.0 * values[0] - middles[0]], middles, [2.0 * values[-1] - middles[-1]]])
            x = as_rows(X).column(int(grid.columns[0]), rows).astype(np.float64)
            cell = np.clip(np.searchsorted(middles, x), 0, len(values) - 1)
            moved = edges[cell] + u * (edges[cell + 1] - edges[cell]) - x
            out += float(direction[grid.columns] @ grid.factors) * moved
        return out


def _grouped(rows: NDArray[np.floating[Any]], columns: list[int], values: list[Array]) -> Iterator[Grid]:
    """Columns that are linear functions of one another, together: spread one by one they would look independent."""
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


def _families(z: Array) -> tuple[NDArray[np.intp], Array]:
    """Families of strongly correlated columns: the number of each column's, and its sign in it."""
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
