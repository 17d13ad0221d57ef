"""Repeated values of sparse rows with many features: the zeros.

Almost every feature of text lies on a grid, since most of its values are zero. Spreading each feature of each row over
its cell would store the zeros. Only the features that contribute most to a projection are therefore spread one by one;
the sum of the many others is normal, with the mean and the variance of the spread values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.rows import Rows, as_rows, draw_indices
from ravine.validity.directions import MANY_FEATURES
from ravine.validity.repeated_values import EXAMINED, SHARED, Grids, find_repeating

# Largest number of random rows whose values define the grids.
MOST_SPARSE_ROWS = 20_000
# Number of features, those that spreading moves most along a direction, that are spread one by one.
SPREAD_ALONE = 64
# Number of rows whose values define the grids of these features.
SEEN_ROWS = 5000


def find_grids(rows: Rows, rng: np.random.Generator) -> Grids | SparseGrids:
    """Find the features of repeated values."""
    if rows.is_sparse and rows.shape[1] > MANY_FEATURES:
        return SparseGrids.of(rows, rng)
    return Grids.of(rows, rng)


@dataclass(frozen=True, eq=False)
class CellTable:
    """Cells of the values of many features, one after the other.

    Attributes
    ----------
    columns : ndarray of shape (g,), int
        Features on a grid, sorted.
    keys : ndarray of int
        Ends of cells between two values of a feature, as the rank of the end plus a multiple of the feature's number.
    ends : ndarray
        Those ends, in increasing order and each once.
    starts : ndarray of shape (g,), int
        Position of the first cell of each feature among all ``edges``; minus its number, among the ``keys``.
    edges : ndarray
        All ends of the cells, one more for each feature than it has cells.
    """

    columns: NDArray[np.intp]
    keys: NDArray[np.int64]
    ends: Array
    starts: NDArray[np.intp]
    edges: Array

    @classmethod
    def of(cls, seen: Any, on_grid: NDArray[np.bool_]) -> CellTable:
        """Make the cells of those features of a sparse matrix that are on a grid and vary."""
        stored = seen[:, on_grid].tocsc()
        g = stored.shape[1]
        owner = np.repeat(np.arange(g), np.diff(stored.indptr))
        with_zero = np.flatnonzero(np.diff(stored.indptr) < stored.shape[0])
        owner, values = np.append(owner, with_zero), np.append(stored.data, np.zeros(len(with_zero)))
        order = np.lexsort((values, owner))
        owner, values = owner[order], values[order]
        is_new = np.append(True, (owner[1:] != owner[:-1]) | (values[1:] != values[:-1]))
        owner, values = owner[is_new], values[is_new]
        varies = np.bincount(owner, minlength=g) > 1
        keep = varies[owner]
        owner, values = (np.cumsum(varies) - 1)[owner[keep]], values[keep]
        return cls._of_values(np.flatnonzero(on_grid)[varies], owner, values)

    @classmethod
    def _of_values(cls, columns: NDArray[np.intp], owner: NDArray[np.intp], values: Array) -> CellTable:
        """Make the cells of sorted distinct values of features, at least two of each."""
        g = len(columns)
        first = np.searchsorted(owner, np.arange(g))
        last = np.searchsorted(owner, np.arange(g), side="right") - 1
        is_inner = owner[1:] == owner[:-1]
        middles = 0.5 * (values[1:] + values[:-1])[is_inner]
        owner_of_middle = owner[1:][is_inner]
        ends = np.unique(middles)
        keys = owner_of_middle.astype(np.int64) * (len(ends) + 1) + np.searchsorted(ends, middles)
        starts = first + np.arange(g)
        edges = np.empty(len(values) + g)
        edges[np.arange(len(middles)) + 1 + 2 * owner_of_middle] = middles
        edges[starts] = 2.0 * values[first] - middles[first - np.arange(g)]
        edges[last + np.arange(g) + 1] = 2.0 * values[last] - middles[last - np.arange(g) - 1]
        return cls(columns, keys, ends, starts, edges)

    def locate(self, owner: NDArray[np.intp], values: Array) -> tuple[Array, Array]:
        """Return both ends of the cells of values, each of the feature with the position ``owner``."""
        keys = owner.astype(np.int64) * (len(self.ends) + 1) + np.searchsorted(self.ends, values)
        cell = np.searchsorted(self.keys, keys) + 2 * owner
        return self.edges[cell], self.edges[cell + 1]


@dataclass(frozen=True, eq=False)
class SparseGrids:
    """Features of sparse rows whose values lie on a grid.

    Attributes
    ----------
    seen : sparse array of shape (m, d)
        Some rows, from which grids are taken.
    cells : CellTable
        Cells of the features of which at least half of the values are repeated, mostly as zeros.
    """

    seen: Any
    cells: CellTable

    # The valley must show if features are spread independently, and if correlated ones are spread together.
    related = True

    @classmethod
    def of(cls, rows: Rows, rng: np.random.Generator) -> SparseGrids:
        """Find the grids of (at most 20,000 random) sparse rows."""
        n = rows.shape[0]
        some = rows if n <= MOST_SPARSE_ROWS else rows.subset(draw_indices(np.arange(n), MOST_SPARSE_ROWS, rng))
        seen = some.data[rng.permutation(some.shape[0])].astype(np.float64)
        seen.sum_duplicates()
        seen.eliminate_zeros()
        examined = seen[:EXAMINED].tocsc()
        on_grid = np.diff(examined.indptr) <= (1.0 - SHARED) * examined.shape[0]
        common = np.flatnonzero(~on_grid)
        on_grid[common[find_repeating(examined[:, common].toarray())]] = True
        return cls(seen, CellTable.of(seen, on_grid))

    @property
    def columns(self) -> list[int]:
        """All features on a grid."""
        return [int(j) for j in self.cells.columns]

    def spread(self, rows: Rows, directions: Array, rng: np.random.Generator) -> list[Array]:
        """Return what to add to the projections of rows on directions so that each value is spread over its cell."""
        matrix, weights = rows.data, np.atleast_2d(directions)[:, self.cells.columns]
        moments = self._measure_cells(matrix)
        alone = _choose_largest(np.abs(weights) * np.maximum(moments.zero_width, moments.mean_width))
        others = weights.copy()
        others[:, alone] = 0.0
        mean, variance = moments.sum_cells(others)
        added = mean + np.sqrt(np.maximum(variance, 0.0)) * rng.standard_normal(mean.shape[1])
        columns = self.cells.columns[alone]
        few = Grids.of_columns(self.seen[:SEEN_ROWS][:, columns].toarray(), np.arange(len(columns)))
        values = np.asarray(matrix[:, columns].toarray(), dtype=np.float64)
        spreadings = few.spread(as_rows(values), weights[:, alone], rng)
        shape = (*directions.shape[:-1], rows.shape[0])
        return [(added + one).reshape(shape) for one in (spreadings if len(spreadings) == 2 else spreadings * 2)]

    def _measure_cells(self, matrix: Any) -> CellMoments:
        """Return middles and widths of the cells of zeros and of the stored values of rows."""
        stored = matrix.astype(np.float64)[:, self.cells.columns].tocsc()
        stored.sum_duplicates()
        g = len(self.cells.columns)
        left, right = self.cells.locate(np.arange(g), np.zeros(g))
        zero_shift, zero_width = 0.5 * (left + right), right - left
        owner = np.repeat(np.arange(g), np.diff(stored.indptr))
        left, right = self.cells.locate(owner, stored.data)
        width = right - left
        shift = 0.5 * (left + right) - stored.data - zero_shift[owner]
        counts = np.maximum(np.diff(stored.indptr), 1)
        make = type(stored)
        return CellMoments(
            zero_shift, zero_width, np.bincount(owner, weights=width, minlength=g) / counts,
            make((shift, stored.indices, stored.indptr), shape=stored.shape).tocsr(),
            make((width**2 - zero_width[owner] ** 2, stored.indices, stored.indptr), shape=stored.shape).tocsr(),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class CellMoments:
    """Moments of values that are spread over their cells.

    Attributes
    ----------
    zero_shift, zero_width : ndarray of shape (g,)
        Middle and width of the cell of zero.
    mean_width : ndarray of shape (g,)
        Mean width of the cells of stored values.
    shift, square : sparse array of shape (n, g)
        For stored values: the middle of the cell relative to the value and its squared width, minus those of zero.
    """

    zero_shift: Array
    zero_width: Array
    mean_width: Array
    shift: Any
    square: Any

    def sum_cells(self, weights: Array) -> tuple[Array, Array]:
        """Return the mean and the variance of the weighted sum of a row's spread values minus its values."""
        squares = weights**2 / 12.0
        mean = (self.shift @ weights.T).T + (weights @ self.zero_shift)[:, None]
        variance = (self.square @ squares.T).T + (squares @ self.zero_width**2)[:, None]
        return np.asarray(mean), np.asarray(variance)


def _choose_largest(moved: Array) -> NDArray[np.intp]:
    """Return the features, sorted, that are moved most along any of the directions (rows)."""
    top = [np.argsort(-row, kind="stable")[:SPREAD_ALONE] for row in moved]
    return np.unique(np.concatenate(top))
