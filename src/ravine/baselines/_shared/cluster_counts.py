"""Checks of the number of clusters, before and after a fit."""

from __future__ import annotations

import warnings
from typing import Any

from ravine.checks import check_integer
from ravine.estimators import NoSplitWarning

__all__ = ["check_cluster_count", "check_enough_rows", "has_at_most_two_clusters", "warn_of_fewer_clusters"]


def check_cluster_count(value: Any) -> int | None:
    """Validate a parameter ``n_clusters`` that may be "auto", for which None is returned."""
    if isinstance(value, str) and value == "auto":
        return None
    if isinstance(value, str) or value is None:
        raise ValueError(f"n_clusters must be an integer >= 1 or 'auto', got {value!r}.")
    return check_integer("n_clusters", value, low=1)


def check_enough_rows(n_clusters: int | None, n_rows: int) -> None:
    """Raise an error if there are fewer rows than clusters."""
    if n_clusters is not None and n_clusters > n_rows:
        raise ValueError(f"n_clusters={n_clusters} is more than the {n_rows} rows of X (n_samples={n_rows}).")


def has_at_most_two_clusters(estimator: Any) -> bool:
    """Return True, or raise the AttributeError that hides ``decision_function`` with more than two clusters."""
    if getattr(estimator, "n_clusters_", 0) <= 2:
        return True
    hint = (
        ": use tree_.hyperplane(node), which has the distances to the hyperplane of a node."
        if hasattr(estimator, "tree_")
        else "."
    )
    raise AttributeError(f"decision_function needs at most two clusters, but there are {estimator.n_clusters_}{hint}")


def warn_of_fewer_clusters(n_clusters: int | None, n_found: int, reason: str, *, stacklevel: int = 3) -> None:
    """Warn if fewer clusters were found than requested; ``stacklevel=3`` is the caller of the calling ``fit``."""
    if n_clusters is not None and n_found < n_clusters:
        warnings.warn(
            f"n_clusters={n_clusters} clusters were requested, but {reason}.", NoSplitWarning, stacklevel=stacklevel
        )
