"""The splitter of `MinimumDensityTree`: minimum density hyperplanes, tested if asked to."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine.hyperplane import Hyperplane
from ravine.rows import Rows, as_rows
from ravine.search import Fit, SearchSettings, fit_hyperplane
from ravine.tree.grow import Split
from ravine.tree.neighbours import NeighbourGraph
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
    graph : NeighbourGraph, optional
        Graph that chooses among all hyperplanes of a search; without it the deepest one splits.
    min_size : int
        Smallest number of rows on a side of the hyperplane that the graph chooses.
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
        graph: NeighbourGraph | None = None,
        min_size: int = 1,
    ) -> None:
        self.settings = settings
        self.n_splits = n_splits
        self.level = level
        self.pool = pool
        self.test_method = test_method
        self.graph = graph
        self.min_size = min_size

    def split(self, X: Any, indices: NDArray[np.intp], rng: np.random.Generator) -> Split:
        """Find the hyperplane of some rows, and test it if asked to."""
        all_rows = as_rows(X)
        with all_rows.share_rounds():
            # A small part is copied. A large one is gathered block by block, so that X is never doubled.
            is_whole = len(indices) == all_rows.shape[0]
            copy = len(indices) <= all_rows.copy_limit
            share = len(indices) / all_rows.shape[0]
            rows = all_rows if is_whole and not copy else all_rows.subset(indices, copy=copy)
            pvalue = self._test(rows, share, rng)
            # The levels of all nodes at one depth of the tree add up to that of the root.
            if self.level is not None and pvalue > share * self.level:
                return Split(None, pvalue)
            fit = fit_hyperplane(rows, settings=self.settings, rng=rng, pool=self.pool)
        plane = fit.hyperplane
        if self.graph is not None:
            plane = self.graph.choose_hyperplane(indices, list_hyperplanes(fit, len(indices)), self.min_size) or plane
        return Split(plane if plane.splits else None, pvalue)

    def without_test(self, graph: NeighbourGraph, min_size: int) -> DensitySplitter:
        """Return a splitter with the same settings that makes all splits, with another graph and smallest side."""
        return DensitySplitter(self.settings, None, None, self.pool, graph=graph, min_size=min_size)

    def _test(self, rows: Rows, share: float, rng: np.random.Generator) -> float:
        """Return the P-value of some rows, which are a share of all; NaN if no test was asked for."""
        if self.n_splits is None:
            return np.nan
        level = share * LEVEL
        return run_valley_test(rows, self.n_splits, self.settings, rng, self.pool, self.test_method, level).pvalue


def list_hyperplanes(fit: Fit, n_rows: int) -> list[Hyperplane]:
    """Return the distinct hyperplanes of a search that were fitted to all rows and separate two modes."""
    found = {
        (step.hyperplane.offset, step.hyperplane.normal.tobytes()): step.hyperplane
        for step in fit.log.steps
        if step.n_rows == n_rows and step.hyperplane.relative_depth > 0.0
    }
    return list(found.values())
