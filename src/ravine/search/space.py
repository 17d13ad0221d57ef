"""Between the columns of X and the working units of the pursuit."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ravine._typing import Array
from ravine.hyperplane import Hyperplane
from ravine.index import Separation
from ravine.rows import RowSpace, Sample, as_rows
from ravine.search import Stage

__all__ = ["PathStep", "WorkingSpace"]

# A spread below this many roundings of the data's magnitude is no spread.
ROUNDING = 4.0 * np.finfo(float).eps
NO_VARIATION = "init has a row along which the data do not vary (or a row of zeros)."


@dataclass(frozen=True)
class PathStep:
    """One hyperplane that a pursuit passed.

    Attributes
    ----------
    hyperplane : Hyperplane
    start : int
        Which start it came from.
    valid : bool
        Whether it is known to separate two modes of the projected density; in a classification only the ends of paths
        are looked at, and the relative depth of the others is NaN.
    interior : bool
        Whether its offset lies inside F(v), not at its end.
    polished : bool
        Whether it is the result of the final optimisation to convergence.
    converged : bool
        No larger decrease than the tolerance is expected, or none was found (at a kink).
    n_iter, n_evaluations, n_tied : int
        Optimiser iterations, evaluations of the index, and how many of these had several minimisers over the offset.
    n_rows : int
        Rows it was fitted on: fewer than all in the early part of the multilevel scheme.
    gamma : float
        Weight of the labels at this stage; 0 in clustering.
    pair : tuple of two int, optional
        In a problem of several classes, the numbers of the two that it separates.
    certified : bool
        Whether every minimum over the offset, up to here, is known to be global.
    """

    hyperplane: Hyperplane
    start: int
    valid: bool
    interior: bool
    polished: bool
    converged: bool
    n_iter: int
    n_evaluations: int
    n_tied: int
    n_rows: int
    gamma: float = 0.0
    pair: tuple[int, int] | None = None
    certified: bool = True


def _relative_depth(at: Separation) -> float:
    """Eq. (30); 0 if no two modes are separated, NaN if nobody looked."""
    if math.isnan(at.log_depth):
        return math.nan
    return math.expm1(min(at.log_depth, 709.0)) if at.valid else 0.0


@dataclass(frozen=True)
class WorkingSpace:
    """The space a pursuit runs in, and the way back to the columns of X.

    Attributes
    ----------
    sample : Sample
    origin : ndarray of shape (d,)
        Origin of the sample's working units, in the units of X.
    unit : float
        Unit of the sample's working units, in the units of X.
    basis : ndarray of shape (d, r) or None
        Columns that span the space where the pursuit runs, if not in all: the row space, or a few directions.
    """

    sample: Sample
    origin: Array
    unit: float
    basis: Array | None

    @classmethod
    def of(
        cls,
        X: Any,
        weights: Array | None,
        pool: ThreadPoolExecutor | None,
    ) -> WorkingSpace:
        """The rows, or their coordinates in the row space if they are fewer than the columns."""
        rows = as_rows(X)
        if rows.needs_row_space:
            space = RowSpace(rows.to_array(), weights, pool=pool)
            return cls(space.sample, space.origin, space.unit, space.basis)
        sample = rows.sample(weights, pool)
        return cls(sample, sample.origin, sample.unit, None)

    def in_subspace(self, directions: Array) -> WorkingSpace:
        """The coordinates of the rows of a sparse matrix on some orthonormal directions (rows)."""
        return WorkingSpace(
            self.sample.in_subspace(directions), self.origin, self.unit, np.ascontiguousarray(directions.T)
        )

    def to_original(self, stage: Stage) -> Stage:
        """The stage with its normal in the columns of X."""
        return stage if self.basis is None else replace(stage, normal=self._to_original(stage.normal))

    def _to_original(self, normal: Array) -> Array:
        normal = normal if self.basis is None else self.basis @ normal
        return np.asarray(normal / np.linalg.norm(normal))

    def all_rows_equal(self) -> bool:
        """Whether the rows differ by no more than the rounding of their magnitude."""
        spread = math.sqrt(max(self.sample.moments().trace, 0.0)) * self.unit
        return bool(spread <= ROUNDING * np.max(np.abs(self.origin), initial=0.0))

    def to_working(self, directions: Array) -> Array:
        """Unit vectors in the space for directions (rows) in the space of X."""
        inner = directions if self.basis is None else directions @ self.basis
        lengths = np.linalg.norm(inner, axis=1, keepdims=True)
        if (lengths <= 1e-12 * np.linalg.norm(directions, axis=1, keepdims=True)).any():
            raise ValueError(NO_VARIATION)
        inner = np.ascontiguousarray(inner / lengths)
        if any(not self.sample.moments().variance_along(v) > 0.0 for v in inner):
            raise ValueError(NO_VARIATION)
        return inner

    def step(self, stage: Stage) -> PathStep:
        """A stage of the pursuit in the units of X."""
        normal = self._to_original(stage.normal)
        at, h = stage.separation, stage.bandwidth * self.unit
        point = self.origin + at.b * self.unit * normal
        plane = Hyperplane(
            normal=normal,
            offset=float(normal @ point),
            density=math.exp(at.log_density) / (h * math.sqrt(2.0 * math.pi)),
            relative_depth=_relative_depth(at),
            bandwidth=h,
            alpha=stage.alpha,
            point=point,
        )
        return PathStep(
            plane, stage.start, stage.valid, stage.interior, stage.polished, stage.converged,
            stage.n_iter, stage.n_evaluations, stage.n_tied, stage.n_rows, stage.gamma, None, stage.certified,
        )  # fmt: skip
