"""Test of more than one cluster: a valley along some direction that is not a bend.

The rows are divided into folds. The other folds choose a direction and a valley along it, and the fold judges: the
pooled counts of rows in the valley and beside it give a z-score. A ring or an arc has such valleys, too: its projection
is bent, not separated. In few dimensions the valley must therefore show where the two sides meet, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from ravine._typing import Array
from ravine.density import (
    ProjectedDensity,
    compute_silverman_bandwidth,
    outline_valley,
    score_valley,
)
from ravine.validity.discriminants import find_discriminant, list_directions
from ravine.validity.results import LOWEST, N_FOLDS, Evidence, Tally, ValleyTest
from ravine.validity.spread_rows import SpreadRows

Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]
# Smallest number of rows that are tested; with fewer, P is 1.
FEWEST_ROWS = 20
# Largest number of random partitions into folds.
N_PARTITIONS = 16
# Partitions end early if the mean z-score of m of them is above that of the level by SHOWN / √m, or below it by
# HIDDEN / √m: some partitions miss a valley that others find.
SHOWN, HIDDEN = 1.0, 2.0
# Directions of a search: differences of the means of two halves of the rows, principal components, and those of them
# with the clearest valleys, which are improved by the discriminant of their two sides a number of times.
N_DIFFERENCES, N_COMPONENTS, N_IMPROVED, N_ROUNDS = 15, 3, 4, 2
# Smallest share, and number, of the rows on a side.
SMALLEST_SHARE, SMALLEST_SIDE = 0.02, 5
# Bins of a projection, from -EDGE to EDGE standard deviations.
N_BINS, EDGE = 128, 4.0
# Share of the distance between the means of two sides, at each end, that the search for the minimum leaves out.
INNER = 0.05
# Effective dimension up to which a valley must show where its sides meet, and the evidence for it there.
FEW_DIMENSIONS, SEPARATE = 6.0, 2.8

_BINS = (np.arange(N_BINS) + 0.5) * (2.0 * EDGE / N_BINS) - EDGE
_SQUARES = (_BINS[:, None] - _BINS) ** 2


@dataclass(frozen=True, eq=False)
class Cut:
    """Direction, threshold, and the score of the valley there; the score is comparable for the same rows only."""

    direction: Array
    threshold: float
    score: float


def run_cluster_test(rows: SpreadRows, rng: np.random.Generator, level: float, n_splits: int = 1) -> ValleyTest:
    """Test whether rows are one cluster; P is 1 if the clearest valley is that of a bend.

    Parameters
    ----------
    rows : SpreadRows
    level : float
        The test stops when P is clearly above or below this level, and only a valley with a smaller P is compared with
        a bend.
    n_splits : int
        Factor of the largest number of partitions into folds.
    """
    columns, everything = rows.grid_columns, np.arange(len(rows))
    if len(rows) < FEWEST_ROWS:
        return ValleyTest(1.0, (), columns, "pooled")

    def judge() -> Evidence:
        return _judge_folds(rows, everything, None, _deal(len(rows), rng), rng)

    pvalue, partitions = _pool(judge, level, N_PARTITIONS * n_splits)
    is_bend = False
    if pvalue <= level:
        cut = find_cut(rows, everything, rng)
        on_right = np.zeros(len(rows), dtype=bool) if cut is None else rows.project(cut.direction) > cut.threshold
        is_bend = cut is None or not _are_apart(rows, ~on_right, on_right)
    return ValleyTest(1.0 if is_bend else pvalue, (), columns, "pooled", partitions, is_bend)


def judge_sides(rows: SpreadRows, first: Mask, second: Mask, level: float) -> float:
    """Return the P-value of a valley between two groups of rows; 1 if it is that of a bend.

    Each fold judges the valley along the discriminant of the others.

    Parameters
    ----------
    rows : SpreadRows
    first, second : ndarray of shape (m,), bool
        Rows of the two groups.
    level : float
        As for `run_cluster_test`.
    """
    members, rng = np.flatnonzero(first | second), np.random.default_rng(rows.seed)
    if len(members) < FEWEST_ROWS or min(first.sum(), second.sum()) < N_FOLDS:
        return 1.0

    def judge() -> Evidence:
        return _judge_folds(rows, members, second[members], _deal(len(rows), rng)[members], rng)

    pvalue = _pool(judge, level, N_PARTITIONS)[0]
    return pvalue if pvalue > level or _are_apart(rows, first, second) else 1.0


def _are_apart(rows: SpreadRows, first: Mask, second: Mask) -> bool:
    """Return whether two groups have a valley where they meet, or too few rows there; true in many dimensions.

    The two sides of a bend are connected in the space of all features.
    """
    if rows.dimension > FEW_DIMENSIONS:
        return True
    contact = rows.find_contact(first, second)
    return contact is None or contact.evidence >= SEPARATE


def _deal(n: int, rng: np.random.Generator) -> Indices:
    """Return the fold of each row in a random partition."""
    return np.asarray(rng.permutation(np.arange(n) % N_FOLDS))


def _pool(judge: Callable[[], Evidence], level: float, most: int) -> tuple[float, tuple[Evidence, ...]]:
    """Return the P-value and the evidence of random partitions into folds.

    Partitions end early if further ones are unlikely to move P to the other side of the level.
    """
    needed = -float(ndtri(min(max(level, 1e-9), 0.5)))
    partitions: list[Evidence] = []
    for m in range(1, most + 1):
        partitions.append(judge())
        score = _average_scores(partitions)
        if not -HIDDEN < (score - needed) * math.sqrt(m) < SHOWN:
            break
    return 1.0 if score <= LOWEST else float(ndtr(-score)), tuple(partitions)


def _average_scores(partitions: list[Evidence]) -> float:
    """Return the z-score of the weaker side, averaged over partitions."""
    return float(np.mean([(one.weak.score, one.strong.score) for one in partitions], axis=0).min())


def _judge_folds(
    rows: SpreadRows, members: Indices, on_right: Mask | None, fold: Indices, rng: np.random.Generator
) -> Evidence:
    """Return the evidence of a partition into folds: each fold judges the valley of the others."""
    counts = np.zeros((len(rows.spreadings), 2, 3))
    for k in range(N_FOLDS):
        others = members[fold != k]
        cut = find_cut(rows, others, rng) if on_right is None else cut_between(rows, others, on_right[fold != k])
        if cut is not None:
            counts += _count_rows(rows, cut, others, members[fold == k])
    # The valley must show with every spreading.
    tallies = [[Tally(int(m), int(n), float(expected)) for m, n, expected in one] for one in counts]
    return min((Evidence(weak, strong) for weak, strong in tallies), key=lambda one: one.score)


def _count_rows(rows: SpreadRows, cut: Cut, chosen: Indices, judges: Indices) -> Any:
    """Count the judges in a valley of other rows, for the side with less evidence first: M, M and side, expected."""
    projections = rows.project(cut.direction, chosen)
    bandwidth = compute_silverman_bandwidth(float(projections.std()), len(projections))
    valley = outline_valley(projections, bandwidth, cut.threshold) if bandwidth > 0.0 else None
    if valley is None:
        return 0.0
    left, right = score_valley(valley, projections)
    found = []
    for together in rows.spreadings:
        middle, *beside = valley.counts(np.sort(rows.project(cut.direction, judges, together)))
        sides = [(middle, middle + n, (middle + n) * q) for n, q in zip(beside, valley.shares(), strict=True)]
        found.append(sides if left <= right else sides[::-1])
    return np.array(found, dtype=np.float64)


# ----------------------------------------------------------------------------------------------- directions


def find_cut(rows: SpreadRows, members: Indices, rng: np.random.Generator) -> Cut | None:
    """Return the clearest valley of some rows along the directions of a short search; None if there is none."""
    x = rows.ordered[members]
    directions = list_directions(x, N_DIFFERENCES, N_COMPONENTS, rng)
    if not len(directions):
        return None
    cuts = _find_valleys(rows, members, directions)
    best = max(cuts, key=lambda cut: cut.score)
    for cut in sorted(cuts, key=lambda cut: -cut.score)[:N_IMPROVED]:
        for _ in range(N_ROUNDS):
            direction = find_discriminant(x, rows.project(cut.direction, members) > cut.threshold)
            if direction is None:
                break
            (cut,) = _find_valleys(rows, members, direction[None])
            best = max(best, cut, key=lambda cut: cut.score)
    return best if best.score > 0.0 else None


def find_sides(rows: SpreadRows, rng: np.random.Generator) -> Indices:
    """Return the side of each row, 0 or 1, of the clearest valley; all are on one side if there is none."""
    cut = find_cut(rows, np.arange(len(rows)), rng)
    sides = np.zeros(len(rows), dtype=np.intp)
    if cut is not None:
        sides[rows.x @ cut.direction > cut.threshold] = 1
    return np.asarray(sides - sides.min(), dtype=np.intp)


def cut_between(rows: SpreadRows, members: Indices, on_right: Mask) -> Cut | None:
    """Return the lowest density of some rows between two sides along their discriminant; None if there is none."""
    direction = find_discriminant(rows.x[members], on_right)
    place = None if direction is None else _find_lowest(rows.project(direction, members), on_right)
    return None if direction is None or place is None else Cut(direction, place, 0.0)


def _find_valleys(rows: SpreadRows, members: Indices, directions: Array) -> list[Cut]:
    """Return the clearest valley along each direction, by binned densities."""
    n, projections = len(members), rows.project(directions, members)
    means, deviations = projections.mean(axis=1, keepdims=True), projections.std(axis=1, keepdims=True)
    deviations = np.where(deviations > 0.0, deviations, 1.0)
    bins = np.clip((projections - means) / deviations * (N_BINS / (2.0 * EDGE)) + N_BINS / 2.0, 0, N_BINS - 1)
    k = len(directions)
    counts = np.bincount((bins.astype(np.intp) + N_BINS * np.arange(k)[:, None]).ravel(), minlength=k * N_BINS).reshape(
        k, N_BINS
    )
    bandwidth = compute_silverman_bandwidth(1.0, n)
    density = counts @ np.exp(-0.5 * _SQUARES / bandwidth**2) / (n * bandwidth)
    left = np.maximum.accumulate(density, axis=1)
    right = np.maximum.accumulate(density[:, ::-1], axis=1)[:, ::-1]
    # Differences of square roots of counts have the same variance everywhere.
    scores = (np.sqrt(np.minimum(left, right)) - np.sqrt(density)) * math.sqrt(n * bandwidth)
    before = np.cumsum(counts, axis=1)
    smallest = max(SMALLEST_SIDE, SMALLEST_SHARE * n)
    scores[(before < smallest) | (n - before < smallest)] = 0.0
    at = scores.argmax(axis=1)
    thresholds = means[:, 0] + deviations[:, 0] * _BINS[at]
    return [
        Cut(v, float(t), float(s)) for v, t, s in zip(directions, thresholds, scores[np.arange(k), at], strict=True)
    ]


def _find_lowest(projections: Array, on_right: Mask) -> float | None:
    """Return the place of lowest density between the means of two sides; None if there is none."""
    if on_right.all() or not on_right.any():
        return None
    low, high = float(projections[~on_right].mean()), float(projections[on_right].mean())
    bandwidth = compute_silverman_bandwidth(float(projections.std()), len(projections))
    if not (high > low and bandwidth > 0.0):
        return None
    inner = INNER * (high - low)
    return float(ProjectedDensity(projections, bandwidth).minimise(low + inner, high - inner).b)
