"""Rows of a Dask array, which stay on the workers of its cluster, and their sample."""

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
from ravine.rows.base import Indices, Rows, Sample, guess_units, sum_arrays
from ravine.rows.questions import Request, Rotate, RowsIn, SetDirection, SetTangent
from ravine.rows.workers.rounds import Command, Rounds, get_current_client
from ravine.rows.workers.worker import CheckedFunction, merge_answers

# A subsample of at most this size is fetched from the workers; a larger one stays there.
TAKE_BYTES = 1 << 23
# Of the rows near a hyperplane at most this many bytes are fetched.
GATHERED_BYTES = 5 << 19

MakeArguments = Callable[[], Sequence[tuple[Any, ...]]]  # made again if a worker is lost


class ClusterRows(Rows):
    """Rows of a Dask array; they stay on the workers.

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
        Communication of finished fits.

    Examples
    --------
    >>> import dask.array as da  # doctest: +SKIP
    >>> from distributed import Client  # doctest: +SKIP
    >>> from ravine import ClusterRows, MinimumDensityHyperplane
    >>> client = Client("scheduler:8786")  # doctest: +SKIP
    >>> rows = ClusterRows(da.from_zarr("rows.zarr").persist(), client)  # doctest: +SKIP
    >>> mdh = MinimumDensityHyperplane(random_state=0).fit(rows)  # doctest: +SKIP
    >>> rows.n_rounds  # doctest: +SKIP
    27
    """

    is_lazy = True

    def __init__(self, X: Any, client: Any = None) -> None:
        if not hasattr(X, "numblocks") or len(X.shape) != 2:
            what = f"an array of {len(X.shape)} dimensions" if hasattr(X, "numblocks") else type(X).__name__
            raise TypeError(
                f"ClusterRows needs a two-dimensional Dask array, got {what} (convert a Dask data frame with "
                "X.to_dask_array(lengths=True))."
            )
        self.X = X if X.numblocks[1] == 1 else X.rechunk({1: -1})
        self.client = client
        self.shape = X.shape
        self._rounds: Rounds | None = None
        self._samples: weakref.WeakValueDictionary[int, ClusterSample] = weakref.WeakValueDictionary()
        self._numbers = count()
        self._dropped_projections: list[int] = []
        self._dropped_samples: list[int] = []
        self.n_rounds = self.bytes_sent = self.bytes_received = 0

    def check(self) -> None:
        """Raise an error if the array cannot be fitted, before anything is computed."""
        if any(math.isnan(size) for size in self.X.chunks[0]):
            raise ValueError(
                "X is a Dask array whose blocks have unknown lengths: call X.compute_chunk_sizes() first (for a data "
                "frame, use to_dask_array(lengths=True))."
            )
        if 0 in self.shape:
            raise ValueError(f"X has shape {self.shape}: it must have at least one row and one feature.")

    # ------------------------------------------------------------------------------------------- rounds

    @property
    def rounds(self) -> Rounds:
        """Connection to the workers, opened when it is first needed."""
        if self._rounds is None:
            self._rounds = Rounds(self.client or get_current_client(), self.X, self._list_restoring_commands)
        return self._rounds

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

    def _list_restoring_commands(self) -> list[list[Command]]:
        """Return the commands that rebuild samples and projections on new workers."""
        assert self._rounds is not None
        commands: list[list[Command]] = [[] for _ in self._rounds.workers]
        for sample in list(self._samples.values()):
            for of_worker, more in zip(commands, sample.list_restoring_commands(), strict=True):
                of_worker += more
        return commands

    def ask(self, name: str, make: MakeArguments) -> list[Any]:
        """Send one command to every worker, each with its own arguments."""
        dropped = _pop_all(self._dropped_projections), _pop_all(self._dropped_samples)

        def commands() -> list[list[Command]]:
            return [[("forget", dropped), (name, arguments)] for arguments in make()]

        return [answers[-1] for answers in self.rounds.ask(commands)]

    def ask_all(self, name: str, *arguments: Any) -> list[Any]:
        """Send one command to every worker, with the same arguments."""
        return self.ask(name, lambda: [arguments] * len(self.rounds.workers))

    def _ask_for_rows(self, name: str, arguments: tuple[Any, ...], indices: Indices | None) -> list[Any]:
        return self.ask(name, lambda: [(*arguments, local) for local in self.rounds.split_indices(indices)])

    # ------------------------------------------------------------------------------------------- rows

    def sample(self, weights: Array | None = None, pool: Any = None, indices: Indices | None = None) -> Sample:
        """Return the sample of all or some (sorted) rows; a small one is fetched, which saves hundreds of rounds."""
        n = self.shape[0] if indices is None else len(indices)
        if 8 * n * self.shape[1] <= TAKE_BYTES:
            return DenseSample(self.take(np.arange(n) if indices is None else indices), weights, pool=pool)
        return ClusterSample(self, weights, indices)

    def _copy(self, indices: Indices) -> ArrayRows:
        return ArrayRows(self.take(indices))

    def take(self, indices: Indices) -> NDArray[np.floating[Any]]:
        """Copy some rows, in the order of the indices, into an array in this process."""
        order = np.argsort(indices, kind="stable")
        chosen = np.asarray(indices)[order]
        parts = self._ask_for_rows("take", (), chosen)
        out = np.empty(
            (len(indices), self.shape[1]), np.result_type(*[part.dtype for part in parts if len(part)] or [float])
        )
        for part, places in zip(parts, self.rounds.find_places(chosen), strict=True):
            out[order[places]] = part
        return out

    def column(self, j: int, indices: Indices | None = None) -> NDArray[np.floating[Any]]:
        """Return one feature of all or some (sorted) rows."""
        return self.project(np.zeros(self.shape[1]), np.eye(1, self.shape[1], j)[0], indices)

    def project(self, center: Array, direction: Array, indices: Indices | None = None) -> Array:
        """Compute ``(x - center) @ direction`` of all or some (sorted) rows, as an array in this process."""
        return self._join(self._ask_for_rows("project", (center, direction), indices), indices, np.float64)

    def sides(self, center: Array, direction: Array, indices: Indices | None = None) -> NDArray[np.bool_]:
        """Return whether ``(x - center) @ direction`` is positive; one bit for each row is sent."""
        packed = self._ask_for_rows("sides", (center, direction), indices)
        places = self.rounds.find_places(indices)
        bits = [np.unpackbits(part, count=len(at)) for part, at in zip(packed, places, strict=True)]
        return self._join(bits, indices, np.bool_)

    def _join(self, parts: list[Any], indices: Indices | None, dtype: Any) -> NDArray[Any]:
        """Join the results of all workers in the order of the rows."""
        out = np.empty(self.shape[0] if indices is None else len(indices), dtype)
        for part, places in zip(parts, self.rounds.find_places(indices), strict=True):
            out[places] = part
        return out

    def apply(self, function: Callable[[Any], NDArray[Any]], indices: Indices | None = None) -> Any:
        """Apply a function to blocks of rows, as a lazy Dask array; it must return one result per row."""
        X = self.X if indices is None else self.X[indices]
        like = function(np.zeros((1, int(self.shape[1]))))
        if like.ndim == 1:
            return X.map_blocks(CheckedFunction(function), dtype=like.dtype, drop_axis=1, meta=like[:0])
        chunks = (X.chunks[0], (like.shape[1],))
        return X.map_blocks(CheckedFunction(function), dtype=like.dtype, chunks=chunks, meta=like[:0])


