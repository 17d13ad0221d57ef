"""The splitter of `MinimumDensityTree`: minimum density hyperplanes, tested if asked to."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.hyperplane import Hyperplane
from ravine.rows import Rows, as_rows
from ravine.search import Fit, SearchSettings, fit_hyperplane
from ravine.tree.explore import find_hidden_split
from ravine.tree.grow import Split
from ravine.tree.neighbours import NeighbourGraph
from ravine.validity import run_valley_test

__all__ = ["DensitySplitter", "NodeTest"]

# Level near which tests are most precise, at the root; P does not depend on the level that is given.
LEVEL = 0.05


@dataclass(frozen=True)
class NodeTest:
    """Valley test of the rows of nodes.

    Attributes
    ----------
    settings : SearchSettings
        Settings of the searches of the test.
    n_splits : int
        Number of repetitions.
    method : {"pooled", "exact"}
    level : float or None
        Only splits with a P-value of at most this, times the node's share of all rows, are made; None to make them all.
    """

    settings: SearchSettings
    n_splits: int = 1
    method: str = "pooled"
    level: float | None = None

    def compute_pvalue(
        self, rows: Rows, share: float, rng: np.random.Generator, pool: ThreadPoolExecutor | None
    ) -> float:
        """Return the P-value of some rows, which are a share of all."""
        near = share * LEVEL
        return run_valley_test(rows, self.n_splits, self.settings, rng, pool, self.method, near).pvalue

    def allows(self, pvalue: float, share: float) -> bool:
        """Return whether rows that are a share of all may be split.

        The levels of all nodes at one depth of the tree add up to that of the root.
        """
        return self.level is None or pvalue <= share * self.level


class DensitySplitter:
    """Splitter by the minimum density hyperplane.

    Parameters
    ----------
    settings : SearchSettings
    test : NodeTest, optional
        Test that every split must pass.
    pool : ThreadPoolExecutor, optional
        Threads that the fits of all nodes share.
    graph : NeighbourGraph, optional
        Graph that chooses among all hyperplanes of a search; without it the deepest one splits.
    min_size : int
        Smallest number of rows, or sum of weights, on a side of the hyperplane that the graph chooses.
    weights : ndarray of shape (n,), optional
        Weights of all rows. Not with tests: repeated rows are not independent evidence.
    """

    # X is passed as `Rows`, which are measured already.
    takes_rows = True

    def __init__(
        self,
        settings: SearchSettings,
        test: NodeTest | None = None,
        *,
        pool: ThreadPoolExecutor | None = None,
        graph: NeighbourGraph | None = None,
        min_size: int = 1,
        weights: Array | None = None,
    ) -> None:
        self.settings = settings
        self.test = test
        self.pool = pool
        self.graph = graph
        self.min_size = min_size
        self.weights = weights

    def split(self, X: Any, indices: NDArray[np.intp], rng: np.random.Generator) -> Split:
        """Find the hyperplane of some rows, and test it if asked to."""
        all_rows = as_rows(X)
        with all_rows.share_rounds():
            # A small part is copied. A large one is gathered block by block, so that X is never doubled.
            is_whole = len(indices) == all_rows.shape[0]
            copy = len(indices) <= all_rows.copy_limit
            rows = all_rows if is_whole and not copy else all_rows.subset(indices, copy=copy)
            pvalue = np.nan
            if self.test is not None:
                share = len(indices) / all_rows.shape[0]
                pvalue = self.test.compute_pvalue(rows, share, rng, self.pool)
                if not self.test.allows(pvalue, share):
                    return find_hidden_split(rows, share, self, self.test, rng) or Split(None, pvalue)
            weights = None if self.weights is None else self.weights[indices]
            if weights is not None and np.count_nonzero(weights) < 2:
                return Split(None)
            fit = fit_hyperplane(rows, weights, settings=self.settings, rng=rng, pool=self.pool)
        plane = fit.hyperplane
        if self.graph is not None:
            planes = list_hyperplanes(fit, len(indices) if weights is None else int(np.count_nonzero(weights)))
            plane = self.graph.choose_hyperplane(indices, planes, self.min_size) or plane
        return Split(plane if plane.splits else None, pvalue)

    def without_test(self, graph: NeighbourGraph | None, min_size: int) -> DensitySplitter:
        """Return a splitter with the same settings that makes all splits, with another graph and smallest side."""
        return DensitySplitter(self.settings, pool=self.pool, graph=graph, min_size=min_size, weights=self.weights)

    def has_enough(self, indices: NDArray[np.intp]) -> bool:
        """Return whether some rows are enough for a side of a split."""
        return (len(indices) if self.weights is None else float(self.weights[indices].sum())) >= self.min_size


def list_hyperplanes(fit: Fit, n_rows: int) -> list[Hyperplane]:
    """Return the distinct hyperplanes of a search that were fitted to all rows and separate two modes."""
    found = {
        (step.hyperplane.offset, step.hyperplane.normal.tobytes()): step.hyperplane
        for step in fit.log.steps
        if step.n_rows == n_rows and step.hyperplane.relative_depth > 0.0
    }
    return list(found.values())
