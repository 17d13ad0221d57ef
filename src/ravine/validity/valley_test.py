"""The valley test: evidence that a split is real, by cross-fitting."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ravine.density import Judgement, Valley, find_valley, judge
from ravine.hyperplane import Hyperplane
from ravine.rows import Rows
from ravine.search import SearchSettings, fit_hyperplane
from ravine.validity.repeated_values import Grids

__all__ = ["HalfTest", "ValleyTest", "cross_fit", "run_valley_test"]

# With fewer rows, a half cannot be split.
FEWEST_ROWS = 4

# Finds the hyperplane of some rows, from their indices and a generator.
FindHyperplane = Callable[[NDArray[np.intp], np.random.Generator], Hyperplane]


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
    """

    hyperplane: Hyperplane
    valley: Valley | None
    judgement: Judgement | None

    @property
    def pvalue(self) -> float:
        """P-value of this half alone; 1 if it has no split."""
        return 1.0 if self.judgement is None else self.judgement.pvalue


@dataclass(frozen=True)
class ValleyTest:
    """Result of the valley test.

    Attributes
    ----------
    pvalue : float
        Bound on the probability of a valley this clear if the density were unimodal along every direction. With one
        halving it is min(1, 2 min(p_A, p_B)); with several, twice the median of these.
    halves : tuple of HalfTest
        Two for each random halving.
    grid_columns : tuple of int
        Features of repeated values, which were spread over their cells before the judgement.
    """

    pvalue: float
    halves: tuple[HalfTest, ...]
    grid_columns: tuple[int, ...]

    def __str__(self) -> str:
        """Return the result in a few lines of plain words."""
        n = len(self.halves) // 2
        lines = [f"Valley test: P = {self.pvalue:.3g} ({n} random halving{'' if n == 1 else 's'})"]
        for k, half in enumerate(self.halves):
            if half.valley is None or half.judgement is None:
                lines.append(f"  half {k + 1}: no split")
                continue
            middle, left, right = half.judgement.counts
            lines.append(
                f"  half {k + 1}: the other half has {middle} rows in the valley, {left} and {right} beside it; "
                f"p = {half.pvalue:.3g}"
            )
        if self.grid_columns:
            n = len(self.grid_columns)
            lines.append(f"  {n} feature{'' if n == 1 else 's'} of repeated values spread over the cells")
        return "\n".join(lines)


def run_valley_test(
    rows: Rows,
    n_splits: int,
    settings: SearchSettings,
    rng: np.random.Generator,
    pool: ThreadPoolExecutor | None = None,
) -> ValleyTest:
    """Test whether rows have a valley, with hyperplanes found by MDP².

    Parameters
    ----------
    rows : Rows
    n_splits : int
        Number of random halvings.
    settings : SearchSettings
    rng : numpy.random.Generator
    pool : ThreadPoolExecutor, optional
        Threads for the fits; those of the settings by default.
    """
    if rows.is_sparse:
        raise ValueError(
            "the valley test (test=True, n_clusters='auto', split_next='significance') examines the values of every "
            "feature and does not support sparse matrices: give n_clusters a number, or convert X with X.toarray()."
        )
    quiet = replace(settings, callback=None)

    def find(half: NDArray[np.intp], rng: np.random.Generator) -> Hyperplane:
        return fit_hyperplane(rows.subset(half), settings=quiet, rng=rng, pool=pool).hyperplane

    return cross_fit(rows, find, n_splits, rng)


def cross_fit(rows: Rows, find: FindHyperplane, n_splits: int, rng: np.random.Generator) -> ValleyTest:
    """Test whether rows have a valley along some hyperplane: one half chooses it, the other half judges.

    Parameters
    ----------
    rows : Rows
    find : callable
        Finds the hyperplane of some rows.
    n_splits : int
        Number of random halvings.
    rng : numpy.random.Generator
    """
    n = rows.shape[0]
    if n < FEWEST_ROWS:
        return ValleyTest(1.0, (), ())
    grids = Grids.of(rows, rng)
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
    grids: Grids,
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
    # The valley must show with every way of spreading.
    verdicts = [judge(valley, distances + added) for added in grids.spread(others, plane.normal, rng)]
    return HalfTest(plane, valley, max(verdicts, key=lambda verdict: verdict.pvalue))
