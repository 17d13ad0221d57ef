"""Centred sparse matrices: implicitly where zeros are many, value by value where they are few."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array

__all__ = ["CentredMatrix", "count_stored", "find_near_columns", "sum_columns"]

# Stored values, or numbers of a dense block, at a time.
BLOCK_NUMBERS = 1 << 20
# A value that differs from the origin by less than this share of it loses digits in X·v − origin·v.
NEAR = 1e-2


class CentredMatrix:
    """Z = X − 1·originᵀ as ``shifted + missing − 1·implicitᵀ``; X is not changed.

    In most columns of a sparse matrix the origin is implicit: Z·v = X·v − origin·v. This difference has few digits
    where the origin is much larger than the deviations from it. Such a column has few zeros, so its stored values are
    shifted (in a copy of ``X.data`` that shares everything else with X), the values that are not stored are listed in
    ``missing``, and nothing is left to be implicit.

    Parameters
    ----------
    shifted : sparse matrix
        X, or a copy with some columns shifted.
    missing : sparse matrix, optional
        Minus the origin where X stores no value in a shifted column.
    implicit : ndarray of shape (d,)
        The origin, with zeros in shifted columns.
    """

    def __init__(self, shifted: Any, missing: Any | None, implicit: Array) -> None:
        self.shifted, self.missing, self.implicit = shifted, missing, implicit

    @classmethod
    def about(cls, X: Any, origin: Array, columns: NDArray[np.bool_]) -> CentredMatrix:
        """Centre X, a matrix without duplicate entries, about an origin; ``columns`` are shifted value by value."""
        if not columns.any():
            return cls(X, None, origin)
        shift = np.where(columns, origin, 0.0)
        data = X.data.astype(np.float64)
        for part in _split_range(len(data)):
            data[part] -= shift[X.indices[part]]
        missing = _make_missing(X, shift, columns)
        return cls(X._with_data(data, copy=False), missing, np.where(columns, 0.0, origin))

    def subset(self, indices: NDArray[np.intp] | slice) -> CentredMatrix:
        """Return some rows."""
        missing = None if self.missing is None else self.missing[indices]
        return CentredMatrix(self.shifted[indices], missing, self.implicit)

    def times(self, v: Array) -> Array:
        """Return Z·v."""
        products = self.shifted @ v - self.implicit @ v
        return np.asarray(products if self.missing is None else products + self.missing @ v)

    def transpose_times(self, coefficients: Array) -> Array:
        """Return Zᵀ·c."""
        sums = self.shifted.T @ coefficients - coefficients.sum() * self.implicit
        return np.asarray(sums if self.missing is None else sums + self.missing.T @ coefficients)

    def to_array(self, indices: NDArray[np.intp] | slice) -> Array:
        """Return some rows of Z as an array."""
        few = self.shifted[indices].toarray() - self.implicit
        return np.asarray(few if self.missing is None else few + self.missing[indices].toarray())

    def to_sparse(self) -> Any:
        """Return Z + 1·implicitᵀ as one sparse matrix."""
        return self.shifted if self.missing is None else (self.shifted + self.missing).tocsr()

    def squared_lengths(self, unit: float) -> Array:
        """Return |z|² of the rows z of Z / unit."""
        implicit = self.implicit / unit
        lengths = _sum_squares(self.shifted, unit) - 2.0 * (self.shifted @ (implicit / unit)) + implicit @ implicit
        return np.asarray(lengths if self.missing is None else lengths + _sum_squares(self.missing, unit))


def _sum_squares(X: Any, unit: float) -> Array:
    """Sum the squares of the stored values of each row, in units of ``unit``."""
    sums = np.empty(X.shape[0])
    for rows, stored in _split_rows(X):
        n = rows.stop - rows.start
        row_of_value = np.repeat(np.arange(n), np.diff(X.indptr[rows.start : rows.stop + 1]))
        sums[rows] = np.bincount(row_of_value, (X.data[stored] / unit) ** 2, minlength=n)
    return sums


def _make_missing(X: Any, shift: Array, columns: NDArray[np.bool_]) -> Any | None:
    """Make a matrix of minus the shift where X stores no value in some columns; None if it stores them all."""
    n, d = X.shape
    gaps = np.flatnonzero(columns & (count_stored(X) < n))
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


def _split_range(n: int) -> Iterator[slice]:
    return (slice(first, first + BLOCK_NUMBERS) for first in range(0, n, BLOCK_NUMBERS))


def _split_rows(X: Any) -> Iterator[tuple[slice, slice]]:
    """Split the rows into blocks; each with the range of its stored values."""
    step = max(1, BLOCK_NUMBERS // max(1, len(X.data) // max(1, X.shape[0])))
    for first in range(0, X.shape[0], step):
        rows = slice(first, min(first + step, X.shape[0]))
        yield rows, slice(int(X.indptr[rows.start]), int(X.indptr[rows.stop]))


def count_stored(X: Any) -> NDArray[np.intp]:
    """Count the stored values of each column; in parts, since counting copies the indices."""
    counts = np.zeros(X.shape[1], dtype=np.intp)
    for part in _split_range(len(X.indices)):
        counts += np.bincount(X.indices[part], minlength=len(counts))
    return counts


def sum_columns(X: Any, weights: Array | None, scale: float) -> tuple[Array, Array]:
    """Return the weighted sums of the values of each column and of their squares, in units of ``scale``."""
    d = X.shape[1]
    sums, squares = np.zeros(d), np.zeros(d)
    for rows, stored in _split_rows(X):
        values, columns = X.data[stored] / scale, X.indices[stored]
        weighted = values
        if weights is not None:
            weighted = values * np.repeat(weights[rows], np.diff(X.indptr[rows.start : rows.stop + 1]))
        sums += np.bincount(columns, weighted, minlength=d)
        squares += np.bincount(columns, weighted * values, minlength=d)
    return sums, squares


def find_near_columns(X: Any, origin: Array) -> NDArray[np.bool_]:
    """Find columns where most values are so near an origin other than zero that X·v − origin·v would lose digits."""
    often: NDArray[np.bool_] = (2 * count_stored(X) > X.shape[0]) & (origin != 0.0)
    if not often.any():
        return often
    near = np.zeros(X.shape[1], dtype=np.intp)
    for part in _split_range(len(X.data)):
        columns = X.indices[part]
        some = np.flatnonzero(often[columns])
        columns, values = columns[some], X.data[part][some]
        close = np.abs(values - origin[columns]) < NEAR * np.abs(origin[columns])
        near += np.bincount(columns[close], minlength=len(near))
    return np.asarray(2 * near > X.shape[0])
