"""The valley test: evidence that a split is real, by rows that had no part in choosing it.

The exact test halves the rows: one half chooses a hyperplane and a valley, the other half judges. In the pooled test
every fold of the rows judges valleys that the other folds choose. Each fold alone is judged exactly. The pooled counts
are not, since the folds share the rows that choose. The factor `CALIBRATION` makes up for it; it was set by simulation
(benchmarks/trees.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ravine._plurals import count, format_pvalue
from ravine._typing import Array
from ravine.checks import require
from ravine.density import Judgement, Valley, find_valley, judge, outline_valley, score_valley
from ravine.hyperplane import Hyperplane
from ravine.rows import Rows, draw_indices
from ravine.search import SearchSettings, fit_hyperplane
from ravine.validity.directions import DIRECTIONS, Choosers, Cut, as_choosers, choose_cuts, select_compared
from ravine.validity.repeated_values import Grids, SparseGrids, find_grids

# Smallest number of rows that the pooled test judges; with fewer, P is 1.
FEWEST_ROWS = 20
N_FOLDS = 3
# Largest number of random partitions into folds.
N_PARTITIONS = 8
# Partitions end early if the mean z-score of m of them is above that of the level by SHOWN / √m, or below it by
# HIDDEN / √m. The latter is larger because some partitions miss a valley that others find.
SHOWN, HIDDEN = 1.0, 1.3
# Distance above the z-score of the level at which the remaining folds of a partition are not counted.
CLEAR = 2.5
# Range of levels for which partitions end early; others count as the nearest of these.
LOWEST_LEVEL, HIGHEST_LEVEL = 1e-9, 0.5
# Factor of the probability of the mean z-score that gives P, set by simulation (benchmarks/trees.py).
CALIBRATION = 1.3
# Largest number of rows that choose among the hyperplanes of a search and place the intervals.
MOST_CHOOSING_ROWS = 10_000
# Smallest number of rows that the exact test halves.
FEWEST_ROWS_EXACT = 4
# Finds the hyperplane of some rows, from their indices and a generator.
FindHyperplane = Callable[[NDArray[np.intp], np.random.Generator], Hyperplane]
TEST_METHODS = "pooled", "exact"
# Range of z-scores: below it there is no evidence, above it P underflows.
LOWEST, HIGHEST = -3.0, 37.0


def pool_folds(
    rows: Rows,
    settings: SearchSettings,
    n_splits: int,
    rng: np.random.Generator,
    pool: ThreadPoolExecutor | None,
    level: float,
) -> ValleyTest:
    """Test whether rows have a valley: each fold judges the valleys of the others, over several random partitions.

    It stops when further partitions are unlikely to move P to the other side of the level.
    """
    from scipy.special import ndtri

    if rows.shape[0] < FEWEST_ROWS:
        return ValleyTest(1.0, (), (), "pooled")
    grids, cheap = find_grids(rows, rng), _simplify(settings)
    needed = -float(ndtri(min(max(level, LOWEST_LEVEL), HIGHEST_LEVEL) / CALIBRATION))
    partitions: list[tuple[Evidence, ...]] = []
    for m in range(1, N_PARTITIONS * n_splits + 1):
        partitions.append(_test_partition(rows, cheap, grids, rng, pool, needed + CLEAR))
        score = combine_partitions(partitions)
        if not -HIDDEN < (score - needed) * math.sqrt(m) < SHOWN:
            break
    return ValleyTest(compute_pvalue(score), (), tuple(grids.columns), "pooled", N_FOLDS, tuple(partitions))


def combine_partitions(partitions: Sequence[Sequence[Evidence]]) -> float:
    """Return the z-score of the best direction: averaged over the partitions for each side, the weaker side counts."""
    scores = np.array([[(one.weak.score, one.strong.score) for one in partition] for partition in partitions])
    return float(scores.mean(axis=0).min(axis=1).max())


def compute_pvalue(score: float) -> float:
    """Return the calibrated P-value of a mean z-score."""
    from scipy.special import ndtr

    return 1.0 if score <= LOWEST else min(1.0, CALIBRATION * float(ndtr(-score)))


def _simplify(settings: SearchSettings) -> SearchSettings:
    """Return settings of a search with half the starts and a quarter of the stages: the power is the same."""
    return replace(
        settings,
        polish=False,
        n_init=min(settings.n_init, max(3, settings.n_init // 2)),
        n_alpha=min(settings.n_alpha, max(3, settings.n_alpha // 4)),
    )


def _test_partition(
    rows: Rows,
    settings: SearchSettings,
    grids: Grids | SparseGrids,
    rng: np.random.Generator,
    pool: ThreadPoolExecutor | None,
    enough: float,
) -> tuple[Evidence, ...]:
    """Sum the counts of the folds of a random partition, until the z-score of one direction is enough."""
    fold_of_row = rng.permutation(np.arange(rows.shape[0]) % N_FOLDS)
    sums = np.zeros((len(DIRECTIONS), 1 + grids.related, 2, 3))
    for k in range(N_FOLDS):
        others, fold = np.flatnonzero(fold_of_row != k), np.flatnonzero(fold_of_row == k)
        fit = fit_hyperplane(rows.subset(others), settings=settings, rng=rng, pool=pool)
        seen = draw_indices(others, MOST_CHOOSING_ROWS, rng)
        chosen, spread = as_choosers(rows, seen), None
        if isinstance(grids, Grids) and grids.grids:
            spread = partial(grids.spread, rows.subset(seen[select_compared(len(seen))]), rng=rng)
        cuts = choose_cuts(chosen, fit, spread)
        sums += _judge_cuts(cuts, chosen, rows.subset(fold, copy=False), grids, rng)
        # The valley must show with every spreading.
        evidence = tuple(
            min(
                (_make_evidence(name, of_spreading) for of_spreading in counts),
                key=lambda one: min(one.weak.score, one.strong.score),
            )
            for name, counts in zip(DIRECTIONS, sums, strict=True)
        )
        if combine_partitions([evidence]) >= enough:
            break
    return evidence


def _judge_cuts(
    cuts: Sequence[Cut | None], chosen: Choosers, judges: Rows, grids: Grids | SparseGrids, rng: np.random.Generator
) -> Array:
    """Count the judges in the valleys of all cuts: for each cut, spreading and side, M, M and side, expected."""
    counts = np.zeros((len(cuts), 1 + grids.related, 2, 3))
    found = [(k, cut) for k, cut in enumerate(cuts) if cut is not None]
    if not found:
        return counts
    added = grids.spread(judges, np.array([cut.normal for _, cut in found]), rng)
    for j, (k, cut) in enumerate(found):
        projections = cut.project(chosen)
        valley = outline_valley(projections, cut.bandwidth, cut.offset)
        if valley is None:
            continue
        left, right = score_valley(valley, projections)
        judged = judges.project(cut.center, cut.normal)
        weak_first = [0, 1] if left <= right else [1, 0]
        counts[k] = [_count(valley, judged + shifts[j])[weak_first] for shifts in added]
    return counts


def _count(valley: Valley, projections: Array) -> NDArray[np.float64]:
    middle, *beside = valley.counts(np.sort(projections))
    return np.array([(middle, middle + n, (middle + n) * q) for n, q in zip(beside, valley.shares(), strict=True)])


def _make_evidence(direction: str, counts: Array) -> Evidence:
    weak, strong = (Tally(int(middle), int(total), float(expected)) for middle, total, expected in counts)
    return Evidence(direction, weak, strong)


def cross_fit(rows: Rows, find: FindHyperplane, n_splits: int, rng: np.random.Generator) -> ValleyTest:
    """Test whether rows have a valley along some hyperplane: one half chooses it, the other half judges.

    Parameters
    ----------
    find : callable
        Finds the hyperplane of some rows.
    n_splits : int
        Number of random halvings.
    """
    n = rows.shape[0]
    if n < FEWEST_ROWS_EXACT:
        return ValleyTest(1.0, (), ())
    grids = find_grids(rows, rng)
    halves: list[HalfTest] = []
    pvalues = []
    for _ in range(n_splits):
        shuffled = rng.permutation(n)
        one, other = np.sort(shuffled[: n // 2]), np.sort(shuffled[n // 2 :])
        pair = [_test_half(rows, chooses, judges, find, grids, rng) for chooses, judges in ((one, other), (other, one))]
        halves += pair
        pvalues.append(min(1.0, 2.0 * min(half.pvalue for half in pair)))
    # Twice the median of valid P-values is valid whatever their dependence.
    pvalue = pvalues[0] if n_splits == 1 else min(1.0, 2.0 * float(np.median(pvalues)))
    return ValleyTest(pvalue, tuple(halves), tuple(grids.columns))


def _test_half(
    rows: Rows,
    chooses: NDArray[np.intp],
    judges: NDArray[np.intp],
    find: FindHyperplane,
    grids: Grids | SparseGrids,
    rng: np.random.Generator,
) -> HalfTest:
    plane = find(chooses, rng)
    if not plane.splits:
        return HalfTest(plane, None, None)
    valley = find_valley(plane.distance(rows, chooses), plane.bandwidth, 0.0)
    if valley is None:
        return HalfTest(plane, None, None)
    others = rows.subset(judges, copy=False)
    distances = plane.distance(others)
    # The valley must show with every spreading.
    verdicts = [judge(valley, distances + added) for added in grids.spread(others, plane.normal, rng)]
    return HalfTest(plane, valley, max(verdicts, key=lambda verdict: verdict.pvalue))


def run_valley_test(
    rows: Rows,
    n_splits: int,
    settings: SearchSettings,
    rng: np.random.Generator,
    pool: ThreadPoolExecutor | None = None,
    method: str = "pooled",
    level: float = 0.05,
) -> ValleyTest:
    """Test whether rows have a valley, with hyperplanes found by MDP².

    Parameters
    ----------
    n_splits : int
        Number of random halvings of the exact test; the pooled test makes up to eight partitions for each.
    pool : ThreadPoolExecutor, optional
        Threads for the fits; those of the settings by default.
    level : float
        Level near which P is most precise: the pooled test stops when it is clearly above or below.
    """
    rows = rows.densify_if_small()
    quiet = replace(settings, callback=None)
    if method == "pooled":
        return pool_folds(rows, quiet, n_splits, rng, pool, level)

    def find(half: NDArray[np.intp], rng: np.random.Generator) -> Hyperplane:
        return fit_hyperplane(rows.subset(half), settings=quiet, rng=rng, pool=pool).hyperplane

    return cross_fit(rows, find, n_splits, rng)


# ----------------------------------------------------------------------------------------------- results


@dataclass(frozen=True)
class HalfTest:
    """A hyperplane and a valley that one half of the rows chose, and the judgement of the other half.

    Attributes
    ----------
    hyperplane : Hyperplane
        Hyperplane of the first half; at infinity if that has no split.
    valley : Valley or None
        The intervals M, L and R on its normal, as distances from the hyperplane; None if there is no split.
    judgement : Judgement or None
        Counts of the other half in M, L and R and the two one-sided binomial tests.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ravine import valley_test
    >>> X, _ = make_blobs([60, 40], centers=[[0, 0], [6, 6]], random_state=0)
    >>> first, second = valley_test(X, method="exact", random_state=0).halves
    >>> first.pvalue < 0.05, first.judgement.counts[0]
    (True, 1)
    """

    hyperplane: Hyperplane
    valley: Valley | None
    judgement: Judgement | None

    @property
    def pvalue(self) -> float:
        """P-value of this half alone; 1 if it has no split."""
        return 1.0 if self.judgement is None else self.judgement.pvalue


@dataclass(frozen=True)
class Tally:
    """Rows in the valleys of all folds, compared with one of their two sides.

    Attributes
    ----------
    middle, total : int
        Numbers of rows in M, and in M and the side together.
    expected : float
        Number of rows that M would have if the density were as high there as on the side.
    """

    middle: int
    total: int
    expected: float

    def validate(self) -> None:
        """Raise an error if the counts contradict each other."""
        require(0 <= self.middle <= self.total and 0.0 <= self.expected <= self.total, "counts")

    @property
    def pvalue(self) -> float:
        """Probability of at most this number of rows in M, from a binomial distribution."""
        from scipy.special import bdtr  # imported late: domain objects load without SciPy

        return float(bdtr(self.middle, self.total, self.expected / self.total)) if self.total else 1.0

    @property
    def score(self) -> float:
        """Z-score of that probability, within [-3, 37]."""
        from scipy.special import ndtri

        p = self.pvalue
        return HIGHEST if p <= 0.0 else float(min(max(-ndtri(p), LOWEST), HIGHEST))


@dataclass(frozen=True)
class Evidence:
    """Evidence of one partition of the rows into folds along one kind of direction.

    Attributes
    ----------
    direction : {"normal", "discriminant", "means"}
        Normal of the hyperplane of the other folds, discriminant of its two sides, or difference of their means.
    weak, strong : Tally
        Comparison with the side on which the other folds have less evidence, and with the other side.
    """

    direction: str
    weak: Tally
    strong: Tally


@dataclass(frozen=True)
class ValleyTest:
    """Result of the valley test.

    Attributes
    ----------
    pvalue : float
        P-value. With ``method="exact"`` it is a bound on the probability of a valley this clear if the density were
        unimodal along every direction: min(1, 2 min(p_A, p_B)) of one halving, or twice the median of several. With
        ``method="pooled"`` it is calibrated by simulation.
    halves : tuple of HalfTest
        Two for each random halving of the exact test.
    grid_columns : tuple of int
        Features of repeated values, which were spread over their cells before the judgement.
    method : {"pooled", "exact"}
    n_folds : int
        Number of folds of each partition of the pooled test; 0 if there were too few rows.
    partitions : tuple of tuple of Evidence
        For each random partition of the pooled test, the evidence along each kind of direction.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ravine import valley_test
    >>> X, _ = make_blobs([60, 40], centers=[[0, 0], [6, 6]], random_state=0)
    >>> test = valley_test(X, random_state=0)
    >>> test.pvalue < 0.001, test.method
    (True, 'pooled')
    """

    pvalue: float
    halves: tuple[HalfTest, ...]
    grid_columns: tuple[int, ...]
    method: str = "exact"
    n_folds: int = 0
    partitions: tuple[tuple[Evidence, ...], ...] = field(default=())

    def validate(self) -> None:
        """Raise an error if the P-value, the method or the partitions are impossible."""
        known = self.method in ("pooled", "exact")
        require(0.0 <= self.pvalue <= 1.0 and known and all(self.partitions), "pvalue or method")

    def __str__(self) -> str:
        """Return the result in a few lines of plain words."""
        lines = self._describe_partitions() if self.method == "pooled" else self._describe_halves()
        if self.grid_columns:
            lines.append(f"  {count(len(self.grid_columns), 'feature')} of repeated values spread over the cells")
        return "\n".join(lines)

    def _describe_halves(self) -> list[str]:
        lines = [f"Valley test: {format_pvalue(self.pvalue)} ({count(len(self.halves) // 2, 'random halving')})"]
        for k, half in enumerate(self.halves):
            if half.valley is None or half.judgement is None:
                lines.append(f"  half {k + 1}: no split")
                continue
            middle, left, right = half.judgement.counts
            lines.append(
                f"  half {k + 1}: the other half has {middle} rows in the valley, {left} and {right} beside it; "
                f"p = {half.pvalue:.3g}"
            )
        return lines

    def _describe_partitions(self) -> list[str]:
        if not self.partitions:
            return [f"Valley test: {format_pvalue(self.pvalue)} (too few rows for a test: at least 20 are needed)"]
        n = count(len(self.partitions), "random partition")
        lines = [f"Valley test: {format_pvalue(self.pvalue)} (pooled over {n} into {self.n_folds} folds)"]
        for k, partition in enumerate(self.partitions):
            best = max(partition, key=lambda one: min(one.weak.score, one.strong.score))
            if not best.weak.total:
                lines.append(f"  partition {k + 1}: no split")
                continue
            lines.append(
                f"  partition {k + 1}: {best.weak.middle} rows in the valleys found without them, where the sides "
                f"suggest {best.weak.expected:.1f} and {best.strong.expected:.1f}"
            )
        return lines
