"""Reference to the rows of a fit, for attributes that are computed when they are first used."""

from __future__ import annotations

from typing import Any

from ravine._typing import Array
from ravine.rows import Rows

__all__ = ["TrainingRows"]

# Values that can be computed without the rows, or are useless without them.
TEMPORARY = ("samples", "split_tree")


class TrainingRows:
    """Reference to the rows of a fit, and everything that was computed from them on request.

    Neither pickles nor deep copies contain the rows; the computed values remain.

    Parameters
    ----------
    X : object or None
        The rows as the user gave them; None if they are not known any more.
    weights : ndarray of shape (n,), optional
    values : dict, optional
        Values that are known already, by their names.
    rows : Rows, optional
        X after its validation; kept only if it is not a copy.
    """

    def __init__(
        self, X: Any, weights: Array | None = None, values: dict[str, Any] | None = None, rows: Rows | None = None
    ) -> None:
        self.X, self.weights = X, weights
        self.rows = rows if rows is not None and rows.data is X else None
        self.values: dict[str, Any] = {} if values is None else values

    def __getstate__(self) -> dict[str, Any]:
        values = {name: value for name, value in self.values.items() if name not in TEMPORARY}
        return {"X": None, "rows": None, "weights": None, "values": values}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
