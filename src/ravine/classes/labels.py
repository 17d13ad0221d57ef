"""Labels of some rows: one convention for every semi-supervised estimator."""

from __future__ import annotations

import numbers
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets

from ravine._typing import Array

# The code of a row without a label.
UNLABELLED = -1
MARKS = "Unlabelled rows are marked by -1, or by None or NaN"


def encode_labels(
    y: Any, n_rows: int, estimator_name: str, *, stacklevel: int = 3
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the classes and, for each row, the number of its class, -1 for unlabelled rows.

    -1, None, NaN, pandas' NA and masked cells mark unlabelled rows, with one exception: a y that contains only -1 and
    +1 (and perhaps NaN or None) has two classes, since one labelled class could not be learned anyway.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Numbers, text or truth values, perhaps with None among them.
    n_rows : int
        Number of rows of X.
    estimator_name : str
        Name in error messages.
    stacklevel : int, default=3
        Caller to which warnings point; 3 is the caller of the calling ``fit``.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
        Sorted.
    codes : ndarray of shape (n_rows,)
    """
    values = _to_vector(y, n_rows, estimator_name, stacklevel + 1)
    missing, minus_one = _find_marks(values)
    two_signs = minus_one.any() and {1} == set(values[~missing & ~minus_one].tolist())
    if two_signs and not missing.any():
        warnings.warn(
            "y contains only -1 and +1: they are read as two classes, with every row labelled. "
            "To mark unlabelled rows by -1, use other labels for the classes (or mark them by NaN).",
            UserWarning,
            stacklevel=stacklevel,
        )
    unlabelled = missing if two_signs else missing | minus_one
    known = values[~unlabelled]
    if not len(known):
        raise ValueError(
            f"y marks all {n_rows} rows as unlabelled: label at least one row of each of two classes, or cluster the "
            f"rows with MinimumDensityHyperplane. {MARKS}."
        )
    known = _to_plain_type(known)
    check_classification_targets(known)
    classes, codes_of_known = np.unique(known, return_inverse=True)
    if len(classes) == 1:
        raise ValueError(
            f"y has labels of only one class, {classes.tolist()[0]!r} ({len(known)} of {n_rows} rows): at least two "
            f"classes must have labels. {MARKS}."
        )
    codes = np.full(n_rows, UNLABELLED, dtype=np.intp)
    codes[~unlabelled] = codes_of_known.astype(np.intp)
    return classes, codes


def make_signs(codes: NDArray[np.intp], pair: tuple[int, int] = (0, 1)) -> Array:
    """Return -1 and +1 for the first and the second class of a pair, 0 for all other rows."""
    return np.where(codes == pair[1], 1.0, np.where(codes == pair[0], -1.0, 0.0))


def drop_weightless(
    classes: NDArray[Any], codes: NDArray[np.intp], has_weight: NDArray[np.bool_]
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return classes and codes without the labels of rows that have no weight."""
    codes = np.where(has_weight, codes, UNLABELLED)
    present = np.unique(codes[codes != UNLABELLED])
    if len(present) < 2:
        left = f"only the class {classes[present].tolist()[0]!r}" if len(present) else "no class"
        raise ValueError(f"sample_weight leaves {left} with labels of a positive weight: at least two are needed.")
    lookup = np.full(len(classes) + 1, UNLABELLED, dtype=np.intp)
    lookup[present] = np.arange(len(present))
    return classes[present], lookup[codes]


def compare_labels(y: Any, predicted: NDArray[Any], classes: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return which rows are labelled, and which of these are predicted correctly."""
    values = _to_vector(y, len(predicted), "score")
    missing, minus_one = _find_marks(values)
    two_signs = -1 in classes.tolist()
    if two_signs and set(values[~missing & ~minus_one].tolist()) - {1}:
        raise ValueError(
            "y contains labels other than -1 and +1, but the classifier was fitted to a y of only these, read as two "
            "classes: -1 probably marked unlabelled rows there, and only one class had labels."
        )
    labelled = ~missing if two_signs else ~(missing | minus_one)
    if not labelled.any():
        raise ValueError(f"y marks all {len(predicted)} rows as unlabelled: there is nothing to score. {MARKS}.")
    known = _to_plain_type(values[labelled])
    if (known.dtype.kind in "OUT") != (classes.dtype.kind in "OUT"):
        raise ValueError(
            f"y contains labels like {known.tolist()[0]!r}, but the classes are like {classes.tolist()[0]!r}."
        )
    return labelled, known == predicted[labelled]


def _to_vector(y: Any, n_rows: int, caller: str, stacklevel: int = 4) -> NDArray[Any]:
    """Return the labels as a vector, of objects where NumPy would turn marks into text."""
    if y is None:
        raise ValueError(f"{caller} requires y to be passed, but the target y is None. {MARKS}.")
    if isinstance(y, np.ma.MaskedArray):
        masked, y = np.ma.getmaskarray(y), y.data.astype(object)
        y[masked] = None
    values = np.asarray(y)
    if not isinstance(getattr(y, "dtype", None), np.dtype) and (hasattr(y, "dtype") or values.dtype.kind in "US"):
        values = np.asarray(y, dtype=object)  # a list with text, or a pandas or polars type with missing values
    if values.ndim == 2 and values.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected: its only column is used.",
            DataConversionWarning,
            stacklevel=stacklevel,
        )
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {values.shape} instead.")
    if len(values) != n_rows:
        raise ValueError(f"y has {len(values)} labels, but X has {n_rows} rows. {MARKS}.")
    return values


def _find_marks(values: NDArray[Any]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which labels are missing (None, NaN, NA), and which are -1."""
    kind, none = values.dtype.kind, np.zeros(len(values), dtype=bool)
    if kind == "f":
        if np.isinf(values).any():
            raise ValueError("Input y contains infinity or a value too large for dtype('float64').")
        return np.isnan(values), values == -1
    if kind == "i":
        return none, values == -1
    if kind == "O":
        cells = values.tolist()
        missing = np.array([_is_missing(cell) for cell in cells], dtype=bool)
        minus_one = np.array([isinstance(cell, numbers.Real) and cell == -1 for cell in cells], dtype=bool)
        _refuse_text_mark({cell for cell in cells if isinstance(cell, str)})
        return missing, minus_one
    if kind in "Mmc":
        raise ValueError(f"Unknown label type: y contains {values.dtype}; use text or integers for the classes.")
    if kind == "S":
        raise ValueError("Unknown label type: y contains bytes; decode them into text first.")
    if kind in "UT":
        _refuse_text_mark(set(values.tolist()))
    return none, none.copy()


def _refuse_text_mark(texts: set[str]) -> None:
    for mark in ("-1", "nan", "None", ""):
        if mark in texts and len(texts) > 2:
            raise ValueError(
                f"y contains the text {mark!r}, perhaps because NumPy turned a mark for unlabelled rows into text. Use "
                "an array of dtype object with None, as np.array(['a', None, 'b'], dtype=object), or rename the class."
            )


def _is_missing(cell: Any) -> bool:
    # NaN of any type is not equal to itself; pandas' NA and NaT have no truth value for that comparison.
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(cell, numbers.Real) and bool(cell != cell)


def _to_plain_type(known: NDArray[Any]) -> NDArray[Any]:
    """Return labels in an array of objects as one plain type: text, truth values or numbers."""
    if known.dtype.kind != "O":
        return known
    cells = known.tolist()
    if all(isinstance(cell, str) for cell in cells):
        return known
    if any(isinstance(cell, bytes) for cell in cells):
        raise ValueError("Unknown label type: y contains bytes; decode them into text first.")
    if all(isinstance(cell, bool | np.bool_) for cell in cells):
        return known.astype(bool)
    if not all(isinstance(cell, numbers.Real) for cell in cells):
        types = sorted({type(cell).__name__ for cell in cells})
        raise ValueError(f"y mixes labels of types that cannot be compared: {', '.join(types)}.")
    try:
        return known.astype(np.int64 if all(isinstance(cell, numbers.Integral) for cell in cells) else np.float64)
    except OverflowError as error:
        raise ValueError("y contains integers of more than 64 bits: turn them into text first.") from error
