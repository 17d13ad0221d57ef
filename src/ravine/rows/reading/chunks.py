"""Pieces of rows: what is read together, how, and what of it must not change."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["FileStamp", "Piece", "check_unchanged", "pieces_of_array", "plain_array", "refuse_shape", "rows_at_a_time"]

# Bytes that are read at a time: few enough to stay in the cache until they have been used.
PIECE_BYTES = 1 << 22


class FileStamp(NamedTuple):
    """What tells a file from what it was before."""

    path: str
    size: int
    changed: int
    inode: int

    @staticmethod
    def of(path: str | os.PathLike[str]) -> FileStamp:
        """The stamp of a file as it is now."""
        path = os.path.abspath(path)
        said = os.stat(path)
        return FileStamp(path, said.st_size, said.st_mtime_ns, said.st_ino)


class Piece(NamedTuple):
    """Some rows that are read together.

    Attributes
    ----------
    n_rows : int
    read : callable
        Reads them as an array; it may be given a buffer of bytes to read into or, if there is ``new_walk``, a walk.
    name : str
        The block they belong to, for messages.
    first : int
        The number of the first of them in that block.
    n_columns : int
    dtype : numpy.dtype
        Type of the cells that are read.
    rows : callable, optional
        Reads a few of them, by number, where that is cheaper than to read all.
    resident : bool
        Whether they are in memory anyway.
    buffered : bool
        Whether they can be read into a buffer of as many bytes as they have; others make their own array.
    new_walk : callable, optional
        Starts a walk through pieces that can only be read one after the other.
    file : FileStamp, optional
        The file they are in, as it was when its size was looked up.
    """

    n_rows: int
    read: Callable[[Any], NDArray[Any]]
    name: str
    first: int
    n_columns: int
    dtype: np.dtype[Any]
    rows: Callable[[NDArray[np.intp]], NDArray[Any]] | None = None
    resident: bool = False
    buffered: bool = False
    new_walk: Callable[[], Any] | None = None
    file: FileStamp | None = None

    @property
    def n_bytes(self) -> int:
        """Bytes of all cells."""
        return self.n_rows * self.n_columns * self.dtype.itemsize

    @property
    def single(self) -> bool:
        """Whether its cells are used in single precision; all but those are used in double precision."""
        return self.dtype == np.float32 and self.dtype.isnative


def check_unchanged(files: Iterable[FileStamp]) -> None:
    """Refuse files that are not what they were."""
    for file in files:
        try:
            now = FileStamp.of(file.path)
        except FileNotFoundError as error:
            raise FileNotFoundError(f"{file.path} is gone: it was there when this RowBlocks was made.") from error
        if now != file:
            raise ValueError(
                f"{file.path} has changed since this RowBlocks was made, so its rows cannot be used together with what "
                "was read before. Make a new RowBlocks and fit again."
            )


def rows_at_a_time(n_columns: int, itemsize: int) -> int:
    """Rows of a piece."""
    return max(64, PIECE_BYTES // max(1, n_columns * itemsize))


def refuse_shape(shape: tuple[int, ...], name: str) -> None:
    """Refuse what has no rows and columns."""
    if len(shape) != 2:
        raise ValueError(f"{name} of X must have rows and columns, got an array of shape {shape}.")


def refuse_type(dtype: np.dtype[Any], name: str) -> None:
    """Refuse types that would become numbers by losing what they mean."""
    if dtype.kind in "Mm":
        raise TypeError(
            f"{name} of X holds dates or durations: turn them into numbers first, for example days since a date."
        )
    if dtype.kind == "c":
        raise ValueError(f"{name} of X holds complex numbers, which are not supported: give real and imaginary parts.")
    if dtype.kind == "V":
        raise ValueError(f"{name} of X holds records ({dtype}), not numbers: give one column for each field.")


def plain_array(block: Any, name: str) -> NDArray[Any]:
    """A block in memory as an array; refuses what is none, or would lose something."""
    if hasattr(block, "tocsr") and type(block).__module__.startswith("scipy.sparse"):
        raise TypeError(
            f"{name} of X is a sparse matrix, and blocks must be dense: join sparse blocks with scipy.sparse.vstack "
            "and fit the sparse matrix, without RowBlocks."
        )
    if isinstance(block, np.ma.MaskedArray) and np.ma.is_masked(block):
        raise ValueError(f"{name} of X is a masked array with masked cells: fill or drop them first.")
    try:
        array = np.asarray(block)
    except ValueError as error:
        raise ValueError(f"{name} of X cannot be read as an array ({error}).") from error
    refuse_shape(array.shape, name)
    refuse_type(array.dtype, name)
    return array


def pieces_of_array(block: NDArray[Any], name: str, file: FileStamp | None = None) -> Iterator[Piece]:
    """Pieces of an array in memory, or of a map of a file."""
    refuse_shape(block.shape, name)
    refuse_type(block.dtype, name)
    step = rows_at_a_time(block.shape[1], block.itemsize)
    for first in range(0, max(1, len(block)), step):
        part = block[first : first + step]
        yield Piece(
            len(part), lambda _, part=part: part, name, first, block.shape[1], block.dtype,  # type: ignore[misc]
            rows=part.__getitem__,
            resident=not isinstance(block, np.memmap),
            file=file,
        )  # fmt: skip
