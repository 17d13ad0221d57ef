"""Categories of a column: the frequent ones, the rare ones that are grouped, and their indicators."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.checks import is_missing_value

__all__ = [
    "ENCODINGS",
    "MIN_FREQUENCY",
    "OTHER",
    "UNKNOWN",
    "Categories",
    "count_categories",
    "group_rare",
    "is_free_text",
    "name_category",
]

ENCODINGS = ("one-hot", "famd")
UNKNOWN = ("error", "other")
# Name of the group of rare categories. A category of this name takes them in.
OTHER = "other"
# A category of a smaller share of the rows is rare: its indicator is divided by the root of its share, which puts a few
# rows far from all others.
MIN_FREQUENCY = 0.02
# A column is free text, not categories, if more than this share of the rows have a text that is rare or their own.
MOST_RARE = 0.5
# Floats below it have the digits of an integer; larger ones are rounded.
LARGEST_INTEGER = 2.0**53


@dataclass(frozen=True)
class Categories:
    """Categories of a column.

    Attributes
    ----------
    names : tuple of str
        Categories that become features, sorted; the group of rare ones is the last.
    rare : tuple of str
        Categories that count as `OTHER`.
    has_other : bool
        Whether the column has a category of the name `OTHER`, which the rare ones join.
    """

    names: tuple[str, ...]
    rare: tuple[str, ...] = ()
    has_other: bool = False

    def encode(self, column: str, values: NDArray[Any], unknown: Sequence[float] | None = None) -> Array:
        """Return the indicators of the categories; NaN for missing cells.

        Parameters
        ----------
        column : str
            Name of the column, for messages.
        values : ndarray of shape (n,)
        unknown : sequence of float, optional
            Features of a cell with an unknown category if there is no group of rare ones; None to raise an error.
        """
        position = {name: k for k, name in enumerate(self.names)}
        position |= dict.fromkeys(self.rare, position.get(OTHER, 0))
        rest = None if unknown is None else position.get(OTHER)
        encoded: dict[tuple[type, str], Array] = {}
        rows = []
        for value in values.tolist():
            key = type(value), str(value)  # not the value: 1, 1.0 and True are equal
            if key not in encoded:
                row = np.zeros(len(self.names))
                place = position.get(name_category(value), position.get(str(value), rest))
                if is_missing_value(value):
                    row[:] = np.nan
                elif place is not None:
                    row[place] = 1.0
                elif unknown is not None:
                    row[:] = unknown
                else:
                    raise ValueError(
                        f"column {column!r} contains {name_category(value)[:40]!r}, a category unknown to the model."
                    )
                encoded[key] = row
            rows.append(encoded[key])
        return np.array(rows).reshape(-1, len(self.names))


def name_category(cell: Any) -> str:
    """Return the text of a cell; whole floats are written as integers, which become floats where cells are missing."""
    number = float(cell) if isinstance(cell, float | np.floating) else math.nan
    return str(int(number)) if number.is_integer() and abs(number) < LARGEST_INTEGER else str(cell)


def count_categories(cells: Iterable[Any]) -> dict[str, int]:
    """Return the number of cells of each category, in the order of their names; missing cells are not counted."""
    counts = Counter(name_category(cell) for cell in cells if not is_missing_value(cell))
    return dict(sorted(counts.items()))


def group_rare(counts: Mapping[str, int], min_frequency: float) -> Categories:
    """Group the categories of less than a share of all cells, if there are at least two."""
    needed = min_frequency * sum(counts.values())
    rare = sorted(name for name in counts if counts[name] < needed and name != OTHER)
    if len(rare) + (OTHER in counts) < 2 or not rare:
        return Categories(tuple(counts))
    names = [name for name in counts if name not in {*rare, OTHER}]
    return Categories((*names, OTHER), tuple(rare), OTHER in counts)


def is_free_text(counts: Mapping[str, int], min_frequency: float = MIN_FREQUENCY) -> bool:
    """Return whether a column holds names, identifiers or sentences instead of categories."""
    total = sum(counts.values())
    needed = max(2.0, min_frequency * total)
    return sum(n for n in counts.values() if n < needed) > MOST_RARE * total
