"""From an array to a hyperplane: the one function behind the estimator and its functional form."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.hyperplane import Hyperplane
from ravine.index import ClusteringIndex
from ravine.pursuit import (
    BandwidthRule,
    PrincipalAxes,
    PursuitSettings,
    Stage,
    choose_starts,
    pursue,
    resolve_bandwidth,
    subsample_levels,
)
from ravine.sample import DenseSample, RowSpace, Sample

__all__ = ["Fit", "PathStep", "find_hyperplane"]

# A spread below this many roundings of the data's magnitude is no spread.
ROUNDING = 4.0 * np.finfo(float).eps


@dataclass(frozen=True)
class PathStep:
    """One hyperplane that a pursuit passed.

    Attributes
    ----------
    hyperplane : Hyperplane
    start : int
        Which start it came from.
    valid : bool
        Whether it separates two modes of the projected density.
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


@dataclass(frozen=True)
class Fit:
    """A fitted hyperplane, how it was found, and, if it splits nothing, why."""

    hyperplane: Hyperplane
    labels: NDArray[np.intp]
    path: tuple[PathStep, ...]
    best: PathStep | None
    why_no_split: str | None


@dataclass(frozen=True)
class Frame:
    """The space a pursuit runs in, and the way back to the columns of X.

    Attributes
    ----------
    sample : DenseSample
    origin : ndarray of shape (d,)
        Origin of the sample's working units, in the units of X.
    unit : float
        Unit of the sample's working units, in the units of X.
    basis : ndarray of shape (d, r) or None
        Columns of the row space, where the pursuit runs in it.
    """

    sample: DenseSample
    origin: Array
    unit: float
    basis: Array | None

    @classmethod
    def of(cls, X: NDArray[np.floating[Any]], weights: Array | None, pool: ThreadPoolExecutor | None) -> Frame:
        """The rows themselves, or their coordinates in the row space if they are fewer than the columns."""
        if len(X) >= X.shape[1]:
            sample = DenseSample(X, weights, pool=pool)
            return cls(sample, sample.origin, sample.unit, None)
        space = RowSpace(X, weights, pool=pool)
        return cls(space.sample, space.origin, space.unit, space.basis)

    def all_rows_equal(self) -> bool:
        """Whether the rows differ by no more than the rounding of their magnitude."""
        spread = math.sqrt(max(float(np.trace(self.sample.moments().covariance)), 0.0)) * self.unit
        return bool(spread <= ROUNDING * np.max(np.abs(self.origin), initial=0.0))

    def inward(self, directions: Array) -> Array:
        """Unit vectors in the frame for directions (rows) in the space of X."""
        inner = directions if self.basis is None else directions @ self.basis
        lengths = np.linalg.norm(inner, axis=1, keepdims=True)
        if (lengths <= 1e-12 * np.linalg.norm(directions, axis=1, keepdims=True)).any():
            raise ValueError("init has a row along which the data do not vary (or a row of zeros).")
        return np.ascontiguousarray(inner / lengths)

    def step(self, stage: Stage) -> PathStep:
        """A stage of the pursuit in the units of X."""
        normal = stage.normal if self.basis is None else self.basis @ stage.normal
        normal = normal / np.linalg.norm(normal)
        at, h = stage.separation, stage.bandwidth * self.unit
        point = self.origin + at.b * self.unit * normal
        plane = Hyperplane(
            normal=normal,
            offset=float(normal @ point),
            density=math.exp(at.log_density) / (h * math.sqrt(2.0 * math.pi)),
            relative_depth=math.expm1(min(at.log_depth, 709.0)) if at.valid else 0.0,  # eq. relDep
            bandwidth=h,
            alpha=stage.alpha,
            point=point,
        )
        return PathStep(
            plane, stage.start, stage.valid, stage.interior, stage.polished, stage.converged,
            stage.n_iter, stage.n_evaluations, stage.n_tied, stage.n_rows,
        )  # fmt: skip


def find_hyperplane(
    X: NDArray[np.floating[Any]],
    weights: Array | None,
    *,
    bandwidth: BandwidthRule,
    init: str | Array,
    n_init: int,
    settings: PursuitSettings,
    subsample: int | None,
    n_threads: int,
    rng: np.random.Generator,
    callback: Callable[[PathStep], object] | None,
) -> Fit:
    """Find the minimum density hyperplane of the rows of X; the arguments have been validated."""
    counted, their_weights = X, weights
    if weights is not None and not weights.all():
        counted, their_weights = X[weights > 0], weights[weights > 0]
    with ThreadPoolExecutor(n_threads) if n_threads > 1 else nullcontext() as pool:
        frame = Frame.of(counted, their_weights, pool)
        if frame.all_rows_equal():
            why = "all rows are equal" if len(counted) > 1 else "there is only one row"
            return _no_split(X, why, (), math.nan)
        sample, moments = frame.sample, frame.sample.moments()
        levels = subsample_levels(sample.n_rows, subsample, rng)
        few = sample.take(levels[0]) if levels else sample
        axes = PrincipalAxes.of(moments)
        starts = frame.inward(init) if isinstance(init, np.ndarray) else choose_starts(init, n_init, axes, few, rng)
        pc1_std = math.sqrt(float(axes.variances[0])) * frame.unit
        full_bandwidth = resolve_bandwidth(bandwidth, sample.total, pc1_std)
        steps: list[PathStep] = []

        def notify(stage: Stage) -> None:
            steps.append(frame.step(stage))
            if callback is not None:
                callback(steps[-1])

        def new_index(rows: Sample) -> ClusteringIndex:
            h = resolve_bandwidth(bandwidth, rows.total, pc1_std) / frame.unit
            return ClusteringIndex(rows, moments, h, settings.penalty, settings.alpha_min)

        pursuit = pursue(
            sample,
            new_index,
            starts,
            settings,
            levels=levels,
            notify=notify,
        )
    if pursuit.best is None:
        tried = f"none of the {len(starts)} starts" if len(starts) > 1 else "no stage of the only start"
        why = f"{tried} reached a hyperplane that separates two modes of the projected density"
        return _no_split(X, why, steps, full_bandwidth)
    return _oriented(X, weights, frame.step(pursuit.best), steps)


def _no_split(X: NDArray[np.floating[Any]], why: str, steps: Sequence[PathStep], bandwidth: float) -> Fit:
    lowest = min(steps, key=lambda s: s.hyperplane.density, default=None)
    normal = lowest.hyperplane.normal if lowest else np.eye(1, X.shape[1])[0]
    plane = Hyperplane.at_infinity(normal, bandwidth)
    return Fit(plane, np.zeros(len(X), dtype=np.intp), tuple(steps), None, why)


def _oriented(X: NDArray[np.floating[Any]], weights: Array | None, best: PathStep, steps: Sequence[PathStep]) -> Fit:
    """Let the normal point to the smaller side; between equal sides, to the longer tail."""
    distance = best.hyperplane.distance(X)
    w = np.ones(len(X)) if weights is None else weights
    balance = float(w[distance > 0].sum() - w[distance <= 0].sum())
    if balance > 0 or (balance == 0 and float(w @ (distance / np.max(np.abs(distance))) ** 3) < 0):
        best = replace(best, hyperplane=best.hyperplane.reversed())
        distance = -distance  # to the bit what the reversed hyperplane measures
    return Fit(best.hyperplane, (distance > 0.0).astype(np.intp), tuple(steps), best, None)
