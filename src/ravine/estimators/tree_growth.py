"""Growth of a tree of convex clusters in MinimumDensityTree: its splitter, its order and its refinement."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ravine.checks import check_choice, check_flag, check_integer, check_number
from ravine.estimators._parameters import pick_parameters
from ravine.rows import Rows
from ravine.search import BandwidthRule, check_settings
from ravine.tree import Splitter, Tree, grow
from ravine.tree.neighbours import NeighbourGraph
from ravine.tree.policies import check_split_next
from ravine.tree.refine import refine_tree
from ravine.tree.splitter import DensitySplitter, NodeTest
from ravine.validity import TEST_METHODS

__all__ = ["TreeGrowthMixin"]


class TreeGrowthMixin:
    """Mixin that grows a tree of convex clusters by the parameters of the estimator."""

    if TYPE_CHECKING:
        n_clusters: int | str
        split_next: Any
        refine: bool
        min_cluster_size: int
        test: bool
        alpha_test: float
        test_method: str
        n_splits: int
        splitter: Splitter | None
        bandwidth: BandwidthRule

    def _grow_convex(
        self,
        rows: Rows,
        n_clusters: int | None,
        splitter: Splitter,
        rng: np.random.Generator,
        pool: ThreadPoolExecutor | None,
        shared: dict[str, Any],
    ) -> tuple[Tree, NDArray[np.intp], int]:
        """Grow and refine a tree of convex clusters; return it, the leaves and the number that valleys separate."""
        # Tested splits stay as they were tested.
        refine = check_flag("refine", self.refine) and isinstance(splitter, DensitySplitter) and splitter.test is None
        priority, chooses = check_split_next(self.split_next), self.split_next == "cut"
        graph = NeighbourGraph(rows, n_clusters, rng) if chooses or callable(self.split_next) else None
        if isinstance(splitter, DensitySplitter):
            splitter.pool, splitter.graph = pool, graph if chooses else None
        grown, leaves = grow(rows, splitter, n_clusters=n_clusters, priority=priority, graph=graph, **shared)
        tree = grown
        if refine and graph is not None and chooses and n_clusters is not None:
            tree, leaves = refine_tree(grown, leaves, rows, graph, self.min_cluster_size, self.bandwidth, n_clusters)
            if tree is not grown and shared["notify"] is not None:
                shared["notify"](tree)
        return tree, leaves, grown.n_leaves

    def _make_splitter(self, n_features: int, n_clusters: int | None) -> Splitter:
        test = check_flag("test", self.test) or n_clusters is None or self.split_next == "significance"
        level = check_number("alpha_test", self.alpha_test, low=0.0, high=1.0)
        n_splits = check_integer("n_splits", self.n_splits, low=1)
        min_size = check_integer("min_cluster_size", self.min_cluster_size, low=1)
        test_method = check_choice("test_method", self.test_method, TEST_METHODS)
        if self.splitter is None:
            parameters = pick_parameters(self, check_settings, exclude=("n_jobs", "callback"))
            settings = check_settings(**parameters).check_init(n_features)
            node_test = NodeTest(settings, n_splits, test_method, level if n_clusters is None else None)
            if isinstance(settings.init, str) and settings.init == "auto":
                settings = replace(settings, init="axes")
            return DensitySplitter(settings, node_test if test else None, min_size=min_size)
        if isinstance(self.splitter, str) or not callable(getattr(self.splitter, "split", None)):
            raise TypeError(f"splitter must have a method split(X, indices, rng), got {self.splitter!r}.")
        if n_clusters is None:
            raise ValueError(
                f"n_clusters={self.n_clusters!r} needs the default splitter, which tests its splits: give a number."
            )
        return self.splitter
