"""Data frames: blocks whose columns have names are matched by these, not by the order of the columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine.rows.reading.chunks import check_dtype

__all__ = ["Columns", "is_frame", "list_columns", "to_array", "to_empty_frame"]


class Columns:
    """Names of columns that all blocks must have, in the order of the first block.

    Attributes
    ----------
    names : list or None
        None if the first block has no names.
    empty_frame : object
        Data frame without rows that has these columns: scikit-learn looks up their names there.
    """

    def __init__(self) -> None:
        self.names: list[Any] | None = None
        self.empty_frame: Any = None
        self._first: str | None = None

    def match(self, names: Sequence[Hashable] | None, block: str, empty_frame: Any = None) -> list[Any]:
        """Return the names in the order of the first block; raise an error if a block lacks or adds some."""
        found = None if names is None else list(names)
        if self._first is None:
            self._check_unique(found or [], block)
            self._first, self.names, self.empty_frame = block, found, empty_frame
        if (self.names is None) != (found is None):
            named, other = (block, self._first) if self.names is None else (self._first, block)
            raise ValueError(
                f"{named} of X has column names, but {other} has none, so they cannot be matched: give blocks that all "
                "have column names, or only arrays."
            )
        if self.names is None or found is None or found == self.names:
            return self.names or []
        for name in self.names:
            if name not in found:
                raise ValueError(f"{block} of X has no column {name!r}, but {self._first} has.")
        for name in found:
            if name not in self.names:
                raise ValueError(f"{block} of X has a column {name!r}, but {self._first} has none.")
        self._check_unique(found, block)
        return self.names

    @staticmethod
    def _check_unique(names: list[Any], block: str) -> None:
        for name, count in Counter(names).items():
            if count > 1:
                raise ValueError(f"{block} of X has {count} columns named {name!r}: rename or drop them.")


def is_frame(block: Any) -> bool:
    """Return whether a block is a data frame: it has rows and columns, and columns have names."""
    named = hasattr(block, "column_names") or (hasattr(block, "columns") and hasattr(block, "to_numpy"))
    return named and hasattr(block, "shape")


def list_columns(frame: Any) -> list[Any]:
    """Return the names of the columns of a data frame."""
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def to_empty_frame(frame: Any) -> Any:
    """Return a data frame with the same columns and no rows."""
    return frame.slice(0, 0) if hasattr(frame, "column_names") else frame.head(0)


def to_array(frame: Any, names: list[Any], block: str) -> NDArray[Any]:
    """Return columns of a data frame, in this order, as an array; copied only if they are not one already."""
    columns = [frame[name] for name in names]
    types = [getattr(column, "dtype", None) for column in columns]
    if all(isinstance(t, np.dtype) and t in (np.float32, np.float64) for t in types) and len(set(types)) == 1:
        return np.asarray(frame if list_columns(frame) == names else frame[names])
    values = [_to_numbers(c, f"column {name!r} of {block}") for c, name in zip(columns, names, strict=True)]
    return np.column_stack(values) if values else np.empty((frame.shape[0], 0))


def _to_numbers(column: Any, name: str) -> NDArray[Any]:
    if str(getattr(column, "dtype", getattr(column, "type", ""))).lower().startswith(("categor", "enum", "dictionary")):
        raise ValueError(f"{name} of X holds categories: encode them as numbers, or drop the column.")
    values = column.to_numpy()
    check_dtype(values.dtype, name)
    if values.dtype in (np.float32, np.float64):
        return np.asarray(values)
    # Some versions of NumPy take lists of one number for numbers.
    if values.dtype.kind == "O" and any(isinstance(value, (list, tuple, np.ndarray)) for value in values):
        raise ValueError(f"{name} of X does not hold numbers (it holds lists).")
    try:
        if values.dtype.kind == "O" and hasattr(column, "array"):  # NumPy cannot convert the missing values of pandas
            return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.asarray(values, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name} of X does not hold numbers ({error}).") from error
