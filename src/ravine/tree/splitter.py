"""Splitter by minimum density hyperplanes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.rows import as_rows
from ravine.search import SearchSettings, fit_hyperplane
from ravine.tree.grow import Split


class DensitySplitter:
    """Splitter by the minimum density hyperplane.

    Parameters
    ----------
    settings : SearchSettings
    weights : ndarray of shape (n,), optional
        Weights of all rows.
    """

    # X is passed as `Rows`, which are measured already.
    accepts_rows = True

    def __init__(self, settings: SearchSettings, weights: Array | None = None) -> None:
        self.settings, self.weights = settings, weights

    def split(self, X: Any, indices: NDArray[np.intp], rng: np.random.Generator) -> Split:
        """Find the hyperplane of some rows."""
        all_rows = as_rows(X)
        # A small part is copied. A large one is gathered block by block, so that X is never doubled.
        is_whole = len(indices) == all_rows.shape[0]
        copy = len(indices) <= all_rows.copy_limit
        rows = all_rows if is_whole and not copy else all_rows.subset(indices, copy=copy)
        weights = None if self.weights is None else self.weights[indices]
        if weights is not None and np.count_nonzero(weights) < 2:
            return Split(None)
        plane = fit_hyperplane(rows, weights, settings=self.settings, rng=rng).hyperplane
        return Split(plane if plane.splits else None)
