"""The rows that a display looks at, in any form that a fit takes; those that are not in memory stay where they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ravine.rows.cluster import ClusterRows
from ravine.rows.inputs import check_input, check_rows
from ravine.rows.workers.rounds import ClusterError, current_client

__all__ = ["plain_rows", "rows_for"]


def rows_for(estimator: Any, X: Any) -> Any:
    """X as an array, as compressed sparse rows or as a source of rows, with the columns that the estimator knows."""
    return _here_or_there(estimator, check_input(estimator, X, reset=False))


def plain_rows(X: Any) -> Any:
    """The same where no estimator says how many columns there should be."""
    nobody = BaseEstimator()
    return _here_or_there(nobody, check_input(nobody, X, reset=True))


def _here_or_there(estimator: Any, rows: Any) -> Any:
    """Rows of a Dask collection with known lengths; as an array if there is no client to ask for projections."""
    if not isinstance(rows, ClusterRows):
        return rows
    if rows.client is None:
        try:
            current_client()
        except (ClusterError, ImportError):
            return check_rows(estimator, np.asarray(rows.X), reset=False)
    if np.isnan(rows.shape[0]):
        known = rows.X.copy()  # lengths are kept in the collection, which is the user's
        known.compute_chunk_sizes()
        rows = ClusterRows(known, rows.client)
    return rows
