"""Interface of the data: `Rows` of any kind, and some of them by their indices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.rows.sample import Sample

__all__ = ["Indices", "Rows", "Subset", "as_rows"]

Indices = NDArray[np.intp]

# A smaller share of rows in memory than this is copied for a fit; a larger one is gathered block by block.
SMALL_SHARE = 0.5
# Of rows outside the memory of this process, at most this many bytes are copied into it.
SMALL_BYTES = 1 << 23


class Rows(ABC):
    """Rows of data, wherever they are stored; `as_rows` makes them from arrays, sparse matrices and other sources.

    Methods take ``indices``, which say which rows are meant; None stands for all rows. Indices are sorted unless they
    are those of `take`.

    Attributes
    ----------
    shape : tuple of int
        Rows and features.
    in_memory : bool
        Whether the rows are in the memory of this process.
    is_lazy : bool
        Whether `apply` returns a lazy collection, because results stay where the rows are.
    is_sparse : bool
        Whether most values are zeros that are not stored.
    """

    shape: tuple[int, int]
    in_memory: bool = False
    is_lazy: bool = False
    is_sparse: bool = False

    # ------------------------------------------------------------------------------------------- values

    @abstractmethod
    def take(self, indices: Indices) -> NDArray[np.floating[Any]]:
        """Copy some rows, in the order of the indices, into an array."""

    def to_array(self) -> NDArray[np.floating[Any]]:
        """Return all rows as an array, without a copy where they are one."""
        return self.take(np.arange(self.shape[0]))

    @abstractmethod
    def column(self, j: int, indices: Indices | None = None) -> NDArray[np.floating[Any]]:
        """Return one feature of the rows."""

    @abstractmethod
    def project(self, center: Array, direction: Array, indices: Indices | None = None) -> Array:
        """Compute ``(x - center) @ direction`` in double precision, without a copy of the rows."""

    def signs(self, center: Array, direction: Array) -> NDArray[np.int8]:
        """Return the signs -1, 0 or 1 of ``(x - center) @ direction``."""
        return np.sign(self.project(center, direction)).astype(np.int8)

    def sides(self, center: Array, direction: Array, indices: Indices | None = None) -> NDArray[np.bool_]:
        """Return whether ``(x - center) @ direction`` is positive."""
        return self.project(center, direction, indices) > 0.0

    @abstractmethod
    def apply(self, function: Callable[[Any], NDArray[Any]], indices: Indices | None = None) -> Any:
        """Apply a function to blocks of rows; it must return one result per row."""

    # ------------------------------------------------------------------------------------------- subsets

    def subset(self, indices: Indices, copy: bool | None = None) -> Rows:
        """Return some rows.

        Parameters
        ----------
        indices : ndarray of int
        copy : bool, optional
            Whether they are copied into the memory of this process. By default they are if all rows are there, since
            passes over a copy take half the time of passes that gather the rows.
        """
        return self._copy(indices) if (self.in_memory if copy is None else copy) else Subset(self, indices)

    @abstractmethod
    def _copy(self, indices: Indices) -> Rows:
        """Copy some rows into the memory of this process."""

    @property
    def copy_limit(self) -> float:
        """Number of rows up to which a copy is worth its memory."""
        return SMALL_SHARE * self.shape[0] if self.in_memory else SMALL_BYTES / (8.0 * self.shape[1])

    @property
    def data(self) -> Any:
        """The array, matrix or source as the user gave it."""
        return self

    def densify_if_small(self) -> Rows:
        """Return sparse rows of few values and features as rows of an array; all others as they are."""
        return self

    # ------------------------------------------------------------------------------------------- fits

    @abstractmethod
    def sample(
        self, weights: Array | None = None, pool: ThreadPoolExecutor | None = None, indices: Indices | None = None
    ) -> Sample:
        """Return the sample that answers the questions of a fit.

        Parameters
        ----------
        weights : ndarray of shape (n,), optional
            Non-negative, not all zero; one for each of the indices if these are given.
        pool : ThreadPoolExecutor, optional
            Threads that share the work; the answers do not depend on them.
        indices : ndarray of int, optional
        """

    @property
    def needs_row_space(self) -> bool:
        """Whether a fit runs in the space that the rows span: dense rows that are fewer than the features."""
        return self.shape[0] < self.shape[1]

    def session(self) -> AbstractContextManager[None]:
        """Release at its end what a fit has opened elsewhere, also after an error."""
        return nullcontext()

    def share_rounds(self) -> AbstractContextManager[None]:
        """Let threads that fit at the same time share their round trips to the workers of a cluster."""
        return nullcontext()

    def node_threads(self, n_threads: int) -> int:
        """Return the number of nodes of a tree to fit at the same time, if there are ``n_threads`` threads."""
        return n_threads


class Subset(Rows):
    """Some rows of others, without a copy.

    Parameters
    ----------
    rows : Rows
    indices : ndarray of int
    """

    def __init__(self, rows: Rows, indices: Indices) -> None:
        self.rows, self.indices = rows, indices
        self.shape = (len(indices), rows.shape[1])
        self.in_memory, self.is_lazy, self.is_sparse = rows.in_memory, rows.is_lazy, rows.is_sparse

    def _in_whole(self, indices: Indices | None) -> Indices:
        return self.indices if indices is None else self.indices[indices]

    def take(self, indices: Indices) -> NDArray[np.floating[Any]]:
        """Copy some of them into an array."""
        return self.rows.take(self._in_whole(indices))

    def column(self, j: int, indices: Indices | None = None) -> NDArray[np.floating[Any]]:
        """Return one feature of them."""
        return self.rows.column(j, self._in_whole(indices))

    def project(self, center: Array, direction: Array, indices: Indices | None = None) -> Array:
        """Compute ``(x - center) @ direction``."""
        return self.rows.project(center, direction, self._in_whole(indices))

    def sides(self, center: Array, direction: Array, indices: Indices | None = None) -> NDArray[np.bool_]:
        """Return whether ``(x - center) @ direction`` is positive."""
        return self.rows.sides(center, direction, self._in_whole(indices))

    def apply(self, function: Callable[[Any], NDArray[Any]], indices: Indices | None = None) -> Any:
        """Apply a function to blocks of them."""
        return self.rows.apply(function, self._in_whole(indices))

    def subset(self, indices: Indices, copy: bool | None = None) -> Rows:
        """Return some of them."""
        return self.rows.subset(self._in_whole(indices), copy)

    def _copy(self, indices: Indices) -> Rows:
        return self.rows._copy(self._in_whole(indices))

    @property
    def copy_limit(self) -> float:
        """Number of rows up to which a copy is worth its memory."""
        return self.rows.copy_limit

    def sample(
        self, weights: Array | None = None, pool: ThreadPoolExecutor | None = None, indices: Indices | None = None
    ) -> Sample:
        """Return the sample that answers the questions of a fit."""
        return self.rows.sample(weights, pool, self._in_whole(indices))

    def session(self) -> AbstractContextManager[None]:
        """Release at its end what a fit has opened elsewhere."""
        return self.rows.session()

    def share_rounds(self) -> AbstractContextManager[None]:
        """Let threads that fit at the same time share their round trips to the workers of a cluster."""
        return self.rows.share_rounds()

    def node_threads(self, n_threads: int) -> int:
        """Return the number of nodes of a tree to fit at the same time."""
        return self.rows.node_threads(n_threads)


def as_rows(X: Any) -> Rows:
    """Return X as `Rows`, without a copy where that is possible; no value is looked at.

    Parameters
    ----------
    X : array-like, sparse matrix or Rows
        `Rows` are returned as they are. Arrays of other types than float32 and float64 are converted to float64.
    """
    from ravine.rows.array import ArrayRows  # here, because they import this module
    from ravine.rows.sparse import SparseRows, is_sparse_matrix

    if isinstance(X, Rows):
        return X
    if is_sparse_matrix(X):
        return SparseRows(X.tocsr())
    array = np.asarray(X)
    if array.dtype not in (np.float32, np.float64) or not array.dtype.isnative:
        array = array.astype(np.float64)
    return ArrayRows(array)
