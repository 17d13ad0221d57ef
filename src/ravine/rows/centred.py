"""The cells of a sparse matrix about an origin: implicitly where zeros are many, cell by cell where they are few."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array

__all__ = ["CentredCells", "cells_in_blocks", "column_sums", "far_columns", "stored_in_columns"]

# Cells, or numbers of a dense block, at a time.
BLOCK_NUMBERS = 1 << 20
# A cell that differs from the origin by less than this part of it loses digits in X·v − origin·v.
NEAR = 1e-2


class CentredCells:
    """Z = X − 1·originᵀ as ``shifted + missing − 1·implicitᵀ``; no cell of X is changed.

    In most columns of a sparse matrix the origin is implicit: Z·v = X·v − origin·v. Where the origin is much larger
    than the deviations from it that difference has few digits. Such a column has few zeros, so its stored cells are
    shifted (in a copy of ``X.data`` that shares everything else with X), the cells that are not stored are listed in
    ``missing``, and nothing is left to be implicit.

    Parameters
    ----------
    shifted : sparse rows
        X, or a copy with some columns shifted.
    missing : sparse rows, optional
        Minus the origin where X has no cell in a shifted column.
    implicit : ndarray of shape (d,)
        The origin, zero in shifted columns.
    """

    def __init__(self, shifted: Any, missing: Any | None, implicit: Array) -> None:
        self.shifted, self.missing, self.implicit = shifted, missing, implicit

    @classmethod
    def about(cls, X: Any, origin: Array, columns: NDArray[np.bool_]) -> CentredCells:
        """X, without duplicate cells, about an origin; ``columns`` says which are shifted."""
        if not columns.any():
            return cls(X, None, origin)
        shift = np.where(columns, origin, 0.0)
        data = X.data.astype(np.float64)
        for cells in _pieces(len(data)):
            data[cells] -= shift[X.indices[cells]]
        return cls(X._with_data(data, copy=False), _missing(X, shift, columns), np.where(columns, 0.0, origin))

    def part(self, rows: NDArray[np.intp] | slice) -> CentredCells:
        """Some rows."""
        return CentredCells(self.shifted[rows], None if self.missing is None else self.missing[rows], self.implicit)

    def times(self, v: Array) -> Array:
        """Z·v."""
        products = self.shifted @ v - self.implicit @ v
        return np.asarray(products if self.missing is None else products + self.missing @ v)

    def back(self, coefficients: Array) -> Array:
        """Zᵀ·c."""
        sums = self.shifted.T @ coefficients - coefficients.sum() * self.implicit
        return np.asarray(sums if self.missing is None else sums + self.missing.T @ coefficients)

    def toarray(self, rows: NDArray[np.intp] | slice) -> Array:
        """Some rows of Z."""
        few = self.shifted[rows].toarray() - self.implicit
        return np.asarray(few if self.missing is None else few + self.missing[rows].toarray())

    def explicit(self) -> Any:
        """Z + 1·implicitᵀ in one sparse matrix."""
        return self.shifted if self.missing is None else (self.shifted + self.missing).tocsr()

    def squared_lengths(self, unit: float) -> Array:
        """|z|² of the rows of Z / unit."""
        implicit = self.implicit / unit
        lengths = _row_squares(self.shifted, unit) - 2.0 * (self.shifted @ (implicit / unit)) + implicit @ implicit
        return np.asarray(lengths if self.missing is None else lengths + _row_squares(self.missing, unit))


def _row_squares(X: Any, unit: float) -> Array:
    """Sums of the squared cells of each row, in units of ``unit``."""
    sums = np.empty(X.shape[0])
    for rows, cells in cells_in_blocks(X):
        n = rows.stop - rows.start
        row_of_cell = np.repeat(np.arange(n), np.diff(X.indptr[rows.start : rows.stop + 1]))
        sums[rows] = np.bincount(row_of_cell, (X.data[cells] / unit) ** 2, minlength=n)
    return sums


def _missing(X: Any, shift: Array, columns: NDArray[np.bool_]) -> Any | None:
    """Minus the shift where X has no cell in some columns; None if it has them all."""
    n, d = X.shape
    gaps = np.flatnonzero(columns & (stored_in_columns(X) < n))
    if not len(gaps):
        return None
    place = np.full(d, -1)
    place[gaps] = np.arange(len(gaps))
    counts, found = [np.zeros(1, dtype=np.intp)], []
    step = max(64, BLOCK_NUMBERS // len(gaps))
    for first in range(0, n, step):
        ends = X.indptr[first : first + step + 1]
        absent = np.ones((len(ends) - 1, len(gaps)), dtype=bool)
        where = place[X.indices[ends[0] : ends[-1]]]
        absent[np.repeat(np.arange(len(absent)), np.diff(ends))[where >= 0], where[where >= 0]] = False
        counts.append(absent.sum(axis=1))
        found.append(gaps[np.nonzero(absent)[1]])
    indices = np.concatenate(found)
    return type(X)((-shift[indices], indices, np.cumsum(np.concatenate(counts))), shape=X.shape)


def _pieces(n: int) -> Iterator[slice]:
    return (slice(first, first + BLOCK_NUMBERS) for first in range(0, n, BLOCK_NUMBERS))


def stored_in_columns(X: Any) -> NDArray[np.intp]:
    """How many cells of each column are stored; in pieces, since counting makes a copy of the indices."""
    counts = np.zeros(X.shape[1], dtype=np.intp)
    for cells in _pieces(len(X.indices)):
        counts += np.bincount(X.indices[cells], minlength=len(counts))
    return counts


def cells_in_blocks(X: Any) -> Iterator[tuple[slice, slice]]:
    """Blocks of rows and the places of their cells."""
    step = max(1, BLOCK_NUMBERS // max(1, len(X.data) // max(1, X.shape[0])))
    for first in range(0, X.shape[0], step):
        rows = slice(first, min(first + step, X.shape[0]))
        yield rows, slice(int(X.indptr[rows.start]), int(X.indptr[rows.stop]))


def column_sums(X: Any, weights: Array | None, scale: float) -> tuple[Array, Array]:
    """Weighted sums of the cells of each column and of their squares, in units of ``scale``."""
    d = X.shape[1]
    sums, squares = np.zeros(d), np.zeros(d)
    for rows, cells in cells_in_blocks(X):
        values, columns = X.data[cells] / scale, X.indices[cells]
        weighted = values
        if weights is not None:
            weighted = values * np.repeat(weights[rows], np.diff(X.indptr[rows.start : rows.stop + 1]))
        sums += np.bincount(columns, weighted, minlength=d)
        squares += np.bincount(columns, weighted * values, minlength=d)
    return sums, squares


def far_columns(X: Any, origin: Array) -> NDArray[np.bool_]:
    """Columns where most cells are so near an origin other than zero that X·v − origin·v would lose digits."""
    often: NDArray[np.bool_] = (2 * stored_in_columns(X) > X.shape[0]) & (origin != 0.0)
    if not often.any():
        return often
    near = np.zeros(X.shape[1], dtype=np.intp)
    for cells in _pieces(len(X.data)):
        columns = X.indices[cells]
        some = np.flatnonzero(often[columns])
        columns, values = columns[some], X.data[cells][some]
        close = np.abs(values - origin[columns]) < NEAR * np.abs(origin[columns])
        near += np.bincount(columns[close], minlength=len(near))
    return np.asarray(2 * near > X.shape[0])
