"""Graphs of rows that are connected where the density is high: by order, triangulation, or no valley between them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import Delaunay, QhullError

from ravine_paper._typing import Array
from ravine_paper.baselines._shared.distances import compute_squared_distances
from ravine_paper.baselines._shared.row_slices import split_into_blocks

__all__ = ["Edges", "join_by_order", "join_delaunay", "join_without_valley", "measure_valleys"]

Edges = NDArray[np.intp]

# Valleys up to this size are rounding.
ROUNDING = 1e-9
# Points on the segment between two rows, ends included.
SEGMENT = 10
# Numbers in a block of pairs.
BLOCK = 1 << 23
# Squared distance, in bandwidths, above which the product of two factors may underflow where the density does not.
FAR = 4500.0
# Factors below exp(this) are set to zero: times exp(FAR / 8) they are still negligible beside a density of at least 1.
SMALLEST = -700.0


def join_by_order(column: Array) -> Edges:
    """Join each row with the next larger one of a single feature."""
    order = np.argsort(column, kind="stable")
    return np.stack([order[:-1], order[1:]], axis=1)


def join_delaunay(rows: Array) -> Edges:
    """Join the rows by their Delaunay triangulation; rows left out, such as duplicates, join their nearest vertex.

    Raises ``QhullError`` if there are too few rows or they lie in a plane.
    """
    if len(rows) < rows.shape[1] + 2:
        raise QhullError(f"{len(rows)} rows with {rows.shape[1]} features cannot be triangulated")
    triangulation = Delaunay(rows)
    corners = itertools.combinations(range(rows.shape[1] + 1), 2)
    codes = [_encode_pairs(triangulation.simplices[:, pair], len(rows)) for pair in corners]
    codes.append(_encode_pairs(triangulation.coplanar[:, [0, 2]], len(rows)))
    unique = np.unique(np.concatenate(codes))
    return np.stack([unique // len(rows), unique % len(rows)], axis=1).astype(np.intp)


def _encode_pairs(pairs: NDArray[np.integer[Any]], n: int) -> NDArray[np.int64]:
    """Encode each unordered pair as one number, without repetitions."""
    low, high = pairs.min(axis=1).astype(np.int64), pairs.max(axis=1).astype(np.int64)
    return np.unique(low * n + high)


def measure_valleys(curves: Array) -> Array:
    """Measure the largest valley of each curve along the first axis: from 0, without one, to less than 1.

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
        here *= gap > 0.0  # a place ends where nothing is filled
        np.maximum(largest, here, out=largest)
    area = np.asarray(filled.sum(axis=0))
    return np.asarray(np.divide(largest, area, out=np.zeros_like(area), where=area > 0.0))


def join_without_valley(scaled: Array, lam: float) -> Edges:
    """Join all pairs of rows, in units of the bandwidth, between which no valley of the density exceeds ``lam``.

    On the segment from x to y, at (1 - t) x + t y, the squared distance to a row z is
    (1 - t) |x - z|² + t |y - z|² - t (1 - t) |x - y|², so that the densities between all pairs are, for each t, one
    product of two n × n matrices: O(n³) in all, whatever the number of features.
    """
    n = len(scaled)
    squared = compute_squared_distances(scaled, scaled)
    found = []
    for block in split_into_blocks(n, SEGMENT * n, BLOCK):
        # Each pair is taken once: rows of the block with rows from its start on.
        curves = _compute_segments(squared, block, slice(block.start, n))
        one, other = np.nonzero(measure_valleys(curves) <= lam + ROUNDING)
        upper = one < other
        found.append(np.stack([one[upper], other[upper]], axis=1) + block.start)
    return np.concatenate(found)


def _compute_segments(squared: Array, some: slice, others: slice) -> Array:
    """Compute densities, up to a factor, at equal steps (the first axis) between rows ``some`` and ``others``."""
    here, there, between = squared[some], squared[others], squared[some, others]
    steps = np.linspace(0.0, 1.0, SEGMENT)
    curves = np.empty((SEGMENT, *between.shape))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        curves[0] = np.exp(-0.5 * here).sum(axis=1)[:, None]
        curves[-1] = np.exp(-0.5 * there).sum(axis=1)
        for k, t in enumerate(steps[1:-1], start=1):
            np.matmul(_compute_kernel(here, 1.0 - t), _compute_kernel(there, t).T, out=curves[k])
            curves[k] *= np.exp((0.5 * t * (1.0 - t)) * between)
    far = np.nonzero(between > FAR)
    for block in split_into_blocks(len(far[0]), len(squared), BLOCK):
        i, j = far[0][block], far[1][block]
        for k, t in enumerate(steps[1:-1], start=1):
            exponent = (-0.5 * (1.0 - t)) * here[i] - (0.5 * t) * there[j]
            peak = exponent.max(axis=1)
            exponent -= peak[:, None]
            peak += 0.5 * t * (1.0 - t) * between[i, j]
            curves[k, i, j] = np.exp(exponent, out=exponent).sum(axis=1) * np.exp(peak)
    return curves


def _compute_kernel(squared: Array, weight: float) -> Array:
    """Compute exp(-weight squared / 2), with zero for denormal values, which would slow the product down."""
    exponent = (-0.5 * weight) * squared
    exponent[exponent < SMALLEST] = -np.inf
    return np.asarray(np.exp(exponent, out=exponent))
