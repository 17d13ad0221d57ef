"""Which rows are connected where the density is high: order, Delaunay triangulation, or no valley in between."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import Delaunay, QhullError

from ravine._typing import Array
from ravine.baselines.clustering.local_affinities import squared_distances

__all__ = ["Edges", "delaunay_edges", "order_edges", "pair_edges", "valley_measures"]

Edges = NDArray[np.intp]

# Valleys up to this size are none.
ROUNDING = 1e-9
# Points on the segment between two rows, ends included.
SEGMENT = 10
# Numbers in a block of pairs.
BLOCK = 1 << 23
# Squared distance, in bandwidths, above which the product of two factors may underflow where the density does not.
FAR = 4500.0
# Factors below exp(this) are taken for zero: times exp(FAR / 8) that is still nothing beside a density of at least 1.
SMALLEST = -700.0


def order_edges(column: Array) -> Edges:
    """One column: each row and the next larger one."""
    order = np.argsort(column, kind="stable")
    return np.stack([order[:-1], order[1:]], axis=1)


def delaunay_edges(rows: Array) -> Edges:
    """Edges of the Delaunay triangulation; rows that it leaves out, as it does duplicates, join their nearest vertex.

    Raises ``QhullError`` if there are too few rows or they lie in a plane.
    """
    if len(rows) < rows.shape[1] + 2:
        raise QhullError(f"{len(rows)} rows in {rows.shape[1]} columns cannot be triangulated")
    triangulation = Delaunay(rows)
    corners = itertools.combinations(range(rows.shape[1] + 1), 2)
    codes = [_codes(triangulation.simplices[:, pair], len(rows)) for pair in corners]
    codes.append(_codes(triangulation.coplanar[:, [0, 2]], len(rows)))
    unique = np.unique(np.concatenate(codes))
    return np.stack([unique // len(rows), unique % len(rows)], axis=1).astype(np.intp)


def _codes(pairs: NDArray[np.integer[Any]], n: int) -> NDArray[np.int64]:
    """One number for each unordered pair."""
    low, high = pairs.min(axis=1).astype(np.int64), pairs.max(axis=1).astype(np.int64)
    return np.unique(low * n + high)


def valley_measures(curves: Array) -> Array:
    """How much of a valley there is in each curve, given along the first axis: 0 if there is none, less than 1.

    Valleys are filled up to the lower of their two shoulders until none is left, which gives
    min(largest value so far, largest value from here on). The measure is the largest area filled at one place, divided
    by the area under the filled curve.
    """
    filled = np.maximum.accumulate(curves[::-1], axis=0)[::-1]
    np.minimum(filled, np.maximum.accumulate(curves, axis=0), out=filled)
    here, largest = np.zeros(curves.shape[1:]), np.zeros(curves.shape[1:])
    for curve, level in zip(curves, filled, strict=True):
        gap = level - curve
        here += gap
        here *= gap > 0.0  # one place ends where nothing is filled
        np.maximum(largest, here, out=largest)
    area = np.asarray(filled.sum(axis=0))
    return np.asarray(np.divide(largest, area, out=np.zeros_like(area), where=area > 0.0))


def pair_edges(scaled: Array, lam: float) -> Edges:
    """All pairs of rows, in units of the bandwidth, between which the density has no valley larger than ``lam``.

    On the segment from x to y, at (1 - t) x + t y, the squared distance to a row z is
    (1 - t) |x - z|² + t |y - z|² - t (1 - t) |x - y|², so that the densities between all pairs are, for each t, one
    product of two n × n matrices: O(n³) in all, in any number of columns.
    """
    n = len(scaled)
    squared = squared_distances(scaled, scaled)
    found = []
    step = max(1, BLOCK // (SEGMENT * n))
    for start in range(0, n, step):
        stop = min(n, start + step)
        # Pairs are taken once: rows of the block with rows from its start on.
        curves = _segments(squared, slice(start, stop), slice(start, n))
        one, other = np.nonzero(valley_measures(curves) <= lam + ROUNDING)
        upper = one < other
        found.append(np.stack([one[upper], other[upper]], axis=1) + start)
    return np.concatenate(found)


def _segments(squared: Array, some: slice, others: slice) -> Array:
    """Densities, up to a factor, at equal steps (the first axis) between rows ``some`` and ``others``."""
    here, there, between = squared[some], squared[others], squared[some, others]
    steps = np.linspace(0.0, 1.0, SEGMENT)
    curves = np.empty((SEGMENT, *between.shape))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        curves[0] = np.exp(-0.5 * here).sum(axis=1)[:, None]
        curves[-1] = np.exp(-0.5 * there).sum(axis=1)
        for k, t in enumerate(steps[1:-1], start=1):
            np.matmul(_kernel(here, 1.0 - t), _kernel(there, t).T, out=curves[k])
            curves[k] *= np.exp((0.5 * t * (1.0 - t)) * between)
    far = np.nonzero(between > FAR)
    size = max(1, BLOCK // len(squared))
    for start in range(0, len(far[0]), size):
        i, j = far[0][start : start + size], far[1][start : start + size]
        for k, t in enumerate(steps[1:-1], start=1):
            exponent = (-0.5 * (1.0 - t)) * here[i] - (0.5 * t) * there[j]
            peak = exponent.max(axis=1)
            exponent -= peak[:, None]
            peak += 0.5 * t * (1.0 - t) * between[i, j]
            curves[k, i, j] = np.exp(exponent, out=exponent).sum(axis=1) * np.exp(peak)
    return curves


def _kernel(squared: Array, weight: float) -> Array:
    """exp(-weight squared / 2), with zero for what is too small to matter and would slow the product down."""
    exponent = (-0.5 * weight) * squared
    exponent[exponent < SMALLEST] = -np.inf
    return np.asarray(np.exp(exponent, out=exponent))
