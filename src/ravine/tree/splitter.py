"""Ways to split the rows of a node, for `MinimumDensityTree`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine.rows import Rows, as_rows
from ravine.search.hyperplane import find_hyperplane
from ravine.tree import Split
from ravine.validity.valley_test import split_test

__all__ = ["DensitySplitter"]


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

    def split(self, X: Any, rows: NDArray[np.intp], rng: np.random.Generator) -> Split:
        """Find the hyperplane of some rows, and test it if asked to."""
        data = as_rows(X)
        with data.share_rounds():
            return self._split(data, rows, rng)

    def _split(self, data: Rows, indices: NDArray[np.intp], rng: np.random.Generator) -> Split:
        if len(indices) <= data.copy_limit:
            data, indices = data.subset(indices, copy=True), np.arange(len(indices))
        options = {**self.options, "rng": rng}
        pvalue = np.nan
        if self.n_splits is not None:
            pvalue = split_test(data, indices, self.n_splits, options).pvalue
            if self.level is not None and pvalue > self.level:
                return Split(None, pvalue)
        node = data if len(indices) == data.shape[0] else data.subset(indices, copy=False)
        plane = find_hyperplane(node, **options).hyperplane
        return Split(plane if plane.splits else None, pvalue)
