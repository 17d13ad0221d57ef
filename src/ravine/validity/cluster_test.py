"""Test of more than one cluster: a valley along some direction that is not a bend.

The rows are divided into folds. The other folds choose a direction and a valley along it, and the fold judges: the
pooled counts of rows in the valley and beside it give a z-score. A ring or an arc has such valleys, too: its projection
is bent, not separated. `measure_separation` therefore looks at the plane of the direction and of the largest remaining
variance, where the two sides of a bend are connected.
"""

from __future__ import annotations

import math
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
from ravine.validity.contacts import find_contact, find_neighbours, measure_dimension
from ravine.validity.discriminants import find_discriminant, list_directions
from ravine.validity.results import LOWEST, N_FOLDS, Evidence, Tally, ValleyTest
from ravine.validity.spread_rows import SpreadRows

Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]
# Smallest number of rows that are tested; with fewer, P is 1.
FEWEST_ROWS = 20
# Largest number of random partitions into folds.
N_PARTITIONS = 8
# Partitions end early if the mean z-score of m of them is above that of the level by SHOWN / √m, or below it by
# HIDDEN / √m: some partitions miss a valley that others find.
SHOWN, HIDDEN = 1.0, 1.3
# Number of partitions for the evidence of a boundary, and the distance of the z-score from that of the level at which
# fewer are enough.
N_REPETITIONS, DECIDED = 4, 2.0
# Directions of a search: differences of the means of two halves of the rows, principal components, and those of them
# with the clearest valleys, which are improved by the discriminant of their two sides a number of times.
N_DIFFERENCES, N_COMPONENTS, N_IMPROVED, N_ROUNDS = 15, 3, 4, 2
# Smallest share, and number, of the rows on a side.
SMALLEST_SHARE, SMALLEST_SIDE = 0.02, 5
# Bins of a projection, from -EDGE to EDGE standard deviations.
N_BINS, EDGE = 128, 4.0
# Share of the distance between the means of two sides, at each end, that the search for the minimum leaves out.
INNER = 0.05
# Number of neighbours of a row in a plane.
N_NEIGHBOURS = 10
# Bins along each axis of a plane, and the bandwidth of its density in units of standard deviations times n ** (-1/6).
PLANE_BINS, PLANE_BANDWIDTH = 48, 0.4
# Two sides are separated, not bent, if the evidence for a valley between them in the plane, less BEND times the height
# of the pass between them above the valley of the projection, is at least SEPARATE.
BEND, SEPARATE = 6.0, 2.2
# Effective dimension up to which the valley must also show near the boundary in the space of all features.
FEW_DIMENSIONS = 6.0

_BINS = (np.arange(N_BINS) + 0.5) * (2.0 * EDGE / N_BINS) - EDGE
_SQUARES = (_BINS[:, None] - _BINS) ** 2
_PLANE = (np.arange(PLANE_BINS) + 0.5) * (2.0 * EDGE / PLANE_BINS) - EDGE
_PLANE_SQUARES = (_PLANE[:, None] - _PLANE) ** 2


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
    columns = rows.grid_columns
    if len(rows) < FEWEST_ROWS:
        return ValleyTest(1.0, (), columns, "pooled")
    pvalue, partitions = _pool_folds(rows, rng, level, None, n_splits)
    is_bend = False
    if pvalue <= level:
        cut = find_cut(rows, np.arange(len(rows)), rng)
        is_bend = cut is None or not _is_separate(rows, cut)
    return ValleyTest(1.0 if is_bend else pvalue, (), columns, "pooled", partitions, is_bend)


def _is_separate(rows: SpreadRows, cut: Cut) -> bool:
    """Return whether a valley separates the two sides of a cut, and is not that of a bend."""
    if measure_dimension(rows.points, find_neighbours(rows.points, N_NEIGHBOURS)) > FEW_DIMENSIONS:
        return True
    evidence, bend = measure_separation(rows, cut)
    return evidence - BEND * bend >= SEPARATE and _are_apart(rows, cut)


def _are_apart(rows: SpreadRows, cut: Cut) -> bool:
    """Return whether a valley separates the sides of a cut near their boundary; true in many dimensions.

    A helix or a bent sheet is connected in the space of all features, but not in a plane.
    """
    if rows.points.shape[1] < 3:
        return True
    nearest = find_neighbours(rows.points, N_NEIGHBOURS)
    dimension = measure_dimension(rows.points, nearest)
    if dimension > 3.0:
        return True
    on_right = rows.project(cut.direction) > cut.threshold
    contact = find_contact(rows.points, nearest, dimension, ~on_right, on_right)
    return contact is None or contact.evidence >= SEPARATE


def judge_sides(rows: SpreadRows, members: Indices, on_right: Mask, rng: np.random.Generator, level: float) -> float:
    """Return the P-value of a valley between two given sides of some rows, along the discriminant of other rows."""
    if len(members) < FEWEST_ROWS or min(on_right.sum(), (~on_right).sum()) < N_FOLDS:
        return 1.0
    return _pool_folds(rows, rng, level, (members, on_right))[0]


