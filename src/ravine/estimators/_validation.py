"""Checks of data and parameters whose messages name the thing and say what is allowed."""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import validate_data

from ravine._typing import Array
from ravine.sample.reading import LARGEST

__all__ = [
    "all_or_nothing",
    "check_choice",
    "check_flag",
    "check_integer",
    "check_number",
    "check_rows",
    "check_weights",
    "refuse_value",
    "thread_count",
]


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """If a fit fails, what an earlier fit left, names of columns included, stays as it was."""
    before = estimator.__dict__.copy()
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


def check_number(
    name: str,
    value: Any,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    open_low: bool = False,
    high_name: str | None = None,
) -> float:
    """A real number in [low, high], or (low, high] with ``open_low``; ``high_name`` is the parameter that sets high."""
    upper = f"{high_name}={high:g}" if high_name else f"{high:g}"
    allowed = f"a number in {'(' if open_low else '['}{low:g}, {upper}{')' if math.isinf(high) else ']'}"
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be {allowed}, got {value!r} of type {type(value).__name__}.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isnan(number) or number < low or number > high or (open_low and number == low) or math.isinf(number):
        raise ValueError(f"{name} must be {allowed}, got {value!r}.")
    return number


def check_integer(name: str, value: Any, *, low: int, high: int | None = None) -> int:
    """An integer that is at least ``low`` and, if given, at most ``high``."""
    allowed = f"an integer >= {low}" if high is None else f"an integer from {low} to {high}"
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be {allowed}, got {value!r} of type {type(value).__name__}.")
    if int(value) < low or (high is not None and int(value) > high):
        raise ValueError(f"{name} must be {allowed}, got {value!r}.")
    return int(value)


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}.")
    return value


def check_flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def thread_count(n_jobs: Any) -> int:
    """Threads meant by scikit-learn's ``n_jobs``: None is 1, -1 all cores."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or n_jobs == 0:
        raise ValueError(f"n_jobs must be None or an integer other than 0, got {n_jobs!r}.")
    n = int(n_jobs)
    return n if n > 0 else max(1, (os.cpu_count() or 1) + 1 + n)


def check_rows(estimator: Any, X: Any, *, reset: bool) -> NDArray[np.floating[Any]]:
    """X as a float32 or float64 array, copied only if it has another type; an error names the column."""
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    if kind in ("M", "m"):
        raise TypeError("X holds dates or durations: turn them into numbers first, for example days since a date.")
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError("X is a masked array with masked cells: fill or drop them first.")
    try:
        rows: NDArray[np.floating[Any]] = validate_data(
            estimator, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite=False
        )
    except (ValueError, TypeError) as error:
        texts = _text_columns(X) if "could not convert" in str(error) or "dtype" in str(error) else []
        if not texts:
            raise
        raise type(error)(
            f"X has columns that are not numbers: {', '.join(texts)}. Drop them or encode them as numbers. "
            f"({str(error).splitlines()[0]})"
        ) from error
    if not rows.dtype.isnative or not rows.flags.aligned:
        rows = rows.astype(rows.dtype.newbyteorder("="))
    _check_finite(estimator, rows)
    return rows


def _text_columns(X: Any) -> list[str]:
    """Names (or positions) of the columns that cannot be read as numbers, at most five."""
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
            found.append(repr(str(columns[j])) if columns is not None else f"column {j}")
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
                refuse_value(estimator, start + bad[0][0], bad[0][1], float(rows[start + bad[0][0], bad[0][1]]))


def refuse_value(estimator: Any, row: int, column: int, value: float, where: str = "") -> None:
    """Refuse a value that is not finite, or too large; ``where`` says more about the row."""
    names = getattr(estimator, "feature_names_in_", None)
    place = f"row {row}{where}"
    where = f"column {column} ({place})" if names is None else f"column {str(names[column])!r} ({place})"
    if math.isfinite(value):
        raise ValueError(f"Input X has the value {value:g} in {where}: rescale that column.")
    raise ValueError(
        f"Input X contains {'NaN' if math.isnan(value) else 'infinity'} in {where}. "
        "Drop or impute such values first, for example with sklearn.impute.SimpleImputer."
    )


def check_weights(sample_weight: ArrayLike | None, n_rows: int) -> Array | None:
    """Weights as a float64 vector: one for each row, finite, non-negative, not all zero."""
    if sample_weight is None:
        return None
    given = np.asarray(sample_weight)
    try:
        if np.iscomplexobj(given):
            raise TypeError("complex numbers are not weights")
        weights = np.asarray(given, dtype=np.float64, order="C")
    except (ValueError, TypeError) as error:
        raise ValueError(f"sample_weight must be real numbers, one for each row of X: {error}") from error
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must be one-dimensional with one weight for each of the {n_rows} rows of X, "
            f"got shape {weights.shape}."
        )
    if not np.isfinite(weights).all():
        raise ValueError(f"sample_weight contains NaN or infinity (row {int(np.argmin(np.isfinite(weights)))}).")
    if (weights < 0).any():
        raise ValueError(f"sample_weight must not be negative, got {weights.min():g} in row {int(np.argmin(weights))}.")
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if total == 0.0:
        raise ValueError("sample_weight must not be zero for all rows.")
    if not 1e-250 < total < math.inf:
        raise ValueError(f"sample_weight sums to {total:g}: rescale it, since its sum counts as the number of rows.")
    return weights
