"""Names of features."""

from __future__ import annotations

from typing import Any

from ravine.checks import check_feature_names

__all__ = ["name_features"]


def name_features(feature_names: Any, n_features: int, estimator: Any = None) -> list[str]:
    """Return the names of the features: those given, those seen in the fit, or x0, x1, ...

    Parameters
    ----------
    feature_names : sequence of str or None
    n_features : int
    estimator : object, optional
        Fitted estimator, whose ``feature_names_in_`` are used if no names are given.

    Returns
    -------
    list of str
    """
    names = getattr(estimator, "feature_names_in_", None) if feature_names is None else feature_names
    return check_feature_names(names, n_features)