def _pop_all(numbers: list[int]) -> list[int]:
    """Remove and return all numbers of a list that other threads fill and empty."""
    popped = []
    while True:
        try:
            popped.append(numbers.pop())
        except IndexError:
            return popped


class ClusterProjections:
    """Projections of one start that are kept on the workers.

    Attributes
    ----------
    number : int
        Identifies them on the workers.
    v, u : ndarray of shape (d,) or None
        Directions of ``p`` and ``q``, from which they can be computed again.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.v: Array | None = None
        self.u: Array | None = None

    def update(self, r: Request) -> None:
        """Update the directions after a request."""
        if isinstance(r, SetDirection):
            self.v = r.direction
        elif isinstance(r, SetTangent):
            self.u = r.direction
        elif isinstance(r, Rotate):
            assert self.v is not None
            assert self.u is not None
            self.v = math.cos(r.angle) * self.v + math.sin(r.angle) * self.u


class ClusterSample(Sample):
    """Sample of all or some rows of a Dask array; each batch of questions takes one round trip.

    Parameters
    ----------
    weights : ndarray of shape (n,), optional
    indices : ndarray of int, optional
        Sorted.
    units : tuple of origin and unit, optional
        Working units to use instead of those of the sample.
    """

    is_remote = True

    def __init__(self, source: ClusterRows, weights: Array | None, indices: Indices | None, units: Any = None) -> None:
        self.source, self.indices = source, indices
        n = source.shape[0] if indices is None else len(indices)
        self._set_size((n, source.shape[1]), weights, None, max(n, 1))
        self.number = next(source._numbers)
        self._projections: weakref.WeakValueDictionary[int, ClusterProjections] = weakref.WeakValueDictionary()
        self._units = units
        self._taken: tuple[Any, Sample] | None = None
        weakref.finalize(self, source._dropped_samples.append, self.number)
        source.ask("open", self._make_arguments)
        source._samples[self.number] = self
        if units is None:
            few = np.concatenate(source.ask_all("read_first", self.number))
            self._set_units(*guess_units(few))
            self._units = (self.origin, self.unit)
            source.ask_all("set_units", self.number, *self._units)
        else:
            self.origin, self.unit = units

    def _make_arguments(self) -> list[tuple[Any, ...]]:
        """Return the arguments that open the sample on each worker."""
        rounds = self.source.rounds
        places = rounds.find_places(self.indices)
        weights = [None if self.weights is None else self.weights[at] for at in places]
        local = rounds.split_indices(self.indices)
        return [(self.number, indices, w, self._units) for indices, w in zip(local, weights, strict=True)]

    def list_restoring_commands(self) -> list[list[Command]]:
        """Return the commands that rebuild the sample and its projections on new workers."""
        again: list[list[Request]] = []
        for projections in list(self._projections.values()):
            if projections.v is not None:
                again.append([SetDirection(projections.number, projections.v)])
            if projections.u is not None:
                again.append([SetTangent(projections.number, projections.u)])
        commands: list[list[Command]] = [[("open", arguments)] for arguments in self._make_arguments()]
        return [[*first, ("answer", (self.number, again))] for first in commands] if again else commands

    # ------------------------------------------------------------------------------------------- sums over rows

    def _sum(self, name: str, *arguments: Any) -> list[Any]:
        return self.source.ask_all("sum", self.number, name, arguments)

    def _find_largest(self, center: Array) -> float:
        return float(max(self._sum("_find_largest", center)))

    def second_sums(self, center: Array, unit: float) -> tuple[Array, Array]:
        """Return the weighted sums of z zᵀ and of z, for z = (x - center) / unit."""
        seconds, firsts = zip(*self._sum("second_sums", center, unit), strict=True)
        return sum_arrays(seconds), sum_arrays(firsts)

    def side_sums(self, center: Array, direction: Array, scale: float) -> Array:
        """Return the weighted sums of the signs and of the cubes of ``(x - center) @ direction / scale``."""
        return sum_arrays(self._sum("side_sums", center, direction, scale))

    def third_sums(self, directions: Array) -> Array:
        """Return the weighted sums of the cubes of the projections on the directions."""
        return sum_arrays(self._sum("third_sums", directions))

    def fourth_sums(self, whitening: Array) -> Array:
        """Return the weighted sum of |y|² y yᵀ over the rows y = whitening @ z."""
        return sum_arrays(self._sum("fourth_sums", whitening))

    # ------------------------------------------------------------------------------------------- questions

    @property
    def most_gathered(self) -> float:  # type: ignore[override]
        """Number of rows near a hyperplane that are worth sending to this process."""
        return GATHERED_BYTES // (4 * self.n_features)

    def new_projections(self) -> ClusterProjections:
        """Allocate the projections of one start, on the workers."""
        projections = ClusterProjections(next(self.source._numbers))
        self._projections[projections.number] = projections
        weakref.finalize(projections, self.source._dropped_projections.append, projections.number)
        return projections

    def _indices_of(self, indices: Indices) -> Indices:
        """Return the indices in the source of some rows of the sample."""
        return indices if self.indices is None else self.indices[indices]

    def take(self, indices: Indices) -> Sample:
        """Return the sample of some (sorted) rows, in the same working units: in this process if it is small."""
        if self._taken is not None and self._taken[0] is indices:
            return self._taken[1]
        weights = None if self.weights is None else self.weights[indices]
        chosen = self._indices_of(indices)
        if 8 * len(indices) * self.n_features > TAKE_BYTES:
            return ClusterSample(self.source, weights, chosen, (self.origin, self.unit))
        few = DenseSample(self.source.take(chosen), weights, origin=self.origin, unit=self.unit)
        self._taken = indices, few
        return few

    def fetch(self, indices: Indices) -> Array:
        """Return some rows in working units, in this process."""
        return np.asarray((self.source.take(self._indices_of(indices)) - self.origin) / self.unit)

    def answer(self, questions: Sequence[Sequence[Request]]) -> list[list[Any]]:
        """Answer the questions of one round, in one round trip."""
        numbered = [[self._address(r) for r in question] for question in questions]
        answers = self.source.ask_all("answer", self.number, numbered)
        for r in (r for question in questions for r in question):
            r.projections.update(r)
        return [
            [merge_answers(r, [of_worker[k][j] for of_worker in answers], self) for j, r in enumerate(question)]
            for k, question in enumerate(questions)
        ]

    def _address(self, r: Request) -> Request:
        """Return a request for the workers, each of which gathers the same number of rows."""
        r = r._replace(projections=r.projections.number)
        return r._replace(most=r.most // len(self.source.rounds.workers)) if isinstance(r, RowsIn) else r
