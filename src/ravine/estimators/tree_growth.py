"""Growth of a tree of convex clusters in MinimumDensityTree: its splitter, its order and its refinement."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ravine._kernels import StopFlag
from ravine._typing import Array
from ravine.checks import (
    check_callback,
    check_choice,
    check_flag,
    check_integer,
    check_number,
    count_threads,
    make_generator,
)
from ravine.estimators._parameters import pick_parameters
from ravine.estimators.cluster_sizes import SizeLimits, check_sizes
from ravine.estimators.growth import Growth
from ravine.rows import Rows, open_pool
from ravine.search import BandwidthRule, check_settings
from ravine.tree import Splitter, Tree, grow
from ravine.tree.constraints import Constraints
from ravine.tree.grow import check_split_next
from ravine.tree.linked_splits import ConstrainedSplitter
from ravine.tree.neighbours import NeighbourGraph
from ravine.tree.refine import refine_tree
from ravine.tree.shapes import Shapes
from ravine.tree.splitter import DensitySplitter, NodeTest, SizeLimitSplitter, prefer_large
from ravine.tree.stability import suggest_tree
from ravine.validity import TEST_METHODS

__all__ = ["TreeGrowthMixin"]

# Attributes that only trees with a suggestion have.
SUGGESTION = ("n_shown_", "n_suggested_", "suggested_tree_", "suggested_leaves_")


class TreeGrowthMixin:
    """Mixin that grows a tree of convex clusters by the parameters of the estimator."""

    if TYPE_CHECKING:
        n_clusters: int | str
        split_next: Any
        refine: bool
        shape: str
        n_clusters_: int
        labels_: NDArray[np.intp]
        shape_: str
        shape_reason_: str
        n_jobs: int | None
        random_state: Any
        callback: Any
        min_cluster_size: float
        max_cluster_size: float | None

        def _find_shapes(self, growth: Growth) -> Shapes | str: ...
        def _meet_constraints(
            self, growth: Growth, tree: Tree, leaves: NDArray[np.intp]
        ) -> tuple[Tree, NDArray[np.intp]]: ...
        def _decide_before_growth(self, shapes: Shapes | str) -> str: ...
        def _decide_after_growth(
            self, shapes: Shapes | str, tree: Tree, leaves: NDArray[np.intp], n_clusters: int | None
        ) -> bool: ...
        def _store_shapes(self, shapes: Shapes, rows: Rows, n_clusters: int | None) -> Tree: ...

        test: bool
        alpha_test: float
        test_method: str
        n_splits: int
        splitter: Splitter | None
        bandwidth: BandwidthRule

    def _grow(
        self, rows: Rows, n_clusters: int | None, weights: Array | None, constraints: Constraints | None = None
    ) -> int:
        """Grow, refine, join or continue the tree; return the number of clusters that valleys separate."""
        n_threads = count_threads(self.n_jobs)
        growth = self._prepare_growth(rows, n_clusters, weights, constraints, rows.node_threads(n_threads))
        with open_pool(n_threads, growth.flag) as pool:
            shapes = self._find_shapes(growth)
            reason, n_separated = self._decide_before_growth(shapes), n_clusters or 1
            use_shapes, suggested = bool(reason), None
            if use_shapes:
                self.shape_, self.shape_reason_ = "any", reason
            else:
                tree, leaves, n_separated = self._grow_convex(growth, pool)
                use_shapes = self._decide_after_growth(shapes, tree, leaves, n_clusters)
                n_shown = tree.n_clusters
                if not use_shapes:
                    tree, leaves, suggested = self._continue_growth(growth, tree, leaves)
        if use_shapes:
            assert isinstance(shapes, Shapes)
            joined = self._store_shapes(shapes, rows, n_clusters)
            if growth.notify is not None:
                growth.notify(joined)
            return min(shapes.count_separated(), self.n_clusters_)
        if suggested is not None and self.n_clusters == "suggested":
            tree, leaves = suggested
        self._store(tree, leaves)
        if suggested is not None:
            self._suggest(n_shown, suggested)
        return n_separated

    def _prepare_growth(
        self,
        rows: Rows,
        n_clusters: int | None,
        weights: Array | None,
        constraints: Constraints | None,
        n_threads: int,
    ) -> Growth:
        """Check the parameters, and return the inputs of the growth with a new splitter."""
        splitter = self._make_splitter(rows.shape[1], n_clusters, weights)
        limits = self._check_sizes(rows, n_clusters, weights)
        if isinstance(splitter, DensitySplitter):
            splitter.min_size = limits.smallest
        rng, flag, notify = make_generator(self.random_state), StopFlag(), check_callback(self.callback)
        seed = int(rng.integers(2**31))
        return Growth(rows, n_clusters, weights, splitter, limits, constraints, rng, seed, n_threads, notify, flag)

    def _grow_convex(self, growth: Growth, pool: ThreadPoolExecutor | None) -> tuple[Tree, NDArray[np.intp], int]:
        """Grow and refine a tree of convex clusters; return it, the leaves and the number that valleys separate."""
        rows, n_clusters, splitter, largest = growth.rows, growth.n_clusters, growth.splitter, growth.limits.largest
        is_default = isinstance(splitter, DensitySplitter)
        is_tested = isinstance(splitter, DensitySplitter) and splitter.test is not None
        # Splits stay as they were tested, and as a splitter of the user made them.
        refine = check_flag("refine", self.refine) and is_default and not is_tested
        priority, chooses, graph = check_split_next(self.split_next), self.split_next == "cut", None
        if chooses or callable(self.split_next):
            graph = NeighbourGraph(rows, n_clusters, growth.rng, growth.weights, spread=not is_tested)
        grower = splitter
        if isinstance(splitter, DensitySplitter):
            splitter.pool, splitter.graph = pool, graph if chooses else None
            if largest is not None and n_clusters is not None:
                grower = SizeLimitSplitter(splitter, largest, is_exclusive=False)
        if growth.constraints is not None:
            grower, refine = ConstrainedSplitter(grower, growth.constraints, growth.limits.smallest), False
        if largest is not None and priority is not None:
            priority = prefer_large(priority, largest, rows.shape[0])
        grown, leaves = grow(rows, grower, n_clusters=n_clusters, priority=priority, graph=graph, **growth.options)
        tree = grown
        if refine and graph is not None and chooses and n_clusters is not None:
            sizes = growth.limits.smallest, float("inf") if largest is None else largest
            tree, leaves = refine_tree(grown, leaves, rows, graph, sizes, self.bandwidth, n_clusters)
            if tree is not grown and growth.notify is not None:
                growth.notify(tree)
        return tree, leaves, grown.n_leaves

    def _continue_growth(
        self, growth: Growth, tree: Tree, leaves: NDArray[np.intp]
    ) -> tuple[Tree, NDArray[np.intp], tuple[Tree, NDArray[np.intp]] | None]:
        """Meet constraints, or split clusters that are too large, or suggest more; the last is returned beside."""
        if growth.constraints is not None:
            return *self._meet_constraints(growth, tree, leaves), None
        if growth.n_clusters is not None:
            return tree, leaves, None
        splitter, largest = growth.splitter, growth.limits.largest
        assert isinstance(splitter, DensitySplitter)
        if largest is not None and int(tree.size[tree.left < 0].max()) > largest:
            return *growth.split_leaves(SizeLimitSplitter(splitter, largest, is_exclusive=True), tree, leaves), None
        return tree, leaves, suggest_tree(tree, leaves, growth.rows, splitter, growth.rng, **growth.options)

    def _suggest(self, n_shown: int, suggested: tuple[Tree, NDArray[np.intp]]) -> None:
        self.n_shown_ = n_shown
        self.suggested_tree_, self.suggested_leaves_ = suggested
        self.n_suggested_ = self.suggested_tree_.n_clusters

    def _store(self, tree: Tree, leaves: NDArray[np.intp]) -> None:
        self.tree_ = tree
        self.leaves_ = leaves
        self.labels_ = tree.cluster[leaves]
        self.n_clusters_ = tree.n_clusters
        self.n_iter_ = max(1, tree.n_leaves - 1)
        for name in SUGGESTION:  # of an earlier fit, or of the tree before an edit
            self.__dict__.pop(name, None)

    def _check_sizes(self, rows: Rows, n_clusters: int | None, weights: Array | None) -> SizeLimits:
        total = rows.shape[0] if weights is None else float(weights.sum())
        limits = check_sizes(self.min_cluster_size, self.max_cluster_size, total, n_clusters)
        if limits.largest is not None and self.splitter is not None:
            raise ValueError("max_cluster_size needs the default splitter: leave out one of the two.")
        return limits

    def _warn_of_large_clusters(self, rows: Rows, n_clusters: int | None, weights: Array | None) -> None:
        """Warn of clusters that are larger than allowed."""
        largest = self._check_sizes(rows, n_clusters, weights).largest
        if largest is None:
            return
        sizes = np.bincount(self.labels_[self.labels_ >= 0], None if weights is None else weights[self.labels_ >= 0])
        large = np.flatnonzero(sizes > largest).tolist()
        if large:
            names = ", ".join(f"{k} ({sizes[k]:g} rows)" for k in large[:5])
            warnings.warn(
                f"{'clusters' if large[1:] else 'cluster'} {names} {'are' if large[1:] else 'is'} larger than "
                f"max_cluster_size={largest}: allow more clusters, or larger ones.",
                UserWarning,
                stacklevel=3,
            )

    def _make_splitter(self, n_features: int, n_clusters: int | None, weights: Array | None = None) -> Splitter:
        test = check_flag("test", self.test) or n_clusters is None or self.split_next == "significance"
        level = check_number("alpha_test", self.alpha_test, low=0.0, high=1.0)
        n_splits = check_integer("n_splits", self.n_splits, low=1)
        test_method = check_choice("test_method", self.test_method, TEST_METHODS)
        if self.splitter is None:
            parameters = pick_parameters(self, check_settings, exclude=("n_jobs", "callback"))
            settings = check_settings(**parameters).check_init(n_features)
            node_test = NodeTest(settings, n_splits, test_method, level if n_clusters is None else None)
            if isinstance(settings.init, str) and settings.init == "auto":
                settings = replace(settings, init="axes")
            if weights is not None and test:
                reason = "n_clusters=" + repr(self.n_clusters) if n_clusters is None else "a test"
                raise ValueError(
                    f"sample_weight cannot be used with {reason}: tests count rows, and repeated rows are not "
                    "independent evidence. Give n_clusters a number and leave test=False."
                )
            return DensitySplitter(settings, node_test if test else None, weights=weights)
        if isinstance(self.splitter, str) or not callable(getattr(self.splitter, "split", None)):
            raise TypeError(f"splitter must have a method split(X, indices, rng), got {self.splitter!r}.")
        if weights is not None:
            raise ValueError(
                "sample_weight needs the default splitter: a splitter of your own is called without weights."
            )
        if n_clusters is None:
            raise ValueError(
                f"n_clusters={self.n_clusters!r} needs the default splitter, which tests its splits: give a number."
            )
        return self.splitter
