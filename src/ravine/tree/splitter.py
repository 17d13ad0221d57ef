"""The splitter of `MinimumDensityTree`: minimum density hyperplanes, tested if asked to."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine.rows import Rows, as_rows
from ravine.search import SearchSettings, fit_hyperplane
from ravine.tree.grow import Split
from ravine.validity import run_valley_test

__all__ = ["DensitySplitter"]

# Level near which tests are most precise, at the root; P does not depend on the level that is given.
LEVEL = 0.05


class DensitySplitter:
    """Splitter by the minimum density hyperplane.

    Parameters
    ----------
    settings : SearchSettings
    n_splits : int or None
        Number of repetitions of the valley test; None for no test.
    level : float or None
        Only splits with a P-value of at most this, times the node's share of all rows, are made; None to make them all.
    pool : ThreadPoolExecutor, optional
        Threads that the fits of all nodes share.
    test_method : {"pooled", "exact"}
    """

    # X is passed as `Rows`, which are measured already.
    takes_rows = True

    def __init__(
        self,
        settings: SearchSettings,
        n_splits: int | None,
        level: float | None,
        pool: ThreadPoolExecutor | None = None,
        test_method: str = "pooled",
    ) -> None:
        self.settings = settings
        self.n_splits = n_splits
        self.level = level
        self.pool = pool
        self.test_method = test_method

    def split(self, X: Any, indices: NDArray[np.intp], rng: np.random.Generator) -> Split:
        """Find the hyperplane of some rows, and test it if asked to."""
        rows = as_rows(X)
        with rows.share_rounds():
            # A small part is copied. A large one is gathered block by block, so that X is never doubled.
            is_whole = len(indices) == rows.shape[0]
            copy = len(indices) <= rows.copy_limit
            share = len(indices) / rows.shape[0]
            return self._split(rows if is_whole and not copy else rows.subset(indices, copy=copy), share, rng)

    def _split(self, rows: Rows, share: float, rng: np.random.Generator) -> Split:
        pvalue = np.nan
        if self.n_splits is not None:
            test = run_valley_test(rows, self.n_splits, self.settings, rng, self.pool, self.test_method, share * LEVEL)
            pvalue = test.pvalue
            # The levels of all nodes at one depth of the tree add up to that of the root.
            if self.level is not None and pvalue > share * self.level:
                return Split(None, pvalue)
        plane = fit_hyperplane(rows, settings=self.settings, rng=rng, pool=self.pool).hyperplane
        return Split(plane if plane.splits else None, pvalue)
