"""Sources of rows: lists of arrays, files, folders of files, chunked arrays of other libraries, functions."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine.rows.reading.chunks import (
    Chunk,
    Columns,
    check_dtype,
    check_shape,
    count_chunk_rows,
    is_frame,
    list_columns,
    split_array,
    to_array,
    to_empty_frame,
    to_plain_array,
)
from ravine.rows.reading.files import split_map, split_npy, split_parquet

_READING = [threading.Lock()]
if hasattr(os, "register_at_fork"):  # a thread that holds the lock does not exist in a child process
    os.register_at_fork(after_in_child=lambda: _READING.__setitem__(0, threading.Lock()))


def find_chunks(source: Any) -> tuple[list[Chunk], Columns]:
    """Return the chunks of a source that can be read again and again; an error says what to give instead."""
    columns = Columns()
    return list(_split_source(source, columns)), columns


def _split_source(source: Any, columns: Columns) -> Iterator[Chunk]:
    if isinstance(source, str | os.PathLike):
        yield from _split_path(Path(source), columns)
    elif isinstance(source, Iterator):
        raise TypeError(
            f"RowBlocks got {type(source).__name__}, which yields its blocks only once, but they are read several "
            "times. Give a list of arrays, a file, a folder, or a function that makes a new iterator each time."
        )
    elif isinstance(source, list | tuple):
        for k, block in enumerate(source):
            yield from _split_block(block, f"block {k}", columns)
    elif callable(source) and not hasattr(source, "shape"):
        yield from _split_function(source, columns)
    elif hasattr(source, "shape") and (hasattr(source, "__getitem__") or hasattr(source, "tocsr")):
        yield from _split_block(source, "block 0", columns)
    else:
        raise TypeError(
            f"RowBlocks cannot read blocks of rows from {type(source).__name__}: give a list of arrays, the path of a "
            ".npy or .parquet file or of a folder of such files, an array of h5py or zarr, or a function that makes an "
            "iterator over arrays."
        )


def _split_block(block: Any, name: str, columns: Columns) -> Iterator[Chunk]:
    """Split one block of a list: an array, a data frame, a memory map, a path, or an array of another library."""
    if isinstance(block, str | os.PathLike):
        yield from _split_file(Path(block), columns)
        return
    array, dtype = _to_array_in_memory(block, name, columns), getattr(block, "dtype", None)
    if isinstance(block, np.memmap):
        yield from split_map(block, name)
    elif array is not None:
        yield from split_array(array, name)
    else:
        yield from _split_foreign_array(block, dtype, name)


def _to_array_in_memory(block: Any, name: str, columns: Columns) -> NDArray[Any] | None:
    """Return a block as an array, with its columns in the order of the first block; None if it is not in memory."""
    if is_frame(block):
        names = columns.match(list_columns(block), name, to_empty_frame(block))
        return to_array(block, names, name)
    columns.match(None, name)
    known = isinstance(block, np.ndarray | list | tuple) or hasattr(block, "tocsr")
    if not known and hasattr(block, "shape") and hasattr(block, "__getitem__"):
        return None
    return to_plain_array(block, name)


def _split_foreign_array(array: Any, dtype: Any, name: str) -> Iterator[Chunk]:
    """Split anything with a shape and slices of rows, in whole chunks of its own."""
    check_shape(tuple(array.shape), name)
    try:
        kind: np.dtype[Any] = np.dtype(dtype)
    except TypeError:  # types of another library
        kind = np.asarray(array[0:0]).dtype
    check_dtype(kind, name)
    n, d = int(array.shape[0]), int(array.shape[1])
    step = count_chunk_rows(d, kind.itemsize)
    chunks = getattr(array, "chunks", None)
    if chunks and isinstance(chunks[0], int | np.integer):
        step = max(1, step // int(chunks[0])) * int(chunks[0])
    for first in range(0, max(1, n), step):
        rows = slice(first, min(first + step, n))
        yield Chunk(
            rows.stop - first,
            lambda _, rows=rows: _read_locked(array, rows, name),  # type: ignore[misc]
            name, first, d, kind,
        )  # fmt: skip


def _read_locked(array: Any, rows: slice, name: str) -> NDArray[Any]:
    """Read rows of an array of another library, which may not support several readers, even of arrays of one file."""
    with _READING[0]:
        return to_plain_array(array[rows], name)


# ------------------------------------------------------------------------------------------------- files


def _split_path(path: Path, columns: Columns) -> Iterator[Chunk]:
    if not path.is_dir():
        yield from _split_file(path, columns)
        return
    shown = (p for p in path.iterdir() if p.is_file() and not p.name.startswith("."))
    files = sorted(p for p in shown if p.suffix in (".npy", ".parquet"))
    if not files:
        raise FileNotFoundError(f"the folder {path} contains neither .npy nor .parquet files.")
    if len({p.suffix for p in files}) > 1:
        raise ValueError(
            f"the folder {path} contains .npy and .parquet files, but .npy files have no column names to match. Put "
            "them into two folders, or give a list of files."
        )
    for file in files:
        yield from _split_file(file, columns)


def _split_file(path: Path, columns: Columns) -> Iterator[Chunk]:
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}.")
    if path.suffix == ".npy":
        columns.match(None, path.name)
        yield from split_npy(path)
    elif path.suffix == ".parquet":
        yield from split_parquet(path, columns)
    else:
        raise ValueError(f"{path.name}: RowBlocks reads .npy and .parquet files.")


# ------------------------------------------------------------------------------------------------- functions


def _split_function(make: Callable[[], Any], columns: Columns) -> Iterator[Chunk]:
    """Look at all blocks of a function once for their sizes; each chunk is one block of a new iterator."""
    found: list[tuple[tuple[int, ...], np.dtype[Any]]] = []
    blocks = make()
    if not isinstance(blocks, Iterable):
        raise TypeError(f"the function given to RowBlocks must make an iterator over arrays, got {blocks!r}.")
    for k, block in enumerate(blocks):
        array = _to_array(block, k, columns)
        found.append((array.shape, array.dtype))
    again = [_to_array(block, k, columns).shape for k, block in enumerate(make())]
    if again != [shape for shape, _ in found]:
        raise ValueError("the function given to RowBlocks does not make the same blocks when it is called again.")
    for k, (shape, dtype) in enumerate(found):
        yield Chunk(
            shape[0],
            lambda iterator, k=k: iterator.read(k),  # type: ignore[misc]
            f"block {k}", 0, shape[1], dtype,
            new_iterator=lambda: _BlockIterator(make, columns),
        )  # fmt: skip


def _to_array(block: Any, k: int, columns: Columns) -> NDArray[Any]:
    array = _to_array_in_memory(block, f"block {k}", columns)
    return to_plain_array(block, f"block {k}") if array is None else array


class _BlockIterator:
    """Iterator over the blocks of a function, for one pass; blocks are read by number, in increasing order."""

    def __init__(self, make: Callable[[], Any], columns: Columns) -> None:
        self.iterator = iter(make())
        self.columns, self.n_read = columns, 0

    def read(self, k: int) -> NDArray[Any]:
        for block in self.iterator:
            self.n_read += 1
            if self.n_read == k + 1:
                # The function may use the same memory for its next block, which is made while this one is used.
                return np.array(_to_array(block, k, self.columns))
        raise ValueError(f"the function given to RowBlocks made only {self.n_read} blocks this time.")

    def close(self) -> None:
        """Close a generator that was not exhausted: it may have files open."""
        if hasattr(self.iterator, "close"):
            self.iterator.close()
