"""Chunks of rows: the unit of reading, and checks that the data behind them are usable and unchanged."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Chunk",
    "FileStamp",
    "check_dtype",
    "check_shape",
    "check_unchanged",
    "count_chunk_rows",
    "split_array",
    "to_plain_array",
]

# Bytes that are read at a time: few enough to stay in the cache until they have been used.
CHUNK_BYTES = 1 << 22


class FileStamp(NamedTuple):
    """Properties of a file that change whenever its content does."""

    path: str
    size: int
    changed: int
    inode: int

    @staticmethod
    def of(path: str | os.PathLike[str]) -> FileStamp:
        """Return the stamp of a file in its present state."""
        path = os.path.abspath(path)
        status = os.stat(path)
        return FileStamp(path, status.st_size, status.st_mtime_ns, status.st_ino)


class Chunk(NamedTuple):
    """Some rows that are read together.

    Attributes
    ----------
    n_rows : int
    read : callable
        Reads the rows as an array. Its argument is a buffer of bytes to read into, the iterator that ``new_iterator``
        returned, or None.
    name : str
        Block of the user that the rows belong to, for messages.
    first : int
        Number of the first row in that block.
    n_features : int
    dtype : numpy.dtype
        Type of the values that are read.
    read_some : callable, optional
        Reads some of the rows, by their indices, if that may be cheaper than to read all.
    resident : bool
        Whether the rows are in memory anyway.
    buffered : bool
        Whether ``read`` fills a buffer of as many bytes as the rows have; otherwise it allocates an array.
    new_iterator : callable, optional
        Starts a pass over chunks that can only be read one after the other.
    file : FileStamp, optional
        File that holds the rows, in its state when the chunk was made.
    """

    n_rows: int
    read: Callable[[Any], NDArray[Any]]
    name: str
    first: int
    n_features: int
    dtype: np.dtype[Any]
    read_some: Callable[[NDArray[np.intp]], NDArray[Any]] | None = None
    resident: bool = False
    buffered: bool = False
    new_iterator: Callable[[], Any] | None = None
    file: FileStamp | None = None

    @property
    def n_bytes(self) -> int:
        """Bytes of all values."""
        return self.n_rows * self.n_features * self.dtype.itemsize

    @property
    def is_single(self) -> bool:
        """Whether the values are used in single precision; all others are used in double precision."""
        return self.dtype == np.float32 and self.dtype.isnative


def check_unchanged(files: Iterable[FileStamp]) -> None:
    """Raise an error if a file has changed since its stamp was made."""
    for file in files:
        try:
            now = FileStamp.of(file.path)
        except FileNotFoundError as error:
            raise FileNotFoundError(f"{file.path} is gone: it existed when this RowBlocks was made.") from error
        if now != file:
            raise ValueError(
                f"{file.path} has changed since this RowBlocks was made, so its rows do not belong to those that were "
                "read before. Make a new RowBlocks and fit again."
            )


def count_chunk_rows(n_features: int, itemsize: int) -> int:
    """Return the number of rows of a chunk."""
    return max(64, CHUNK_BYTES // max(1, n_features * itemsize))


def check_shape(shape: tuple[int, ...], name: str) -> None:
    """Raise an error unless an array has two dimensions."""
    if len(shape) != 2:
        raise ValueError(f"{name} of X must be two-dimensional (rows and features), got an array of shape {shape}.")


def check_dtype(dtype: np.dtype[Any], name: str) -> None:
    """Raise an error for types whose conversion to numbers would lose their meaning."""
    if dtype.kind in "Mm":
        raise TypeError(
            f"{name} of X holds dates or durations: turn them into numbers first, for example days since a date."
        )
    if dtype.kind == "c":
        raise ValueError(f"{name} of X holds complex numbers, which are not supported: give real and imaginary parts.")
    if dtype.kind == "V":
        raise ValueError(f"{name} of X holds records ({dtype}), not numbers: give one feature for each field.")


def to_plain_array(block: Any, name: str) -> NDArray[Any]:
    """Return a block in memory as an array; raise an error if it is not one, or would lose something."""
    if hasattr(block, "tocsr") and type(block).__module__.startswith("scipy.sparse"):
        raise TypeError(
            f"{name} of X is a sparse matrix, and blocks must be dense: join sparse blocks with scipy.sparse.vstack "
            "and fit the sparse matrix, without RowBlocks."
        )
    if isinstance(block, np.ma.MaskedArray) and np.ma.is_masked(block):
        raise ValueError(f"{name} of X is a masked array with masked values: fill or drop them first.")
    try:
        array = np.asarray(block)
    except ValueError as error:
        raise ValueError(f"{name} of X cannot be read as an array ({error}).") from error
    check_shape(array.shape, name)
    check_dtype(array.dtype, name)
    return array


def split_array(block: NDArray[Any], name: str, file: FileStamp | None = None) -> Iterator[Chunk]:
    """Split an array in memory, or a memory map of a file, into chunks."""
    check_shape(block.shape, name)
    check_dtype(block.dtype, name)
    step = count_chunk_rows(block.shape[1], block.itemsize)
    for first in range(0, max(1, len(block)), step):
        rows = block[first : first + step]
        yield Chunk(
            len(rows), lambda _, rows=rows: rows, name, first, block.shape[1], block.dtype,  # type: ignore[misc]
            read_some=rows.__getitem__,
            resident=not isinstance(block, np.memmap),
            file=file,
        )  # fmt: skip
