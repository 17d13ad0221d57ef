"""Path of one start, for an increasing alpha, then gamma, and the driver that advances many paths in lock-step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar, cast

from ravine._kernels import check_stop_flag
from ravine._typing import Array
from ravine.hyperplane import assemble
from ravine.index import CompiledIndex, ProjectionIndex, Separation
from ravine.optimise import OPTIMISERS, Memory, Questions, SphereResult
from ravine.rows import Sample
from ravine.search.settings import SearchSettings

T = TypeVar("T")


def drive(sample: Sample, generators: Sequence[Questions[T]], pool: ThreadPoolExecutor | None = None) -> list[T]:
    """Run generators to their ends and return their results.

    Each round collects one question from every generator, lets the sample answer all of them in one pass over the rows,
    and sends the answers back. Generators of compiled indices ask nothing: they run to their ends in the first round,
    each on a thread of the ``pool`` if there is one.
    """
    results: list[T | None] = [None] * len(generators)

    def advance(i: int, answer: object) -> Any:
        try:
            return generators[i].send(answer)
        except StopIteration as stop:
            results[i] = stop.value
            return None

    waiting: dict[int, object] = dict.fromkeys(range(len(generators)))
    while waiting:
        check_stop_flag()
        questions = list((pool.map if pool else map)(advance, waiting.keys(), waiting.values()))
        asked = {i: question for i, question in zip(waiting, questions, strict=True) if question is not None}
        waiting = dict(zip(asked, sample.answer(list(asked.values())), strict=True)) if asked else {}
        pool = None
    return cast("list[T]", results)


@dataclass(eq=False)
class Stage:
    """One hyperplane of a path, in working units.

    Attributes
    ----------
    start : int
        Number of the start it came from.
    n_rows : int
        Number of rows it was fitted to.
    normal : ndarray of shape (d,)
    log_index : float
        Value of log φ that was reached.
    separation : Separation
        Offset, density and depth of the hyperplane.
    interior : bool
        Whether the offset lies strictly inside F(v).
    n_iter, n_evaluations, n_tied : int
        Number of optimiser iterations, of evaluations of the index, and of those with tied minimisers.
    certified : bool
        Whether every minimum over b so far is known to be global.
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
        """Log of the ratio of the density at the lower adjacent mode to that on the hyperplane."""
        return self.separation.log_depth

    def copy_to(self, alpha: float, gamma: float, n_tied: int) -> Stage:
        """Return the same hyperplane for another alpha and gamma, which took one evaluation to confirm."""
        changes = {"alpha": alpha, "gamma": gamma, "n_iter": 0, "n_evaluations": 1, "n_tied": n_tied}
        return assemble(Stage, **self.__dict__ | changes)

    def merit(self, settings: SearchSettings) -> float:
        """Return the number by which starts are compared: the depth or, with labels, minus the log-index."""
        return -self.log_index if settings.select == "final" else self.log_depth


Notify = Callable[[Stage], None]


@dataclass(frozen=True)
class Path:
    """All stages of one start.

    Attributes
    ----------
    kept : Stage or None
        The stage that is kept; None if none is valid.
    memory : Memory
        Curvature that the optimiser had collected when it left the kept stage.
    """

    stages: tuple[Stage, ...]
    kept: Stage | None
    memory: Memory = field(default_factory=Memory, repr=False)


def follow_path(
    index: ProjectionIndex, v: Array, start: int, settings: SearchSettings, notify: Notify
) -> Questions[Path]:
    """Minimise the index from v for an increasing alpha, then at the largest one for an increasing gamma.

    If only one hyperplane of a path can win in the end, it is polished here. With labels, the paths of all starts are
    compared at the same alpha and gamma, and only the best of them is polished, later.
    """
    builder = PathBuilder(index, v, start, settings, notify)
    for alpha in settings.alphas:
        # Only the end of a path with labels is used, so the depth of its other stages is not measured.
        depth = settings.select != "final" or not settings.gammas[1:]
        yield from builder.optimise(alpha, settings.gammas[0], depth)
    for gamma in settings.gammas[1:]:
        yield from builder.optimise(settings.alpha_max, gamma, depth=gamma == settings.gammas[-1])
    path = builder.path
    if settings.polish and settings.select != "final" and path.kept is not None:
        polished = yield from polish(index, path, settings)
        notify(polished)
        path = append_polished(path, polished, settings)
    return path


