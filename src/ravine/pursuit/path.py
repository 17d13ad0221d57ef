"""The hyperplanes that one start passes, for an increasing alpha (then gamma)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ravine._typing import Array
from ravine.index import ClusteringIndex, Separation
from ravine.optimise import Asking, Memory, SphereResult, minimise_on_sphere
from ravine.pursuit.settings import PursuitSettings

__all__ = ["Path", "Stage", "follow", "polish"]


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
    polished: bool = False

    @property
    def valid(self) -> bool:
        """Whether two modes of the projected density are separated."""
        return self.separation.valid

    @property
    def log_depth(self) -> float:
        """Log of the ratio of the lower adjacent mode to the hyperplane."""
        return self.separation.log_depth

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


def follow(index: ClusteringIndex, v: Array, start: int, settings: PursuitSettings, notify: Notify) -> Asking[Path]:
    """Follow the path of alpha and gamma from v, and polish the stage that is kept."""
    memory = Memory()
    stages: list[Stage] = []
    memories: list[Memory] = []
    for alpha, gamma in settings.steps():
        before = index.n_evaluations, index.n_tied
        if stages and stages[-1].converged and (yield from index.adjust(alpha, gamma)):
            again = {"n_iter": 0, "n_evaluations": 1, "n_tied": index.n_tied - before[1]}
            stage = replace(stages[-1], alpha=alpha, gamma=gamma, **again)  # type: ignore[arg-type]
        else:
            index.alpha, index.gamma = alpha, gamma
            result = yield from minimise_on_sphere(
                index, v, max_iter=settings.max_iter, tolerance=settings.tolerance, memory=memory
            )
            v = result.v
            stage = yield from _describe(index, result, start, before)
        stages.append(stage)
        memories.append(memory.copy())
        notify(stage)
    kept = _select(stages, settings)
    path = Path(tuple(stages), kept, memories[stages.index(kept)] if kept else memory)
    if settings.polish and kept is not None:
        polished = yield from polish(index, path, settings)
        notify(polished)
        path = with_polished(path, polished, settings)
    return path


def polish(index: ClusteringIndex, path: Path, settings: PursuitSettings) -> Asking[Stage]:
    """Optimise the kept stage of a path to convergence at its alpha."""
    stage = path.kept
    assert stage is not None
    index.alpha, index.gamma = stage.alpha, stage.gamma
    before = index.n_evaluations, index.n_tied
    result = yield from minimise_on_sphere(
        index, stage.normal, max_iter=settings.polish_iter, tolerance=settings.tolerance, memory=path.memory
    )
    return replace((yield from _describe(index, result, stage.start, before)), polished=True)


def with_polished(path: Path, polished: Stage, settings: PursuitSettings) -> Path:
    """Append the polished stage; it is kept unless it should, but does not, separate two modes."""
    fails = settings.select != "final" and not polished.valid
    return replace(path, stages=(*path.stages, polished), kept=path.kept if fails else polished)


def _describe(index: ClusteringIndex, result: SphereResult, start: int, before: tuple[int, int]) -> Asking[Stage]:
    separation = yield from index.describe()
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
