"""Rows that are read block by block, from files or from arrays in memory, and their sample."""

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
from ravine.rows.base import Indices, Rows, Sample, guess_units, round_to_power_of_two
from ravine.rows.projections import BLOCK_ROWS, Projections, RowCollector, SharedPassSample, find_near
from ravine.rows.questions import Gradient, ProjectionRequest, RowsIn, RowSumRequest, SetDirection
from ravine.rows.reading.reader import ChunkReader, ReadTask, allocate_in_file, check_spill_folder
from ravine.rows.reading.sources import find_chunks

# A subsample of at most this size is copied into memory; a larger one is read again and again.
TAKE_BYTES = 1 << 29
# Of at most this size it is also kept, since starts and paths take the same subsample.
KEPT_BYTES = 1 << 25
# Of the rows near a hyperplane at most this many bytes are gathered.
GATHERED_BYTES = 1 << 28
# Rows that are centred at a time.
CENTRED_BYTES = 1 << 22
# Rows from which provisional units are guessed.
FIRST_ROWS = 1024

T = TypeVar("T")


class RowBlocks(Rows):
    """Rows in blocks that can be read again and again, for data larger than memory.

    While one thread computes with a chunk of rows, another reads the next. Memory is needed for the projections of the
    hyperplanes that are being optimised on all rows: at most two, with two numbers per row each.

    Parameters
    ----------
    source : list of arrays, path, array of h5py or zarr, numpy.memmap or callable
        A path is that of a .npy or .parquet file, or of a folder of files of one of these kinds, which are read in the
        order of their names; other files in the folder, hidden files and folders are ignored. Parquet files and
        data frames in a list are matched by their column names, in the order of the first; the index of a pandas
        data frame is ignored. A callable makes a new iterator over the same arrays each time it is called.
    state : {"float64", "float32"}, default="float64"
        Precision in which projections are kept; sums are always in double precision.
    spill : path, optional
        Folder for temporary files that hold the projections instead of memory.

    Attributes
    ----------
    shape : tuple of int
        Rows and features.
    n_blocks : int
        Number of chunks in which rows are read.
    bytes_read : int
        Bytes that were read so far.
    feature_names : list of str or None
        Names of the features, if all of them have one.

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
        self._chunks, self._columns = find_chunks(source)
        if not self._chunks:
            raise ValueError("RowBlocks got no blocks: X has no rows.")
        first = self._chunks[0]
        for chunk in self._chunks:
            if chunk.n_features != first.n_features:
                raise ValueError(
                    f"{chunk.name} of X has {chunk.n_features} features, but {first.name} has {first.n_features}: all "
                    "blocks must have the same features."
                )
        self._starts = np.concatenate([[0], np.cumsum([chunk.n_rows for chunk in self._chunks])]).astype(np.intp)
        self.shape = (int(self._starts[-1]), first.n_features)
        if 0 in self.shape:
            raise ValueError(f"X has shape {self.shape}: it must have at least one row and one feature.")
        self._reader = ChunkReader(self._columns.names)
        self._dtype = np.dtype(np.float32 if all(chunk.is_single for chunk in self._chunks) else np.float64)
        self._n_bytes = sum(chunk.n_bytes for chunk in self._chunks)

    @classmethod
    def _with_names(cls, blocks: list[NDArray[Any]], names: Sequence[str]) -> RowBlocks:
        """Make rows of arrays that have other names in messages than their numbers."""
        rows = cls(blocks)
        new_names = {f"block {k}": name for k, name in enumerate(names)}
        rows._chunks = [chunk._replace(name=new_names[chunk.name]) for chunk in rows._chunks]
        return rows

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features, if all of them have one."""
        names = self._columns.names
        return list(names) if names is not None and all(isinstance(name, str) for name in names) else None

    @property
    def empty_frame(self) -> Any:
        """Data frame without rows that has the names of the features; None if they have no names."""
        return self._columns.empty_frame

    @property
    def n_blocks(self) -> int:
        """Number of chunks in which rows are read."""
        return len(self._chunks)

    @property
    def passes(self) -> float:
        """Number of times that all rows were read so far: bytes read over all bytes."""
        return self.bytes_read / self._n_bytes

    @property
    def bytes_read(self) -> int:
        """Bytes that were read so far."""
        return self._reader.bytes_read

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<RowBlocks: {self.shape[0]} x {self.shape[1]} in {self.n_blocks} chunks, read {self.passes:.1f} times>"

    # ------------------------------------------------------------------------------------------- reading

    def map_blocks(
        self, function: Callable[[NDArray[Any], int], T], indices: Indices | None = None, most: int | None = None
    ) -> Iterator[T]:
        """Apply a function to blocks of all or some (sorted) rows; at most to the first few blocks.

        The arguments of the function are a block, which it must not keep, and the place of its first row among those
        that are read; several threads may call it at once.
        """
        return self._reader.map(function, self._list_tasks(indices)[:most])

    def read_first(self, indices: Indices | None, most: int) -> Array:
        """Read some of the first (of some sorted) rows, from as many blocks as it takes to have about ``most``."""
        tasks = self._list_tasks(indices)
        sizes = np.cumsum([task.chunk.n_rows if task.indices is None else len(task.indices) for task in tasks])
        n_blocks = int(np.searchsorted(sizes, most)) + 1
        few = self.map_blocks(lambda block, _: block[:: max(1, len(block) // most)].astype(float), indices, n_blocks)
        return np.concatenate(list(few))

    def forget_validation(self) -> None:
        """Validate values again when they are read, if they may have changed unnoticed."""
        self._reader.forget_validation()

    def _list_tasks(self, indices: Indices | None) -> list[ReadTask]:
        if indices is None:
            tasks = [ReadTask(chunk, None, int(s)) for chunk, s in zip(self._chunks, self._starts, strict=False)]
            return [task for task in tasks if task.chunk.n_rows]
        cuts = np.searchsorted(indices, self._starts).tolist()
        return [
            ReadTask(chunk, indices[first:end] - start, first)
            for chunk, start, first, end in zip(self._chunks, self._starts, cuts, cuts[1:], strict=False)
            if end > first
        ]

    # ------------------------------------------------------------------------------------------- rows

    def sample(
        self, weights: Array | None = None, pool: ThreadPoolExecutor | None = None, indices: Indices | None = None
    ) -> Sample:
        """Return the sample that answers the questions of a fit."""
        return BlockSample(self, weights, indices=indices, pool=pool)

    def _copy(self, indices: Indices) -> ArrayRows:
        return ArrayRows(self.take(indices))

    def glance(self, most: int) -> tuple[Array, Indices]:
        """Return some of the first rows, and all features."""
        return self.read_first(None, most), np.arange(self.shape[1])

    def take(self, indices: Indices) -> NDArray[np.floating[Any]]:
        """Copy some rows, in the order of the indices, into an array."""
        order = np.argsort(indices, kind="stable")
        out = np.empty((len(indices), self.shape[1]), self._dtype)

        def put(block: NDArray[Any], place: int) -> None:
            out[order[place : place + len(block)]] = block

        for _ in self.map_blocks(put, np.asarray(indices)[order]):
            pass
        return out

    def column(self, j: int, indices: Indices | None = None) -> NDArray[np.floating[Any]]:
        """Return one feature of all or some (sorted) rows."""
        return self.apply(lambda block: block[:, j].copy(), indices)

    def project(self, center: Array, direction: Array, indices: Indices | None = None) -> Array:
        """Compute ``(x - center) @ direction`` of all or some (sorted) rows."""
        return self.apply(lambda block: project_array(block, center, direction), indices)

    def apply(self, function: Callable[[Any], NDArray[Any]], indices: Indices | None = None) -> NDArray[Any]:
        """Apply a function to blocks of all or some (sorted) rows; it must return one result per row."""
        parts = list(self.map_blocks(lambda block, _: function(block), indices))
        return np.concatenate(parts or [function(np.empty((0, self.shape[1]), self._dtype))])

    def allocate(self, n: int) -> NDArray[Any]:
        """Allocate the vector of one projection of n rows."""
        if self.spill is None:
            return np.empty(n, self.state)
        return allocate_in_file(n, self.state, self.spill)


class BlockSample(SharedPassSample):
    """Sample of rows that are read block by block; projections are kept in memory, or spilled.

    Parameters
    ----------
    weights : ndarray of shape (n,), optional
        Non-negative, not all zero.
    indices : ndarray of int, optional
        Rows that make up the sample, in increasing order.
    pool : ThreadPoolExecutor, optional
        Threads for answers that need no rows.
    origin, unit : optional
        Working units to use instead of those of the sample.
    """

    def __init__(
        self,
        source: RowBlocks,
        weights: Array | None = None,
        *,
        indices: Indices | None = None,
        pool: ThreadPoolExecutor | None = None,
        origin: Array | None = None,
        unit: float | None = None,
    ) -> None:
        self.source = source
        self.indices = indices
        self._taken: tuple[Any, DenseSample] | None = None
        n_rows = source.shape[0] if indices is None else len(indices)
        self._set_size((n_rows, source.shape[1]), weights, pool, BLOCK_ROWS)
        if origin is None or unit is None:
            few = source.read_first(indices, FIRST_ROWS)
            center, guess = guess_units(few)
            if (few == few[0]).all():  # equal rows do not show the unit
                guess = round_to_power_of_two(self._find_largest(center))
            self._set_units(center, guess)
        else:
            self.origin, self.unit = origin, unit

    def _map_centred(self, function: Callable[[Array, Array | None], T], center: Array, unit: float) -> Iterator[T]:
        step = max(64, CENTRED_BYTES // (8 * self.n_features))
        own = threading.local()

        def compute(block: NDArray[Any], place: int) -> list[T]:
            if not hasattr(own, "buffer"):
                own.buffer = np.empty((step, self.n_features))
            results = []
            for first in range(0, len(block), step):
                few = block[first : first + step]
                z = np.subtract(few, center, out=own.buffer[: len(few)])
                z *= 1.0 / unit
                results.append(function(z, self._weights_in(slice(place + first, place + first + len(few)))))
            return results

        return (result for results in self.source.map_blocks(compute, self.indices) for result in results)

    @property
    def most_gathered(self) -> float:  # type: ignore[override]
        """Number of rows near a hyperplane that are worth gathering in memory."""
        return GATHERED_BYTES // (self.source._dtype.itemsize * self.n_features)

    def new_projections(self) -> Projections:
        """Allocate the projections of one start."""
        return Projections(self.n_rows, self.source.allocate)

    def _indices_of(self, indices: Indices) -> Indices:
        """Return the indices in the source of some rows of the sample."""
        return indices if self.indices is None else self.indices[indices]

    def take(self, indices: Indices) -> Sample:
        """Return the sample of some (sorted) rows, in the same working units: in memory unless it is very large."""
        if self._taken is not None and self._taken[0] is indices:
            return self._taken[1]
        weights = None if self.weights is None else self.weights[indices]
        units: dict[str, Any] = {"pool": self._given_pool, "origin": self.origin, "unit": self.unit}
        chosen = self._indices_of(indices)
        if 8 * len(indices) * self.n_features > TAKE_BYTES:
            return BlockSample(self.source, weights, indices=chosen, **units)
        few = DenseSample(np.ascontiguousarray(self.source.take(chosen)), weights, **units)
        if few.X.nbytes <= KEPT_BYTES:
            self._taken = indices, few
        return few

    def fetch(self, indices: Indices) -> Array:
        """Return some rows in working units."""
        return np.asarray((self.source.take(self._indices_of(indices)) - self.origin) / self.unit)

    def _pass_over_rows(self, to_set: Sequence[ProjectionRequest], sums: Sequence[RowSumRequest]) -> list[Any]:
        directions = np.stack([r.direction for r in to_set]) / self.unit if to_set else None
        targets = [r.projections.p if isinstance(r, SetDirection) else r.projections.q for r in to_set]

        def compute(block: NDArray[Any], place: int) -> list[Any]:
            places = slice(place, place + len(block))
            if directions is not None:
                views = [t[places] for t in targets]
                exact = [v if v.dtype == np.float64 else np.empty(len(v)) for v in views]
                _kernels.project(block, self.origin, directions, exact)
                for view, values in zip(views, exact, strict=True):
                    if values is not view:
                        view[:] = values
            return [self._compute_sum(r, block, places) for r in sums]

        totals = [RowCollector(r) if isinstance(r, RowsIn) else np.zeros(self.n_features) for r in sums]
        for results in self.source.map_blocks(compute, self.indices):
            for total, result in zip(totals, results, strict=True):
                if isinstance(total, RowCollector):
                    total.add(*result)
                else:
                    total += result
        return [self._make_slab(t) if isinstance(t, RowCollector) else t / self.unit for t in totals]

    def _compute_sum(self, r: RowSumRequest, block: NDArray[Any], places: slice) -> Any:
        """Compute the gradient over a block or, for `RowsIn`, copy the rows near the hyperplane."""
        p, weights = np.asarray(r.projections.p[places], dtype=np.float64), self._weights_in(places)
        if isinstance(r, RowsIn):
            near = find_near(p, r)
            return block[near], near + places.start, p[near], None if weights is None else weights[near]
        assert isinstance(r, Gradient)
        out = np.zeros(self.n_features)
        _kernels.pull_back(block, self.origin, p, weights, r.bandwidth, r.b, r.log_sum, r.reach, out)
        return out

    def _make_slab(self, collector: RowCollector) -> DenseSample:
        rows, weights = collector.finish()
        slab = DenseSample(rows, weights, pool=self._given_pool, origin=self.origin, unit=self.unit)
        slab.measure_against(self)
        return slab