class PathBuilder:
    """Stages of a path so far, and the state from which the next is optimised."""

    def __init__(self, index: ProjectionIndex, v: Array, start: int, settings: SearchSettings, notify: Notify) -> None:
        self.index, self.v, self.start, self.settings, self.notify = index, v, start, settings, notify
        self.memory = Memory()
        self.stages: list[Stage] = []
        self.kept: Stage | None = None
        self.kept_memory: Memory | None = None  # at the stage that is kept; not changed by later ones

    def optimise(self, alpha: float, gamma: float, depth: bool = True) -> Questions[None]:
        """Append the stage for alpha and gamma; its depth is measured unless ``depth`` is False."""
        index, settings = self.index, self.settings
        before = index.n_evaluations, index.n_tied
        last = self.stages[-1] if self.stages else None
        if last is not None and last.converged and index.is_at(self.v) and (yield from index.adjust(alpha, gamma)):
            stage = last.copy_to(alpha, gamma, index.n_tied - before[1])
        else:
            index.alpha, index.gamma = alpha, gamma
            if self.kept_memory is self.memory:
                self.memory = self.memory.copy()
            result = yield from _minimise(index, self.v, settings, settings.max_iter, self.memory)
            self.v = result.v
            stage = yield from describe_stage(index, result, self.start, before, depth)
        self._append(stage)

    def _append(self, stage: Stage) -> None:
        self.stages.append(stage)
        if _is_preferred(stage, self.kept, self.settings):
            self.kept, self.kept_memory = stage, self.memory
        self.notify(stage)

    @property
    def path(self) -> Path:
        """Stages so far, and the one that is kept."""
        return Path(tuple(self.stages), self.kept, self.memory if self.kept_memory is None else self.kept_memory)


def polish(index: ProjectionIndex, path: Path, settings: SearchSettings, depth: bool = True) -> Questions[Stage]:
    """Optimise the kept stage of a path to convergence at its alpha."""
    stage = path.kept
    assert stage is not None
    index.alpha, index.gamma = stage.alpha, stage.gamma
    before = index.n_evaluations, index.n_tied
    result = yield from _minimise(index, stage.normal, settings, settings.polish_iter, path.memory)
    polished = yield from describe_stage(index, result, stage.start, before, depth)
    polished.polished = True
    return polished


def append_polished(path: Path, polished: Stage, settings: SearchSettings) -> Path:
    """Append the polished stage, and keep it unless it should separate two modes but does not."""
    fails = settings.select != "final" and not polished.valid
    return Path((*path.stages, polished), path.kept if fails else polished, path.memory)


def _minimise(
    index: ProjectionIndex, v: Array, settings: SearchSettings, max_iter: int, memory: Memory
) -> Questions[SphereResult]:
    """Minimise the index from v with the optimiser of the settings: in one compiled call where the index has one."""
    minimise = index.minimise if isinstance(index, CompiledIndex) else partial(OPTIMISERS[settings.optimiser], index)
    return (yield from minimise(v, max_iter=max_iter, tolerance=settings.tolerance, memory=memory))


def describe_stage(
    index: ProjectionIndex, result: SphereResult, start: int, before: tuple[int, int], depth: bool = True
) -> Questions[Stage]:
    """Return the stage at the index's normal; ``before`` holds its evaluations and ties before the optimisation."""
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
        interior=index.is_interior,
        n_iter=result.n_iter,
        n_evaluations=index.n_evaluations - before[0],
        n_tied=index.n_tied - before[1],
        converged=result.converged or result.stalled,
        certified=index.certified,
    )


def _is_preferred(stage: Stage, kept: Stage | None, settings: SearchSettings) -> bool:
    """Return whether a new stage replaces the one that is kept, by the rule of the settings."""
    if settings.select == "final":
        return True
    if not stage.valid or kept is None:
        return stage.valid
    if settings.select == "last":
        # "the last hyperplane that corresponds to a minimiser of the projected density" (parameter settings, 5.1.1)
        return True
    # At an end of F(v) the hyperplane lies on the slope of a valley, not at its bottom. It is kept only if no stage
    # lies inside F(v).
    return (stage.interior, stage.log_depth) > (kept.interior, kept.log_depth)
