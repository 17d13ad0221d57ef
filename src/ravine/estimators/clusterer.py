"""Methods that MinimumDensityHyperplane and MinimumDensityTree share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from ravine._typing import Array
from ravine.checks import check_weights
from ravine.estimators._shared import CALLBACKS, apply_to_rows, find_documentation
from ravine.explain.memberships import Memberships, SplitOdds
from ravine.rows import Rows
from ravine.rows.inputs import allow_sparse, validate_readable_rows, validate_rows

if TYPE_CHECKING:  # a hyperplane is fitted without a tree
    from ravine.explain.outliers import OutlierModel
    from ravine.tree import Tree


class DensityClusterer(ClusterMixin, *CALLBACKS, BaseEstimator, ABC):  # type: ignore[misc]
    """Base of the clusterers: predictions, memberships, outliers, exemplars and centres.

    A subclass sets ``split_odds_`` and, if it marks outliers, ``outlier_model_``.
    """

    labels_: NDArray[np.intp]
    split_odds_: SplitOdds
    n_iter_: int
    _doc_link_module = "ravine"
    _doc_link_template = property(lambda self: find_documentation())
    outlier_model_: OutlierModel
    outlier_scores_: Array
    n_outliers_: int

    @abstractmethod
    def _get_tree(self) -> Tree:
        """Return the tree of the clusters."""

    def _get_labeller(self) -> Callable[[Any], NDArray[np.intp]]:
        """Return the function from an array to clusters."""
        return self._get_tree().predict

    def _count_clusters(self) -> int:
        return self._get_tree().n_clusters

    def __sklearn_tags__(self) -> Any:
        return allow_sparse(super().__sklearn_tags__())

    def _mark_outliers(self, rows: Rows, contamination: float | str | None, weights: Array | None) -> None:
        """Score the rows of a fit and mark outliers, with ``contamination``."""
        if contamination is not None:
            from ravine.explain.outliers import mark_outliers

            tree = self._get_tree()
            leaves = np.asarray(rows.apply(tree.apply))
            self.outlier_model_, self.outlier_scores_, marks = mark_outliers(tree, rows, leaves, contamination, weights)
            self.labels_, self.n_outliers_ = np.where(marks, -1, tree.cluster[leaves]), int(np.count_nonzero(marks))

    def predict(self, X: ArrayLike, outliers: bool = False) -> NDArray[np.intp]:
        """Predict the cluster of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        outliers : bool, default=False
            Whether outliers get the label -1. Only after a fit with ``contamination``. ``labels_`` marks exactly that
            share of the rows even if others have the same outlier score as the last of them; here none of these is an
            outlier.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        if not outliers:
            return apply_to_rows(self, self._get_labeller(), X)
        if not hasattr(self, "outlier_model_"):
            raise ValueError("predict(..., outliers=True) needs a fit with contamination: set it to a share or 'auto'.")
        from ravine.explain.outliers import Marking

        return apply_to_rows(self, Marking(self._get_labeller(), self.outlier_model_), X)

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return the memberships of each row in all clusters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            Rows sum to 1. The largest membership is that of the cluster that `predict` returns.
        """
        check_is_fitted(self)
        return apply_to_rows(self, Memberships(self.split_odds_, self._get_tree(), self._count_clusters()), X)

    def score_outliers(self, X: ArrayLike, reference: ArrayLike | None = None) -> Array:
        """Return the outlier score of each row: 0.5 for the median row of the reference, and at most 1.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        reference : array-like of shape (n_reference, n_features), optional
            Rows that define what is typical of each cluster. By default those of the fit if ``contamination`` was
            given, else X itself.

        Returns
        -------
        ndarray of shape (n_samples,)
            Comparable across clusters. A row of a cluster without any reference row has the score 1.
        """
        check_is_fitted(self)
        if reference is None and hasattr(self, "outlier_model_"):
            return apply_to_rows(self, self.outlier_model_.score, X)
        if reference is None:
            rows = known = validate_readable_rows(self, X, reset=False)
        else:
            rows = validate_rows(self, X, reset=False)
            try:
                known = validate_readable_rows(self, reference, reset=False)
            except (TypeError, ValueError) as error:
                raise type(error)(f"reference is not valid as X: {error}") from error
        return rows.apply(self._fit_outlier_model(known).score)  # type: ignore[no-any-return]

    def _fit_outlier_model(self, rows: Rows) -> OutlierModel:
        from ravine.explain.outliers import OutlierModel

        with rows.session():
            return OutlierModel.of(self._get_tree(), rows)

    def find_exemplars(self, X: ArrayLike) -> list[NDArray[np.intp]]:
        """Find the most typical rows of each cluster: those with the smallest outlier scores, at most 5.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        list of ndarray of int
            Indices of rows of X for each cluster, the most typical first.
        """
        from ravine.explain.outliers import find_exemplars

        check_is_fitted(self)
        rows = validate_readable_rows(self, X, reset=False)
        model = self.outlier_model_ if hasattr(self, "outlier_model_") else self._fit_outlier_model(rows)
        with rows.session():
            scores = model.score_rows(rows)
            return find_exemplars(scores, self._find_typical_clusters(rows, scores), self._count_clusters())

    def compute_centers(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> Array:
        """Compute the mean of the rows of each cluster, without outliers if the fit marked them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        ndarray of shape (n_clusters, n_features)
            NaN for clusters without rows.
        """
        from ravine.explain.outliers import average_clusters

        check_is_fitted(self)
        rows = validate_readable_rows(self, X, reset=False)
        weights = check_weights(sample_weight, rows.shape[0])
        with rows.session():
            scores = self.outlier_model_.score_rows(rows) if hasattr(self, "outlier_model_") else None
            return average_clusters(rows, self._find_typical_clusters(rows, scores), self._count_clusters(), weights)

    def _find_typical_clusters(self, rows: Rows, scores: Array | None) -> NDArray[np.intp]:
        """Return the cluster of each row, with -1 for outliers of clusters that have other rows."""
        from ravine.explain.outliers import leave_out_outliers

        clusters = np.asarray(rows.apply(self._get_labeller()))
        if scores is None or not hasattr(self, "outlier_model_"):
            return clusters
        return leave_out_outliers(clusters, scores > self.outlier_model_.threshold)
