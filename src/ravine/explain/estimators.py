"""Estimators that can be explained."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from ravine.estimators import MinimumDensityClassifier, MinimumDensityHyperplane, MinimumDensityTree

__all__ = ["check_estimator"]


def check_estimator(estimator: Any) -> None:
    """Raise an error unless the estimator is a fitted one of this library."""
    if not isinstance(estimator, MinimumDensityTree | MinimumDensityHyperplane | MinimumDensityClassifier):
        raise TypeError(
            "estimator must be a fitted MinimumDensityTree, MinimumDensityHyperplane or MinimumDensityClassifier, got "
            f"{type(estimator).__name__}. For a pipeline, pass its last step, and X as transformed by the other steps."
        )
    check_is_fitted(estimator)
