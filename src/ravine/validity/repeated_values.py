"""Features of repeated values (counts, ratings, yes and no) in a test of densities.

A projection of such features consists of spikes, and the gaps between spikes look like valleys. A value on a grid
represents its whole cell, so it is spread uniformly over the cell: a histogram instead of spikes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.rows import Rows, as_rows, draw_indices
from ravine.validity.directions import MANY_FEATURES

# A feature lies on a grid if at least the share SHARED of the rows, at most EXAMINED random ones, have the value of
# another row.
EXAMINED = 1000
SHARED = 0.5
# Largest number of random rows whose values define a grid.
MOST_GRID_ROWS = 50_000
# Largest number of values of sparse rows that are stored in an array for this, unless EXAMINED rows have more.
MOST_CELLS = 1 << 24
# Distance of a correlation from 1 or -1 below which one feature counts as a linear function of the other.
SAME = 1e-6
# Absolute correlation above which features belong to one family, whose values are also spread together.
RELATED = 0.5
# Largest power of two in the ratio of two features.
LARGEST_POWER = 1000
# Largest number of random rows whose values define the grids.
MOST_SPARSE_ROWS = 20_000
# Number of features, those that spreading moves most along a direction, that are spread one by one.
SPREAD_ALONE = 64
# Number of rows whose values define the grids of these features.
SEEN_ROWS = 5000


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
    edges : ndarray of shape (k + 1,)
        Ends of their cells, which reach half way to the neighbouring values; the outermost cells are symmetric.
    widths : ndarray of shape (k,)
        Widths of the cells.
    """

    columns: NDArray[np.intp]
    factors: Array
    values: Array
    edges: Array
    widths: Array

    @classmethod
    def of(cls, columns: NDArray[np.intp], factors: Array, x: Array) -> Grid:
        """Make the grid of a feature with values x."""
        ordered = np.sort(x)
        values = ordered[np.append(True, ordered[1:] != ordered[:-1])]
        middles = 0.5 * (values[1:] + values[:-1])
        edges = np.concatenate([[2.0 * values[0] - middles[0]], middles, [2.0 * values[-1] - middles[-1]]])
        return cls(columns, factors, values, edges, np.diff(edges))

    def locate_cells(self, rows: Rows) -> tuple[Array, Array]:
        """Return where the cell of each row starts, relative to its value of the first feature, and how wide it is."""
        x = rows.column(int(self.columns[0])).astype(np.float64, copy=False)
        cells = np.searchsorted(self.edges[1:-1], x)
        return self.edges.take(cells) - x, self.widths.take(cells)


