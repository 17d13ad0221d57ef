"""Where blocks of rows come from: lists of arrays, files, folders of files, chunked arrays of other libraries."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine.rows.reading.chunks import Piece, pieces_of_array, plain_array, refuse_shape, refuse_type, rows_at_a_time
from ravine.rows.reading.frames import Columns, is_frame, names_of_frame, numbers_of_frame, sketch_of_frame
from ravine.rows.reading.npy import pieces_of_map, pieces_of_npy
from ravine.rows.reading.parquet import pieces_of_parquet

__all__ = ["find_pieces"]

_READING = threading.Lock()


def find_pieces(source: Any) -> tuple[list[Piece], Columns]:
    """The pieces of a source that can be read again and again; an error says what else could be given."""
    columns = Columns()
    return list(_pieces(source, columns)), columns


def _pieces(source: Any, columns: Columns) -> Iterator[Piece]:
    if isinstance(source, str | os.PathLike):
        yield from _of_path(Path(source), columns)
    elif isinstance(source, Iterator):
        raise TypeError(
            f"RowBlocks got {type(source).__name__}, which yields its blocks only once, but they are read several "
            "times. Give a list of arrays, a file, a folder, or a function that makes a new iterator each time."
        )
    elif isinstance(source, list | tuple):
        for k, block in enumerate(source):
            yield from _of_block(block, f"block {k}", columns)
    elif callable(source) and not hasattr(source, "shape"):
        yield from _of_function(source, columns)
    elif hasattr(source, "shape") and (hasattr(source, "__getitem__") or hasattr(source, "tocsr")):
        yield from _of_block(source, "block 0", columns)
    else:
        raise TypeError(
            f"RowBlocks cannot read blocks of rows from {type(source).__name__}: give a list of arrays, the path of a "
            ".npy or .parquet file or of a folder of such files, an array of h5py or zarr, or a function that makes an "
            "iterator over arrays."
        )


def _of_block(block: Any, name: str, columns: Columns) -> Iterator[Piece]:
    """One block of a list: an array, a data frame, a map, a path, or a chunked array of another library."""
    if isinstance(block, str | os.PathLike):
        yield from _of_file(Path(block), columns)
        return
    array, dtype = _in_memory(block, name, columns), getattr(block, "dtype", None)
    if isinstance(block, np.memmap):
        yield from pieces_of_map(block, name)
    elif array is not None:
        yield from pieces_of_array(array, name)
    else:
        yield from _of_chunked(block, dtype, name)


def _in_memory(block: Any, name: str, columns: Columns) -> NDArray[Any] | None:
    """A block as an array, with its columns in the order of the first block; None if it is not in memory."""
    if is_frame(block):
        names = columns.match(names_of_frame(block), name, sketch_of_frame(block))
        return numbers_of_frame(block, names, name)
    columns.match(None, name)
    known = isinstance(block, np.ndarray | list | tuple) or hasattr(block, "tocsr")
    if not known and hasattr(block, "shape") and hasattr(block, "__getitem__"):
        return None
    return plain_array(block, name)


def _one_at_a_time(array: Any, rows: slice, name: str) -> NDArray[Any]:
    """Rows of an array of another library, which may not bear two readers, nor may others of the same file."""
    with _READING:
        return plain_array(array[rows], name)


def _of_chunked(array: Any, dtype: Any, name: str) -> Iterator[Piece]:
    """Slices of rows of anything with a shape and slices, whole chunks at a time."""
    refuse_shape(tuple(array.shape), name)
    try:
        kind: np.dtype[Any] = np.dtype(dtype)
    except TypeError:  # types of another library
        kind = np.asarray(array[0:0]).dtype
    refuse_type(kind, name)
    n, d = int(array.shape[0]), int(array.shape[1])
    step = rows_at_a_time(d, kind.itemsize)
    chunks = getattr(array, "chunks", None)
    if chunks and isinstance(chunks[0], int | np.integer):
        step = max(1, step // int(chunks[0])) * int(chunks[0])
    for first in range(0, max(1, n), step):
        rows = slice(first, min(first + step, n))
        yield Piece(
            rows.stop - first,
            lambda _, rows=rows: _one_at_a_time(array, rows, name),  # type: ignore[misc]
            name, first, d, kind,
        )  # fmt: skip


# ------------------------------------------------------------------------------------------------- files


def _of_path(path: Path, columns: Columns) -> Iterator[Piece]:
    if not path.is_dir():
        yield from _of_file(path, columns)
        return
    shown = (p for p in path.iterdir() if p.is_file() and not p.name.startswith("."))
    files = sorted(p for p in shown if p.suffix in (".npy", ".parquet"))
    if not files:
        raise FileNotFoundError(f"the folder {path} holds no .npy and no .parquet file.")
    if len({p.suffix for p in files}) > 1:
        raise ValueError(
            f"the folder {path} holds .npy and .parquet files: columns of .npy files have no names by which they could "
            "be matched. Put them into two folders, or give a list of the files that are meant."
        )
    for file in files:
        yield from _of_file(file, columns)


def _of_file(path: Path, columns: Columns) -> Iterator[Piece]:
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}.")
    if path.suffix == ".npy":
        columns.match(None, path.name)
        yield from pieces_of_npy(path)
    elif path.suffix == ".parquet":
        yield from pieces_of_parquet(path, columns)
    else:
        raise ValueError(f"{path.name}: RowBlocks reads .npy and .parquet files.")


# ------------------------------------------------------------------------------------------------- functions


def _of_function(make: Callable[[], Any], columns: Columns) -> Iterator[Piece]:
    """One look at all blocks for their sizes; each is found again by walking there from the start."""
    found: list[tuple[tuple[int, ...], np.dtype[Any]]] = []
    blocks = make()
    if not isinstance(blocks, Iterable):
        raise TypeError(f"the function given to RowBlocks must make an iterator over arrays, got {blocks!r}.")
    for k, block in enumerate(blocks):
        array = _made(block, k, columns)
        found.append((array.shape, array.dtype))
    again = [_made(block, k, columns).shape for k, block in enumerate(make())]
    if again != [shape for shape, _ in found]:
        raise ValueError("the function given to RowBlocks does not make the same blocks again when it is called again.")
    for k, (shape, dtype) in enumerate(found):
        yield Piece(
            shape[0],
            lambda walk, k=k: walk.block(k),  # type: ignore[misc]
            f"block {k}", 0, shape[1], dtype,
            new_walk=lambda: _Walk(make, columns),
        )  # fmt: skip


def _made(block: Any, k: int, columns: Columns) -> NDArray[Any]:
    array = _in_memory(block, f"block {k}", columns)
    return plain_array(block, f"block {k}") if array is None else array


class _Walk:
    """Blocks of an iterator by number, in increasing order, for one pass."""

    def __init__(self, make: Callable[[], Any], columns: Columns) -> None:
        self.iterator = iter(make())
        self.columns, self.at = columns, 0

    def block(self, k: int) -> NDArray[Any]:
        for block in self.iterator:
            self.at += 1
            if self.at == k + 1:
                # The function may use the same memory for its next block, which is made while this one is used.
                return np.array(_made(block, k, self.columns))
        raise ValueError(f"the function given to RowBlocks made only {self.at} blocks this time.")

    def close(self) -> None:
        """A function that was left in the middle may have files open."""
        if hasattr(self.iterator, "close"):
            self.iterator.close()
