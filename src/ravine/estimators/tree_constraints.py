"""Labels and links of rows that the clusters of MinimumDensityTree respect."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ravine.checks import check_flag
from ravine.estimators.growth import Growth
from ravine.estimators.training_rows import TrainingRows
from ravine.rows import Rows
from ravine.tree import Tree
from ravine.tree.constraints import Constraints, make_constraints
from ravine.tree.grow import check_split_next
from ravine.tree.linked_splits import ConstrainedSplitter, LabelSplitter, complete_constraints, join_leaves
from ravine.tree.splitter import DensitySplitter

__all__ = ["TreeConstraintMixin"]

# Violated constraints that a warning names.
MOST_NAMED = 5


class TreeConstraintMixin:
    """Mixin of trees with constraints on pairs of rows.

    Attributes
    ----------
    violated_constraints_ : list of (str, int, int)
    """

    if TYPE_CHECKING:
        use_labels: bool
        split_next: Any
        shape_: str
        shape_reason_: str
        tree_: Tree
        leaves_: NDArray[np.intp]
        _training: TrainingRows

    def _check_constraints(
        self, rows: Rows, y: Any, must_link: ArrayLike | None, cannot_link: ArrayLike | None, n_clusters: int | None
    ) -> Constraints | None:
        """Return the constraints of a fit; None if there are none."""
        labels = y if check_flag("use_labels", self.use_labels) else None
        if self.use_labels and y is None:
            raise ValueError("use_labels=True needs labels: give fit a y, or leave use_labels=False.")
        found = make_constraints(rows.shape[0], labels, must_link, cannot_link)
        if found is not None and n_clusters is not None and found.n_classes > n_clusters:
            raise ValueError(
                f"y has {found.n_classes} different labels, more than n_clusters={n_clusters}: allow more clusters."
            )
        if found is not None and n_clusters == 1 and found.apart:
            raise ValueError("cannot_link needs at least two clusters, got n_clusters=1: allow more clusters.")
        return found

    def _meet_constraints(self, growth: Growth, tree: Tree, leaves: NDArray[np.intp]) -> tuple[Tree, NDArray[np.intp]]:
        """Split leaves with rows that cannot be in one cluster, and join leaves with rows that are in one."""
        rows, n_clusters, constraints, grown = growth.rows, growth.n_clusters, growth.constraints, leaves
        splitter, smallest = growth.splitter, growth.limits.smallest
        assert constraints is not None
        grower = ConstrainedSplitter(splitter, constraints, smallest, is_exclusive=True)
        tree, leaves = growth.split_leaves(grower, tree, leaves)
        joined = join_leaves(tree, leaves, rows, constraints, n_clusters)
        while n_clusters is not None and joined.n_clusters < n_clusters:  # joins need more leaves
            graph = splitter.graph if isinstance(splitter, DensitySplitter) else None
            more, more_leaves = growth.split_leaves(
                ConstrainedSplitter(splitter, constraints, smallest),
                tree,
                leaves,
                n_clusters=tree.n_leaves + n_clusters - joined.n_clusters,
                priority=check_split_next(self.split_next) if graph is not None else None,
                graph=graph,
            )
            if more.n_leaves == tree.n_leaves:
                break
            tree, leaves = more, more_leaves
            joined = join_leaves(tree, leaves, rows, constraints, n_clusters)
        is_met = not constraints.list_violations(joined.cluster[leaves])
        if not is_met or (n_clusters is not None and joined.n_clusters > n_clusters):
            complete = complete_constraints(constraints, rows, grown, n_clusters)
            for size in (smallest, 0):  # links win over min_cluster_size
                label_splitter = LabelSplitter(complete, max(size, 1))
                tree, leaves = growth.split_leaves(label_splitter, tree, leaves, min_cluster_size=size)
            joined = join_leaves(tree, leaves, rows, complete, n_clusters)
        if joined.n_clusters < joined.n_leaves:
            self.shape_, self.shape_reason_ = "any", "Leaves were joined to meet constraints."
        return joined, leaves

    def _name_violations(self, constraints: Constraints | None, n_clusters: int | None) -> None:
        """Store the constraints that are not met, and warn of them, and of more clusters than were asked for."""
        self.__dict__.pop("violated_constraints_", None)
        if constraints is None:
            if self.use_labels:  # a single label constrains nothing
                self.violated_constraints_: list[tuple[str, int, int]] = []
            return
        self._training.values["constraints"] = constraints  # for edits
        self.violated_constraints_ = constraints.list_violations(self.tree_.cluster[self.leaves_])
        if self.violated_constraints_:
            some = [f"{kind} ({i}, {j})" for kind, i, j in self.violated_constraints_[:MOST_NAMED]]
            more = len(self.violated_constraints_) - len(some)
            warnings.warn(
                f"{len(self.violated_constraints_)} of {len(constraints.links)} constraints are not met: "
                f"{', '.join(some)}{f' and {more} more' if more else ''}. See violated_constraints_.",
                UserWarning,
                stacklevel=3,
            )
        if n_clusters is not None and self.tree_.n_clusters > n_clusters:
            warnings.warn(
                f"the constraints are met with {self.tree_.n_clusters} clusters, more than n_clusters={n_clusters}: "
                "allow more clusters, or remove constraints.",
                UserWarning,
                stacklevel=3,
            )
