"""Splitters by minimum density hyperplanes, also of clusters that are larger than allowed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.hyperplane import Hyperplane
from ravine.rows import Rows, as_rows, center_and_scale, draw_indices
from ravine.search import SearchSettings, fit_hyperplane
from ravine.tree import constants
from ravine.tree.grow import Split

Indices = NDArray[np.intp]


class DensitySplitter:
    """Splitter by the minimum density hyperplane.

    Parameters
    ----------
    min_size : int
        Smallest number of rows, or sum of weights, on a side.
    weights : ndarray of shape (n,), optional
        Weights of all rows.
    """

    # X is passed as `Rows`, which are measured already.
    accepts_rows = True

    def __init__(self, settings: SearchSettings, *, min_size: int = 1, weights: Array | None = None) -> None:
        self.settings, self.min_size, self.weights = settings, min_size, weights

    def split(self, X: Any, indices: Indices, rng: np.random.Generator) -> Split:
        """Find the hyperplane of some rows."""
        all_rows = as_rows(X)
        with all_rows.share_rounds():
            # A small part is copied. A large one is gathered block by block, so that X is never doubled.
            is_whole = len(indices) == all_rows.shape[0]
            copy = len(indices) <= all_rows.copy_limit
            rows = all_rows if is_whole and not copy else all_rows.subset(indices, copy=copy)
            weights = None if self.weights is None else self.weights[indices]
            if weights is not None and np.count_nonzero(weights) < 2:
                return Split(None)
            plane = fit_hyperplane(rows, weights, settings=self.settings, rng=rng).hyperplane
        return Split(plane if plane.splits else None)

    def has_enough(self, indices: Indices) -> bool:
        """Return whether some rows are enough for a side of a split."""
        return (len(indices) if self.weights is None else float(self.weights[indices].sum())) >= self.min_size


class SizeLimitSplitter:
    """Splitter of large nodes: by the minimum density hyperplane, or in halves along the first principal component.

    Parameters
    ----------
    largest : int
        Nodes with more rows, or a larger sum of weights, are always split.
    is_exclusive : bool
        Whether other nodes are not split at all.
    """

    accepts_rows = True

    def __init__(self, splitter: DensitySplitter, largest: int, is_exclusive: bool) -> None:
        self.splitter, self.largest, self.is_exclusive = splitter, largest, is_exclusive

    def split(self, X: Any, indices: Indices, rng: np.random.Generator) -> Split:
        """Split the rows of X with these indices."""
        rows, splitter = as_rows(X), self.splitter
        weights = None if splitter.weights is None else splitter.weights[indices]
        is_large = (len(indices) if weights is None else float(weights.sum())) > self.largest
        if not is_large:
            return Split(None) if self.is_exclusive else splitter.split(rows, indices, rng)
        found = splitter.split(rows, indices, rng)
        if found.hyperplane is not None:
            goes_right = found.hyperplane.on_positive_side(rows, indices)
            if splitter.has_enough(indices[goes_right]) and splitter.has_enough(indices[~goes_right]):
                return found
        return Split(_halve(rows, indices, weights, rng), found.pvalue)


def _halve(rows: Rows, indices: Indices, weights: Array | None, rng: np.random.Generator) -> Hyperplane | None:
    """Return the hyperplane across the first principal component with half of the rows on each side; None if equal."""
    if weights is not None:
        indices, weights = indices[weights > 0.0], weights[weights > 0.0]
    some = draw_indices(np.arange(len(indices)), constants.MOST_HALVED_ROWS, rng)
    w = None if weights is None else weights[some]
    z, center, _ = center_and_scale(np.asarray(rows.take(indices[some]), dtype=np.float64), w)
    if not z.any():
        return None
    if w is not None:
        z *= np.sqrt(w / w.max())[:, None]
    normal = np.linalg.svd(z, full_matrices=False)[2][0]
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
