"""Rows that are read block by block, from files or from pieces in memory."""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine import _kernels
from ravine._typing import Array
from ravine.sample.dense import DenseSample, project_array
from ravine.sample.measures import provisional_units
from ravine.sample.protocol import Aim, PullBack, Sample, Scatter, Turn
from ravine.sample.rows import LARGEST, SomeRows
from ravine.sample.sources import Piece, find_pieces
from ravine.sample.tracks import BLOCK_ROWS, PassSample, Track

__all__ = ["BlockSample", "RowBlocks"]

# Up to this much is copied into memory for a subsample; more is read again and again.
TAKE_BYTES = 1 << 29
# If fewer of the rows of a piece than this are wanted, they are read one by one.
FEW = 1 / 32
# Pieces that are read before they are needed.
AHEAD = 2
# Rows centred and converted at a time.
CENTRED_BYTES = 1 << 22


class RowBlocks:
    """Rows in blocks that can be read again and again, for data larger than memory.

    While one piece is computed with, a thread reads the next. What is kept in memory for each row are the projections
    of the hyperplanes that are being optimised on all rows: at most two, two numbers each.

    Parameters
    ----------
    source : list of arrays, path, array of h5py or zarr, numpy.memmap or callable
        A path is that of a .npy or .parquet file, or of a folder of such files, which are read in the order of their
        names. A callable makes a new iterator over the same arrays each time it is called.
    state : {"float64", "float32"}, default="float64"
        Precision in which projections are kept; sums are always in double precision.
    spill : path, optional
        Folder for temporary files that hold the projections instead of memory.
    names : sequence of str, optional
        Names of the arrays of a list, for messages.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns.
    n_blocks : int
        Pieces in which rows are read.
    bytes_read : int
        Bytes that were read so far.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from ravine import MinimumDensityHyperplane
    >>> from ravine.sample import RowBlocks
    >>> X, y = make_blobs([400, 600], centers=[[0, 0], [6, 6]], random_state=0)
    >>> blocks = RowBlocks([X[:300], X[300:]])
    >>> mdh = MinimumDensityHyperplane().fit(blocks)
    >>> bool((mdh.labels_ == MinimumDensityHyperplane().fit(X).labels_).all())
    True
    """

    lazy = False

    def __init__(
        self, source: Any, *, state: str = "float64", spill: Any = None, names: Sequence[str] | None = None
    ) -> None:
        if state not in ("float64", "float32"):
            raise ValueError(f"state must be 'float64' or 'float32', got {state!r}.")
        self.state, self.spill = state, spill
        self._pieces = find_pieces(source)
        if names is not None:
            of_block = {f"block {k}": name for k, name in enumerate(names)}
            self._pieces = [piece._replace(name=of_block[piece.name]) for piece in self._pieces]
        if not self._pieces:
            raise ValueError("RowBlocks got no blocks: there is no row in X.")
        d = self._pieces[0].n_columns
        for piece in self._pieces:
            if piece.n_columns != d:
                raise ValueError(
                    f"{piece.name} of X has {piece.n_columns} columns, but {self._pieces[0].name} has {d}: all blocks "
                    "must have the same columns."
                )
        self._starts = np.concatenate([[0], np.cumsum([piece.n_rows for piece in self._pieces])]).astype(np.intp)
        self.shape = (int(self._starts[-1]), d)
        if 0 in self.shape:
            raise ValueError(f"X has shape {self.shape}: there must be at least one row and one column.")
        self._buffers: list[Any] = []
        self._checked: set[Piece] = set()
        self.bytes_read = 0
        self._itemsize = 8

    @property
    def n_blocks(self) -> int:
        """Pieces in which rows are read."""
        return len(self._pieces)

    @property
    def passes(self) -> float:
        """How many times all rows were read so far, in bytes read over all bytes."""
        return self.bytes_read / (self.shape[0] * self.shape[1] * self._itemsize)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<RowBlocks: {self.shape[0]} x {self.shape[1]} in {self.n_blocks} pieces, read {self.passes:.1f} times>"

    # ------------------------------------------------------------------------------------------- reading

    def blocks(self, rows: NDArray[np.intp] | None = None) -> Iterator[tuple[NDArray[Any], int]]:
        """All or some (sorted) rows block by block, with the place of the first of them among those asked for.

        A block may be overwritten when the next ones are read.
        """
        wanted = [(k, None) for k in range(len(self._pieces))] if rows is None else self._wanted(rows)
        jobs = [(self._pieces[k], some) for k, some in wanted if self._pieces[k].n_rows]
        place = 0
        with ThreadPoolExecutor(1) as reader:
            resident = all(piece.resident for piece, _ in jobs)
            buffers: list[Any] = [None] * (AHEAD + 1)
            if not resident:
                largest = max(piece.n_rows for piece in self._pieces) * self.shape[1]
                buffers = self._take_buffers(largest)
            ahead: deque[Any] = deque()
            submitted = 0
            for k, job in enumerate(jobs):
                while not resident and submitted < len(jobs) and submitted <= k + AHEAD - 1:
                    ahead.append(reader.submit(self._read, *jobs[submitted], buffers[submitted % len(buffers)]))
                    submitted += 1
                block = self._read(*job, None) if resident else ahead.popleft().result()
                yield block, place
                place += len(block)
        self._buffers = buffers  # for the next pass: fresh memory would cost as much as reading

    def _take_buffers(self, size: int) -> list[Any]:
        """Room for the pieces that are read ahead; that of an earlier pass, if nobody else uses it."""
        buffers, self._buffers = self._buffers, []
        if buffers and buffers[0] is not None and buffers[0].dtype == self._dtype():
            return buffers
        return [np.empty(size, self._dtype()) for _ in range(AHEAD + 1)]

    def _dtype(self) -> Any:
        """Type of the first block that is read: buffers are made for it."""
        return np.float32 if self._itemsize == 4 else np.float64

    def _wanted(self, rows: NDArray[np.intp]) -> list[tuple[int, Any]]:
        cuts = np.searchsorted(rows, self._starts)
        return [
            (k, rows[cuts[k] : cuts[k + 1]] - self._starts[k])
            for k in range(len(self._pieces))
            if cuts[k + 1] > cuts[k]
        ]

    def _read(self, piece: Piece, some: NDArray[np.intp] | None, buffer: Any) -> NDArray[Any]:
        if some is not None and len(some) == piece.n_rows:
            some = None
        rows = some
        if some is not None and piece.rows is not None and (piece.resident or len(some) < FEW * piece.n_rows):
            block, some = piece.rows(some), None
        else:
            block = piece.read(buffer)
            if block.shape != (piece.n_rows, piece.n_columns):
                raise ValueError(f"{piece.name} of X has shape {block.shape} now: it changed while it was being read.")
        if not piece.resident:
            self.bytes_read += block.nbytes
            self._itemsize = block.itemsize
        if some is not None:
            block = block[some]
        if block.dtype not in (np.float32, np.float64) or not block.dtype.isnative:
            try:
                block = block.astype(np.float64)
            except (ValueError, TypeError) as error:
                raise ValueError(f"{piece.name} of X does not hold numbers ({error}).") from error
        block = block if block.itemsize in block.strides else np.ascontiguousarray(block)
        if piece not in self._checked:
            self._check(piece, block, rows)
            if rows is None:
                self._checked.add(piece)
        return block

    def _check(self, piece: Piece, block: NDArray[Any], rows: NDArray[np.intp] | None) -> None:
        """Refuse what is not finite or too large; each piece is looked at when it is first read."""
        with np.errstate(over="ignore", invalid="ignore"):
            flat = block.ravel(order="K")
            bad: Any = [] if np.isfinite(np.dot(flat, flat)) else np.argwhere(~(np.abs(block) < LARGEST))
        if len(bad):
            row, column = (int(i) for i in bad[0])
            value = float(block[row, column])
            row = piece.first + (row if rows is None else int(rows[row]))
            what = "NaN" if np.isnan(value) else "infinity" if np.isinf(value) else f"the value {value:g}"
            raise ValueError(
                f"Input X contains {what} in row {row} of {piece.name}, column {column}. Drop, impute or rescale such "
                "values first."
            )

    # ------------------------------------------------------------------------------------------- rows

    def sample(self, weights: Array | None, rows: NDArray[np.intp] | None, pool: ThreadPoolExecutor | None) -> Sample:
        """The sample of all or some rows."""
        return BlockSample(self, weights, rows=rows, pool=pool)

    def restrict(self, rows: NDArray[np.intp]) -> SomeRows:
        """Some rows as a source, without a copy."""
        return SomeRows(self, rows)

    def take(self, rows: NDArray[np.intp]) -> NDArray[np.floating[Any]]:
        """Some rows, in this order, as an array."""
        order = np.argsort(rows, kind="stable")
        out: NDArray[Any] | None = None
        for block, place in self.blocks(np.asarray(rows)[order]):
            out = np.empty((len(rows), self.shape[1]), block.dtype) if out is None else out
            out[order[place : place + len(block)]] = block
        return np.empty((0, self.shape[1])) if out is None else out

    def cells(self, rows: NDArray[np.intp], column: int) -> NDArray[np.floating[Any]]:
        """One column of some (sorted) rows."""
        return np.concatenate([block[:, column].copy() for block, _ in self.blocks(rows)])

    def project(self, center: Array, direction: Array, rows: NDArray[np.intp] | None) -> Array:
        """``(X - center) @ direction`` of all or some (sorted) rows."""
        out = np.empty(self.shape[0] if rows is None else len(rows))
        for block, place in self.blocks(rows):
            out[place : place + len(block)] = project_array(block, center, direction)
        return out

    def map_rows(
        self, function: Callable[[NDArray[Any]], NDArray[Any]], rows: NDArray[np.intp] | None = None
    ) -> NDArray[Any]:
        """What a function says of the rows, block by block."""
        n = self.shape[0] if rows is None else len(rows)
        out: NDArray[Any] | None = None
        for block, place in self.blocks(rows):
            said = function(block)
            out = np.empty((n, *said.shape[1:]), said.dtype) if out is None else out
            out[place : place + len(block)] = said
        assert out is not None
        return out

    def new_state(self, n: int) -> NDArray[Any]:
        """Room for one projection of n rows."""
        if self.spill is None:
            return np.empty(n, self.state)
        with tempfile.TemporaryFile(dir=self.spill) as file:  # the map keeps what the file holds until it is dropped
            return np.asarray(np.memmap(file, self.state, "w+", shape=(max(n, 1),)))[:n]


