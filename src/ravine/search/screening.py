"""Screening: short paths from many directions, of which only the deepest few are followed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ravine._typing import Array
from ravine.index import CompiledIndex
from ravine.search.driver import drive
from ravine.search.problem import Problem
from ravine.search.settings import SearchSettings
from ravine.search.stages import PathBuilder, Stage
from ravine.search.starts import list_distinct

__all__ = ["Start", "screen_starts"]

# Number of alphas of a short path, and of iterations at each. The smallest alphas are left out: where all hyperplanes
# pass near the mean, the valleys on one side of it are hidden.
N_ALPHAS = 3
ITERATIONS = 1


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
    if settings.method == "sqp":
        return [Start(stage.normal) for stage in stages[: settings.n_init]]
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
