"""The hyperplanes that one start passes, for an increasing alpha (then gamma)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from ravine._typing import Array
from ravine.index import ClusteringIndex, Separation
from ravine.optimise import OPTIMISERS, Asking, Memory, SphereResult
from ravine.search.settings import PursuitSettings

__all__ = ["Path", "Stage", "describe", "follow", "polish"]


@dataclass(frozen=True, eq=False)
class Stage:
    """One hyperplane of a path, in working units.

    Attributes
    ----------
    start : int
        Which start it came from.
    n_rows : int
        Rows it was fitted on.
    bandwidth, alpha, gamma : float
    normal : ndarray of shape (d,)
    log_index : float
        The value of log φ that was reached.
    separation : Separation
        Offset, density and depth of the hyperplane.
    interior : bool
        Whether the offset lies strictly inside F(v).
    n_iter, n_evaluations, n_tied : int
        Optimiser iterations, evaluations of the index, and how many of those had tied minimisers.
    converged : bool
    certified : bool
        Whether every minimum over b up to here is known to be global.
    polished : bool
        Whether this is the result of the final optimisation to convergence.
    """

    start: int
    n_rows: int
    bandwidth: float
    alpha: float
    gamma: float
    normal: Array
    log_index: float
    separation: Separation
    interior: bool
    n_iter: int
    n_evaluations: int
    n_tied: int
    converged: bool
    certified: bool = True
    polished: bool = False

    @property
    def valid(self) -> bool:
        """Whether two modes of the projected density are separated."""
        return self.separation.valid

    @property
    def log_depth(self) -> float:
        """Log of the ratio of the lower adjacent mode to the hyperplane."""
        return self.separation.log_depth

    def again(self, alpha: float, gamma: float, n_tied: int) -> Stage:
        """The same hyperplane for another alpha and gamma, which took one evaluation to see."""
        return replace(self, alpha=alpha, gamma=gamma, n_iter=0, n_evaluations=1, n_tied=n_tied)

    def merit(self, settings: PursuitSettings) -> float:
        """What the kept stages of several starts are compared by: the depth or, with labels, minus the log-index."""
        return -self.log_index if settings.select == "final" else self.log_depth


@dataclass(frozen=True)
class Path:
    """All stages of one start.

    Attributes
    ----------
    stages : tuple of Stage
    kept : Stage or None
        The stage that is kept; None if none is valid.
    memory : Memory
        What the optimiser knew of the curvature when it left the kept stage.
    """

    stages: tuple[Stage, ...]
    kept: Stage | None
    memory: Memory = field(default_factory=Memory, repr=False)


Notify = Callable[[Stage], None]


class _Walk:
    """The stages passed so far, and what is needed to go on from the last."""

    def __init__(self, index: ClusteringIndex, v: Array, start: int, settings: PursuitSettings, notify: Notify) -> None:
        self.index, self.v, self.start, self.settings, self.notify = index, v, start, settings, notify
        self.memory = Memory()
        self.stages: list[Stage] = []
        self.kept: Stage | None = None
        self.kept_memory = self.memory

    def fork(self) -> _Walk:
        """A walk that goes on from here without changing this one; the index is shared, and moved."""
        other = _Walk(self.index, self.v, self.start, self.settings, self.notify)
        other.memory = self.memory.copy()
        other.stages, other.kept, other.kept_memory = self.stages.copy(), self.kept, self.kept_memory.copy()
        return other

    def step(self, alpha: float, gamma: float, depth: bool = True) -> Asking[None]:
        """Optimise for alpha and gamma; the depth of the hyperplane is measured if asked for."""
        index, settings = self.index, self.settings
        before = index.n_evaluations, index.n_tied
        last = self.stages[-1] if self.stages else None
        if last is not None and last.converged and index.is_at(self.v) and (yield from index.adjust(alpha, gamma)):
            stage = last.again(alpha, gamma, index.n_tied - before[1])
        else:
            index.alpha, index.gamma = alpha, gamma
            result = yield from OPTIMISERS[settings.optimiser](
                index, self.v, max_iter=settings.max_iter, tolerance=settings.tolerance, memory=self.memory
            )
            self.v = result.v
            stage = yield from describe(index, result, self.start, before, depth)
        self._append(stage)

    def jump(self, to: Stage, alpha: float) -> Asking[bool]:
        """Take a stage of another alpha for one of this, if the offset would be the same."""
        before = self.index.n_evaluations, self.index.n_tied
        self.index.alpha, self.index.gamma = to.alpha, to.gamma
        yield from self.index.begin(to.normal)
        if not (yield from self.index.adjust(alpha, to.gamma)):
            return False
        stage = to.again(alpha, to.gamma, self.index.n_tied - before[1])
        self.v = stage.normal
        self._append(stage)
        return True

    def _append(self, stage: Stage) -> None:
        self.stages.append(stage)
        kept = _select(self.stages, self.settings)
        if kept is not self.kept:  # by every rule the stage that is kept is the one before, or this
            self.kept, self.kept_memory = kept, self.memory.copy()
        self.notify(stage)

    def path(self) -> Path:
        """What was passed, and the stage that is kept."""
        return Path(tuple(self.stages), self.kept, self.kept_memory if self.kept else self.memory)


def follow(
    index: ClusteringIndex, v: Array, start: int, settings: PursuitSettings, notify: Notify
) -> Asking[tuple[Path, ...]]:
    """Follow alpha, and from each of the largest alphas gamma, from v: one path for each largest alpha.

    Where only one hyperplane of a path can win in the end, it is polished here; with labels, where the paths of all
    starts are compared at the same alpha and gamma, only the best of them is, later.
    """
    walk = _Walk(index, v, start, settings, notify)
    paths: list[Path] = []
    earlier: Stage | None = None
    for alphas in settings.segments():
        branched_at = walk.v
        for alpha in alphas:
            # Of the path that labels give only the end is used.
            yield from walk.step(alpha, settings.gammas[0], depth=settings.select != "final" or not settings.gammas[1:])
        end = walk.fork() if settings.gammas[1:] else walk
        unmoved = earlier is not None and earlier.converged and np.array_equal(walk.v, branched_at)
        if not (unmoved and earlier is not None and (yield from end.jump(earlier, alphas[-1]))):
            for gamma in settings.gammas[1:]:
                yield from end.step(alphas[-1], gamma, depth=gamma == settings.gammas[-1])
        path = end.path()
        if settings.polish and settings.select != "final" and path.kept is not None:
            polished = yield from polish(index, path, settings)
            notify(polished)
            path = with_polished(path, polished, settings)
        earlier = path.kept
        paths.append(path)
    return tuple(paths)


def polish(index: ClusteringIndex, path: Path, settings: PursuitSettings, depth: bool = True) -> Asking[Stage]:
    """Optimise the kept stage of a path to convergence at its alpha."""
    stage = path.kept
    assert stage is not None
    index.alpha, index.gamma = stage.alpha, stage.gamma
    before = index.n_evaluations, index.n_tied
    result = yield from OPTIMISERS[settings.optimiser](
        index, stage.normal, max_iter=settings.polish_iter, tolerance=settings.tolerance, memory=path.memory
    )
    return replace((yield from describe(index, result, stage.start, before, depth)), polished=True)


def with_polished(path: Path, polished: Stage, settings: PursuitSettings) -> Path:
    """Append the polished stage; it is kept unless it should, but does not, separate two modes."""
    fails = settings.select != "final" and not polished.valid
    return replace(path, stages=(*path.stages, polished), kept=path.kept if fails else polished)


def describe(
    index: ClusteringIndex, result: SphereResult, start: int, before: tuple[int, int], depth: bool = True
) -> Asking[Stage]:
    """The stage at the index's normal; ``before`` are its evaluations and ties when the optimisation began."""
    separation = yield from index.describe(depth)
    return Stage(
        start=start,
        n_rows=index.sample.n_rows,
        bandwidth=index.bandwidth,
        alpha=index.alpha,
        gamma=index.gamma,
        normal=result.v,
        log_index=result.value,
        separation=separation,
        interior=index.minima.side == 0,
        n_iter=result.n_iter,
        n_evaluations=index.n_evaluations - before[0],
        n_tied=index.n_tied - before[1],
        converged=result.converged or result.stalled,
        certified=index.certified,
    )


def _select(stages: list[Stage], settings: PursuitSettings) -> Stage | None:
    if settings.select == "final":
        return stages[-1]
    valid = [s for s in stages if s.valid]
    if not valid:
        return None
    if settings.select == "last":
        # "the last hyperplane that corresponds to a minimiser of the projected density" (on parameter settings)
        return valid[-1]
    # At an end of F(v) the hyperplane lies on the slope of a valley, not at its bottom: only if there is nothing else.
    return max([s for s in valid if s.interior] or valid, key=lambda s: s.log_depth)
