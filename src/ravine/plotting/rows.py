"""The rows that a display looks at, in any form that a fit takes; those that are not in memory stay where they are."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from ravine.rows import Rows
from ravine.rows.inputs import validate_readable_rows

__all__ = ["plain_rows", "rows_for"]


def rows_for(estimator: Any, X: Any) -> Rows:
    """Validate X, which must have the features that the estimator was fitted to."""
    return validate_readable_rows(estimator, X, reset=False)


def plain_rows(X: Any) -> Rows:
    """Validate X with any number of features."""
    return validate_readable_rows(BaseEstimator(), X, reset=True)
