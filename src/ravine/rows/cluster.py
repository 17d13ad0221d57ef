"""A Dask array as a source of rows, and samples of it."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.rows.array import ArrayRows, DenseSample
from ravine.rows.base import Indices, Rows
from ravine.rows.questions import (
    AngleDerivative,
    Gradient,
    Histogram,
    LogSum,
    Request,
    Rotate,
    SetDirection,
    SetTangent,
    ValuesIn,
)
from ravine.rows.reading.reader import LARGEST
from ravine.rows.sample import Sample, sum_arrays
from ravine.rows.units import guess_units
from ravine.rows.workers.rounds import Command, Rounds, current_client

__all__ = ["ClusterRows", "ClusterSample"]

# Up to this much is fetched from the workers for a subsample; more of it stays there.
TAKE_BYTES = 1 << 23
# Nodes of a tree that are fitted at the same time, so that they share rounds: threads only wait for the workers.
NODE_THREADS = 16


class ClusterRows(Rows):
    """The rows of a Dask array; they stay on the workers.

    Parameters
    ----------
    X : dask.array.Array of shape (n, d)
        Cut into blocks of rows of known length.
    client : distributed.Client, optional
        The current one by default.

    Attributes
    ----------
    shape : tuple of int
    n_rounds, bytes_sent, bytes_received : int
        What the fit has cost so far.

    Examples
    --------
    >>> import dask.array as da  # doctest: +SKIP
    >>> from distributed import Client  # doctest: +SKIP
    >>> from ravine import ClusterRows, MinimumDensityHyperplane
    >>> client = Client("scheduler:8786")  # doctest: +SKIP
    >>> rows = ClusterRows(da.from_zarr("rows.zarr").persist(), client)  # doctest: +SKIP
    >>> mdh = MinimumDensityHyperplane(random_state=0).fit(rows)  # doctest: +SKIP
    >>> rows.n_rounds  # doctest: +SKIP
    66
    """

    is_lazy = True

    def __init__(self, X: Any, client: Any = None) -> None:
        if not hasattr(X, "numblocks") or len(X.shape) != 2:
            what = f"an array of {len(X.shape)} dimensions" if hasattr(X, "numblocks") else type(X).__name__
            raise TypeError(
                f"ClusterRows needs a Dask array of rows and columns, got {what} (of a Dask data frame, "
                "X.to_dask_array(lengths=True))."
            )
        self.X = X if X.numblocks[1] == 1 else X.rechunk({1: -1})
        self.client = client
        self.shape = X.shape
        self._rounds: Rounds | None = None
        self._samples: weakref.WeakValueDictionary[int, ClusterSample] = weakref.WeakValueDictionary()
        self._numbers = count()
        self._gone_tracks: list[int] = []
        self._gone_samples: list[int] = []
        self.n_rounds = self.bytes_sent = self.bytes_received = 0

    @property
    def rounds(self) -> Rounds:
        """The way to the workers, opened when it is first needed."""
        if self._rounds is None:
            self._rounds = Rounds(self.client or current_client(), self.X, self._restore)
        return self._rounds

    def check(self) -> None:
        """Refuse what cannot be fitted, before anything is computed."""
        if any(math.isnan(size) for size in self.X.chunks[0]):
            raise ValueError(
                "X is a Dask array whose blocks have unknown lengths: call X.compute_chunk_sizes() first (of a data "
                "frame, use to_dask_array(lengths=True))."
            )
        if 0 in self.shape:
            raise ValueError(f"X has shape {self.shape}: there must be at least one row and one column.")

    def close(self) -> None:
        """Drop everything that the fit put on the cluster."""
        if self._rounds is not None:
            rounds, self._rounds = self._rounds, None
            self.n_rounds += rounds.n_rounds
            self.bytes_sent += rounds.bytes_sent
            self.bytes_received += rounds.bytes_received
            rounds.close()

    @contextmanager
    def session(self) -> Iterator[None]:
        """Leave nothing on the cluster after a fit, also after an error."""
        try:
            yield
        finally:
            self.close()

    def node_threads(self, n_threads: int) -> int:
        """Return the number of nodes of a tree to fit at the same time."""
        return max(n_threads, NODE_THREADS)

    @contextmanager
    def share_rounds(self) -> Iterator[None]:
        """Let rounds of this thread wait for those of the other threads that take part."""
        rounds = self.rounds
        rounds.joined(1)
        try:
            yield
        finally:
            rounds.joined(-1)

    def _restore(self) -> list[list[Command]]:
        """What new parts must be told: samples and where their tracks are."""
        assert self._rounds is not None
        commands: list[list[Command]] = [[] for _ in self._rounds.parts]
        for sample in list(self._samples.values()):
            for part, more in zip(commands, sample.restored(), strict=True):
                part += more
        return commands

    def ask(self, name: str, make: Callable[[], Sequence[tuple[Any, ...]]]) -> list[Any]:
        """One command for every part, with the arguments for each."""
        gone = _emptied(self._gone_tracks), _emptied(self._gone_samples)

        def commands() -> list[list[Command]]:
            return [[("forget", gone), (name, arguments)] for arguments in make()]

        return [answers[-1] for answers in self.rounds.ask(commands)]

    def same(self, *arguments: Any) -> Callable[[], list[tuple[Any, ...]]]:
        """The same arguments for every part."""
        return lambda: [arguments] * len(self.rounds.parts)

    # ------------------------------------------------------------------------------------------- rows

    def sample(self, weights: Array | None = None, pool: Any = None, indices: Indices | None = None) -> Sample:
        """Return the sample of all or some (sorted) rows; a small one is fetched, which saves hundreds of rounds."""
        n = self.shape[0] if indices is None else len(indices)
        if 8 * n * self.shape[1] <= TAKE_BYTES:
            return DenseSample(self.take(np.arange(n) if indices is None else indices), weights, pool=pool)
        return ClusterSample(self, weights, indices)

    def _gathered(self, name: str, arguments: tuple[Any, ...], indices: Indices | None) -> list[Any]:
        return self.ask(name, lambda: [(*arguments, local) for local in self.rounds.local(indices)])

    def _copy(self, indices: Indices) -> ArrayRows:
        return ArrayRows(self.take(indices))

    def take(self, indices: Indices) -> NDArray[np.floating[Any]]:
        """Copy some rows, in the order of the indices, into an array in this process."""
        order = np.argsort(indices, kind="stable")
        chosen = np.asarray(indices)[order]
        parts = self._gathered("take", (), chosen)
        out = np.empty((len(indices), self.shape[1]), np.result_type(*[part.dtype for part in parts if len(part)]))
        for part, places in zip(parts, self.rounds.places(chosen), strict=True):
            out[order[places]] = part
        return out

    def column(self, j: int, indices: Indices | None = None) -> NDArray[np.floating[Any]]:
        """Return one feature of all or some (sorted) rows."""
        return self.project(np.zeros(self.shape[1]), np.eye(1, self.shape[1], j)[0], indices)

    def project(self, center: Array, direction: Array, indices: Indices | None = None) -> Array:
        """Compute ``(x - center) @ direction`` of all or some (sorted) rows, as an array in this process."""
        parts = self._gathered("project", (center, direction), indices)
        return self._in_order(parts, indices, np.empty(self.shape[0] if indices is None else len(indices)))

    def sides(self, center: Array, direction: Array, indices: Indices | None = None) -> NDArray[np.bool_]:
        """Return whether ``(x - center) @ direction`` is positive; one bit for each row travels."""
        parts = self._gathered("sides", (center, direction), indices)
        places = self.rounds.places(indices)
        bits = [np.unpackbits(part, count=len(at)) for part, at in zip(parts, places, strict=True)]
        return self._in_order(bits, indices, np.empty(self.shape[0] if indices is None else len(indices), dtype=bool))

    def _in_order(self, parts: list[Any], indices: Indices | None, out: NDArray[Any]) -> NDArray[Any]:
        for part, places in zip(parts, self.rounds.places(indices), strict=True):
            out[places] = part
        return out

    def apply(self, function: Callable[[Any], NDArray[Any]], indices: Indices | None = None) -> Any:
        """Apply a function to blocks of rows, as a lazy Dask array; it must return one result per row."""
        X = self.X if indices is None else self.X[indices]
        like = function(np.zeros((1, int(self.shape[1]))))
        if like.ndim == 1:
            return X.map_blocks(_Checked(function), dtype=like.dtype, drop_axis=1, meta=like[:0])
        chunks = (X.chunks[0], (like.shape[1],))
        return X.map_blocks(_Checked(function), dtype=like.dtype, chunks=chunks, meta=like[:0])


def _emptied(numbers: list[int]) -> list[int]:
    """Take all numbers out of a list that other threads fill and empty."""
    taken = []
    while True:
        try:
            taken.append(numbers.pop())
        except IndexError:
            return taken


class _Checked:
    """A function of rows that refuses what is not finite."""

    __name__ = "ravine"  # how Dask calls its tasks

    def __init__(self, function: Callable[[NDArray[Any]], NDArray[Any]]) -> None:
        self.function = function

    def __call__(self, block: Any, block_info: Any = None) -> NDArray[Any]:
        rows = np.asarray(block)
        (start, stop), *_ = block_info[0]["array-location"]
        if not math.isnan(stop - start) and len(rows) != stop - start:
            number = block_info[0]["chunk-location"][0]
            raise ValueError(f"block {number} of X has {len(rows)} rows, but the Dask array says {stop - start}.")
        rows = rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)
        bad = np.argwhere(~(np.abs(rows) < LARGEST))
        if len(bad):
            where = f"row {bad[0][0]} of block {block_info[0]['chunk-location'][0]}, column {bad[0][1]}"
            raise ValueError(f"Input X contains NaN, infinity or a value beyond {LARGEST:g} in {where}.")
        return self.function(rows)


class ClusterTrack:
    """The number of projections that are kept on the workers, and the directions they are projections on."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.v: Array | None = None
        self.u: Array | None = None


