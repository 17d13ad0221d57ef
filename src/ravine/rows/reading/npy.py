"""Rows of .npy files and of maps of files, read from the file itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine.rows.reading.chunks import FileStamp, Piece, pieces_of_array, refuse_shape, refuse_type, rows_at_a_time

__all__ = ["pieces_of_map", "pieces_of_npy"]


def pieces_of_npy(path: Path) -> Iterator[Piece]:
    """Pieces of a .npy file."""
    file = FileStamp.of(path)
    try:
        mapped = np.lib.format.open_memmap(path, mode="r")
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path} cannot be read as a .npy file of numbers: {error}") from error
    yield from pieces_of_map(mapped, path.name, file)


def pieces_of_map(block: np.memmap[Any, Any], name: str, file: FileStamp | None = None) -> Iterator[Piece]:
    """Read from the file itself, so that the pages of the map are not counted as this process's memory."""
    refuse_shape(block.shape, name)
    refuse_type(block.dtype, name)
    path = block.filename
    if file is None and path is not None and os.path.exists(path):
        file = FileStamp.of(path)
        if not _is_what_is_mapped(block, file):
            file = None  # another file has its name now: what is mapped is still there
    plain = block.flags.c_contiguous and block.mode != "c" and not block.dtype.hasobject
    whole = not isinstance(block.base, np.memmap)  # a slice of a map does not know where in the file it starts
    if file is None or not (plain and whole):
        yield from pieces_of_array(block, name, file)
    else:
        yield from _pieces_of_bytes(file, block.offset, block.shape, block.dtype, name)


def _is_what_is_mapped(block: np.memmap[Any, Any], file: FileStamp) -> bool:
    """Whether some rows of a file are those of its map."""
    width = block.shape[1] * block.itemsize
    if not (block.flags.c_contiguous and len(block)) or isinstance(block.base, np.memmap):
        return True
    if file.size < block.offset + len(block) * width:
        return True  # cut off: to look at the map there would end the process
    with open(file.path, "rb") as opened:
        for row in {0, len(block) // 2, len(block) - 1}:
            opened.seek(block.offset + row * width)
            if opened.read(width) != block[row].tobytes():
                return False
    return True


def _pieces_of_bytes(
    file: FileStamp, offset: int, shape: tuple[int, ...], dtype: np.dtype[Any], name: str
) -> Iterator[Piece]:
    path = file.path
    n, d = shape
    width = d * dtype.itemsize
    step = rows_at_a_time(d, dtype.itemsize)

    def read(buffer: Any, first: int, count: int) -> NDArray[Any]:
        flat: NDArray[Any] = np.empty(count * d, dtype) if buffer is None else buffer[: count * width].view(dtype)
        with open(path, "rb", buffering=0) as opened:
            _fill(flat, opened, offset + first * width, path)
        return flat.reshape(count, d)

    def few(rows: NDArray[np.intp], first: int) -> NDArray[Any]:
        out = np.empty((len(rows), d), dtype)
        with open(path, "rb", buffering=0) as opened:
            for k, row in enumerate(rows.tolist()):
                _fill(out[k], opened, offset + (first + row) * width, path)
        return out

    for first in range(0, max(1, n), step):
        count = min(step, n - first)
        yield Piece(
            count,
            lambda buffer, first=first, count=count: read(buffer, first, count),  # type: ignore[misc]
            name, first, d, dtype,
            rows=lambda rows, first=first: few(rows, first),  # type: ignore[misc]
            buffered=True,
            file=file,
        )  # fmt: skip


def _fill(out: NDArray[Any], opened: Any, start: int, path: str) -> None:
    """Read an array from a place in a file; a file may give less at a time than it is asked for."""
    opened.seek(start)
    left = memoryview(out.data).cast("B")
    while len(left):
        got = opened.readinto(left)
        if not got:
            raise OSError(f"{path} is shorter than its header says: was it cut off?")
        left = left[got:]
