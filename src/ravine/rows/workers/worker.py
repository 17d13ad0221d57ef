"""The rows that one worker of a cluster holds, and what the fit keeps beside them."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.rows.array import DenseSample, project_array
from ravine.rows.blocks import BlockSample, RowBlocks
from ravine.rows.questions import Request

__all__ = ["Part", "Stale", "open_part", "run_part"]

# Smaller parts of the rows than this are copied beside them, larger ones gathered when they are needed.
SMALL_PART = 0.25


class Stale:
    """Answer of a part that has lost its state: it was made anew, or moved."""


class Part:
    """Blocks of rows on one worker, samples of them, and the projections of the starts.

    Parameters
    ----------
    token : str
        Which opening of the parts this belongs to.
    blocks : list of arrays
    names : list of str
        Of the blocks, for messages.

    Attributes
    ----------
    state : tuple of str and int
        The token, and how many rounds were answered: what was made anew on another worker has answered none.
    """

    def __init__(self, token: str, blocks: list[Any], names: list[str]) -> None:
        self.state = (token, 0)
        self.source = RowBlocks._named([np.asarray(block) for block in blocks], names)
        self.samples: dict[int, Any] = {}
        self.tracks: dict[int, Any] = {}

    def __reduce__(self) -> Any:
        # State that travels would be lost without notice: what arrives elsewhere knows that it is nothing.
        return stale_part, ()

    def open(self, number: int, rows: NDArray[np.intp] | None, weights: Array | None, units: Any) -> None:
        """A sample of all or some rows, in working units; provisional ones if they are not known yet."""
        units = (np.zeros(self.source.shape[1]), 1.0) if units is None else units
        options = {"origin": units[0], "unit": units[1]}
        if rows is not None and len(rows) <= SMALL_PART * self.source.shape[0]:
            few = np.ascontiguousarray(self.source.take(rows)) if len(rows) else np.empty((0, self.source.shape[1]))
            self.samples[number] = DenseSample(few, weights, **options)
        else:
            self.samples[number] = BlockSample(self.source, weights, rows=rows, **options)

    def set_units(self, number: int, origin: Array, unit: float) -> None:
        """Working units of a sample."""
        self.samples[number].origin, self.samples[number].unit = origin, unit

    def sums(self, number: int, name: str, arguments: tuple[Any, ...]) -> Any:
        """A method of a sample that sums over rows."""
        return getattr(self.samples[number], name)(*arguments)

    def first_rows(self, number: int) -> Array:
        """Some rows of a sample, for provisional units."""
        source, rows = self.source, getattr(self.samples[number], "rows", None)
        if isinstance(self.samples[number], DenseSample):
            return np.asarray(self.samples[number].X[:: max(1, self.samples[number].n_rows // 64)][:64], dtype=float)
        n = source.shape[0] if rows is None else len(rows)
        some = np.arange(0, n, max(1, n // 64))[:64]
        return source.take(some if rows is None else rows[some]).astype(np.float64)

    def answer(self, number: int, questions: list[list[Request]]) -> list[list[Any]]:
        """Answers of this part to the questions of a round; tracks are known by their numbers."""
        sample = self.samples[number]
        local = [[r._replace(track=self._track(r.track, sample)) for r in question] for question in questions]
        return sample.answer(local)  # type: ignore[no-any-return]

    def _track(self, number: int, sample: Any) -> Any:
        if number not in self.tracks:
            self.tracks[number] = sample.track()
        return self.tracks[number]

    def take(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        """Some rows."""
        return self.source.take(rows) if len(rows) else np.empty((0, self.source.shape[1]))

    def project(self, center: Array, direction: Array, rows: NDArray[np.intp] | None) -> Array:
        """Projections of all or some rows."""
        if rows is not None and len(rows) <= SMALL_PART * self.source.shape[0]:
            return project_array(np.ascontiguousarray(self.take(rows)), center, direction)
        return self.source.project(center, direction, rows)

    def sides(self, center: Array, direction: Array, rows: NDArray[np.intp] | None) -> NDArray[np.uint8]:
        """On which side of a hyperplane rows lie, one bit each."""
        return np.packbits(self.project(center, direction, rows) > 0.0)

    def forget(self, tracks: list[int], samples: list[int]) -> None:
        """Drop what is not needed any more."""
        for number in tracks:
            self.tracks.pop(number, None)
        for number in samples:
            self.samples.pop(number, None)


def stale_part() -> Part:
    """A part without rows or state."""
    part = Part.__new__(Part)
    part.state = ("", 0)
    return part


def open_part(token: str, described: list[tuple[str, tuple[int, int]]], *blocks: Any) -> Part:
    """The part of a worker from the blocks that it holds, which must have the shapes that X says."""
    for (name, shape), block in zip(described, blocks, strict=True):
        if np.shape(block) != shape:
            raise ValueError(f"{name} of X has shape {np.shape(block)}, but the Dask array says {shape}.")
    return Part(token, list(blocks), [name for name, _ in described])


def run_part(part: Part, state: tuple[str, int], message: bytes) -> bytes:
    """Do everything that a round asks of a part: a list of methods and arguments."""
    if part.state != state:
        return pickle.dumps(Stale())
    part.state = (state[0], state[1] + 1)
    return pickle.dumps([getattr(part, name)(*arguments) for name, arguments in pickle.loads(message)], protocol=5)
