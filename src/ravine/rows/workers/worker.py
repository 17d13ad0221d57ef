"""Rows on one worker of a cluster, with the state of a fit beside them."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.rows.array import DenseSample, project_array
from ravine.rows.base import Sample, sum_arrays
from ravine.rows.blocks import BlockSample, RowBlocks
from ravine.rows.questions import AngleDerivative, Gradient, Histogram, LogSum, Request, RowsIn, ValuesIn
from ravine.rows.reading.reader import LARGEST

# A smaller share of the rows than this is copied beside them; a larger one is gathered when it is needed.
SMALL_SHARE = 0.25
# Rows of a sample from which provisional units are guessed.
FIRST_ROWS = 64


class StaleState:
    """Answer of a worker that has lost its state: its rows were made again, or moved."""


class WorkerRows:
    """Blocks of rows on one worker, samples of them, and the projections of the starts.

    Parameters
    ----------
    token : str
        Identifies the opening of the workers that this belongs to.
    names : list of str
        Names of the blocks, for messages.

    Attributes
    ----------
    state : tuple of str and int
        The token and the number of rounds answered, which is 0 for rows that were made again on another worker.
    """

    def __init__(self, token: str, blocks: list[Any], names: list[str]) -> None:
        self.state = (token, 0)
        self.source = RowBlocks._with_names([np.asarray(block) for block in blocks], names)
        self.samples: dict[int, DenseSample | BlockSample] = {}
        self.projections: dict[int, Any] = {}

    def __reduce__(self) -> Any:
        # State that is moved to another process would be lost without notice, so its copy is marked as stale.
        return _make_stale, ()

    # ------------------------------------------------------------------------------------------- samples

    def open(self, number: int, indices: NDArray[np.intp] | None, weights: Array | None, units: Any) -> None:
        """Make a sample of all or some rows, in working units; in provisional ones if these are not known yet."""
        units = (np.zeros(self.source.shape[1]), 1.0) if units is None else units
        options = {"origin": units[0], "unit": units[1]}
        if self._is_small(indices):
            self.samples[number] = DenseSample(np.ascontiguousarray(self.take(indices)), weights, **options)
        else:
            self.samples[number] = BlockSample(self.source, weights, indices=indices, **options)

    def set_units(self, number: int, origin: Array, unit: float) -> None:
        """Set the working units of a sample."""
        self.samples[number].origin, self.samples[number].unit = origin, unit

    def sum(self, number: int, name: str, arguments: tuple[Any, ...]) -> Any:
        """Call a method of a sample that sums over rows."""
        return getattr(self.samples[number], name)(*arguments)

    def read_first(self, number: int) -> Array:
        """Return some rows of a sample, from which provisional units are guessed."""
        sample = self.samples[number]
        step = max(1, sample.n_rows // FIRST_ROWS)
        if isinstance(sample, DenseSample):
            return np.asarray(sample.X[::step][:FIRST_ROWS], dtype=float)
        some = np.arange(0, sample.n_rows, step)[:FIRST_ROWS]
        return self.source.take(some if sample.indices is None else sample.indices[some]).astype(np.float64)

    def answer(self, number: int, questions: list[list[Request]]) -> list[list[Any]]:
        """Answer the questions of a round for the rows of this worker; projections are given by their numbers."""
        sample = self.samples[number]
        for r in (r for question in questions for r in question):
            if r.projections not in self.projections:
                self.projections[r.projections] = sample.new_projections()
        local = [[r._replace(projections=self.projections[r.projections]) for r in question] for question in questions]
        return [[pack_answer(answer) for answer in answers] for answers in sample.answer(local)]

    def forget(self, projections: list[int], samples: list[int]) -> None:
        """Drop projections and samples that are not needed any more."""
        for number in projections:
            self.projections.pop(number, None)
        for number in samples:
            self.samples.pop(number, None)

    # ------------------------------------------------------------------------------------------- rows

    def _is_small(self, indices: NDArray[np.intp] | None) -> bool:
        return indices is not None and len(indices) <= SMALL_SHARE * self.source.shape[0]

    def take(self, indices: Any) -> NDArray[Any]:
        """Return some rows."""
        return self.source.take(indices) if len(indices) else np.empty((0, self.source.shape[1]))

    def project(self, center: Array, direction: Array, indices: NDArray[np.intp] | None) -> Array:
        """Return the projections of all or some rows."""
        if self._is_small(indices):
            return project_array(np.ascontiguousarray(self.take(indices)), center, direction)
        return self.source.project(center, direction, indices)

    def sides(self, center: Array, direction: Array, indices: NDArray[np.intp] | None) -> NDArray[np.uint8]:
        """Return on which side of a hyperplane rows lie, one bit each."""
        return np.packbits(self.project(center, direction, indices) > 0.0)


def _make_stale() -> WorkerRows:
    """Return an object without rows or state."""
    rows = WorkerRows.__new__(WorkerRows)
    rows.state = ("", 0)
    return rows


def open_worker(token: str, described: list[tuple[str, tuple[int, int]]], *blocks: Any) -> WorkerRows:
    """Gather the blocks on a worker; raise an error if they do not have the shapes that the Dask array has."""
    for (name, shape), block in zip(described, blocks, strict=True):
        if np.shape(block) != shape:
            raise ValueError(f"{name} of X has shape {np.shape(block)}, but the Dask array says {shape}.")
    return WorkerRows(token, list(blocks), [name for name, _ in described])


def run_commands(rows: WorkerRows, state: tuple[str, int], message: bytes) -> bytes:
    """Run the commands of a round on a worker: a pickled list of methods and arguments."""
    if rows.state != state:
        return pickle.dumps(StaleState())
    rows.state = (state[0], state[1] + 1)
    return pickle.dumps([getattr(rows, name)(*arguments) for name, arguments in pickle.loads(message)], protocol=5)


class CheckedFunction:
    """Function of rows that raises an error for values that are not finite."""

    __name__ = "ravine"  # name of the tasks in Dask

    def __init__(self, function: Callable[[NDArray[Any]], NDArray[Any]]) -> None:
        self.function = function

    def __call__(self, block: Any, block_info: Any = None) -> NDArray[Any]:
        """Apply the function to a block of a Dask array."""
        rows = np.asarray(block)
        (start, stop), *_ = block_info[0]["array-location"]
        number = block_info[0]["chunk-location"][0]
        if not math.isnan(stop - start) and len(rows) != stop - start:
            raise ValueError(f"block {number} of X has {len(rows)} rows, but the Dask array says {stop - start}.")
        rows = rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)
        bad = np.argwhere(~(np.abs(rows) < LARGEST))
        if len(bad):
            where = f"row {bad[0][0]} of block {number}, feature {bad[0][1]}"
            raise ValueError(f"Input X contains NaN, infinity or a value beyond {LARGEST:g} in {where}.")
        return self.function(rows)


def pack_answer(answer: Any) -> Any:
    """Return an answer in the form in which it is sent: of a sample, the rows in working units and their weights."""
    if not isinstance(answer, DenseSample):
        return answer
    return answer.fetch(np.arange(answer.n_rows)).astype(np.float32), answer.weights


def merge_answers(r: Request, answers: list[Any], whole: Sample) -> Any:
    """Merge the answers of all workers to a request about the rows of a sample."""
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
    return _join_rows(answers, whole) if isinstance(r, RowsIn) else None


def _join_rows(parts: list[tuple[NDArray[Any], Array | None]], whole: Sample) -> DenseSample:
    """Make one sample, in single precision, of the rows near a hyperplane that each worker has sent."""
    is_weighted = any(w is not None for _, w in parts)
    weights = np.concatenate([np.ones(len(rows)) if w is None else w for rows, w in parts]) if is_weighted else None
    centred = np.concatenate([rows for rows, _ in parts]) * np.float64(whole.unit)
    slab = DenseSample(centred, weights, origin=np.zeros(whole.n_features), unit=whole.unit)
    slab.measure_against(whole)
    return slab
