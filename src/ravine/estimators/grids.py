"""Columns of repeated values (counts, ratings, yes and no), and what to do about them in a test of densities.

A projection of such columns is a comb of spikes, and the gaps between spikes look like valleys. A value on a grid
stands for its whole cell, so it is spread uniformly over the cell: a histogram instead of a comb.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array

__all__ = ["Grids"]

# A column is on a grid if, among this many rows, at least this share have a value that another row has, too.
LOOKED_AT = 1000
SHARED = 0.5
# Rows from which the values of a grid are read off.
READ_OFF = 50_000


@dataclass(frozen=True)
class Grids:
    """The columns that are on a grid, and the values there.

    Attributes
    ----------
    columns : ndarray of shape (g,), int
    values : tuple of ndarray
        The distinct values of each of these columns, sorted.
    """

    columns: NDArray[np.intp]
    values: tuple[Array, ...]

    @classmethod
    def of(cls, X: NDArray[np.floating[Any]], rows: NDArray[np.intp], rng: np.random.Generator) -> Grids:
        """Look at (at most 1000 random) rows: on a grid is a column where at least half share their value."""
        more = rng.permutation(rows)[:READ_OFF]
        few = X[more[:LOOKED_AT]]
        columns, values = [], []
        for j in range(X.shape[1]):
            _, counts = np.unique(few[:, j], return_counts=True)
            if counts[counts > 1].sum() >= SHARED * len(few):
                distinct = np.unique(X[more, j]).astype(np.float64)
                if len(distinct) > 1:
                    columns.append(j)
                    values.append(distinct)
        return cls(np.array(columns, dtype=np.intp), tuple(values))

    def spread(
        self, X: NDArray[np.floating[Any]], rows: NDArray[np.intp], direction: Array, rng: np.random.Generator
    ) -> Array:
        """What to add to the projections of rows on a direction so that each is uniform in its cell.

        A cell reaches half way to the neighbouring values; the outermost are as wide as their inner half, twice.
        """
        out = np.zeros(len(rows))
        for j, values in zip(self.columns.tolist(), self.values, strict=True):
            middles = 0.5 * (values[1:] + values[:-1])
            edges = np.concatenate([[2.0 * values[0] - middles[0]], middles, [2.0 * values[-1] - middles[-1]]])
            x = X[rows, j].astype(np.float64)
            cell = np.clip(np.searchsorted(middles, x), 0, len(values) - 1)
            out += direction[j] * (edges[cell] + rng.random(len(rows)) * (edges[cell + 1] - edges[cell]) - x)
        return out
