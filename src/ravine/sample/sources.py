"""Where blocks of rows come from: lists of arrays, files, folders of files, chunked arrays of other libraries."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Piece", "find_pieces"]

# Bytes that are read at a time: few enough to stay in the cache until they have been used.
PIECE_BYTES = 1 << 22


class Piece(NamedTuple):
    """Some rows that are read together.

    Attributes
    ----------
    n_rows : int
    read : callable
        Reads them as an array; it may be given a buffer of bytes to read into.
    name : str
        The block they belong to, for messages.
    first : int
        The number of the first of them in that block.
    n_columns : int
    rows : callable, optional
        Reads a few of them, by number, where that is cheaper than to read all.
    resident : bool
        Whether they are in memory anyway.
    n_bytes : int
        Size of the buffer it can read into; 0 if it makes its own array.
    in_turn : bool
        Whether pieces can only be read one after the other.
    """

    n_rows: int
    read: Callable[[Any], NDArray[Any]]
    name: str
    first: int
    n_columns: int
    rows: Callable[[NDArray[np.intp]], NDArray[Any]] | None = None
    resident: bool = False
    n_bytes: int = 0
    in_turn: bool = False


def find_pieces(source: Any) -> list[Piece]:
    """The pieces of a source that can be read again and again; an error says what else could be given."""
    if isinstance(source, str | os.PathLike):
        return _of_path(Path(source))
    if isinstance(source, Iterator):
        raise TypeError(
            f"RowBlocks got {type(source).__name__}, which yields its blocks only once, but they are read several "
            "times. Give a list of arrays, a file, a folder, or a function that makes a new iterator each time."
        )
    if isinstance(source, list | tuple):
        return [piece for k, block in enumerate(source) for piece in _of_block(block, k)]
    if callable(source) and not hasattr(source, "shape"):
        return _of_function(source)
    if isinstance(source, np.memmap):
        return list(_of_memmap(source, "block 0"))
    if isinstance(source, np.ndarray):
        return list(_of_array(source, "block 0", resident=True))
    if hasattr(source, "shape") and hasattr(source, "dtype") and hasattr(source, "__getitem__"):
        return list(_of_chunked(source, "block 0"))
    raise TypeError(
        f"RowBlocks cannot read blocks of rows from {type(source).__name__}: give a list of arrays, the path of a .npy "
        "file or of a folder, an array of h5py or zarr, or a function that makes an iterator over arrays."
    )


def _of_block(block: Any, k: int) -> Iterator[Piece]:
    name = f"block {k}"
    if isinstance(block, np.memmap):
        yield from _of_memmap(block, name)
    elif isinstance(block, str | os.PathLike):
        yield from _of_file(Path(block))
    elif not isinstance(block, np.ndarray) and hasattr(block, "chunks") and hasattr(block, "shape"):
        yield from _of_chunked(block, name)
    else:
        yield from _of_array(np.asarray(block), name, resident=True)


def _check_two_dimensional(shape: tuple[int, ...], name: str) -> None:
    if len(shape) != 2:
        raise ValueError(f"{name} of X must have rows and columns, got an array of shape {shape}.")


def _step(n_columns: int, itemsize: int) -> int:
    return max(64, PIECE_BYTES // max(1, n_columns * itemsize))


def _of_array(block: NDArray[Any], name: str, *, resident: bool) -> Iterator[Piece]:
    _check_two_dimensional(block.shape, name)
    step = _step(block.shape[1], block.itemsize)
    for first in range(0, max(1, len(block)), step):
        part = block[first : first + step]
        few = part.__getitem__
        yield Piece(len(part), lambda _, part=part: part, name, first, block.shape[1], few, resident)  # type: ignore[misc]


def _of_chunked(array: Any, name: str) -> Iterator[Piece]:
    """Slices of rows of anything with a shape and slices, whole chunks at a time."""
    _check_two_dimensional(tuple(array.shape), name)
    n, d = int(array.shape[0]), int(array.shape[1])
    step = _step(d, np.dtype(array.dtype).itemsize)
    chunks = getattr(array, "chunks", None)
    if chunks and isinstance(chunks[0], int | np.integer):
        step = max(1, step // int(chunks[0])) * int(chunks[0])
    for first in range(0, max(1, n), step):
        rows = slice(first, min(first + step, n))
        yield Piece(rows.stop - first, lambda _, rows=rows: np.asarray(array[rows]), name, first, d)  # type: ignore[misc]


def _of_memmap(block: np.memmap[Any, Any], name: str) -> Iterator[Piece]:
    """Read from the file itself, so that the pages of the map are not counted as this process's memory."""
    plain = block.ndim == 2 and block.flags.c_contiguous and block.filename is not None and block.mode != "c"
    whole = isinstance(block.base, np.memmap) is False  # a slice of a map does not know where in the file it starts
    if not (plain and whole):
        yield from _of_array(block, name, resident=False)
        return
    yield from _of_raw_file(str(block.filename), block.offset, block.shape, block.dtype, name)


