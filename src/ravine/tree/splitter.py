"""Ways to split the rows of a node, for `MinimumDensityTree`."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine.rows import is_sparse, take_rows
from ravine.search.hyperplane import find_hyperplane
from ravine.tree import Split
from ravine.validity.valley_test import split_test

__all__ = ["DensitySplitter"]

# Smaller parts of X than this are copied, larger ones are gathered block by block.
SMALL_PART = 0.25
# Of rows that are not in this memory, no more than this is copied into it.
SMALL_BYTES = 1 << 23


class DensitySplitter:
    """Splits by the minimum density hyperplane.

    Parameters
    ----------
    options : dict
        Of `find_hyperplane`, validated.
    n_splits : int or None
        Random halvings of the valley test; None for no test.
    level : float or None
        Only splits that are shown at this level are made; None to make them all.
    """

    def __init__(self, options: dict[str, Any], n_splits: int | None, level: float | None) -> None:
        self.options = options
        self.n_splits = n_splits
        self.level = level

    @staticmethod
    def _small(X: Any) -> float:
        """Rows up to which a copy is worth its memory."""
        in_memory = isinstance(X, np.ndarray) or is_sparse(X)
        return SMALL_PART * float(X.shape[0]) if in_memory else SMALL_BYTES / (8.0 * X.shape[1])

    def split(self, X: Any, rows: NDArray[np.intp], rng: np.random.Generator) -> Split:
        """Find the hyperplane of some rows, and test it if asked to."""
        with X.taking_part() if hasattr(X, "taking_part") else nullcontext():
            return self._split(X, rows, rng)

    def _split(self, X: Any, rows: NDArray[np.intp], rng: np.random.Generator) -> Split:
        if len(rows) <= self._small(X):
            X, rows = take_rows(X, rows), np.arange(len(rows))
        options = {**self.options, "rng": rng}
        pvalue = np.nan
        if self.n_splits is not None:
            pvalue = split_test(X, rows, self.n_splits, options).pvalue
            if self.level is not None and pvalue > self.level:
                return Split(None, pvalue)
        everything = None if len(rows) == X.shape[0] else rows
        plane = find_hyperplane(X, rows=everything, **options).hyperplane
        return Split(plane if plane.splits else None, pvalue)
