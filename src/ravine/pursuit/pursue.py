"""MDP²: all starts, the multilevel scheme for many rows, and the choice among them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.index import ClusteringIndex
from ravine.pursuit.driver import drive
from ravine.pursuit.path import Notify, Path, Stage, follow, polish, with_polished
from ravine.pursuit.settings import PursuitSettings
from ravine.sample import Moments, Sample

__all__ = ["Pursuit", "pursue"]

# Of the starts of the first subsample, this many go on to more rows.
FINALISTS = 2
# A start whose mode-to-valley ratio is lower than the best one's by more than this factor does not go on: several
# standard errors of that ratio on a subsample.
MUCH_SHALLOWER = 2.0
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
        The kept stage of largest relative depth among the starts; None if no start separates two modes.
    """

    paths: tuple[Path, ...]
    best: Stage | None


def pursue(
    sample: Sample,
    moments: Moments,
    starts: Array,
    bandwidth: Callable[[float], float],
    settings: PursuitSettings,
    *,
    levels: Sequence[NDArray[np.intp]] = (),
    notify: Notify = lambda _: None,
) -> Pursuit:
    """Minimise the index from every start and keep the deepest hyperplane.

    Parameters
    ----------
    sample : Sample
    moments : Moments
        Of all rows.
    starts : ndarray of shape (k, d)
        Unit vectors.
    bandwidth : callable
        Bandwidth, in working units, for a number of rows.
    settings : PursuitSettings
    levels : sequence of int arrays, optional
        Growing subsets of the rows. Paths are followed on the first; the best few are then polished on each of the
        others and at last on all rows.
    notify : callable, optional
        Told of every stage as it is reached.
    """

    def index(rows: Sample) -> ClusteringIndex:
        # Every level has the bandwidth of its own size: with that of all rows it would follow the noise of few.
        return ClusteringIndex(rows, moments, bandwidth(rows.total), settings.penalty, settings.alpha_min)

    rough = replace(settings, tolerance=max(settings.tolerance, ROUGH_TOLERANCE)) if levels else settings
    first = sample.take(levels[0]) if levels else sample
    paths = drive(first, [follow(index(first), v, k, rough, notify) for k, v in enumerate(starts)])
    del first
    for rows in [*levels[1:], None] if levels else []:
        level = sample if rows is None else sample.take(rows)
        going_on = _finalists(paths)
        accuracy = settings if rows is None else rough
        polished = drive(level, [polish(index(level), paths[k], accuracy) for k in going_on])
        # Depth and density of fewer rows do not carry over: what fails on more rows, or does not go on, is dropped.
        paths = [replace(path, kept=None) for path in paths]
        for stage in polished:
            notify(stage)
            paths[stage.start] = with_polished(paths[stage.start], stage)
    kept = [path.kept for path in paths if path.kept is not None]
    return Pursuit(tuple(paths), max(kept, key=lambda s: s.log_depth, default=None))


def _finalists(paths: Sequence[Path]) -> list[int]:
    """Paths with the deepest kept stages, without those that are the same solution or much shallower."""
    chosen: list[Stage] = []
    for stage in sorted((p.kept for p in paths if p.kept), key=lambda s: -s.log_depth):
        much_shallower = chosen and stage.log_depth < chosen[0].log_depth - math.log(MUCH_SHALLOWER)
        if not much_shallower and all(abs(stage.normal @ other.normal) < SAME_DIRECTION for other in chosen):
            chosen.append(stage)
    return [stage.start for stage in chosen[:FINALISTS]]
