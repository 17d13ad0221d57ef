"""Working units: the coordinates in which a search runs, and the way back to the units of X."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter

import numpy as np

from ravine._typing import Array
from ravine.hyperplane import Hyperplane, PathStep, assemble
from ravine.index import Separation
from ravine.rows import Rows, RowSpace, Sample, is_rounding
from ravine.search.settings import Callback
from ravine.search.stages import Notify, Stage

NO_VARIATION = "init has a row along which the data do not vary (or a row of zeros)."


@dataclass(frozen=True, eq=False)
class WorkingSpace:
    """Sample of the rows in working units, and the map between these and the units of X.

    Attributes
    ----------
    origin : ndarray of shape (d,)
        Origin of the working units, in the units of X.
    unit : float
        Working unit, in the units of X.
    basis : ndarray of shape (d, r) or None
        Orthonormal columns that span the space of the search, if it is not the whole space: the row space, or a few
        directions.
    """

    sample: Sample
    origin: Array
    unit: float
    basis: Array | None

    @classmethod
    def of(cls, rows: Rows, weights: Array | None = None, pool: ThreadPoolExecutor | None = None) -> WorkingSpace:
        """Measure rows, or their coordinates in the row space if there are fewer rows than features."""
        if rows.needs_row_space:
            space = RowSpace(rows.to_array(), weights, pool=pool)
            return cls(space.sample, space.origin, space.unit, space.basis)
        sample = rows.sample(weights, pool)
        return cls(sample, sample.origin, sample.unit, None)

    @property
    def has_no_spread(self) -> bool:
        """Whether the rows differ by no more than the rounding of their magnitude."""
        spread = math.sqrt(max(self.sample.moments().trace, 0.0)) * self.unit
        return is_rounding(spread, self.origin)

    def in_subspace(self, directions: Array) -> WorkingSpace:
        """Return the space of the coordinates on some orthonormal directions (rows); for sparse rows."""
        basis = np.ascontiguousarray(directions.T)
        return WorkingSpace(self.sample.in_subspace(directions), self.origin, self.unit, basis)

    def to_working(self, directions: Array) -> Array:
        """Return unit vectors in working coordinates for directions (rows) in the space of X."""
        inner = directions if self.basis is None else directions @ self.basis
        lengths = np.linalg.norm(inner, axis=1, keepdims=True)
        if (lengths <= 1e-12 * np.linalg.norm(directions, axis=1, keepdims=True)).any():
            raise ValueError(NO_VARIATION)
        inner = np.ascontiguousarray(inner / lengths)
        if any(not float(v @ self.sample.moments().times(v)) > 0.0 for v in inner):
            raise ValueError(NO_VARIATION)
        return inner

    def to_original(self, normal: Array) -> Array:
        """Return the unit vector in the space of X for one in working coordinates."""
        normal = normal if self.basis is None else self.basis @ normal
        return np.asarray(normal / np.linalg.norm(normal))

    def to_original_stage(self, stage: Stage) -> Stage:
        """Return a stage with its normal in the space of X."""
        return stage if self.basis is None else replace(stage, normal=self.to_original(stage.normal))

    def make_hyperplane(self, stage: Stage) -> Hyperplane:
        """Return the hyperplane of a stage in the units of X."""
        return self._make_hyperplanes([stage])[0]

    def _make_hyperplanes(self, stages: Sequence[Stage]) -> list[Hyperplane]:
        """Return the hyperplanes of some stages in the units of X; each is the same to the bit as if made alone."""
        normals = np.array([s.normal if self.basis is None else self.basis @ s.normal for s in stages])
        normals /= np.sqrt(np.einsum("ij,ij->i", normals, normals))[:, None]
        b = np.array([s.separation.b for s in stages])
        widths = [s.bandwidth * self.unit for s in stages]
        peaks = [math.exp(s.separation.log_density) / math.sqrt(2.0 * math.pi) for s in stages]
        return Hyperplane.make_many(
            normals,
            self.origin + (b * self.unit)[:, None] * normals,
            density=[peak / h for peak, h in zip(peaks, widths, strict=True)],
            relative_depth=[_relative_depth(s.separation) for s in stages],
            bandwidth=widths,
            alpha=[s.alpha for s in stages],
        )

    def make_steps(self, stages: Sequence[Stage], pair: tuple[int, int] | None = None) -> list[PathStep]:
        """Return stages in the units of X; ``pair`` holds the numbers of the two classes, if there are several."""
        return [
            assemble(
                PathStep,
                hyperplane=plane,
                start=stage.start,
                valid=stage.valid,
                interior=stage.interior,
                polished=stage.polished,
                converged=stage.converged,
                n_iter=stage.n_iter,
                n_evaluations=stage.n_evaluations,
                n_tied=stage.n_tied,
                n_rows=stage.n_rows,
                gamma=stage.gamma,
                pair=pair,
                certified=stage.certified,
            )
            for plane, stage in zip(self._make_hyperplanes(stages), stages, strict=True)
        ]


class PathLog:
    """Steps of a search in the units of X, reported to a callback, if there is one, as they are made.

    Parameters
    ----------
    callback : callable, optional
        Called with every `PathStep`.
    pair : tuple of two int, optional
        Numbers of the two classes, noted in every step.
    """

    def __init__(self, callback: Callback | None = None, pair: tuple[int, int] | None = None) -> None:
        self.callback = callback
        self.pair = pair
        self._steps: list[PathStep] = []
        self._pending: list[tuple[WorkingSpace, Stage]] = []

    def record_in(self, space: WorkingSpace) -> Notify:
        """Return a function that records stages of a search in a space."""

        def record(stage: Stage) -> None:
            self._pending.append((space, stage))
            if self.callback is not None:
                self.callback(self.steps[-1])

        return record

    @property
    def steps(self) -> list[PathStep]:
        """Steps so far. Without a callback they are made together, which takes a fifth of the time."""
        for space, group in groupby(self._pending, key=itemgetter(0)):
            self._steps += space.make_steps([stage for _, stage in group], self.pair)
        self._pending.clear()
        return self._steps


def _relative_depth(at: Separation) -> float:
    """Return the relative depth, eq. (30); 0 if no two modes are separated, NaN if it was not computed."""
    if math.isnan(at.log_depth):
        return math.nan
    return math.expm1(min(at.log_depth, 709.0)) if at.valid else 0.0
