"""Cuts and edits of a fitted tree: fewer clusters, prune, merge and split."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ravine.checks import make_generator
from ravine.estimators.cluster_sizes import check_size
from ravine.estimators.training_rows import TrainingRows
from ravine.rows.inputs import validate_rows
from ravine.tree import Tree
from ravine.tree.editing import find_new_nodes
from ravine.tree.grow import split_rows

__all__ = ["TreeEditMixin"]

# Values of the fit that edits do not change.
KEPT = ("outliers", "scores", "marks", "threshold", "constraints")


class TreeEditMixin:
    """Methods that return an edited copy of a fitted tree; labels and predictions follow the edit."""

    if TYPE_CHECKING:
        n_clusters: int | str
        alpha_test: float
        n_clusters_: int
        tree_: Tree
        suggested_tree_: Tree
        leaves_: NDArray[np.intp]
        suggested_leaves_: NDArray[np.intp]
        labels_: NDArray[np.intp]
        violated_constraints_: list[tuple[str, int, int]]
        _training: TrainingRows

        def _get_fit_partition(self) -> tuple[Tree, NDArray[np.intp]]: ...
        def _mark(self, labels: NDArray[np.intp]) -> NDArray[np.intp]: ...

        def _store(self, tree: Tree, leaves: NDArray[np.intp]) -> None: ...

    def cut(self, n_clusters: int | str | None = None, significance: float | None = None) -> NDArray[np.intp]:
        """Return labels of the training rows for fewer clusters, or the suggested ones, without fitting again.

        Parameters
        ----------
        n_clusters : int or "suggested", optional
            Keep the first splits that give this many clusters: at most ``n_clusters_`` or, if it is larger,
            ``n_suggested_``. If cells were joined (``shape_`` is ``"any"``), undo the last joins, up to the number of
            leaves, or continue them across the weakest boundaries.
        significance : float, optional
            Keep splits whose P-value, and those of all splits above, are at most this.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        if isinstance(self.n_clusters, str) and isinstance(significance, numbers.Real):
            made = self.tree_.pvalue[self.tree_.left >= 0]
            if significance > max(self.alpha_test, np.nanmax(made, initial=0.0)):
                raise ValueError(
                    f"significance={significance} is above alpha_test={self.alpha_test}, at which the tree was grown: "
                    "splits with a larger P-value were not made. Fit with a larger alpha_test."
                )
        if significance is not None and self.n_clusters == "suggested":
            raise ValueError("suggested splits are not tested: fit with n_clusters='auto' to cut by significance.")
        whole, leaves = self.tree_, self.leaves_
        n_suggested = getattr(self, "n_suggested_", 0)
        if isinstance(n_clusters, str):
            if n_clusters != "suggested" or not n_suggested:
                raise ValueError(
                    f"n_clusters={n_clusters!r} is not a number of clusters; 'suggested' needs a tree that was fitted "
                    "with n_clusters='auto' or 'suggested'."
                )
            n_clusters = n_suggested
        if isinstance(n_clusters, int | np.integer) and self.n_clusters_ < n_clusters <= n_suggested:
            whole, leaves = self.suggested_tree_, self.suggested_leaves_
        tree = whole.cut(n_clusters, significance)
        return self._mark(np.asarray(tree.cluster[find_new_nodes(whole, tree)[leaves]]))

    def prune(self, node: int) -> Self:
        """Return a copy in which a node is a leaf.

        Parameters
        ----------
        node : int

        Returns
        -------
        MinimumDensityTree
        """
        check_is_fitted(self)
        tree = self.tree_.prune(node)
        return self._edited(tree, find_new_nodes(self.tree_, tree)[self.leaves_])

    def merge(self, leaf: int, other: int) -> Self:
        """Return a copy in which two leaves are one cluster.

        Parameters
        ----------
        leaf, other : int

        Returns
        -------
        MinimumDensityTree
        """
        check_is_fitted(self)
        return self._edited(self.tree_.merge(leaf, other), self.leaves_.copy())

    def split(self, leaf: int, X: ArrayLike, **parameters: Any) -> Self:
        """Return a copy in which a leaf is split, without a test.

        Parameters
        ----------
        leaf : int
        X : array-like of shape (n_samples, n_features)
            The rows of the training data.
        **parameters
            Parameters of the estimator for this split.

        Returns
        -------
        MinimumDensityTree
        """
        check_is_fitted(self)
        rows = validate_rows(self, X, reset=False)
        if rows.shape[0] != len(self.leaves_) or not np.array_equal(rows.apply(self.tree_.apply), self.leaves_):
            raise ValueError("X must contain the rows that the tree was fitted to.")
        if not self.tree_.is_leaf(leaf):
            raise ValueError(f"node {leaf} is not a leaf: it is split already; prune({leaf}) makes it one.")
        inside = np.flatnonzero(self.leaves_ == leaf)
        worker = clone(self).set_params(**{"test": False, **parameters})
        splitter = worker._make_splitter(rows.shape[1], 2)
        found = split_rows(splitter, rows, inside, make_generator(worker.random_state))
        if found.hyperplane is None:
            raise ValueError(f"leaf {leaf} cannot be split: no hyperplane was found that splits it.")
        beyond = found.hyperplane.distance(rows, inside) > 0.0
        sizes = int((~beyond).sum()), int(beyond.sum())
        fewest = check_size("min_cluster_size", worker.min_cluster_size, rows.shape[0])
        if min(sizes) < fewest:
            raise ValueError(
                f"leaf {leaf} cannot be split: a side would have fewer than min_cluster_size={fewest} rows; give split "
                "a smaller min_cluster_size."
            )
        tree = self.tree_.split(leaf, found.hyperplane, sizes, found.pvalue)
        leaves = self.leaves_.copy()
        leaves[inside] = np.where(beyond, tree.right[leaf], tree.left[leaf])
        return self._edited(tree, leaves, X)

    def _edited(self, tree: Tree, leaves: NDArray[np.intp], X: Any = None) -> Self:
        edited = object.__new__(type(self))  # copy.copy would estimate memberships
        edited.__dict__.update(self.__dict__)
        rows = self._training.X if X is None else X
        # Outliers are those of the fit, whatever the clusters are.
        values = {name: self._training.values[name] for name in KEPT if name in self._training.values}
        values["partition"] = self._get_fit_partition()
        if rows is None and "odds" in self._training.values:  # of the splits that remain
            odds = self._training.values["odds"]
            values["odds"] = odds.renumber(find_new_nodes(self.tree_, tree), tree)
        edited._training = TrainingRows(rows, self._training.weights, values)
        edited._store(tree, leaves)
        edited.__dict__.pop("violated_constraints_", None)  # model files do not contain the constraints
        if "constraints" in values:
            edited.violated_constraints_ = values["constraints"].list_violations(tree.cluster[leaves])
        edited.labels_ = edited._mark(edited.labels_)
        return edited
