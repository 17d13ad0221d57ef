"""Which rows are labelled, and how: one convention for every semi-supervised estimator."""

from __future__ import annotations

import math
import numbers
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

__all__ = ["UNLABELLED", "encode_labels", "labels_in", "without_weightless"]

# The code of a row without a label.
UNLABELLED = -1
MARKS = "Unlabelled rows are marked by -1, or by None or NaN"


def encode_labels(y: Any, n_rows: int, estimator_name: str) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Classes and, for each row, the number of its class; -1 for unlabelled rows.

    -1, None, NaN and pandas' NA mark unlabelled rows, with one exception: a y that holds nothing but -1 and +1 (and
    perhaps NaN or None) has two classes, since one labelled class could not be learned anyway.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Numbers, text or a mixture with None; any type that can be sorted.
    n_rows : int
        Rows of X.
    estimator_name : str
        For messages.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
        Sorted.
    codes : ndarray of shape (n_rows,)
    """
    if y is None:
        raise ValueError(f"{estimator_name} requires y to be passed, but the target y is None. {MARKS}.")
    values = column_or_1d(np.asarray(y) if not hasattr(y, "dtype") else y, warn=True)
    values = np.asarray(values)
    if len(values) != n_rows:
        raise ValueError(f"y has {len(values)} labels, but X has {n_rows} rows. {MARKS}.")
    missing, minus_one = _marks(values)
    known = values[~missing]
    two_signs = minus_one.any() and {1} == set(values[~missing & ~minus_one].tolist())
    if two_signs and not missing.any():
        warnings.warn(
            "y holds only -1 and +1: they are read as two classes, with every row labelled. "
            "To mark unlabelled rows by -1, use other labels for the classes (or mark them by NaN).",
            UserWarning,
            stacklevel=4,
        )
    unlabelled = missing if two_signs else missing | minus_one
    known = values[~unlabelled]
    if not len(known):
        raise ValueError(
            f"y marks all {n_rows} rows as unlabelled: label at least one row of each of two classes, or cluster the "
            f"rows with MinimumDensityHyperplane. {MARKS}."
        )
    try:
        classes, codes_of_known = _classes(known)
    except TypeError as error:
        raise ValueError(f"y mixes labels of types that cannot be compared: {error}.") from error
    if len(classes) == 1:
        raise ValueError(
            f"y has labels of only one class, {classes.tolist()[0]!r} ({len(known)} of {n_rows} rows): at least two "
            f"classes must have labels. {MARKS}."
        )
    codes = np.full(n_rows, UNLABELLED, dtype=np.intp)
    codes[~unlabelled] = codes_of_known
    return classes, codes


def without_weightless(
    classes: NDArray[Any], codes: NDArray[np.intp], counted: NDArray[np.bool_]
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Classes and codes of the rows that count: a class whose labels all have the weight zero does not exist."""
    present = np.unique(codes[counted & (codes != UNLABELLED)])
    if len(present) < 2:
        raise ValueError("sample_weight leaves labels of fewer than two classes with a positive weight.")
    lookup = np.full(len(classes) + 1, UNLABELLED, dtype=np.intp)
    lookup[present] = np.arange(len(present))
    return classes[present], lookup[codes]


def labels_in(y: Any, classes: NDArray[Any]) -> NDArray[np.bool_]:
    """Which labels are known: neither missing nor a -1 that is no class."""
    missing, minus_one = _marks(np.asarray(column_or_1d(y)))
    is_class = classes.dtype.kind in "ifO" and -1 in classes.tolist()
    return ~missing if is_class else ~(missing | minus_one)


def _marks(values: NDArray[Any]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which labels are missing (None, NaN, NA), and which are -1."""
    none = np.zeros(len(values), dtype=bool)
    if values.dtype.kind == "f":
        if np.isinf(values).any():
            raise ValueError("Input y contains infinity or a value too large for dtype('float64').")
        return np.isnan(values), values == -1
    if values.dtype.kind == "i":
        return none, values == -1
    if values.dtype.kind == "O":
        missing = np.array([_is_missing(value) for value in values.tolist()], dtype=bool)
        numeric = np.array([isinstance(value, numbers.Real) for value in values.tolist()], dtype=bool) & ~missing
        minus_one = none.copy()
        minus_one[numeric] = values[numeric] == -1
        return missing, minus_one
    if values.dtype.kind in "Mmc":
        raise ValueError(f"Unknown label type: y holds {values.dtype}; use text or integers for the classes.")
    if values.dtype.kind in "US" and "-1" in values.astype(str) and len(np.unique(values)) > 2:
        raise ValueError(
            "y holds the text '-1', perhaps because NumPy turned -1 into text beside other text. To mark unlabelled "
            "rows use an array of dtype object with None, e.g. np.array(['a', None, 'b'], dtype=object)."
        )
    return none, none


def _is_missing(value: Any) -> bool:
    is_nan = isinstance(value, float) and math.isnan(value)
    return is_nan or value is None or type(value).__name__ in ("NAType", "NaTType")


def _classes(known: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    if known.dtype.kind == "O" and all(isinstance(v, int | np.integer) and not isinstance(v, bool) for v in known):
        known = known.astype(np.int64)  # what pandas made objects of because of NA
    check_classification_targets(known)
    classes, codes = np.unique(known, return_inverse=True)
    return classes, codes.astype(np.intp)
