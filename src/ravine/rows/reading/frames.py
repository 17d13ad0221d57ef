"""Names of columns: blocks that have names are matched by them, not by the order of their columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine.rows.reading.chunks import refuse_type

__all__ = ["Columns", "is_frame", "names_of_frame", "numbers_of_frame", "sketch_of_frame"]


class Columns:
    """The names that all blocks must have, in the order of the first block; None if it has no names.

    Attributes
    ----------
    names : list or None
    sketch : object
        A data frame without rows that has these columns, for scikit-learn to find their names in.
    """

    def __init__(self) -> None:
        self.names: list[Any] | None = None
        self.sketch: Any = None
        self._first: str | None = None

    def match(self, names: Sequence[Hashable] | None, block: str, sketch: Any = None) -> list[Any]:
        """The names in the order of the first block; an error says what a block has less or more."""
        found = None if names is None else list(names)
        if self._first is None:
            for name, count in Counter(found or []).items():
                if count > 1:
                    raise ValueError(f"{block} of X has {count} columns named {name!r}: rename or drop them.")
            self._first, self.names, self.sketch = block, found, sketch
        if (self.names is None) != (found is None):
            named, other = (block, self._first) if self.names is None else (self._first, block)
            raise ValueError(
                f"{named} of X has names of columns, but {other} has none, so they cannot be matched: give blocks "
                "that all have names, or only arrays."
            )
        if self.names is None or found is None or found == self.names:
            return self.names or []
        for name in self.names:
            if name not in found:
                raise ValueError(f"{block} of X has no column {name!r}, but {self._first} has.")
        for name, count in Counter(found).items():
            if name not in self.names:
                raise ValueError(f"{block} of X has a column {name!r}, but {self._first} has none.")
            if count > 1:
                raise ValueError(f"{block} of X has {count} columns named {name!r}: rename or drop them.")
        return self.names


def is_frame(block: Any) -> bool:
    """Whether a block is a data frame: it has rows and columns, and columns have names."""
    named = hasattr(block, "column_names") or (hasattr(block, "columns") and hasattr(block, "to_numpy"))
    return named and hasattr(block, "shape")


def names_of_frame(frame: Any) -> list[Any]:
    """Names of the columns of a data frame."""
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def sketch_of_frame(frame: Any) -> Any:
    """A data frame with the same columns and no rows."""
    return frame.slice(0, 0) if hasattr(frame, "column_names") else frame.head(0)


def numbers_of_frame(frame: Any, names: list[Any], block: str) -> NDArray[Any]:
    """Columns of a data frame, in this order, as an array of numbers; copied only if they are not one already."""
    columns = [frame[name] for name in names]
    types = [getattr(column, "dtype", None) for column in columns]
    if all(isinstance(t, np.dtype) and t in (np.float32, np.float64) for t in types) and len(set(types)) == 1:
        return np.asarray(frame if names_of_frame(frame) == names else frame[names])
    values = [_numbers(c, f"column {name!r} of {block}") for c, name in zip(columns, names, strict=True)]
    return np.column_stack(values) if values else np.empty((frame.shape[0], 0))


def _numbers(column: Any, name: str) -> NDArray[Any]:
    if str(getattr(column, "dtype", getattr(column, "type", ""))).lower().startswith(("categor", "enum", "dictionary")):
        raise ValueError(f"{name} of X holds categories: encode them as numbers, or drop the column.")
    values = column.to_numpy()
    refuse_type(values.dtype, name)
    if values.dtype in (np.float32, np.float64):
        return np.asarray(values)
    try:
        if values.dtype.kind == "O" and hasattr(column, "array"):  # of pandas: its missing value is no number to NumPy
            return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.asarray(values, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name} of X does not hold numbers ({error}).") from error
