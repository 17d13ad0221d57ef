"""Rows that are read block by block, from files or from pieces in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ravine import _kernels
from ravine._typing import Array
from ravine.rows.array import ArrayRows, DenseSample, project_array
from ravine.rows.base import Indices, Rows
from ravine.rows.projections import BLOCK_ROWS, PassSample, Track
from ravine.rows.questions import (
    CovarianceProduct,
    Gradient,
    ProjectionRequest,
    RowSumRequest,
    SetDirection,
)
from ravine.rows.reading.reader import Job, PieceReader
from ravine.rows.reading.sources import find_pieces
from ravine.rows.reading.spill import check_spill_folder, spilled
from ravine.rows.sample import Sample
from ravine.rows.units import guess_units, round_to_power_of_two

__all__ = ["BlockSample", "RowBlocks"]

# Up to this much is copied into memory for a subsample; more is read again and again.
TAKE_BYTES = 1 << 29
# And up to this much is kept, since starts and paths ask for the same subsample.
KEPT_BYTES = 1 << 25
# Rows centred and converted at a time.
CENTRED_BYTES = 1 << 22
# Rows that provisional units come from.
FIRST_ROWS = 1024

T = TypeVar("T")


class RowBlocks(Rows):
    """Rows in blocks that can be read again and again, for data larger than memory.

    While one thread computes with a piece, another reads the next. What is kept in memory for each row are the
    projections of the hyperplanes that are being optimised on all rows: at most two, two numbers each.

    Parameters
    ----------
    source : list of arrays, path, array of h5py or zarr, numpy.memmap or callable
        A path is that of a .npy or .parquet file, or of a folder of files of one of these kinds, which are read in the
        order of their names; other files in the folder, hidden ones, and folders in it are ignored. Parquet files and
        data frames in a list are matched by the names of their columns, in the order of the first; the index of a
        pandas frame is no column. A callable makes a new iterator over the same arrays each time it is called.
    state : {"float64", "float32"}, default="float64"
        Precision in which projections are kept; sums are always in double precision.
    spill : path, optional
        Folder for temporary files that hold the projections instead of memory.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns.
    n_blocks : int
        Pieces in which rows are read.
    bytes_read : int
        Bytes that were read so far.
    feature_names : list of str or None
        Names of the columns, where all of them have one.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from ravine import MinimumDensityHyperplane
    >>> from ravine.rows import RowBlocks
    >>> X, y = make_blobs([400, 600], centers=[[0, 0], [6, 6]], random_state=0)
    >>> blocks = RowBlocks([X[:300], X[300:]])
    >>> mdh = MinimumDensityHyperplane().fit(blocks)
    >>> bool((mdh.labels_ == MinimumDensityHyperplane().fit(X).labels_).all())
    True
    """

    def __init__(self, source: Any, *, state: str = "float64", spill: Any = None) -> None:
        if state not in ("float64", "float32"):
            raise ValueError(f"state must be 'float64' or 'float32', got {state!r}.")
        if spill is not None:
            check_spill_folder(spill)
        self.state, self.spill = state, spill
        self._pieces, self._columns = find_pieces(source)
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
        self._reader = PieceReader(self._columns.names)
        self._dtype = np.dtype(np.float32 if all(piece.single for piece in self._pieces) else np.float64)
        self._n_bytes = sum(piece.n_bytes for piece in self._pieces)

    @classmethod
    def _named(cls, blocks: list[NDArray[Any]], names: Sequence[str]) -> RowBlocks:
        """Arrays that have other names in messages than their numbers."""
        rows = cls(blocks)
        of_block = {f"block {k}": name for k, name in enumerate(names)}
        rows._pieces = [piece._replace(name=of_block[piece.name]) for piece in rows._pieces]
        return rows

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the columns, where all of them have one."""
        names = self._columns.names
        return list(names) if names is not None and all(isinstance(name, str) for name in names) else None

    @property
    def sketch(self) -> Any:
        """A data frame without rows that has the names of the columns; None if they have no names."""
        return self._columns.sketch

    @property
    def n_blocks(self) -> int:
        """Pieces in which rows are read."""
        return len(self._pieces)

    @property
    def passes(self) -> float:
        """How many times all rows were read so far, in bytes read over all bytes."""
        return self.bytes_read / self._n_bytes

    @property
    def bytes_read(self) -> int:
        """Bytes that were read so far."""
        return self._reader.bytes_read

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<RowBlocks: {self.shape[0]} x {self.shape[1]} in {self.n_blocks} pieces, read {self.passes:.1f} times>"

    # ------------------------------------------------------------------------------------------- reading

    def each(
        self, function: Callable[[NDArray[Any], int], T], rows: NDArray[np.intp] | None = None, most: int | None = None
    ) -> Iterator[T]:
        """What a function says of blocks of all or some (sorted) rows; at most of the first few blocks.

        The function is given a block, which it must not keep, and the place of its first row among those asked for; it
        may be called by several threads at once.
        """
        return self._reader.each(function, self._jobs(rows)[:most])

    def first_rows(self, rows: NDArray[np.intp] | None, most: int) -> Array:
        """Some of the first (of some sorted) rows, from as many blocks as it takes to have about this many."""
        sizes = np.cumsum([job.piece.n_rows if job.some is None else len(job.some) for job in self._jobs(rows)])
        blocks = int(np.searchsorted(sizes, most)) + 1
        return np.concatenate(
            list(self.each(lambda block, _: block[:: max(1, len(block) // most)].astype(float), rows, blocks))
        )

    def forget_checks(self) -> None:
        """Check cells anew when they are read, where they may have changed without notice."""
        self._reader.forget_checks()

    def _jobs(self, rows: NDArray[np.intp] | None) -> list[Job]:
        if rows is None:
            found = [Job(piece, None, int(start)) for piece, start in zip(self._pieces, self._starts, strict=False)]
            return [job for job in found if job.piece.n_rows]
        cuts = np.searchsorted(rows, self._starts).tolist()
        return [
            Job(piece, rows[first:end] - start, first)
            for piece, start, first, end in zip(self._pieces, self._starts, cuts, cuts[1:], strict=False)
            if end > first
        ]

    # ------------------------------------------------------------------------------------------- rows

    def sample(
        self, weights: Array | None = None, pool: ThreadPoolExecutor | None = None, indices: Indices | None = None
    ) -> Sample:
        """Return the sample that answers the questions of a fit."""
        return BlockSample(self, weights, rows=indices, pool=pool)

    def _copy(self, indices: Indices) -> ArrayRows:
        return ArrayRows(self.take(indices))

    def take(self, indices: Indices) -> NDArray[np.floating[Any]]:
        """Copy some rows, in the order of the indices, into an array."""
        order = np.argsort(indices, kind="stable")
        out = np.empty((len(indices), self.shape[1]), self._dtype)

        def put(block: NDArray[Any], place: int) -> None:
            out[order[place : place + len(block)]] = block

        for _ in self.each(put, np.asarray(indices)[order]):
            pass
        return out

    def column(self, j: int, indices: Indices | None = None) -> NDArray[np.floating[Any]]:
        """Return one feature of all or some (sorted) rows."""
        return np.concatenate(list(self.each(lambda block, _: block[:, j].copy(), indices)))

    def project(self, center: Array, direction: Array, indices: Indices | None = None) -> Array:
        """Compute ``(x - center) @ direction`` of all or some (sorted) rows."""
        return np.concatenate(list(self.each(lambda block, _: project_array(block, center, direction), indices)))

    def apply(self, function: Callable[[Any], NDArray[Any]], indices: Indices | None = None) -> NDArray[Any]:
        """Apply a function to blocks of all or some (sorted) rows; it must return one result per row."""
        return np.concatenate(list(self.each(lambda block, _: function(block), indices)))

    def new_state(self, n: int) -> NDArray[Any]:
        """Room for one projection of n rows."""
        if self.spill is None:
            return np.empty(n, self.state)
        return spilled(n, self.state, self.spill)


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
        self._taken: tuple[Any, DenseSample] | None = None
        self._set_up((source.shape[0] if rows is None else len(rows), source.shape[1]), weights, pool, BLOCK_ROWS)
        if origin is None or unit is None:
            few = source.first_rows(rows, FIRST_ROWS)
            center, around = guess_units(few)
            if (few == few[0]).all():  # they say nothing about the unit
                around = round_to_power_of_two(self._largest(center))
            self._measure(center, around)
        else:
            self.origin, self.unit = origin, unit

    def _each_centred(self, function: Callable[[Array, Array | None], T], center: Array, unit: float) -> Iterator[T]:
        step = max(64, CENTRED_BYTES // (8 * self.n_features))
        own = threading.local()

        def parts(block: NDArray[Any], place: int) -> list[T]:
            if not hasattr(own, "buffer"):
                own.buffer = np.empty((step, self.n_features))
            found = []
            for first in range(0, len(block), step):
                part = block[first : first + step]
                z = np.subtract(part, center, out=own.buffer[: len(part)])
                z *= 1.0 / unit
                found.append(function(z, self._weights_of(slice(place + first, place + first + len(part)))))
            return found

        return (said for found in self.source.each(parts, self.rows) for said in found)

    def track(self) -> Track:
        """Room for the projections of one start."""
        return Track(self.n_rows, self.source.new_state)

    def take(self, rows: NDArray[np.intp]) -> Sample:
        """The sample of some (sorted) rows, in the same working units: in memory unless it is very large."""
        if self._taken is not None and self._taken[0] is rows:
            return self._taken[1]
        weights = None if self.weights is None else self.weights[rows]
        units: dict[str, Any] = {"pool": self._given_pool, "origin": self.origin, "unit": self.unit}
        chosen = rows if self.rows is None else self.rows[rows]
        if 8 * len(rows) * self.n_features > TAKE_BYTES:
            return BlockSample(self.source, weights, rows=chosen, **units)
        few = DenseSample(np.ascontiguousarray(self.source.take(chosen)), weights, **units)
        if few.X.nbytes <= KEPT_BYTES:
            self._taken = rows, few
        return few

    def fetch(self, rows: NDArray[np.intp]) -> Array:
        """Some rows, in working units."""
        return np.asarray((self.source.take(rows if self.rows is None else self.rows[rows]) - self.origin) / self.unit)

    def _pass(self, aims: Sequence[ProjectionRequest], sums: Sequence[RowSumRequest]) -> list[Array]:
        directions = np.stack([r.direction for r in aims]) / self.unit if aims else None
        targets = [r.track.p if isinstance(r, SetDirection) else r.track.q for r in aims]

        def one(block: NDArray[Any], place: int) -> list[Array]:
            rows = slice(place, place + len(block))
            if directions is not None:
                views = [t[rows] for t in targets]
                exact = [v if v.dtype == np.float64 else np.empty(len(v)) for v in views]
                _kernels.project(block, self.origin, directions, exact)
                for view, values in zip(views, exact, strict=True):
                    if values is not view:
                        view[:] = values
            return [self._pull_back(r, block, rows) for r in sums]

        totals = [np.zeros(self.n_features) for _ in sums]
        for found in self.source.each(one, self.rows):
            for total, part in zip(totals, found, strict=True):
                total += part
        return [total / self.unit for total in totals]

    def _pull_back(self, r: Gradient | CovarianceProduct, block: NDArray[Any], rows: slice) -> Array:
        assert isinstance(r, Gradient)
        out = np.zeros(self.n_features)
        p = np.asarray(r.track.p[rows], dtype=np.float64)
        _kernels.pull_back(block, self.origin, p, self._weights_of(rows), r.bandwidth, r.b, r.log_sum, r.reach, out)
        return out
