"""Consequences of the number of clusters that a fit found."""

from __future__ import annotations

import warnings
from typing import Any

from ravine import NoSplitWarning

__all__ = ["has_at_most_two_clusters", "warn_of_fewer_clusters"]


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
