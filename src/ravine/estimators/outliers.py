"""Outlier scores, marks of outliers and exemplars of clusters."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ravine._typing import Array
from ravine.estimators.memberships import MembershipMixin
from ravine.rows.inputs import validate_rows

if TYPE_CHECKING:
    from ravine.tree.outliers import OutlierModel

__all__ = ["OutlierMixin", "check_contamination"]


def check_contamination(value: Any) -> float | str | None:
    """Return the parameter ``contamination``: None, "auto" or a number between 0 and 0.5."""
    if value is None or (isinstance(value, str) and value == "auto"):
        return value
    allowed = 'None, "auto" or a number between 0 and 0.5, both excluded'
    if isinstance(value, str | bool | np.bool_) or not isinstance(value, numbers.Real):
        raise TypeError(f"contamination must be {allowed}, got {value!r} of type {type(value).__name__}.")
    if not 0.0 < float(value) < 0.5:
        raise ValueError(f"contamination must be {allowed}, got {value!r}.")
    return float(value)


class OutlierMixin(MembershipMixin):
    """Mixin of clusterers that score and mark outliers."""

    if TYPE_CHECKING:
        contamination: float | str | None
        labels_: Any

        @property
        def _label_rows(self) -> Callable[[Any], NDArray[np.intp]]: ...

    def predict(self, X: ArrayLike, outliers: bool = False) -> NDArray[np.intp]:
        """Predict the cluster of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        outliers : bool, default=False
            Whether outliers get the label -1. Only if ``contamination`` is given. ``labels_`` marks that share of the
            rows even if others have the same outlier score as the last of them; here none of these is an outlier.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        rows = validate_rows(self, X, reset=False)
        if not outliers:
            return rows.apply(self._label_rows)  # type: ignore[no-any-return]
        if "threshold" not in self._training.values:
            raise ValueError("predict(..., outliers=True) needs a fit with contamination: set it to a share or 'auto'.")
        mark = _Marking(self._label_rows, self._get_outlier_model(), self._training.values["threshold"])
        return rows.apply(mark)  # type: ignore[no-any-return]

    @property
    def outlier_scores_(self) -> Array:
        """Outlier score of each row of the fit, from 0 to 1; half of the rows are above 0.5."""
        return self._compute("scores", self._compute_outlier_scores)

    def _compute_outlier_scores(self) -> Array:
        rows, model = self._read_training_rows("outlier_scores_"), self._get_outlier_model()
        _, leaves = self._get_fit_partition()
        if rows.in_memory and not rows.is_sparse:
            return model.score(rows.to_array(), leaves)
        return np.asarray(rows.apply(model.score))

    def _get_outlier_model(self) -> OutlierModel:
        return self._compute("outliers", self._fit_outlier_model)

    def _fit_outlier_model(self) -> OutlierModel:
        from ravine.tree.outliers import OutlierModel  # a hyperplane is fitted without a tree

        rows = self._read_training_rows("outlier_scores_")
        tree, leaves = self._get_fit_partition()
        with rows.session():
            return OutlierModel.of(tree, self._get_samples(), leaves, rows)

    def score_outliers(self, X: ArrayLike) -> Array:
        """Return the outlier score of each row, on the scale of ``outlier_scores_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return validate_rows(self, X, reset=False).apply(self._get_outlier_model().score)  # type: ignore[no-any-return]

    @property
    def n_outliers_(self) -> int:
        """Number of rows of the fit that are marked as outliers."""
        return int(np.count_nonzero(self._get_marks()))

    @property
    def exemplars_(self) -> list[NDArray[np.intp]]:
        """Indices of the most typical rows of each cluster: those with the smallest outlier scores, at most 5."""
        return self._compute("exemplars", self._find_exemplars)

    def _find_exemplars(self) -> list[NDArray[np.intp]]:
        from ravine.tree.exemplars import find_exemplars

        tree, _ = self._get_partition()
        return find_exemplars(self.outlier_scores_, self._get_typical_clusters(), self._count_columns(tree))

    # ------------------------------------------------------------------------------------------- marks

    def _get_marks(self) -> NDArray[np.bool_]:
        """Return which rows of the fit are outliers."""
        check_is_fitted(self)
        marks = self._training.values.get("marks")
        return np.zeros(0, dtype=bool) if marks is None else marks

    def _find_outliers(self) -> None:
        """Mark the outliers of the fit, if ``contamination`` says so."""
        share = check_contamination(self.contamination)
        if share is not None:
            from ravine.tree.outliers import choose_outliers

            fence, values = self._get_outlier_model().fence, self._training.values
            known = None if isinstance(share, str) else share
            values["marks"], values["threshold"] = choose_outliers(self.outlier_scores_, known, fence)

    def _mark(self, labels: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return labels of the rows of the fit in which outliers are -1."""
        marks = self._get_marks()
        return np.where(marks, -1, labels) if len(marks) else labels


class _Marking:
    """Function from rows to labels with -1 for outliers, which can be sent to other processes.

    Parameters
    ----------
    label_rows : callable
    model : OutlierModel
    threshold : float
    """

    def __init__(self, label_rows: Callable[[Any], NDArray[np.intp]], model: OutlierModel, threshold: float) -> None:
        self.label_rows, self.model, self.threshold = label_rows, model, threshold

    def __call__(self, X: Any) -> NDArray[np.intp]:
        return np.where(self.model.score(X) > self.threshold, -1, self.label_rows(X))
