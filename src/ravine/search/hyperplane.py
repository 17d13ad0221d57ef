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
from ravine.rows import Sample, as_rows
from ravine.search import (
    BandwidthRule,
    PrincipalAxes,
    PursuitSettings,
    Stage,
    choose_starts,
    drive,
    go_on_in_all_columns,
    orthonormal_rows,
    pursue,
    resolve_bandwidth,
    subsample_levels,
)
from ravine.search.space import PathStep, WorkingSpace

__all__ = ["Fit", "find_hyperplane", "points_to_larger"]

# Principal axes beyond the starts, among which unusual directions are looked for where there are very many columns.
MORE_AXES = 4


@dataclass(frozen=True)
class Fit:
    """A fitted hyperplane, how it was found, and, if it splits nothing, why."""

    hyperplane: Hyperplane
    labels: NDArray[np.intp] | None  # None where they stay with the rows
    path: tuple[PathStep, ...]
    best: PathStep | None
    why_no_split: str | None


def find_hyperplane(
    X: Any,
    weights: Array | None = None,
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
    """Find the minimum density hyperplane of X, which is anything that `as_rows` takes; all arguments are validated."""
    rows = counted = as_rows(X)
    their_weights = weights
    n_rows, n_features = rows.shape
    if weights is not None and not weights.all():
        counted, their_weights = rows.subset(np.flatnonzero(weights > 0)), weights[weights > 0]
    with ThreadPoolExecutor(n_threads) if n_threads > 1 else nullcontext() as pool:
        space = WorkingSpace.of(counted, their_weights, pool)
        if space.all_rows_equal():
            why = "all rows are equal" if n_rows > 1 else "there is only one row"
            return _no_split(n_features, n_rows, why, (), math.nan)
        whole, given = space, init if isinstance(init, np.ndarray) else None
        axes = PrincipalAxes.of(space.sample.moments(), n_init + MORE_AXES)
        if not space.sample.moments().is_stored:
            directions = (
                axes.directions if given is None else np.concatenate([axes.directions, space.to_working(given)])
            )
            space = space.in_subspace(orthonormal_rows(directions))
            axes = PrincipalAxes.of(space.sample.moments())
        sample = space.sample
        levels = subsample_levels(sample.n_rows, subsample, rng)
        few = sample.take(levels[0]) if levels else sample
        starts = choose_starts(str(init), n_init, axes, few, rng) if given is None else space.to_working(given)
        pc1_std = math.sqrt(float(axes.variances[0])) * space.unit
        full_bandwidth = resolve_bandwidth(bandwidth, sample.total, pc1_std)
        steps: list[PathStep] = []

        def notify(stage: Stage) -> None:
            steps.append((space if len(stage.normal) == sample.n_features else whole).step(stage))
            if callback is not None:
                callback(steps[-1])

        def new_index(rows: Sample, of: Sample = sample) -> ClusteringIndex:
            h = resolve_bandwidth(bandwidth, rows.total, pc1_std) / space.unit
            return ClusteringIndex(rows, of.moments(), h, settings.penalty, settings.alpha_min)

        (pursuit,) = pursue(sample, new_index, starts, settings, levels=levels, notify=notify)
        best_stage = pursuit.best
        if whole is not space and best_stage is not None and settings.method == "mdp2":
            index = new_index(whole.sample, whole.sample)
            on = go_on_in_all_columns(index, space.to_original(best_stage), settings, notify)
            (best_stage,) = drive(whole.sample, [on])
            space = whole
    if best_stage is None:
        tried = f"none of the {len(starts)} starts" if len(starts) > 1 else "no stage of the only start"
        why = f"{tried} reached a hyperplane that separates two modes of the projected density"
        return _no_split(n_features, n_rows, why, steps, full_bandwidth)
    best = space.step(best_stage)
    if space.sample.is_remote:
        plane = best.hyperplane
        assert plane.point is not None
        balance, cubes = space.sample.side_sums(plane.point, plane.normal, plane.bandwidth)
        if balance > 0 or (balance == 0 and cubes < 0):
            best = replace(best, hyperplane=plane.reversed())
        return Fit(best.hyperplane, None, tuple(steps), best, None)
    return _oriented(best.hyperplane.distance(rows), weights, best, steps)


def _no_split(n_features: int, n_rows: int, why: str, steps: Sequence[PathStep], bandwidth: float) -> Fit:
    lowest = min(steps, key=lambda s: s.hyperplane.density, default=None)
    normal = lowest.hyperplane.normal if lowest else np.eye(1, n_features)[0]
    plane = Hyperplane.at_infinity(normal, bandwidth)
    return Fit(plane, np.zeros(n_rows, dtype=np.intp), tuple(steps), None, why)


def points_to_larger(distance: Array, weights: Array | None) -> bool:
    """Whether the side of positive distances is the larger one or, between equal ones, that of the shorter tail."""
    beyond = distance > 0
    if weights is None:
        balance = float(2 * np.count_nonzero(beyond) - len(distance))
    else:
        balance = float(weights[beyond].sum() - weights[~beyond].sum())
    if balance:
        return balance > 0
    cubes = (distance / np.max(np.abs(distance))) ** 3
    return bool((cubes.sum() if weights is None else weights @ cubes) < 0)


def _oriented(distance: Array, weights: Array | None, best: PathStep, steps: Sequence[PathStep]) -> Fit:
    """Let the normal point to the smaller side; between equal sides, to the longer tail."""
    if points_to_larger(distance, weights):
        best = replace(best, hyperplane=best.hyperplane.reversed())
        distance = -distance  # to the bit what the reversed hyperplane measures
    return Fit(best.hyperplane, (distance > 0.0).astype(np.intp), tuple(steps), best, None)
