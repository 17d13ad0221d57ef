"""X in any of the forms that the estimators take: an array, a sparse matrix, blocks of rows, a Dask collection."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from ravine.estimators._validation import LARGEST, check_rows, refuse_value
from ravine.sample import is_sparse

__all__ = ["check_input", "with_sparse"]


def check_input(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X as an array, as compressed sparse rows of float64, or as a source of rows; an error names what is wrong."""
    if is_sparse(X):
        return _check_sparse(estimator, X, reset)
    return check_rows(estimator, X, reset=reset)


def with_sparse(tags: Any) -> Any:
    """Tags of an estimator that takes sparse matrices."""
    tags.input_tags.sparse = True
    return tags


def _check_sparse(estimator: Any, X: Any, reset: bool) -> Any:
    rows = validate_data(
        estimator, X, reset=reset, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False, copy=False
    )
    with np.errstate(over="ignore", invalid="ignore"):
        good = np.abs(rows.data) < LARGEST
    if not good.all():
        k = int(np.argmin(good))
        row = int(np.searchsorted(rows.indptr, k, side="right")) - 1
        refuse_value(estimator, row, int(rows.indices[k]), float(rows.data[k]))
    return rows