def _of_raw_file(path: str, offset: int, shape: tuple[int, ...], dtype: Any, name: str) -> Iterator[Piece]:
    n, d = shape
    dtype = np.dtype(dtype)
    step, width = _step(d, dtype.itemsize), d * dtype.itemsize

    def read(buffer: Any, first: int, count: int) -> NDArray[Any]:
        flat: NDArray[Any] = np.empty(count * d, dtype) if buffer is None else buffer[: count * width].view(dtype)
        with open(path, "rb", buffering=0) as file:
            file.seek(offset + first * width)
            left = memoryview(flat.data).cast("B")
            while len(left):
                got = file.readinto(left)
                if not got:
                    raise OSError(f"{path} is shorter than its header says: was it cut off?")
                left = left[got:]
        return flat.reshape(count, d)

    def few(rows: NDArray[np.intp], first: int) -> NDArray[Any]:
        out = np.empty((len(rows), d), dtype)
        with open(path, "rb", buffering=0) as file:
            for k, row in enumerate(rows.tolist()):
                file.seek(offset + (first + row) * width)
                file.readinto(memoryview(out[k]).cast("B"))
        return out

    for first in range(0, max(1, n), step):
        count = min(step, n - first)
        yield Piece(
            count,
            lambda buffer, first=first, count=count: read(buffer, first, count),  # type: ignore[misc]
            name, first, d,
            lambda rows, first=first: few(rows, first),  # type: ignore[misc]
            n_bytes=count * width,
        )  # fmt: skip


def _of_path(path: Path) -> list[Piece]:
    if path.is_dir():
        files = sorted(p for p in path.iterdir() if p.suffix in (".npy", ".parquet"))
        if not files:
            raise FileNotFoundError(f"the folder {path} holds no .npy and no .parquet file.")
        return [piece for file in files for piece in _of_file(file)]
    return list(_of_file(path))


def _of_file(path: Path) -> Iterator[Piece]:
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}.")
    if path.suffix == ".npy":
        mapped = np.load(path, mmap_mode="r")
        if isinstance(mapped, np.memmap) and mapped.ndim == 2:
            yield from _of_memmap(mapped, path.name)
        else:
            yield from _of_array(mapped, path.name, resident=False)
    elif path.suffix == ".parquet":
        yield from _of_parquet(path)
    else:
        raise ValueError(f"{path.name}: RowBlocks reads .npy and .parquet files.")


def _of_parquet(path: Path) -> Iterator[Piece]:
    try:
        import pyarrow.parquet as parquet  # type: ignore[import-untyped]
    except ImportError as error:
        raise ImportError(f"to read {path.name} install pyarrow, e.g. with `pip install 'ravine[app]'`.") from error
    meta = parquet.ParquetFile(path).metadata
    first = 0
    for group in range(meta.num_row_groups):

        def read(_: Any, group: int = group) -> NDArray[Any]:
            table = parquet.ParquetFile(path).read_row_group(group)
            names = table.column_names
            return np.column_stack([_numbers(table.column(k), name, path) for k, name in enumerate(names)])

        count = meta.row_group(group).num_rows
        yield Piece(count, read, path.name, first, meta.num_columns)
        first += count


def _numbers(column: Any, name: str, path: Path) -> NDArray[Any]:
    try:
        return np.asarray(column.to_numpy(), dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path.name}: column {name!r} does not hold numbers ({error}).") from error


def _of_function(make: Callable[[], Any]) -> list[Piece]:
    """One look at all blocks for their sizes; each is found again by walking there from the start."""
    walk = _Walk(make)
    shapes = [np.shape(block) for block in make()]
    if [np.shape(block) for block in make()] != shapes:
        raise ValueError("the function given to RowBlocks does not make the same blocks again when it is called again.")
    pieces = []
    for k, shape in enumerate(shapes):
        _check_two_dimensional(shape, f"block {k}")
        pieces.append(Piece(shape[0], lambda _, k=k: walk.block(k), f"block {k}", 0, shape[1], in_turn=True))  # type: ignore[misc]
    return pieces


class _Walk:
    """Blocks of an iterator by number, cheap if they are asked for in order."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make, self.at = make, math.inf
        self.iterator: Iterator[Any] = iter(())

    def block(self, k: int) -> NDArray[Any]:
        if k < self.at:
            self.iterator, self.at = iter(self.make()), 0
        for block in self.iterator:
            self.at += 1
            if self.at == k + 1:
                return np.asarray(block)
        raise ValueError(f"the function given to RowBlocks made only {self.at} blocks this time.")
