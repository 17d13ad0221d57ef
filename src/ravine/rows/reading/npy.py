"""Rows of .npy files and of memory maps, read from the file itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine.rows.reading.chunks import Chunk, FileStamp, check_dtype, check_shape, count_chunk_rows, split_array

__all__ = ["split_map", "split_npy"]


def split_npy(path: Path) -> Iterator[Chunk]:
    """Split a .npy file into chunks."""
    file = FileStamp.of(path)
    try:
        mapped = np.lib.format.open_memmap(path, mode="r")
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path} cannot be read as a .npy file of numbers: {error}") from error
    yield from split_map(mapped, path.name, file)


def split_map(block: np.memmap[Any, Any], name: str, file: FileStamp | None = None) -> Iterator[Chunk]:
    """Split a memory map into chunks that are read from its file, so that no pages count as memory of this process."""
    check_shape(block.shape, name)
    check_dtype(block.dtype, name)
    path = block.filename
    if file is None and path is not None and os.path.exists(path):
        file = FileStamp.of(path)
        if not _holds_map(file, block):
            file = None  # another file has this name now, but the mapped one is still readable
    plain = block.flags.c_contiguous and block.mode != "c" and not block.dtype.hasobject
    whole = not isinstance(block.base, np.memmap)  # a slice of a map does not tell where in the file it starts
    if file is None or not (plain and whole):
        yield from split_array(block, name, file)
    else:
        yield from _split_bytes(file, block.offset, block.shape, block.dtype, name)


def _holds_map(file: FileStamp, block: np.memmap[Any, Any]) -> bool:
    """Return whether some rows of a file are those of a memory map."""
    width = block.shape[1] * block.itemsize
    if not (block.flags.c_contiguous and len(block)) or isinstance(block.base, np.memmap):
        return True
    if file.size < block.offset + len(block) * width:
        return True  # truncated: access to the map beyond its end would kill the process
    with open(file.path, "rb") as opened:
        for row in {0, len(block) // 2, len(block) - 1}:
            opened.seek(block.offset + row * width)
            if opened.read(width) != block[row].tobytes():
                return False
    return True


def _split_bytes(
    file: FileStamp, offset: int, shape: tuple[int, ...], dtype: np.dtype[Any], name: str
) -> Iterator[Chunk]:
    path = file.path
    n, d = shape
    width = d * dtype.itemsize
    step = count_chunk_rows(d, dtype.itemsize)

    def read(buffer: Any, first: int, count: int) -> NDArray[Any]:
        flat: NDArray[Any] = np.empty(count * d, dtype) if buffer is None else buffer[: count * width].view(dtype)
        with open(path, "rb", buffering=0) as opened:
            _fill(flat, opened, offset + first * width, path)
        return flat.reshape(count, d)

    def read_some(indices: NDArray[np.intp], first: int) -> NDArray[Any]:
        out = np.empty((len(indices), d), dtype)
        with open(path, "rb", buffering=0) as opened:
            for k, row in enumerate(indices.tolist()):
                _fill(out[k], opened, offset + (first + row) * width, path)
        return out

    for first in range(0, max(1, n), step):
        count = min(step, n - first)
        yield Chunk(
            count,
            lambda buffer, first=first, count=count: read(buffer, first, count),  # type: ignore[misc]
            name, first, d, dtype,
            read_some=lambda indices, first=first: read_some(indices, first),  # type: ignore[misc]
            buffered=True,
            file=file,
        )  # fmt: skip


def _fill(out: NDArray[Any], opened: Any, start: int, path: str) -> None:
    """Read an array from a position in a file; one call may return fewer bytes than requested."""
    opened.seek(start)
    left = memoryview(out.data).cast("B")
    while len(left):
        got = opened.readinto(left)
        if not got:
            raise OSError(f"{path} is shorter than its header says: it may be truncated.")
        left = left[got:]