def _pool_folds(
    rows: SpreadRows, rng: np.random.Generator, level: float, sides: tuple[Indices, Mask] | None, n_splits: int = 1
) -> tuple[float, tuple[Evidence, ...]]:
    """Return the P-value and the evidence of random partitions into folds, each judged along a direction of the others.

    Partitions end early if further ones are unlikely to move P to the other side of the level.
    """
    members = np.arange(len(rows)) if sides is None else sides[0]
    needed = -float(ndtri(min(max(level, 1e-9), 0.5)))
    partitions: list[Evidence] = []
    for m in range(1, N_PARTITIONS * n_splits + 1):
        partitions.append(_judge_folds(rows, members, None if sides is None else sides[1], rng))
        score = _average_scores(partitions)
        if not -HIDDEN < (score - needed) * math.sqrt(m) < SHOWN:
            break
    return 1.0 if score <= LOWEST else float(ndtr(-score)), tuple(partitions)


def _average_scores(partitions: list[Evidence]) -> float:
    """Return the z-score of the weaker side, averaged over partitions."""
    return float(np.mean([(one.weak.score, one.strong.score) for one in partitions], axis=0).min())


def _judge_folds(rows: SpreadRows, members: Indices, on_right: Mask | None, rng: np.random.Generator) -> Evidence:
    """Return the evidence of a random partition: each fold judges the valley of the others."""
    fold = rng.permutation(np.arange(len(members)) % N_FOLDS)
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


# ----------------------------------------------------------------------------------------------- bends


def measure_separation(rows: SpreadRows, cut: Cut, members: Indices | None = None) -> tuple[float, float]:
    """Return the evidence for a valley between the two sides of a cut in a plane, and how much of the valley is a bend.

    The plane is that of the direction and of the first principal component of the rest. The second number is the height
    of the pass between the sides there above the valley of the projection, as shares of the modes.
    """
    where = np.arange(len(rows)) if members is None else members
    p = rows.project(cut.direction, where)
    on_right, x = p > cut.threshold, rows.alone[where]
    if min(np.count_nonzero(on_right), np.count_nonzero(~on_right)) < 2:
        return -math.inf, 0.0
    if x.shape[1] == 1:
        return math.inf, 0.0
    rest = x - x.mean(axis=0)
    rest -= np.outer(rest @ cut.direction, cut.direction)
    q = rest @ np.linalg.eigh(rest.T @ rest)[1][:, -1]
    p = p - p.mean()
    plane = np.column_stack([p, q]) / (max(float(np.abs(p).max()), float(np.abs(q).max())) or 1.0)
    contact = find_contact(plane, find_neighbours(plane, N_NEIGHBOURS), 2.0, ~on_right, on_right)
    evidence = math.inf if contact is None else contact.evidence
    return evidence, _measure_bend(p, q, cut.threshold - float(rows.project(cut.direction, where).mean()))


def _measure_bend(p: Array, q: Array, threshold: float) -> float:
    """Return the height of the pass between two sides in a plane above the valley along p, as shares of the modes."""
    from scipy.ndimage import label

    spreads = float(p.std()), float(q.std())
    if not min(spreads) > 0.0:
        return 0.0
    kernel = np.exp(-0.5 * _PLANE_SQUARES / (PLANE_BANDWIDTH * len(p) ** (-1.0 / 6.0)) ** 2)
    i, j = (
        np.clip(v / s * (PLANE_BINS / (2.0 * EDGE)) + PLANE_BINS / 2.0, 0, PLANE_BINS - 1).astype(np.intp)
        for v, s in zip((p, q), spreads, strict=True)
    )
    counts = np.bincount(i * PLANE_BINS + j, minlength=PLANE_BINS**2).reshape(PLANE_BINS, PLANE_BINS)
    plane = kernel @ counts @ kernel
    along = plane.sum(axis=1)
    c = int(np.clip(threshold / spreads[0] * (PLANE_BINS / (2.0 * EDGE)) + PLANE_BINS / 2.0, 1, PLANE_BINS - 2))
    modes = int(along[:c].argmax()), c + 1 + int(along[c + 1 :].argmax())
    valley = float(along[modes[0] : modes[1] + 1].min()) / float(min(along[modes[0]], along[modes[1]]))
    first = np.unravel_index(int(plane[:c].argmax()), plane[:c].shape)
    place = np.unravel_index(int(plane[c + 1 :].argmax()), plane[c + 1 :].shape)
    second = (place[0] + c + 1, place[1])
    top, low, high = float(min(plane[first], plane[second])), 0.0, 1.0
    for _ in range(8):  # bisection
        middle = 0.5 * (low + high)
        parts = label(plane >= middle * top)[0]
        low, high = (middle, high) if parts[first] == parts[second] else (low, middle)
    return low - valley


# ----------------------------------------------------------------------------------------------- boundaries


def has_valley(rows: SpreadRows, members: Indices, on_right: Mask, rng: np.random.Generator, level: float) -> bool:
    """Return whether two groups of rows have a valley between them that is not a bend.

    The mean z-score of a few partitions into folds, and the evidence in the plane of the discriminant, reach a level.
    """
    cut = cut_between(rows, members, on_right)
    if cut is None:
        return False
    needed = -float(ndtri(level))
    partitions: list[Evidence] = []
    while len(partitions) < N_REPETITIONS:
        partitions.append(_judge_folds(rows, members, on_right, rng))
        evidence = _average_scores(partitions)
        if abs(evidence - needed) > DECIDED:
            break
    if evidence < needed:
        return False
    contact, bend = measure_separation(rows, cut, members)
    return contact - BEND * max(bend, 0.0) >= needed


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
