"""Reader of chunks: threads read some while others are computed with."""

from __future__ import annotations

import errno
import os
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ravine.rows.reading.chunks import Chunk, check_dtype, check_unchanged

# Sums of larger values, and gradients with the smallest bandwidth, may overflow.
LARGEST = 1e292
# Each reads a chunk and computes with it, so that one computes while the other reads.
THREADS = 2
# Chunks that a thread accepts together, since to hand them over takes time, too.
TOGETHER = 4
# Groups of chunks that are read, or computed with, before their results are needed.
AHEAD = 3
# To read a row by itself takes as long as to read this many more bytes in sequence.
SEEK_BYTES = 1 << 16
S = TypeVar("S")
T = TypeVar("T")


class ReadTask(NamedTuple):
    """All or some rows of a chunk, in increasing order; a row may be repeated.

    Attributes
    ----------
    indices : ndarray of int or None
        Rows to read; None for all.
    place : int
        Place of the first of them among all rows that are read in this pass.
    """

    chunk: Chunk
    indices: NDArray[np.intp] | None
    place: int


class ChunkReader:
    """Reader of chunks, again and again; each chunk is validated when it is first read.

    Parameters
    ----------
    names : list, optional
        Names of the features, for messages.

    Attributes
    ----------
    bytes_read : int
        Bytes that were read so far, without those in memory.
    """

    def __init__(self, names: list[Any] | None = None) -> None:
        self.bytes_read = 0
        self._names = names
        self._validated: set[Chunk] = set()
        self._lock = threading.Lock()
        self._buffers: deque[NDArray[np.uint8]] = deque()  # to allocate memory would take as long as to read

    def map(self, function: Callable[[NDArray[Any], int], T], tasks: list[ReadTask]) -> Iterator[T]:
        """Apply a function to the rows and the place of each task, in their order; it must not keep the rows.

        Chunks in memory are passed to the function in this thread. Others are read and computed with in two threads.
        Those that can only be read one after the other are read in one thread and computed with in this one.
        """
        files = dict.fromkeys(task.chunk.file for task in tasks if task.chunk.file is not None)
        check_unchanged(files)
        yield from self._map(function, tasks)
        check_unchanged(files)

    def forget_validation(self) -> None:
        """Validate again all chunks that may change unnoticed: those that are not in files."""
        self._validated = {chunk for chunk in self._validated.copy() if chunk.file is not None}

    def _map(self, function: Callable[[NDArray[Any], int], T], tasks: list[ReadTask]) -> Iterator[T]:
        if all(task.chunk.resident for task in tasks):
            yield from (function(self._read(task, None), task.place) for task in tasks)
            return
        new_iterator = tasks[0].chunk.new_iterator
        if new_iterator is None:
            size = max(1, min(TOGETHER, len(tasks) // (2 * THREADS)))
            groups = [tasks[k : k + size] for k in range(0, len(tasks), size)]
            with ThreadPoolExecutor(THREADS, thread_name_prefix="ravine-reader") as pool:
                for found in _map_ahead(pool, lambda group: [self._compute(function, task) for task in group], groups):
                    yield from found
            return
        with closing(new_iterator()) as iterator, ThreadPoolExecutor(1, thread_name_prefix="ravine-reader") as pool:
            blocks = _map_ahead(pool, lambda task: (self._read(task, iterator), task.place), tasks)
            yield from (function(*block) for block in blocks)

    def _compute(self, function: Callable[[NDArray[Any], int], T], task: ReadTask) -> T:
        size = task.chunk.n_bytes if task.chunk.buffered else 0
        try:
            buffer = self._buffers.pop()
        except IndexError:
            buffer = np.empty(size, np.uint8)
        buffer = buffer if len(buffer) >= size else np.empty(size, np.uint8)
        try:
            return function(self._read(task, buffer), task.place)
        finally:
            self._buffers.append(buffer)

    def _read(self, task: ReadTask, source: Any) -> NDArray[Any]:
        """Read rows with a buffer or an iterator; return them in single or double precision, validated."""
        chunk = task.chunk
        indices = None if _is_whole(task) else task.indices
        block = self._fetch(chunk, indices, source)
        if block.dtype not in (np.float32, np.float64) or not block.dtype.isnative:
            check_dtype(block.dtype, chunk.name)
            try:
                block = block.astype(np.float64)
            except (ValueError, TypeError) as error:
                raise ValueError(f"{chunk.name} of X does not hold numbers ({error}).") from error
        block = block if block.itemsize in block.strides else np.ascontiguousarray(block)
        if chunk not in self._validated:
            _check_values(chunk, block, indices, self._names)
            if indices is None:
                self._validated.add(chunk)
        return block

    def _fetch(self, chunk: Chunk, indices: NDArray[np.intp] | None, source: Any) -> NDArray[Any]:
        seek = indices is not None and (chunk.resident or _is_worth_seeking(chunk, len(indices)))
        if indices is not None and seek and chunk.read_some is not None:
            block = chunk.read_some(indices)
            self._count_bytes(chunk, block)
            return block
        block = chunk.read(source)
        if block.shape != (chunk.n_rows, chunk.n_features) or block.dtype != chunk.dtype:
            raise ValueError(
                f"{chunk.name} of X has shape {block.shape} and type {block.dtype} now, but had "
                f"{(chunk.n_rows, chunk.n_features)} and {chunk.dtype} before: it changed while it was being used."
            )
        self._count_bytes(chunk, block)
        return block if indices is None else block[indices]

    def _count_bytes(self, chunk: Chunk, block: NDArray[Any]) -> None:
        if not chunk.resident:
            with self._lock:
                self.bytes_read += block.nbytes


def _is_whole(task: ReadTask) -> bool:
    """Return whether a task reads every row of its chunk once."""
    n = task.chunk.n_rows
    return task.indices is None or (len(task.indices) == n and np.array_equal(task.indices, np.arange(n)))


def _is_worth_seeking(chunk: Chunk, count: int) -> bool:
    """Return whether a few rows of a chunk are read faster one by one than all of it."""
    return count * (SEEK_BYTES + chunk.n_bytes // chunk.n_rows) < chunk.n_bytes


def _check_values(chunk: Chunk, block: NDArray[Any], indices: NDArray[np.intp] | None, names: list[Any] | None) -> None:
    """Raise an error for values that are not finite or too large."""
    with np.errstate(over="ignore", invalid="ignore"):
        flat = block.ravel(order="K")
        bad: Any = [] if np.isfinite(np.dot(flat, flat)) else np.argwhere(~(np.abs(block) < LARGEST))
    if len(bad):
        row, j = (int(i) for i in bad[0])
        value = float(block[row, j])
        row = chunk.first + (row if indices is None else int(indices[row]))
        what = "NaN" if np.isnan(value) else "infinity" if np.isinf(value) else f"the value {value:g}"
        which = j if names is None else repr(names[j])
        raise ValueError(
            f"Input X contains {what} in row {row} of {chunk.name}, feature {which}. Drop, impute or rescale such "
            "values first."
        )


def _map_ahead(pool: ThreadPoolExecutor, function: Callable[[S], T], items: Iterable[S]) -> Iterator[T]:
    """Apply a function in a pool; yield results in the order of the items, while a few more are computed."""
    waiting: deque[Future[T]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


def check_spill_folder(folder: Any) -> None:
    """Raise an error if no file can be made in a folder."""
    if not isinstance(folder, str | os.PathLike):
        raise TypeError(f"spill must be the path of a folder, got {folder!r}.")
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"spill={os.fspath(folder)!r} is not a folder: make it first, or give another one.")
    try:
        tempfile.TemporaryFile(dir=os.fspath(folder)).close()
    except OSError as error:
        raise type(error)(
            error.errno, f"no file can be made in spill={os.fspath(folder)!r} ({error.strerror}): give another folder"
        ) from error


def allocate_in_file(n: int, dtype: str, folder: Any) -> NDArray[Any]:
    """Allocate n numbers in a file without a name, which is deleted with the array."""
    size = max(n, 1) * np.dtype(dtype).itemsize
    with tempfile.TemporaryFile(dir=folder) as file:  # the map keeps the content until it is dropped
        _reserve(file.fileno(), size, folder)
        return np.asarray(np.memmap(file, dtype, "w+", shape=(max(n, 1),)))[:n]


def _reserve(file: int, size: int, folder: Any) -> None:
    """Reserve the space on the disk now: to write to a map on a full disk would kill the process."""
    if not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(file, 0, size)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.EOPNOTSUPP):  # this file system cannot reserve space
            return
        raise OSError(
            error.errno,
            f"there is no space for {size / 1e6:.1f} MB of projections in spill={os.fspath(folder)!r} "
            f"({os.strerror(error.errno or 0)}): free some, give another folder, or use state='float32'",
        ) from error
