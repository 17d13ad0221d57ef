"""MDP²: from a problem to its minimum density hyperplane."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.hyperplane import Hyperplane, PathStep
from ravine.rows import Rows, open_pool
from ravine.search.paths import choose_best, follow_paths, screen_starts
from ravine.search.problem import Problem
from ravine.search.refinement import refine_in_all_features, span_leading_directions
from ravine.search.settings import SearchSettings
from ravine.search.space import PathLog


@dataclass(frozen=True)
class Fit:
    """Result of a search.

    Attributes
    ----------
    hyperplane : Hyperplane
        At infinity if no split was found.
    labels : ndarray of shape (n,) or None
        Side of each row; None where labels stay with the rows.
    log : PathLog
        Steps of all paths.
    best : PathStep or None
        The step that gave the hyperplane.
    """

    hyperplane: Hyperplane
    labels: NDArray[np.intp] | None
    log: PathLog
    best: PathStep | None
    why_no_split: str | None

    @property
    def path(self) -> tuple[PathStep, ...]:
        """Steps of all paths, made now: trees and tests do not need them."""
        return tuple(self.log.steps)


def find_hyperplane(problem: Problem) -> Fit:
    """Find the minimum density hyperplane by projection pursuit (MDP², sections 2.1 and 4 of the paper).

    The index φ_CL(v), eq. (13), is the lowest penalised density of all hyperplanes with normal v. The inner minimum,
    over the offset b, is global and certified (`ClusteringIndex`). The outer one, over v, is local and depends on the
    start. In pseudo-code::

        for each start v:                                         # Problem.starts, screen_starts
            for alpha from alpha_min to alpha_max:                # follow_path
                F(v) = mean ± alpha standard deviations           # eq. (7)
                v = argmin φ_CL over the unit sphere, from v      # L-BFGS, gradient of eq. (26)
                note v if its hyperplane separates two modes
            keep one of the noted v, by the rule ``select``
            v = argmin φ_CL to convergence, from the v kept       # polish
        return the hyperplane of largest relative depth           # eq. (30), choose_best

    With many rows the loops run on a subsample and the last two steps on all rows (`follow_paths`). With very many
    features they run in a subspace, and the result is refined in all features.
    """
    log = PathLog(problem.settings.callback)
    if problem.has_no_spread:
        why = "all rows are equal" if problem.sample.n_rows > 1 else "there is only one row"
        return _report_no_split(problem, why, log)
    search = problem.in_subspace(span_leading_directions(problem)) if problem.is_wide else problem
    starts = search.starts()
    paths = follow_paths(search, screen_starts(search, starts), log.record_in(search.space))
    best = choose_best(paths, search.settings)
    if best is None:
        tried = f"none of the {len(starts)} starts" if len(starts) > 1 else "no stage of the only start"
        why = f"{tried} reached a hyperplane that separates two modes of the projected density"
        return _report_no_split(problem, why, log, search.bandwidth())
    if problem.is_wide:
        best = refine_in_all_features(problem, search, best, log.record_in(problem.space))
        search = problem
    return _orient(problem, search.space.make_steps([best])[0], log)


def fit_hyperplane(
    rows: Rows,
    weights: Array | None = None,
    *,
    settings: SearchSettings,
    rng: np.random.Generator,
    pool: ThreadPoolExecutor | None = None,
) -> Fit:
    """Find the minimum density hyperplane of rows, with the given threads or those of the settings."""
    with open_pool(settings.n_threads) if pool is None else nullcontext(pool) as threads:
        return find_hyperplane(Problem.of(rows, weights, settings=settings, rng=rng, pool=threads))


def points_to_larger(distance: Array, weights: Array | None) -> bool:
    """Return whether the positive side is the larger one or, if both are equal, that of the shorter tail."""
    balance = _compare_sides(distance > 0.0, weights)
    if balance:
        return balance > 0.0
    cubes = (distance / np.max(np.abs(distance))) ** 3
    return bool((cubes.sum() if weights is None else weights @ cubes) < 0)


def _compare_sides(on_positive_side: NDArray[np.bool_], weights: Array | None) -> float:
    """Return the weight of the rows on the positive side minus that of the others."""
    if weights is None:
        return float(2 * np.count_nonzero(on_positive_side) - len(on_positive_side))
    return float(weights[on_positive_side].sum() - weights[~on_positive_side].sum())


def _orient(problem: Problem, best: PathStep, log: PathLog) -> Fit:
    """Let the normal point to the smaller side or, if both are equal, to the longer tail."""
    plane, sample = best.hyperplane, problem.sample
    assert plane.point is not None
    if sample.is_remote:
        balance, cubes = sample.side_sums(plane.point, plane.normal, plane.bandwidth)
        if balance > 0 or (balance == 0 and cubes < 0):
            best = replace(best, hyperplane=plane.reversed())
        return Fit(best.hyperplane, None, log, best, None)
    signs = problem.rows.signs(plane.point, plane.normal)
    balance = _compare_sides(signs > 0, problem.weights)
    if balance > 0.0 or (balance == 0.0 and points_to_larger(plane.distance(problem.rows), problem.weights)):
        best = replace(best, hyperplane=plane.reversed())
        signs = -signs  # those of the reversed hyperplane, since its distances are the same up to their signs
    return Fit(best.hyperplane, (signs > 0).astype(np.intp), log, best, None)


def _report_no_split(problem: Problem, why: str, log: PathLog, bandwidth: float = math.nan) -> Fit:
    """Return a hyperplane at infinity, with the normal of the lowest density if there is one."""
    n_rows, n_features = problem.rows.shape
    lowest = min(log.steps, key=lambda s: s.hyperplane.density, default=None)
    normal = lowest.hyperplane.normal if lowest else np.eye(1, n_features)[0]
    plane = Hyperplane.at_infinity(normal, bandwidth)
    return Fit(plane, np.zeros(n_rows, dtype=np.intp), log, None, why)
