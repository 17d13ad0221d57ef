"""Categories of a column: the frequent ones, the rare ones that are grouped, and their indicators."""

from __future__ import annotations

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


@dataclass(frozen=True)
class Categories:
    """Categories of a column.

    Attributes
    ----------
    names : tuple of str
        Categories that become features, sorted; the group of rare ones is the last.
    rare : tuple of str
        Categories that count as `OTHER`.
    """

    names: tuple[str, ...]
    rare: tuple[str, ...] = ()

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
        encoded: dict[Any, Array] = {}
        rows = []
        for value in values.tolist():
            if value not in encoded:
                row = np.zeros(len(self.names))
                place = position.get(str(value), position.get(OTHER) if unknown is not None else None)
                if is_missing_value(value):
                    row[:] = np.nan
                elif place is not None:
                    row[place] = 1.0
                elif unknown is not None:
                    row[:] = unknown
                else:
                    raise ValueError(
                        f"column {column!r} contains {str(value)[:40]!r}, a category unknown to the model."
                    )
                encoded[value] = row
            rows.append(encoded[value])
        return np.array(rows).reshape(-1, len(self.names))


def count_categories(cells: Iterable[Any]) -> dict[str, int]:
    """Return the number of cells of each category, in the order of their names; missing cells are not counted."""
    counts = Counter(str(cell) for cell in cells if not is_missing_value(cell))
    return dict(sorted(counts.items()))


def group_rare(counts: Mapping[str, int], min_frequency: float) -> Categories:
    """Group the categories of less than a share of all cells, if there are at least two."""
    needed = min_frequency * sum(counts.values())
    rare = sorted(name for name in counts if counts[name] < needed and name != OTHER)
    if len(rare) + (OTHER in counts) < 2 or not rare:
        return Categories(tuple(counts))
    names = [name for name in counts if name not in {*rare, OTHER}]
    return Categories((*names, OTHER), tuple(rare))


def is_free_text(counts: Mapping[str, int], min_frequency: float = MIN_FREQUENCY) -> bool:
    """Return whether a column holds names, identifiers or sentences instead of categories."""
    total = sum(counts.values())
    needed = max(2.0, min_frequency * total)
    return sum(n for n in counts.values() if n < needed) > MOST_RARE * total
