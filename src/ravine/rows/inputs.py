"""Validation of X for estimators: arrays, sparse matrices, blocks of rows, Dask collections."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_feature_names, _check_n_features, validate_data

from ravine.rows.array import ArrayRows
from ravine.rows.base import Rows, is_sparse_matrix
from ravine.rows.blocks import RowBlocks
from ravine.rows.cluster import ClusterRows
from ravine.rows.reading.chunks import is_frame
from ravine.rows.reading.reader import LARGEST
from ravine.rows.sparse import SparseRows
from ravine.rows.workers.rounds import ClusterError, get_current_client


def validate_rows(estimator: Any, X: Any, *, reset: bool, measure: bool = False) -> Rows:
    """Validate X of any kind for an estimator; the values of arrays and sparse matrices are checked, too.

    Parameters
    ----------
    estimator : object
        X must have its number of features and, if both have any, its feature names.
    reset : bool
        Set ``n_features_in_`` and ``feature_names_in_`` of the estimator instead of comparing them.
    measure : bool, default=False
        Whether a sample of all rows without weights will be needed. The values of an array are then checked by the
        pass that measures its mean and covariance.
    """
    if is_sparse_matrix(X):
        return SparseRows(_check_sparse(estimator, X, reset))
    if isinstance(X, ClusterRows):
        _check_feature_names(estimator, X, reset=reset)
        return _check_cluster_rows(estimator, X, reset)
    if _is_dask(X):
        return _check_dask(estimator, X, reset)
    if _is_in_blocks(X):
        blocks = X if isinstance(X, RowBlocks) else RowBlocks(X)
        blocks.forget_validation()
        _check_feature_names(estimator, blocks.empty_frame, reset=reset)
        _check_n_features(estimator, blocks, reset=reset)
        return blocks
    if isinstance(X, Rows):
        _check_n_features(estimator, X, reset=reset)
        return X
    _check_not_source(X)
    rows = ArrayRows(_convert(estimator, X, reset=reset))
    if rows.needs_row_space or not (measure and rows.measure()):
        _check_finite(estimator, rows.array)
    return rows


def validate_readable_rows(estimator: Any, X: Any, *, reset: bool) -> Rows:
    """Validate X for an estimator that needs the values now, also those of a lazy Dask collection.

    Lengths of blocks that are unknown are computed; without a Dask client the collection is loaded as an array.
    """
    rows = validate_rows(estimator, X, reset=reset)
    if not isinstance(rows, ClusterRows):
        return rows
    if rows.client is None:
        try:
            get_current_client()
        except (ClusterError, ImportError):
            return ArrayRows(validate_array(estimator, np.asarray(rows.X), reset=False))
    if np.isnan(rows.shape[0]):
        known = rows.X.copy()  # lengths are stored in the collection, which belongs to the user
        known.compute_chunk_sizes()
        rows = ClusterRows(known, rows.client)
    return rows


def _is_in_blocks(X: Any) -> bool:
    """Return whether X is `RowBlocks`, a list of two-dimensional arrays or frames, or an array of h5py or zarr."""
    if isinstance(X, RowBlocks):
        return True
    if isinstance(X, list | tuple):
        return any((isinstance(block, np.ndarray) and block.ndim == 2) or is_frame(block) for block in X)
    return type(X).__module__.split(".")[0] in ("h5py", "zarr") and hasattr(X, "shape")


def _check_not_source(X: Any) -> None:
    """Raise an error for sources of blocks that must be wrapped in `RowBlocks`."""
    first = X[0] if isinstance(X, list | tuple) and X else None
    if is_sparse_matrix(first):
        raise TypeError(
            "X is a list of sparse matrices, and blocks must be dense: join them with scipy.sparse.vstack and fit the "
            "sparse matrix."
        )
    if isinstance(X, Iterator):
        raise TypeError(
            f"X is a {type(X).__name__}, which yields its blocks only once, but rows are read several times: give a "
            "list of arrays, or a file or a function that makes a new iterator each time, as "
            "ravine.rows.RowBlocks(...)."
        )
    what = ""
    if isinstance(X, str | os.PathLike):
        what = f"the path {os.fspath(X)!r}"
    elif isinstance(first, os.PathLike) or (isinstance(first, str) and first.endswith((".npy", ".parquet"))):
        what = "a list of paths"
    elif not any(hasattr(X, name) for name in ("__array__", "__array_interface__", "__dataframe__", "__dlpack__")):
        if hasattr(X, "shape") and hasattr(X, "__getitem__"):
            what = f"a {type(X).__name__}, which NumPy cannot convert to an array"
        elif callable(X):
            what = "a function"
    if what:
        raise TypeError(f"X is {what}: to read rows from it block by block, wrap it in ravine.rows.RowBlocks(...).")


def _is_dask(X: Any) -> bool:
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(X, "dask")


def _check_dask(estimator: Any, X: Any, reset: bool) -> ClusterRows:
    """Validate a Dask collection; only the lengths of the blocks of a data frame are computed."""
    _check_feature_names(estimator, getattr(X, "_meta", X), reset=reset)  # an empty data frame with the same names
    if hasattr(X, "to_dask_array"):
        for name, dtype in X.dtypes.items():
            if not isinstance(dtype, np.dtype) or dtype.kind not in "fiub":
                raise ValueError(
                    f"column {name!r} of the Dask data frame X has the type {dtype}: convert it to numbers (float64) "
                    "or leave it out."
                )
        X = X.to_dask_array(lengths=True if reset else None)
    if len(X.shape) != 2:
        raise ValueError(f"Expected 2D array, got a Dask array of shape {X.shape} instead.")
    return _check_cluster_rows(estimator, ClusterRows(X), reset)


def _check_cluster_rows(estimator: Any, rows: ClusterRows, reset: bool) -> ClusterRows:
    if rows.X.dtype.kind not in "fiub":
        raise ValueError(f"X is a Dask array of {rows.X.dtype}: convert it to numbers first.")
    if reset:
        rows.check()
    _check_n_features(estimator, rows, reset=reset)
    return rows


def allow_sparse(tags: Any) -> Any:
    """Return the tags of an estimator that accepts sparse matrices."""
    tags.input_tags.sparse = True
    return tags


def _check_sparse(estimator: Any, X: Any, reset: bool) -> Any:
    if X.format in ("csr", "csc") and not X.has_canonical_format:
        # Duplicate entries are summed in a copy, since the matrix belongs to the user.
        X = X.copy()
        X.sum_duplicates()
    rows = validate_data(
        estimator, X, reset=reset, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False, copy=False
    )
    data = rows.data
    if not (data.min(initial=0.0) > -LARGEST and data.max(initial=0.0) < LARGEST):
        k = int(np.argmin(np.abs(data) < LARGEST))
        row = int(np.searchsorted(rows.indptr, k, side="right")) - 1
        _refuse_value(estimator, row, int(rows.indices[k]), float(rows.data[k]))
    return rows


def validate_rows_in_memory(estimator: Any, X: Any, *, reset: bool) -> Rows:
    """Validate X as rows of an array or a sparse matrix."""
    if is_sparse_matrix(X):
        return validate_rows(estimator, X, reset=reset)
    return ArrayRows(validate_array(estimator, X, reset=reset))


def validate_array(estimator: Any, X: Any, *, reset: bool) -> NDArray[np.floating[Any]]:
    """Validate X as a float32 or float64 array, which is copied only if X has another type."""
    if isinstance(X, Rows):
        raise TypeError(
            f"X is a {type(X).__name__}, but all rows are needed in memory here: give an array, for example "
            "X.to_array(), or an array of some of the rows."
        )
    rows = _convert(estimator, X, reset=reset)
    _check_finite(estimator, rows)
    return rows


def _convert(estimator: Any, X: Any, *, reset: bool) -> NDArray[np.floating[Any]]:
    """Convert X to a float32 or float64 array; its values are not checked."""
    if (
        type(X) is np.ndarray
        and X.dtype.char in "df"
        and X.dtype.isnative
        and X.flags.aligned
        and X.ndim == 2
        and X.size
    ):
        # Nothing to convert: what is left of scikit-learn's validation.
        _check_feature_names(estimator, X, reset=reset)
        _check_n_features(estimator, X, reset=reset)
        return X
    check_unique_names(X)
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    if kind in ("M", "m"):
        raise TypeError("X holds dates or durations: turn them into numbers first, for example days since a date.")
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError("X is a masked array with masked values: fill or drop them first.")
    try:
        rows: NDArray[np.floating[Any]] = validate_data(
            estimator, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite=False
        )
    except (ValueError, TypeError) as error:
        texts = _find_text(X) if "could not convert" in str(error) or "dtype" in str(error) else []
        if not texts:
            raise
        raise type(error)(
            f"X has features that are not numbers: {', '.join(texts)}. Drop them or encode them as numbers. "
            f"({str(error).splitlines()[0]})"
        ) from error
    if not rows.dtype.isnative or not rows.flags.aligned:
        rows = rows.astype(rows.dtype.newbyteorder("="))
    return rows


def check_unique_names(X: Any) -> None:
    """Raise an error if two columns of a data frame have the same name."""
    names = list(map(str, X.columns)) if is_frame(X) else []
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        shown = ", ".join(map(repr, repeated[:5]))
        raise ValueError(f"X has several columns named {shown}: give every column its own name.")


def _find_text(X: Any) -> list[str]:
    """Return the names (or numbers) of the features that cannot be converted to numbers, at most five."""
    columns = getattr(X, "columns", None)
    try:
        values = np.asarray(X, dtype=object)
    except (ValueError, TypeError):
        return []
    if values.ndim != 2:
        return []
    found = []
    for j in range(values.shape[1]):
        try:
            values[:, j].astype(np.float64)
        except (ValueError, TypeError):
            found.append(repr(str(columns[j])) if columns is not None else f"feature {j}")
    return found[:5]


def _check_finite(estimator: Any, rows: NDArray[np.floating[Any]]) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        if rows.flags.c_contiguous or rows.flags.f_contiguous:
            flat = rows.ravel(order="K")
            if np.isfinite(np.dot(flat, flat)):  # one fast pass: every value is finite and far from overflow
                return
        if rows.min() > -LARGEST and rows.max() < LARGEST:
            return
        for start in range(0, len(rows), 1 << 16):
            bad = np.argwhere(~(np.abs(rows[start : start + (1 << 16)]) < LARGEST))
            if len(bad):
                _refuse_value(estimator, start + bad[0][0], bad[0][1], float(rows[start + bad[0][0], bad[0][1]]))


def _refuse_value(estimator: Any, row: int, j: int, value: float) -> None:
    """Raise an error for a value that is not finite, or too large."""
    names = getattr(estimator, "feature_names_in_", None)
    where = f"feature {j if names is None else repr(str(names[j]))} (row {row})"
    if math.isfinite(value):
        raise ValueError(f"Input X has the value {value:g} in {where}: rescale that feature.")
    raise ValueError(
        f"Input X contains {'NaN' if math.isnan(value) else 'infinity'} in {where}. "
        "Drop or impute such values first, for example with sklearn.impute.SimpleImputer."
    )
