"""The pooled valley test: every fold of the rows judges valleys that the other folds choose.

Each fold alone is judged exactly, by rows that had no part in the choice. The pooled counts are not, since the folds
share the rows that choose. The factor `CALIBRATION` makes up for it; it was set by simulation (benchmarks/trees.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.density import Valley, outline_valley, score_valley
from ravine.rows import Rows
from ravine.search import SearchSettings, fit_hyperplane
from ravine.validity.directions import DIRECTIONS, Cut, choose_cuts
from ravine.validity.repeated_values import Grids
from ravine.validity.results import LOWEST, Evidence, Tally, ValleyTest

__all__ = ["combine_partitions", "pool_folds"]

# With fewer rows, P is 1.
FEWEST_ROWS = 20
N_FOLDS = 3
# Largest number of random partitions into folds.
N_PARTITIONS = 4
# No further partition is made once P is above or below these.
HOPELESS, CLEAR = 0.5, 1e-4
# P is the probability of the mean z-score times this.
CALIBRATION = 1.4
# Largest number of rows that choose among hyperplanes and place the intervals.
MOST_ROWS = 20_000


def pool_folds(
    rows: Rows, settings: SearchSettings, n_splits: int, rng: np.random.Generator, pool: ThreadPoolExecutor | None
) -> ValleyTest:
    """Test whether rows have a valley: each fold judges the valleys of the others, over several random partitions."""
    if rows.shape[0] < FEWEST_ROWS:
        return ValleyTest(1.0, (), (), "pooled")
    grids, cheap = Grids.of(rows, rng), _simplify(settings)
    partitions: list[tuple[Evidence, ...]] = []
    pvalue = 1.0
    for _ in range(N_PARTITIONS * n_splits):
        partitions.append(_test_partition(rows, cheap, grids, rng, pool))
        pvalue = combine_partitions(partitions)
        if pvalue >= HOPELESS or pvalue <= CLEAR:
            break
    return ValleyTest(pvalue, (), tuple(grids.columns), "pooled", N_FOLDS, tuple(partitions))


def combine_partitions(partitions: Sequence[Sequence[Evidence]]) -> float:
    """Return the P-value of the best direction: its z-scores are averaged over the partitions, for each side."""
    from scipy.special import ndtr

    scores = np.array([[(one.weak.score, one.strong.score) for one in partition] for partition in partitions])
    best = scores.mean(axis=0).min(axis=1).max()
    return 1.0 if best <= LOWEST else min(1.0, CALIBRATION * float(ndtr(-best)))


def _simplify(settings: SearchSettings) -> SearchSettings:
    """Return settings of a search with half the starts and a third of the stages: the power is the same."""
    return replace(
        settings,
        n_init=min(settings.n_init, max(3, settings.n_init // 2)),
        n_alpha=min(settings.n_alpha, max(4, settings.n_alpha // 3)),
    )


def _test_partition(
    rows: Rows, settings: SearchSettings, grids: Grids, rng: np.random.Generator, pool: ThreadPoolExecutor | None
) -> tuple[Evidence, ...]:
    """Sum the counts of all folds of a random partition, for each direction and way of spreading."""
    fold_of_row = rng.permutation(np.arange(rows.shape[0]) % N_FOLDS)
    sums = np.zeros((len(DIRECTIONS), 1 + grids.related, 2, 3))
    for k in range(N_FOLDS):
        others, fold = np.flatnonzero(fold_of_row != k), np.flatnonzero(fold_of_row == k)
        fit = fit_hyperplane(rows.subset(others), settings=settings, rng=rng, pool=pool)
        seen = others if len(others) <= MOST_ROWS else np.sort(rng.choice(others, MOST_ROWS, replace=False))
        chosen = np.asarray(rows.take(seen), dtype=np.float64)
        judges = rows.subset(fold, copy=False)
        for counts, cut in zip(sums, choose_cuts(chosen, fit), strict=True):
            if cut is not None:
                counts += _judge_cut(cut, chosen, judges, grids, rng)
    # The valley must show with every way of spreading.
    return tuple(
        min((_make_evidence(name, way) for way in counts), key=lambda one: min(one.weak.score, one.strong.score))
        for name, counts in zip(DIRECTIONS, sums, strict=True)
    )


def _judge_cut(cut: Cut, chosen: Array, judges: Rows, grids: Grids, rng: np.random.Generator) -> Array:
    """Count the judges in M, in M and a side, and the number expected in M, for each way of spreading and side."""
    projections = cut.project(chosen)
    valley = outline_valley(projections, cut.bandwidth, cut.offset)
    if valley is None:
        return np.zeros((1 + grids.related, 2, 3))
    left, right = score_valley(valley, projections)
    judged = judges.project(cut.center, cut.normal)
    weak_first = [0, 1] if left <= right else [1, 0]
    return np.array([_count(valley, judged + added)[weak_first] for added in grids.spread(judges, cut.normal, rng)])


def _count(valley: Valley, projections: Array) -> NDArray[np.float64]:
    middle, *beside = valley.counts(np.sort(projections))
    return np.array([(middle, middle + n, (middle + n) * q) for n, q in zip(beside, valley.shares(), strict=True)])


def _make_evidence(direction: str, counts: Array) -> Evidence:
    weak, strong = (Tally(int(middle), int(total), float(expected)) for middle, total, expected in counts)
    return Evidence(direction, weak, strong)
