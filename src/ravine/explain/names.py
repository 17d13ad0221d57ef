"""Names of features."""

from __future__ import annotations

from typing import Any

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
    if names is None:
        return [f"x{j}" for j in range(n_features)]
    listed = [str(name) for name in names]
    if isinstance(feature_names, str) or len(listed) != n_features:
        got = repr(feature_names) if isinstance(feature_names, str) else len(listed)
        raise ValueError(f"feature_names must be {n_features} names, one for each feature of X, got {got}.")
    return listed
