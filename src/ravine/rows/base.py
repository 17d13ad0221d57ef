"""A few things to do with rows, whatever holds them: an array, a sparse matrix, or a source of rows."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.rows.array import project_array
from ravine.rows.questions import Sample

__all__ = [
    "RowSource",
    "SomeRows",
    "cells_of",
    "is_source",
    "is_sparse",
    "on_rows",
    "project",
    "restrict_rows",
    "take_rows",
]


class RowSource(Protocol):
    """Rows that are not all in this memory."""

    shape: tuple[int, int]
    lazy: bool  # whether what is said of every row stays where the rows are

    def sample(self, weights: Array | None, rows: NDArray[np.intp] | None, pool: ThreadPoolExecutor | None) -> Sample:
        """The sample of all or some rows."""

    def take(self, rows: NDArray[np.intp]) -> NDArray[np.floating[Any]]:
        """Some rows, as an array."""

    def cells(self, rows: NDArray[np.intp], column: int) -> NDArray[np.floating[Any]]:
        """One column of some rows."""

    def project(self, center: Array, direction: Array, rows: NDArray[np.intp] | None) -> Array:
        """``(X - center) @ direction`` of all or some rows."""

    def map_rows(self, function: Callable[[NDArray[Any]], NDArray[Any]], rows: NDArray[np.intp] | None = None) -> Any:
        """What a function says of all or some rows, block by block; it keeps their number."""


class SomeRows:
    """Some rows of a source, as a source."""

    def __init__(self, source: RowSource, rows: NDArray[np.intp]) -> None:
        self.source, self.rows = source, rows
        self.lazy = source.lazy
        self.shape = (len(rows), source.shape[1])

    def _in_source(self, rows: NDArray[np.intp] | None) -> NDArray[np.intp]:
        return self.rows if rows is None else self.rows[rows]

    def sample(self, weights: Array | None, rows: NDArray[np.intp] | None, pool: ThreadPoolExecutor | None) -> Sample:
        """The sample of all or some of them."""
        return self.source.sample(weights, self._in_source(rows), pool)

    def take(self, rows: NDArray[np.intp]) -> NDArray[np.floating[Any]]:
        """Some of them, as an array."""
        return self.source.take(self._in_source(rows))

    def cells(self, rows: NDArray[np.intp], column: int) -> NDArray[np.floating[Any]]:
        """One column of some of them."""
        return self.source.cells(self._in_source(rows), column)

    def project(self, center: Array, direction: Array, rows: NDArray[np.intp] | None) -> Array:
        """``(X - center) @ direction`` of all or some of them."""
        return self.source.project(center, direction, self._in_source(rows))

    def map_rows(self, function: Callable[[NDArray[Any]], NDArray[Any]], rows: NDArray[np.intp] | None = None) -> Any:
        """What a function says of all or some of them."""
        return self.source.map_rows(function, self._in_source(rows))


def is_sparse(X: Any) -> bool:
    """Whether X is a sparse matrix or array of SciPy; does not import SciPy for what is not."""
    return hasattr(X, "tocsr") and type(X).__module__.startswith("scipy.sparse")


def is_source(X: Any) -> bool:
    """Whether X is a source of rows."""
    return hasattr(X, "map_rows")


def project(X: Any, center: Array, direction: Array, rows: NDArray[np.intp] | None = None) -> Array:
    """``(X - center) @ direction`` in double precision, of all or some rows, without a copy of X."""
    if isinstance(X, np.ndarray):
        return project_array(X, center, direction, rows)
    if is_sparse(X):
        from ravine.rows.sparse import project_sparse

        return project_sparse(X, center, direction, rows)
    return np.asarray(X.project(center, direction, rows))


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Some rows: an array, or a sparse matrix if X is one."""
    return X[rows] if isinstance(X, np.ndarray) or is_sparse(X) else X.take(rows)


def restrict_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Some rows: a copy in memory, a source without a copy elsewhere."""
    return X[rows] if isinstance(X, np.ndarray) or is_sparse(X) else SomeRows(X, rows)


def cells_of(X: Any, rows: NDArray[np.intp], column: int) -> NDArray[np.floating[Any]]:
    """One column of some rows."""
    return X[rows, column] if isinstance(X, np.ndarray) else X.cells(rows, column)  # type: ignore[no-any-return]


def on_rows(X: Any, function: Callable[[Any], NDArray[Any]]) -> Any:
    """What a function of rows says of X: of all rows at once in memory, block by block elsewhere."""
    return function(X) if isinstance(X, np.ndarray) or is_sparse(X) else X.map_rows(function)
