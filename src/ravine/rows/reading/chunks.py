"""Chunks of rows that are read again and again, and data frames as arrays."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
    read : callable
        Reads the rows as an array. Its argument is a buffer of bytes to read into, the iterator that ``new_iterator``
        returned, or None.
    name : str
        Block of the user that the rows belong to, for messages.
    first : int
        Number of the first row in that block.
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


class Columns:
    """Names of columns that all blocks must have, in the order of the first block.

    Attributes
    ----------
    names : list or None
        None if the first block has no names.
    empty_frame : object
        Data frame without rows that has these columns: scikit-learn looks up their names there.
    """

    def __init__(self) -> None:
        self.names: list[Any] | None = None
        self.empty_frame: Any = None
        self._first: str | None = None

    def match(self, names: Sequence[Hashable] | None, block: str, empty_frame: Any = None) -> list[Any]:
        """Return the names in the order of the first block; raise an error if a block lacks or adds some."""
        found = None if names is None else list(names)
        if self._first is None:
            self._check_unique(found or [], block)
            self._first, self.names, self.empty_frame = block, found, empty_frame
        if (self.names is None) != (found is None):
            named, other = (block, self._first) if self.names is None else (self._first, block)
            raise ValueError(
                f"{named} of X has column names, but {other} has none, so they cannot be matched: give blocks that all "
                "have column names, or only arrays."
            )
        if self.names is None or found is None or found == self.names:
            return self.names or []
        for name in self.names:
            if name not in found:
                raise ValueError(f"{block} of X has no column {name!r}, but {self._first} has.")
        for name in found:
            if name not in self.names:
                raise ValueError(f"{block} of X has a column {name!r}, but {self._first} has none.")
        self._check_unique(found, block)
        return self.names

    @staticmethod
    def _check_unique(names: list[Any], block: str) -> None:
        for name, count in Counter(names).items():
            if count > 1:
                raise ValueError(f"{block} of X has {count} columns named {name!r}: rename or drop them.")


def is_frame(block: Any) -> bool:
    """Return whether a block is a data frame: it has rows and columns, and columns have names."""
    named = hasattr(block, "column_names") or (hasattr(block, "columns") and hasattr(block, "to_numpy"))
    return named and hasattr(block, "shape")


def list_columns(frame: Any) -> list[Any]:
    """Return the names of the columns of a data frame."""
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def to_empty_frame(frame: Any) -> Any:
    """Return a data frame with the same columns and no rows."""
    return frame.slice(0, 0) if hasattr(frame, "column_names") else frame.head(0)


def to_array(frame: Any, names: list[Any], block: str) -> NDArray[Any]:
    """Return columns of a data frame, in this order, as an array; copied only if they are not one already."""
    columns = [frame[name] for name in names]
    types = [getattr(column, "dtype", None) for column in columns]
    if all(isinstance(t, np.dtype) and t in (np.float32, np.float64) for t in types) and len(set(types)) == 1:
        return np.asarray(frame if list_columns(frame) == names else frame[names])
    values = [_to_numbers(c, f"column {name!r} of {block}") for c, name in zip(columns, names, strict=True)]
    return np.column_stack(values) if values else np.empty((frame.shape[0], 0))


def _to_numbers(column: Any, name: str) -> NDArray[Any]:
    if str(getattr(column, "dtype", getattr(column, "type", ""))).lower().startswith(("categor", "enum", "dictionary")):
        raise ValueError(f"{name} of X holds categories: encode them as numbers, or drop the column.")
    values = column.to_numpy()
    check_dtype(values.dtype, name)
    if values.dtype in (np.float32, np.float64):
        return np.asarray(values)
    # Some versions of NumPy take lists of one number for numbers.
    if values.dtype.kind == "O" and any(isinstance(value, (list, tuple, np.ndarray)) for value in values):
        raise ValueError(f"{name} of X does not hold numbers (it holds lists).")
    try:
        if values.dtype.kind == "O" and hasattr(column, "array"):  # NumPy cannot convert the missing values of pandas
            return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.asarray(values, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name} of X does not hold numbers ({error}).") from error
