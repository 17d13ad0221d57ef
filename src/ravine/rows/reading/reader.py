"""Reading pieces of rows while others are computed with."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ravine.rows.reading.chunks import Piece, check_unchanged, refuse_type

__all__ = ["LARGEST", "Job", "PieceReader"]

# Sums of a block of larger values may overflow.
LARGEST = 1e300
# Each reads a piece and computes with it, so that one computes while the other reads.
THREADS = 2
# Pieces that a thread takes on together, since handing them over costs time, too.
TOGETHER = 4
# Of these, how many are read, or computed with, before their results are asked for.
AHEAD = 3
# Reading a row by itself costs as much as reading this much more in sequence.
SEEK_BYTES = 1 << 16

S = TypeVar("S")
T = TypeVar("T")


class Job(NamedTuple):
    """All or some (sorted) rows of a piece, and the place of the first of them among all that are asked for."""

    piece: Piece
    some: NDArray[np.intp] | None
    place: int


class PieceReader:
    """Reads pieces again and again; each is checked when it is first read.

    Parameters
    ----------
    names : list, optional
        Of the columns, for messages.

    Attributes
    ----------
    bytes_read : int
        Bytes that were read so far, but for what is in memory anyway.
    """

    def __init__(self, names: list[Any] | None = None) -> None:
        self.bytes_read = 0
        self._names = names
        self._checked: set[Piece] = set()
        self._lock = threading.Lock()
        self._free: deque[NDArray[np.uint8]] = deque()  # fresh memory would cost as much as reading

    def each(self, function: Callable[[NDArray[Any], int], T], jobs: list[Job]) -> Iterator[T]:
        """What a function says of the rows and place of each job, in their order; it must not keep the rows.

        Pieces in memory are passed through here. Others are read and computed with in two threads; those that can only
        be read one after the other are read in one and computed with here.
        """
        files = dict.fromkeys(job.piece.file for job in jobs if job.piece.file is not None)
        check_unchanged(files)
        yield from self._each(function, jobs)
        check_unchanged(files)

    def forget_checks(self) -> None:
        """Check anew what may have changed without notice: all that is not in files."""
        self._checked = {piece for piece in self._checked.copy() if piece.file is not None}

    def _each(self, function: Callable[[NDArray[Any], int], T], jobs: list[Job]) -> Iterator[T]:
        if all(job.piece.resident for job in jobs):
            yield from (function(self._read(job, None), job.place) for job in jobs)
            return
        new_walk = jobs[0].piece.new_walk
        if new_walk is None:
            size = max(1, min(TOGETHER, len(jobs) // (2 * THREADS)))
            groups = [jobs[k : k + size] for k in range(0, len(jobs), size)]
            with ThreadPoolExecutor(THREADS, thread_name_prefix="ravine-reader") as pool:
                for found in _in_order(pool, lambda group: [self._computed(function, job) for job in group], groups):
                    yield from found
            return
        with closing(new_walk()) as walk, ThreadPoolExecutor(1, thread_name_prefix="ravine-reader") as pool:
            blocks = _in_order(pool, lambda job: (self._read(job, walk), job.place), jobs)
            yield from (function(*block) for block in blocks)

    def _computed(self, function: Callable[[NDArray[Any], int], T], job: Job) -> T:
        size = job.piece.n_bytes if job.piece.buffered else 0
        try:
            buffer = self._free.pop()
        except IndexError:
            buffer = np.empty(size, np.uint8)
        buffer = buffer if len(buffer) >= size else np.empty(size, np.uint8)
        try:
            return function(self._read(job, buffer), job.place)
        finally:
            self._free.append(buffer)

    def _read(self, job: Job, means: Any) -> NDArray[Any]:
        piece, some, _ = job
        if some is not None and len(some) == piece.n_rows:
            some = None
        rows = some
        if some is not None and piece.rows is not None and (piece.resident or _worth_seeking(piece, len(some))):
            block, some = piece.rows(some), None
        else:
            block = piece.read(means)
            if block.shape != (piece.n_rows, piece.n_columns) or block.dtype != piece.dtype:
                raise ValueError(
                    f"{piece.name} of X has shape {block.shape} and type {block.dtype} now, but had "
                    f"{(piece.n_rows, piece.n_columns)} and {piece.dtype} before: it changed while it was being used."
                )
        if not piece.resident:
            with self._lock:
                self.bytes_read += block.nbytes
        if some is not None:
            block = block[some]
        if block.dtype not in (np.float32, np.float64) or not block.dtype.isnative:
            refuse_type(block.dtype, piece.name)
            try:
                block = block.astype(np.float64)
            except (ValueError, TypeError) as error:
                raise ValueError(f"{piece.name} of X does not hold numbers ({error}).") from error
        block = block if block.itemsize in block.strides else np.ascontiguousarray(block)
        if piece not in self._checked:
            _check(piece, block, rows, self._names)
            if rows is None:
                self._checked.add(piece)
        return block


def _worth_seeking(piece: Piece, count: int) -> bool:
    """Whether a few rows of a piece are read faster one by one than all of it."""
    return count * (SEEK_BYTES + piece.n_bytes // piece.n_rows) < piece.n_bytes


def _check(piece: Piece, block: NDArray[Any], rows: NDArray[np.intp] | None, names: list[Any] | None) -> None:
    """Refuse what is not finite or too large."""
    with np.errstate(over="ignore", invalid="ignore"):
        flat = block.ravel(order="K")
        bad: Any = [] if np.isfinite(np.dot(flat, flat)) else np.argwhere(~(np.abs(block) < LARGEST))
    if len(bad):
        row, column = (int(i) for i in bad[0])
        value = float(block[row, column])
        row = piece.first + (row if rows is None else int(rows[row]))
        what = "NaN" if np.isnan(value) else "infinity" if np.isinf(value) else f"the value {value:g}"
        which = column if names is None else repr(names[column])
        raise ValueError(
            f"Input X contains {what} in row {row} of {piece.name}, column {which}. Drop, impute or rescale such "
            "values first."
        )


def _in_order(pool: ThreadPoolExecutor, function: Callable[[S], T], items: Iterable[S]) -> Iterator[T]:
    """The results of a function that a pool computes, in the order of the items, a few of them ahead."""
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
