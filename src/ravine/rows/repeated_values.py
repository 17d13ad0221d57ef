"""Features of repeated values (counts, ratings, yes and no) in densities.

A projection of such features consists of spikes, and the gaps between spikes look like valleys. A value on a grid
represents its whole cell. A test spreads it uniformly over the cell: a histogram instead of spikes. A kernel is made as
wide as the cells along these features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.rows.array import ArrayRows
from ravine.rows.base import Rows
from ravine.rows.sparse import STORED_FEATURES

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

Cells = list[tuple[NDArray[np.intp], Array]]


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
        columns = find_repeating(seen[:EXAMINED])
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

    def spread(self, rows: Rows, direction: Array, rng: np.random.Generator) -> list[Array]:
        """Return what to add to the projections of rows on a direction so that each value is uniform in its cell.

        Grids are spread independently and, if any are strongly correlated, also with families of those spread by the
        same amounts: the sum of two questions that nearly all people answer alike has twice the gaps.
        """
        n, related = rows.shape[0], self.related
        alone, together = np.zeros(n), np.zeros(n)
        family_widths = np.zeros((self.families.max(initial=-1) + 1 if related else 0, n))
        for grid, family, sign in zip(self.grids, self.families, self.signs, strict=True):
            factor = float(direction[grid.columns] @ grid.factors)
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

        `spread` adds their sum to a projection, each times the change of the projection per unit of that feature.
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


def measure_cells(rows: Rows) -> Cells:
    """Return the features of each grid, and half the width of a cell along each: the median over distinct rows.

    A kernel of this standard deviation is the narrowest under which two neighbouring values show no valley between
    them. At most EXAMINED rows count, copies once. Rows of more than STORED_FEATURES features are not examined.
    """
    if rows.shape[1] > STORED_FEATURES:
        return []
    rng = np.random.default_rng(0)  # any rows will do, as long as they are always the same
    seen = rows.take(rng.choice(rows.shape[0], min(rows.shape[0], EXAMINED), replace=False))
    seen = seen[np.lexsort(seen.T)]
    is_first = np.append(True, (seen[1:] != seen[:-1]).any(axis=1))
    distinct = ArrayRows(np.ascontiguousarray(seen[is_first]))
    grids = Grids.of(ArrayRows(np.ascontiguousarray(seen[find_distinct(seen)])), rng).grids
    widths = [float(np.median(grid.locate_cells(distinct)[1])) for grid in grids]
    return [(grid.columns, 0.5 * width * grid.factors) for grid, width in zip(grids, widths, strict=True)]


def find_repeating(rows: NDArray[np.floating[Any]]) -> NDArray[np.intp]:
    """Return the features in which at least half of the rows share their value with another row."""
    ordered = np.sort(np.ascontiguousarray(rows.T), axis=1)
    repeats = ordered[:, 1:] == ordered[:, :-1]
    shared = np.zeros(ordered.shape, dtype=bool)
    shared[:, 1:] = repeats
    shared[:, :-1] |= repeats
    return np.flatnonzero(np.count_nonzero(shared, axis=1) >= SHARED * len(rows))


def find_distinct(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which of sorted rows are the first of equal ones; all if every feature repeats its values among these."""
    is_first = np.append(True, (values[1:] != values[:-1]).any(axis=1))
    distinct = values[is_first]
    varies = np.flatnonzero(distinct.min(axis=0) < distinct.max(axis=0))
    step = max(1, len(distinct) // EXAMINED)
    if is_first.all() or len(varies) < 2 or len(find_repeating(distinct[::step][:, varies])) == len(varies):
        return np.ones(len(values), dtype=bool)
    return is_first


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