class BlockSample(PassSample):
    """Rows that are read block by block; projections are kept in memory, or spilled.

    Parameters
    ----------
    source : RowBlocks
    weights : ndarray of shape (n,), optional
        Non-negative, not all zero.
    rows : ndarray of int, optional
        The sample is these rows, in increasing order.
    pool : ThreadPoolExecutor, optional
        Threads for what needs no rows.
    origin, unit : optional
        Working units to use instead of the sample's own.
    """

    def __init__(
        self,
        source: RowBlocks,
        weights: Array | None = None,
        *,
        rows: NDArray[np.intp] | None = None,
        pool: ThreadPoolExecutor | None = None,
        origin: Array | None = None,
        unit: float | None = None,
    ) -> None:
        self.source = source
        self.rows = rows
        self._set_up((source.shape[0] if rows is None else len(rows), source.shape[1]), weights, pool, BLOCK_ROWS)
        if origin is None or unit is None:
            block, _ = next(iter(source.blocks(rows if rows is None else rows[:BLOCK_ROWS])))
            self._measure(*provisional_units(block[:: max(1, len(block) // 1024)].astype(np.float64)))
        else:
            self.origin, self.unit = origin, unit

    def _centred_blocks(self, center: Array, unit: float) -> Iterator[tuple[Array, Array | None]]:
        step = max(64, CENTRED_BYTES // (8 * self.n_features))
        buffer = np.empty((step, self.n_features))
        for block, place in self.source.blocks(self.rows):
            for first in range(0, len(block), step):
                part = block[first : first + step]
                z = buffer[: len(part)]
                np.subtract(part, center, out=z)
                z *= 1.0 / unit
                yield z, self._weights_of(slice(place + first, place + first + len(part)))

    def track(self) -> Track:
        """Room for the projections of one start."""
        return Track(self.n_rows, self.source.new_state)

    def take(self, rows: NDArray[np.intp]) -> Sample:
        """The sample of some (sorted) rows, in the same working units: in memory unless it is very large."""
        weights = None if self.weights is None else self.weights[rows]
        units: dict[str, Any] = {"pool": self._given_pool, "origin": self.origin, "unit": self.unit}
        chosen = rows if self.rows is None else self.rows[rows]
        if 8 * len(rows) * self.n_features > TAKE_BYTES:
            return BlockSample(self.source, weights, rows=chosen, **units)
        return DenseSample(np.ascontiguousarray(self.source.take(chosen)), weights, **units)

    def fetch(self, rows: NDArray[np.intp]) -> Array:
        """Some rows, in working units."""
        return np.asarray((self.source.take(rows if self.rows is None else self.rows[rows]) - self.origin) / self.unit)

    def _pass(self, aims: Sequence[Aim | Turn], sums: Sequence[PullBack | Scatter]) -> list[Array]:
        directions = np.stack([r.direction for r in aims]) / self.unit if aims else None
        targets = [r.track.p if isinstance(r, Aim) else r.track.q for r in aims]
        out = [np.zeros(self.n_features) for _ in sums]
        for block, place in self.source.blocks(self.rows):
            rows = slice(place, place + len(block))
            if directions is not None:
                views = [t[rows] for t in targets]
                exact = [v if v.dtype == np.float64 else np.empty(len(v)) for v in views]
                _kernels.project(block, self.origin, directions, exact)
                for view, values in zip(views, exact, strict=True):
                    if values is not view:
                        view[:] = values
            for r, total in zip(sums, out, strict=True):
                assert isinstance(r, PullBack)
                p = np.asarray(r.track.p[rows], dtype=np.float64)
                w = self._weights_of(rows)
                _kernels.pull_back(block, self.origin, p, w, r.bandwidth, r.b, r.log_sum, r.reach, total)
        return [total / self.unit for total in out]
