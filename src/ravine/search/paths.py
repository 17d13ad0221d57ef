"""Paths of all starts: the most promising directions, followed on growing subsamples, and the choice among them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ravine._typing import Array
from ravine.index import CompiledIndex
from ravine.rows import Sample
from ravine.search.problem import Problem
from ravine.search.refinement import polish_on_slabs
from ravine.search.settings import SearchSettings
from ravine.search.stages import Notify, Path, PathBuilder, Stage, append_polished, drive, follow_path
from ravine.search.starts import SAME_DIRECTION, list_distinct

# Number of alphas of a short path, and of iterations at each. The smallest alphas are left out: where all hyperplanes
# pass near the mean, the valleys on one side of it are hidden.
N_ALPHAS = 3
ITERATIONS = 1
# Number of starts that go on from the first subsample to more rows.
FINALISTS = 2
# Factor by which the mode-to-valley ratio (or the inverse index) of a start may be below the best one for it to go on:
# several standard errors of that ratio on a subsample.
MUCH_WORSE = 2.0
# Relative decrease of φ at which an optimisation stops that another one continues.
ROUGH_TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False)
class Start:
    """Direction to start from.

    Attributes
    ----------
    direction : ndarray of shape (d,)
        Unit vector.
    alpha : float or None
        The only alpha of its path; None if the path begins at the smallest alpha of the settings.
    """

    direction: Array
    alpha: float | None = None

    def limit(self, settings: SearchSettings) -> SearchSettings:
        """Return the settings of the path from this start."""
        if self.alpha is None:
            return settings
        return replace(settings, alpha_min=self.alpha, alpha_max=self.alpha, n_alpha=1)


def screen_starts(problem: Problem, starts: Array) -> list[Start]:
    """Return the starts to follow: for ``init="auto"`` the most promising ones, otherwise all.

    A short path from every direction shows which of them lead to deep valleys. Half of the ``n_init`` starts continue
    the deepest short paths where they were deepest. The others begin again from the same hyperplanes at the smallest
    alpha.
    """
    settings = problem.settings
    if not isinstance(settings.init, str) or settings.init != "auto" or len(starts) == 1:
        return [Start(v) for v in starts]
    stages = find_deepest(problem, starts)
    continued = stages[: (settings.n_init + 1) // 2]
    restarted = stages[: settings.n_init // 2]
    return [*(Start(s.normal, s.alpha) for s in continued), *(Start(s.normal) for s in restarted)]


def find_deepest(problem: Problem, starts: Array) -> list[Stage]:
    """Follow a short path from every start; return the hyperplanes that were found, the deepest first.

    Paths that meet are merged. Hyperplanes that do not separate two modes come last, in the order of their index.
    """
    settings, sample = _shorten_paths(problem.settings), problem.screening_sample
    paths = [PathBuilder(problem.index(sample), v, k, settings, _ignore) for k, v in enumerate(starts)]
    pool = sample.stage_pool if all(isinstance(path.index, CompiledIndex) for path in paths) else None
    for alpha in settings.alphas:
        drive(sample, [path.optimise(alpha, settings.gammas[0]) for path in paths], pool)
        paths.sort(key=lambda path: _rank(path.kept or path.stages[-1]))
        paths = [paths[i] for i in list_distinct(np.array([path.v for path in paths]))]
    stages = [path.kept or path.stages[-1] for path in paths]
    return [stages[i] for i in list_distinct(np.array([stage.normal for stage in stages]))]


def _shorten_paths(settings: SearchSettings) -> SearchSettings:
    return replace(
        settings,
        alpha_min=max(settings.alpha_min, settings.alpha_max / N_ALPHAS),
        n_alpha=N_ALPHAS,
        max_iter=ITERATIONS,
        select="deepest",
        optimiser="lbfgs",
    )


def _rank(stage: Stage) -> tuple[bool, float]:
    """Return the sort key for which the deepest stage comes first."""
    return (False, -stage.log_depth) if stage.valid else (True, stage.log_index)


def _ignore(_: Stage) -> None:
    """Do not record the stages of short paths."""


def follow_paths(problem: Problem, starts: Sequence[Start] | Array, notify: Notify) -> list[Path]:
    """Minimise the index from every start; return the paths of all starts.

    Paths are followed on the first subsample. The best few are then optimised on each of the others, then on all
    rows. With few rows there are no subsamples.

    Parameters
    ----------
    starts : sequence of Start, or ndarray of shape (k, d)
        Unit vectors, with the alphas of their paths if these are not those of the settings.
    notify : callable
        Called with every stage as it is reached.
    """
    settings, subsamples = problem.settings, problem.subsamples
    starts = [start if isinstance(start, Start) else Start(start) for start in starts]
    polish_later = bool(subsamples) or (settings.select == "final" and settings.polish)
    rough = replace(settings, tolerance=max(settings.tolerance, ROUGH_TOLERANCE)) if polish_later else settings
    first = problem.first_sample
    chosen = enumerate(starts) if settings.every_start else [_find_lowest_start(problem, first, starts)]
    paths = _follow_each(problem, first, list(chosen), rough, notify)
    del first  # the next subsample is larger: do not hold both
    if subsamples:
        for indices in subsamples[1:]:
            paths = _refine(problem, problem.sample.take(indices), paths, _choose_finalists, rough, notify)
        return _refine(problem, problem.sample, paths, _choose_finalists, settings, notify)
    if polish_later:
        return _refine(problem, problem.sample, paths, _choose_winner, settings, notify)
    return paths


def _follow_each(
    problem: Problem, sample: Sample, starts: Sequence[tuple[int, Start]], settings: SearchSettings, notify: Notify
) -> list[Path]:
    """Follow the paths of all starts: on threads if their indices are compiled and no callback watches them."""
    indices = [problem.index(sample) for _ in starts]
    is_compiled = all(isinstance(index, CompiledIndex) for index in indices)
    pool = sample.stage_pool if is_compiled and settings.callback is None else None
    logs: list[list[Stage]] = [[] for _ in starts]
    reports = [notify if pool is None else log.append for log in logs]
    jobs = zip(indices, starts, reports, strict=True)
    paths = drive(
        sample,
        [follow_path(index, s.direction, k, s.limit(settings), report) for index, (k, s), report in jobs],
        pool,
    )
    for log in logs:  # of threads, in the order of the starts
        for stage in log:
            notify(stage)
    return paths


def choose_best(paths: Sequence[Path], settings: SearchSettings) -> Stage | None:
    """Return the best of the kept stages: that of largest relative depth or, with labels, of lowest index.

    None means that no start separates two modes.
    """
    kept = [path.kept for path in paths if path.kept is not None]
    return max(kept, key=lambda s: s.merit(settings), default=None)


def _refine(
    problem: Problem,
    sample: Sample,
    paths: Sequence[Path],
    choose: Callable[[Sequence[Path], SearchSettings], list[int]],
    settings: SearchSettings,
    notify: Notify,
) -> list[Path]:
    """Optimise the chosen paths on more rows; the others keep no stage.

    Depth and density of fewer rows do not carry over: a path that fails on more rows keeps no stage, either.
    """
    chosen = choose(paths, settings)
    polished = drive(sample, [polish_on_slabs(problem, sample, paths[k], settings) for k in chosen])
    refined = [replace(path, kept=None) for path in paths]
    for k, stage in zip(chosen, polished, strict=True):
        notify(stage)
        refined[k] = append_polished(refined[k], stage, settings)
    return refined


def _find_lowest_start(problem: Problem, sample: Sample, starts: Sequence[Start]) -> tuple[int, Start]:
    """Return the start with the lowest index, and its number."""
    values = [value for value, _ in drive(sample, [problem.index(sample).begin(s.direction) for s in starts])]
    k = int(np.argmin(values))
    return k, starts[k]


def _choose_winner(paths: Sequence[Path], settings: SearchSettings) -> list[int]:
    """Return the path with the best kept stage."""
    best = choose_best(paths, settings)
    return [k for k, path in enumerate(paths) if path.kept is best][:1]


def _choose_finalists(paths: Sequence[Path], settings: SearchSettings) -> list[int]:
    """Return the paths with the best kept stages, without repeated solutions and much worse ones."""
    chosen: list[int] = []
    merits = [p.kept.merit(settings) if p.kept else -math.inf for p in paths]
    for k in sorted((k for k, p in enumerate(paths) if p.kept), key=lambda k: -merits[k]):
        much_worse = chosen and merits[k] < merits[chosen[0]] - math.log(MUCH_WORSE)
        if not much_worse and all(_angle_cosine(paths[k], paths[other]) < SAME_DIRECTION for other in chosen):
            chosen.append(k)
    return chosen[:FINALISTS]


def _angle_cosine(one: Path, other: Path) -> float:
    assert one.kept is not None
    assert other.kept is not None
    return abs(float(one.kept.normal @ other.kept.normal))
