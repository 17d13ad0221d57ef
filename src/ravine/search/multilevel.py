"""MDP²: all starts, the multilevel scheme for many rows, and the choice among them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.index import ClusteringIndex
from ravine.rows import Sample
from ravine.search.direct import follow_directly
from ravine.search.driver import drive
from ravine.search.settings import PursuitSettings
from ravine.search.stages import Notify, Path, Stage, follow, polish, with_polished

__all__ = ["Pursuit", "pursue"]

# Of the starts of the first subsample, this many go on to more rows.
FINALISTS = 2
# A start whose mode-to-valley ratio (or inverse index) is lower than the best one's by more than this factor does not
# go on: several standard errors of that ratio on a subsample.
MUCH_WORSE = 2.0
# Relative decrease of φ that is left to the next level.
ROUGH_TOLERANCE = 1e-4
# Two normals closer than this (cosine) are one solution.
SAME_DIRECTION = 0.99


@dataclass(frozen=True)
class Pursuit:
    """Result of a pursuit.

    Attributes
    ----------
    paths : tuple of Path
        One for each start.
    best : Stage or None
        The best of the kept stages: that of largest relative depth (None if no start separates two modes) or, with
        labels, of lowest index.
    """

    paths: tuple[Path, ...]
    best: Stage | None


def pursue(
    sample: Sample,
    index: Callable[[Sample], ClusteringIndex],
    starts: Array,
    settings: PursuitSettings,
    *,
    levels: Sequence[NDArray[np.intp]] = (),
    notify: Notify = lambda _: None,
) -> tuple[Pursuit, ...]:
    """Minimise the index from every start and keep the best hyperplane, for each of the largest alphas.

    Parameters
    ----------
    sample : Sample
    index : callable
        A new index for a sample: all rows, or those of a level. Every level should have the bandwidth of its own size:
        with that of all rows it would follow the noise of few.
    starts : ndarray of shape (k, d)
        Unit vectors.
    settings : PursuitSettings
    levels : sequence of int arrays, optional
        Growing subsets of the rows. Paths are followed on the first; the best few are then polished on each of the
        others and at last on all rows. The direct method always works on all rows.
    notify : callable, optional
        Told of every stage as it is reached.
    """
    if settings.method == "sqp":
        found = follow_directly(sample, index, list(enumerate(starts)), settings, notify=notify)
        return tuple(Pursuit(paths, _best(paths, settings)) for paths in zip(*found, strict=True))
    polished_later = bool(levels) or (settings.select == "final" and settings.polish)
    rough = replace(settings, tolerance=max(settings.tolerance, ROUGH_TOLERANCE)) if polished_later else settings
    first = sample.take(levels[0]) if levels else sample
    chosen = enumerate(starts) if settings.every_start else [_lowest(first, index, starts)]
    followed = drive(first, [follow(index(first), v, k, rough, notify) for k, v in chosen])
    del first
    rivals = [list(paths) for paths in zip(*followed, strict=True)]  # the paths of all starts, for each largest alpha
    for rows in [*levels[1:], None] if levels else []:
        level = sample if rows is None else sample.take(rows)
        _go_on(level, index, rivals, _finalists, settings if rows is None else rough, notify)
    if polished_later and not levels:
        _go_on(sample, index, rivals, _winner, settings, notify)
    return tuple(Pursuit(tuple(paths), _best(paths, settings)) for paths in rivals)


def _go_on(
    level: Sample,
    index: Callable[[Sample], ClusteringIndex],
    rivals: list[list[Path]],
    choose: Callable[[Sequence[Path], PursuitSettings], list[int]],
    settings: PursuitSettings,
    notify: Notify,
) -> None:
    """Optimise the chosen paths of each largest alpha on a level; the others are kept no longer.

    Depth and density of fewer rows do not carry over: what fails on more rows is dropped, too.
    """
    going_on = [(paths, k) for paths in rivals for k in choose(paths, settings)]
    polished = drive(level, [polish(index(level), paths[k], settings) for paths, k in going_on])
    for paths in rivals:
        paths[:] = [replace(path, kept=None) for path in paths]
    for (paths, k), stage in zip(going_on, polished, strict=True):
        notify(stage)
        paths[k] = with_polished(paths[k], stage, settings)


def _best(paths: Sequence[Path], settings: PursuitSettings) -> Stage | None:
    kept = [path.kept for path in paths if path.kept is not None]
    return max(kept, key=lambda s: s.merit(settings), default=None)


def _winner(paths: Sequence[Path], settings: PursuitSettings) -> list[int]:
    """The path with the best kept stage."""
    best = _best(paths, settings)
    return [k for k, path in enumerate(paths) if path.kept is best][:1]


def _lowest(sample: Sample, index: Callable[[Sample], ClusteringIndex], starts: Array) -> tuple[int, Array]:
    """The start with the lowest index, and its number."""
    values = [value for value, _ in drive(sample, [index(sample).begin(v) for v in starts])]
    k = int(np.argmin(values))
    return k, starts[k]


def _finalists(paths: Sequence[Path], settings: PursuitSettings) -> list[int]:
    """Paths with the best kept stages, without those that are the same solution or much worse."""
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