class ClusterSample(Sample):
    """All or some rows of a Dask array; one round for each batch of questions.

    Parameters
    ----------
    source : ClusterRows
    weights : ndarray of shape (n,), optional
    rows : ndarray of int, optional
        Sorted.
    units : tuple of origin and unit, optional
        Working units to use instead of the sample's own.
    """

    is_remote = True

    def __init__(
        self, source: ClusterRows, weights: Array | None, rows: NDArray[np.intp] | None, units: Any = None
    ) -> None:
        self.source, self.rows = source, rows
        n = source.shape[0] if rows is None else len(rows)
        self._set_up((n, source.shape[1]), weights, None, max(n, 1))
        self.number = next(source._numbers)
        self._tracks: weakref.WeakValueDictionary[int, ClusterTrack] = weakref.WeakValueDictionary()
        self._units = units
        self._taken: tuple[Any, Sample] | None = None
        weakref.finalize(self, source._gone_samples.append, self.number)
        source.ask("open", self._opened)
        source._samples[self.number] = self
        if units is None:
            few = np.concatenate(source.ask("first_rows", source.same(self.number)))
            self._measure(*guess_units(few))
            self._units = (self.origin, self.unit)
            source.ask("set_units", source.same(self.number, *self._units))
        else:
            self.origin, self.unit = units

    def _opened(self) -> list[tuple[Any, ...]]:
        rounds = self.source.rounds
        places = rounds.places(self.rows)
        weights = [None if self.weights is None else self.weights[at] for at in places]
        local = rounds.local(self.rows)
        return [(self.number, some, w, self._units) for some, w in zip(local, weights, strict=True)]

    def restored(self) -> list[list[Command]]:
        """The commands that bring new parts to the present state."""
        again: list[list[Request]] = []
        for track in list(self._tracks.values()):
            if track.v is not None:
                again.append([SetDirection(track.number, track.v)])
            if track.u is not None:
                again.append([SetTangent(track.number, track.u)])
        commands: list[list[Command]] = [[("open", arguments)] for arguments in self._opened()]
        return [[*part, ("answer", (self.number, again))] for part in commands] if again else commands

    # ------------------------------------------------------------------------------------------- moments

    def _sums(self, name: str, *arguments: Any) -> list[Any]:
        return self.source.ask("sums", self.source.same(self.number, name, arguments))

    def second_sums(self, center: Array, unit: float) -> tuple[Array, Array]:
        """Weighted sums of z zᵀ and of z."""
        seconds, firsts = zip(*self._sums("second_sums", center, unit), strict=True)
        return sum_arrays(seconds), sum_arrays(firsts)

    def _largest(self, center: Array) -> float:
        return float(max(self._sums("_largest", center)))

    def fourth_sums(self, whitening: Array) -> Array:
        """Weighted sum of |y|² y yᵀ."""
        return sum_arrays(self._sums("fourth_sums", whitening))

    def third_sums(self, directions: Array) -> Array:
        """Weighted sums of the cubes of the projections."""
        return sum_arrays(self._sums("third_sums", directions))

    def side_sums(self, center: Array, direction: Array, scale: float) -> Array:
        """Sum over the rows, by weight, the signs and the cubes of ``(x - center) @ direction / scale``."""
        return sum_arrays(self._sums("side_sums", center, direction, scale))

    # ------------------------------------------------------------------------------------------- protocol

    def track(self) -> ClusterTrack:
        """Room for the projections of one start."""
        track = ClusterTrack(next(self.source._numbers))
        self._tracks[track.number] = track
        weakref.finalize(track, self.source._gone_tracks.append, track.number)
        return track

    def take(self, rows: NDArray[np.intp]) -> Sample:
        """The sample of some (sorted) rows, in the same working units: here if it is small."""
        if self._taken is not None and self._taken[0] is rows:
            return self._taken[1]
        weights = None if self.weights is None else self.weights[rows]
        chosen = rows if self.rows is None else self.rows[rows]
        if 8 * len(rows) * self.n_features > TAKE_BYTES:
            return ClusterSample(self.source, weights, chosen, (self.origin, self.unit))
        few = DenseSample(self.source.take(chosen), weights, origin=self.origin, unit=self.unit)
        self._taken = rows, few
        return few

    def fetch(self, rows: NDArray[np.intp]) -> Array:
        """Some rows, in working units, here."""
        return np.asarray((self.source.take(rows if self.rows is None else self.rows[rows]) - self.origin) / self.unit)

    def answer(self, questions: Sequence[Sequence[Request]]) -> list[list[Any]]:
        """Answer the questions of one round, in one round trip."""
        numbered = [[r._replace(track=r.track.number) for r in question] for question in questions]
        parts = self.source.ask("answer", self.source.same(self.number, numbered))
        for question in questions:
            for r in question:
                _follow(r)
        return [
            [_merged(r, [part[k][j] for part in parts]) for j, r in enumerate(question)]
            for k, question in enumerate(questions)
        ]


def _follow(r: Request) -> None:
    """Where a track is after a request, so that it can be found again if a worker is lost."""
    if isinstance(r, SetDirection):
        r.track.v = r.direction
    elif isinstance(r, SetTangent):
        r.track.u = r.direction
    elif isinstance(r, Rotate):
        r.track.v = math.cos(r.angle) * r.track.v + math.sin(r.angle) * r.track.u


def _merged(r: Request, answers: list[Any]) -> Any:
    """The answer of all parts from those of each."""
    if isinstance(r, Histogram | Gradient):
        return sum_arrays(answers)
    if isinstance(r, LogSum):
        return float(np.logaddexp.reduce(np.array(answers)))
    if isinstance(r, AngleDerivative):
        return float(sum(answers))
    if isinstance(r, ValuesIn):
        values = np.concatenate([v for v, _ in answers])
        order = np.argsort(values, kind="stable")
        weights = None if answers[0][1] is None else np.concatenate([w for _, w in answers])[order]
        return values[order], weights
    return None
