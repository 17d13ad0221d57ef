"""Conversion of validated data of any kind to `Rows`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ravine.rows.array import ArrayRows
from ravine.rows.base import Rows
from ravine.rows.sparse import SparseRows, is_sparse_matrix

__all__ = ["as_rows"]


def as_rows(X: Any) -> Rows:
    """Return X as `Rows`, without a copy where that is possible; no value is looked at.

    Parameters
    ----------
    X : array-like, sparse matrix or Rows
        `Rows` are returned as they are. Arrays of other types than float32 and float64 are converted to float64.
    """
    if isinstance(X, Rows):
        return X
    if is_sparse_matrix(X):
        return SparseRows(X.tocsr())
    array = np.asarray(X)
    if array.dtype not in (np.float32, np.float64) or not array.dtype.isnative:
        array = array.astype(np.float64)
    return ArrayRows(array)
