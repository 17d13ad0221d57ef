"""Splits of clusters that are larger than allowed, whether or not a valley separates their parts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.hyperplane import Hyperplane
from ravine.rows import Rows, as_rows
from ravine.tree.grow import Split
from ravine.tree.policies import Candidate, Priority
from ravine.tree.splitter import DensitySplitter

__all__ = ["SizeLimitSplitter", "prefer_large"]

Indices = NDArray[np.intp]

# Rows that find the direction in which a large node is halved.
MOST_ROWS = 4000


class SizeLimitSplitter:
    """Splitter of large nodes: by the minimum density hyperplane, or in halves along the first principal component.

    Parameters
    ----------
    splitter : DensitySplitter
    largest : int
        Nodes with more rows, or a larger sum of weights, are always split.
    is_exclusive : bool
        Whether other nodes are not split at all.
    """

    takes_rows = True

    def __init__(self, splitter: DensitySplitter, largest: int, is_exclusive: bool) -> None:
        self.splitter, self.largest, self.is_exclusive = splitter, largest, is_exclusive

    def split(self, X: Any, indices: Indices, rng: np.random.Generator) -> Split:
        """Split the rows of X with these indices."""
        rows, splitter = as_rows(X), self.splitter
        weights = None if splitter.weights is None else splitter.weights[indices]
        is_large = (len(indices) if weights is None else float(weights.sum())) > self.largest
        if not is_large:
            return Split(None) if self.is_exclusive else splitter.split(rows, indices, rng)
        found = (splitter.without_test(splitter.graph, splitter.min_size) if self.is_exclusive else splitter).split(
            rows, indices, rng
        )
        if found.hyperplane is not None:
            goes_right = found.hyperplane.on_positive_side(rows, indices)
            if splitter.has_enough(indices[goes_right]) and splitter.has_enough(indices[~goes_right]):
                return found
        return Split(_halve(rows, indices, weights, rng), found.pvalue)


def _halve(rows: Rows, indices: Indices, weights: Array | None, rng: np.random.Generator) -> Hyperplane | None:
    """Return the hyperplane across the first principal component with half of the rows on each side; None if equal."""
    some = indices if len(indices) <= MOST_ROWS else np.sort(rng.choice(indices, MOST_ROWS, replace=False))
    x = np.asarray(rows.take(some), dtype=np.float64)
    center = x[0] + (x - x[0]).mean(axis=0)
    scale = float(np.abs(x - center).max())
    if not scale > 0.0:
        return None
    normal = np.linalg.svd((x - center) / scale, full_matrices=False)[2][0]
    projections = rows.project(center, normal, indices)
    order = np.argsort(projections, kind="stable")
    steps = np.diff(projections[order])
    total = np.cumsum(np.ones(len(order)) if weights is None else weights[order])
    # The cut between two different values that is closest to the middle.
    cuts = np.flatnonzero(steps > 0.0)
    if not len(cuts):
        return None
    k = int(cuts[np.argmin(np.abs(total[cuts] - 0.5 * total[-1]))])
    low, high = projections[order[k]], projections[order[k + 1]]
    point = center + (low + 0.5 * (high - low)) * normal
    return Hyperplane(normal, float(normal @ point), point=point)


def prefer_large(priority: Priority, largest: int, n_rows: float) -> Priority:
    """Return the priority by which nodes that are larger than allowed come first, the largest one before the others."""

    def rank(candidate: Candidate) -> float:
        return 1e300 * (candidate.size / n_rows) if candidate.size > largest else priority(candidate)

    return rank
