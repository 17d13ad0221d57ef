"""Clusters of any shape in MinimumDensityTree: when cells are joined, and how the result is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ravine.checks import check_choice
from ravine.estimators.growth import Growth
from ravine.rows import Rows
from ravine.search import BandwidthRule
from ravine.tree import Splitter, Tree
from ravine.tree.shapes import Shapes, build_tree, choose_shape, find_curved, find_shapes

__all__ = ["TreeShapeMixin"]

SHAPES = ("auto", "convex", "any")


class TreeShapeMixin:
    """Mixin of trees whose leaves can be joined.

    Attributes
    ----------
    shape_ : {"convex", "any"}
    shape_reason_ : str
    """

    if TYPE_CHECKING:
        shape: str
        splitter: Splitter | None
        split_next: Any
        test: bool
        alpha_test: float
        test_method: str
        max_cluster_size: float | None
        bandwidth: BandwidthRule

        def _store(self, tree: Tree, leaves: NDArray[np.intp]) -> None: ...
        def _suggest(self, n_shown: int, suggested: tuple[Tree, NDArray[np.intp]]) -> None: ...

    def _find_shapes(self, growth: Growth) -> Shapes | str:
        """Find clusters of any shape, unless the parameters exclude it; then return the reason."""
        has_weights, has_constraints = growth.weights is not None, growth.constraints is not None
        obstacle = self._find_obstacle_to_joins(growth.n_clusters, has_weights, has_constraints)
        if obstacle:
            return obstacle
        # A generator of its own, so that convex clusters do not depend on the shape that is asked for.
        rng = np.random.default_rng([growth.seed, 1])
        min_size = growth.limits.smallest
        return find_shapes(growth.rows, growth.n_clusters, min_size, rng, growth.flag, self.alpha_test)

    def _find_obstacle_to_joins(self, n_clusters: int | None, has_weights: bool, has_constraints: bool) -> str:
        """Return why cells cannot be joined, as a part of a sentence; raise an error if they have to be."""
        shape = check_choice("shape", self.shape, SHAPES)
        obstacles = {
            "shape='convex'": shape == "convex",
            "a splitter is given": self.splitter is not None,
            f"split_next={self.split_next!r}": self.split_next != "cut",
            "sample_weight is given": has_weights,
            "labels or links are given": has_constraints,
            f"max_cluster_size={self.max_cluster_size!r}": self.max_cluster_size is not None,
            "test=True": self.test and n_clusters is not None,
            "test_method='exact'": self.test_method == "exact" and n_clusters is None,
        }
        obstacle = next((name for name, applies in obstacles.items() if applies), "")
        if shape == "any" and obstacle:
            raise ValueError(
                f"shape='any' cuts cells of its own and does not test them, but {obstacle}: use shape='convex', or "
                "leave that out."
            )
        return obstacle

    def _decide_before_growth(self, shapes: Shapes | str) -> str:
        """Return why joined cells are used without a tree of convex clusters to compare with; empty if they are not."""
        if isinstance(shapes, str):
            return ""
        return "Set by shape='any'." if self.shape == "any" else find_curved(shapes)

    def _decide_after_growth(
        self, shapes: Shapes | str, tree: Tree, leaves: NDArray[np.intp], n_clusters: int | None
    ) -> bool:
        """Return whether joined cells replace a tree of convex clusters, and store the reason."""
        use_shapes = False
        if self.shape == "convex":
            self.shape_reason_ = "Set by shape='convex'."
        elif isinstance(shapes, str):
            self.shape_reason_ = f"Cells are not joined: {shapes}."
        else:
            use_shapes, self.shape_reason_ = choose_shape(shapes, tree, leaves, n_clusters)
        self.shape_ = "any" if use_shapes else "convex"
        return use_shapes

    def _store_shapes(self, shapes: Shapes, rows: Rows, n_clusters: int | None) -> Tree:
        """Store joined cells as the tree, and return it."""
        tree, leaves = build_tree(shapes, rows, self.bandwidth)
        self._store(tree, leaves)
        if n_clusters is None:
            self._suggest(tree.n_clusters, (tree, leaves))
        return tree