@dataclass(frozen=True)
class Grids:
    """Features whose values lie on a grid.

    Attributes
    ----------
    families : ndarray of shape (g,), int
        Number of the family of each grid: a family is strongly correlated.
    signs : ndarray of shape (g,)
        Whether each grid rises or falls with the first of its family.
    """

    grids: tuple[Grid, ...]
    families: NDArray[np.intp]
    signs: Array

    @classmethod
    def of(cls, rows: Rows, rng: np.random.Generator) -> Grids:
        """Find the features in which at least half of (at most 1000 random) rows share their value with another row."""
        n, d = rows.shape
        most = min(n, MOST_GRID_ROWS, max(EXAMINED, MOST_CELLS // d) if rows.is_sparse else n)
        seen = rows.take(rng.choice(n, most, replace=False))
        return cls.of_columns(seen, find_repeating(seen[:EXAMINED]))

    @classmethod
    def of_columns(cls, seen: NDArray[np.floating[Any]], columns: NDArray[np.intp]) -> Grids:
        """Make the grids of those of some columns of an array that vary."""
        features = np.ascontiguousarray(seen[:, columns].T, dtype=np.float64)
        varies = features.min(axis=1) < features.max(axis=1)
        columns, features = columns[varies], features[varies]
        correlations, deviations, units = _correlate(features)
        groups = _group_features(np.abs(correlations) > 1.0 - SAME)
        firsts = np.array([group[0] for group in groups], dtype=np.intp)
        grids = []
        for group, first in zip(groups, firsts, strict=True):
            ratios = np.sign(correlations[first, group]) * deviations[group] / deviations[first]
            factors = np.ldexp(ratios, np.minimum(units[group] - units[first], LARGEST_POWER))
            grids.append(Grid.of(columns[group], factors, features[first]))
        return cls(tuple(grids), *_find_families(correlations[np.ix_(firsts, firsts)]))

    @property
    def related(self) -> bool:
        """Whether any grids are strongly correlated."""
        return len(np.unique(self.families)) < len(self.families)

    @property
    def columns(self) -> list[int]:
        """All features on a grid."""
        return sorted(int(j) for grid in self.grids for j in grid.columns)

    def spread(self, rows: Rows, directions: Array, rng: np.random.Generator) -> list[Array]:
        """Return what to add to the projections of rows on directions so that each value is uniform in its cell.

        The arrays have the shape (n,) for one direction and (k, n) for several (rows), which share the random numbers.

        Grids are spread independently and, if any are strongly correlated, also with families of those spread by the
        same amounts: the sum of two questions that nearly all people answer alike has twice the gaps.
        """
        n, related = rows.shape[0], self.related
        shape = (*directions.shape[:-1], n)
        alone, together = np.zeros(shape), np.zeros(shape)
        family_widths = np.zeros((self.families.max(initial=-1) + 1 if related else 0, *shape))
        for grid, family, sign in zip(self.grids, self.families, self.signs, strict=True):
            factor = (directions[..., grid.columns] @ grid.factors)[..., None]
            start, width = grid.locate_cells(rows)
            alone += factor * (start + rng.random(n) * width)
            if related:
                together += factor * (start if sign > 0.0 else start + width)
                family_widths[family] += factor * (sign * width)
        for width in family_widths:
            together += rng.random(n) * width
        return [alone, together] if related else [alone]

    def draw_shifts(self, rows: Rows, rng: np.random.Generator) -> list[Array]:
        """Draw what to add to the first feature of each grid (row), for every spreading.

        With the changes of `project` as weights, their sum is what `spread` adds to a projection.
        """
        n = rows.shape[0]
        alone, together, widths = (np.empty((len(self.grids), n)) for _ in range(3))
        for k, (grid, sign) in enumerate(zip(self.grids, self.signs, strict=True)):
            start, width = grid.locate_cells(rows)
            alone[k] = start + rng.random(n) * width
            together[k] = start if sign > 0.0 else start + width
            widths[k] = sign * width
        if not self.related:
            return [alone]
        for family in range(self.families.max() + 1):
            together[self.families == family] += rng.random(n) * widths[self.families == family]
        return [alone, together]

    def project(self, direction: Array) -> Array:
        """Return the change of a projection on a direction per unit of the first feature of each grid."""
        return np.array([float(direction[grid.columns] @ grid.factors) for grid in self.grids])


def find_repeating(rows: NDArray[np.floating[Any]]) -> NDArray[np.intp]:
    """Return the features in which at least half of the rows share their value with another row."""
    ordered = np.sort(np.ascontiguousarray(rows.T), axis=1)
    repeats = ordered[:, 1:] == ordered[:, :-1]
    shared = np.zeros(ordered.shape, dtype=bool)
    shared[:, 1:] = repeats
    shared[:, :-1] |= repeats
    return np.flatnonzero(np.count_nonzero(shared, axis=1) >= SHARED * len(rows))


def _correlate(features: Array) -> tuple[Array, Array, NDArray[np.intc]]:
    """Return the correlations of features (rows), and standard deviations as numbers and powers of two as units.

    Squares, sums and ratios of very large and very small values are computed in these units.
    """
    units = np.frexp(np.abs(features).max(axis=1))[1]
    z = np.ldexp(features, -units[:, None])
    z -= z.mean(axis=1, keepdims=True)
    largest = np.abs(z).max(axis=1, keepdims=True)
    z /= largest
    products = z @ z.T / z.shape[1]
    deviations = np.sqrt(np.diagonal(products))
    return products / np.outer(deviations, deviations), largest[:, 0] * deviations, units


def _group_features(is_same: NDArray[np.bool_]) -> list[NDArray[np.intp]]:
    """Group features that are linear functions of one another: spread separately they look independent."""
    groups, waiting = [], np.ones(len(is_same), dtype=bool)
    for k in range(len(is_same)):
        if waiting[k]:
            groups.append(np.flatnonzero(is_same[k] & waiting))
            waiting[groups[-1]] = False
    return groups


def _find_families(correlations: Array) -> tuple[NDArray[np.intp], Array]:
    """Return the number of the family of strongly correlated features that each belongs to, and its sign in it."""
    families, signs = np.full(len(correlations), -1, dtype=np.intp), np.ones(len(correlations))
    is_related = np.abs(correlations) > RELATED
    for j in range(len(families)):
        if families[j] < 0:
            families[j], waiting = families.max() + 1, [j]
            while waiting:
                k = waiting.pop()
                new = np.flatnonzero(is_related[k] & (families < 0))
                families[new], signs[new] = families[j], signs[k] * np.sign(correlations[k, new])
                waiting += new.tolist()
    return families, signs


# ----------------------------------------------------------------------------------------------- sparse rows

# Almost every feature of text lies on a grid, since most of its values are zero. Spreading each feature of each row
# over its cell would store the zeros. Only the features that contribute most to a projection are therefore spread one
# by one; the sum of the many others is normal, with the mean and the variance of the spread values.


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
