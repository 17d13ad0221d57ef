"""The valley test: evidence that a split is real, by rows that had no part in choosing it.

The pooled test is that of trees (`cluster_test`): every fold of the rows judges valleys that the other folds choose.
The exact test halves the rows: one half chooses a hyperplane and a valley, the other half judges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ravine.density import find_valley, judge
from ravine.hyperplane import Hyperplane
from ravine.rows import Rows, draw_indices
from ravine.rows.repeated_values import Grids
from ravine.search import SearchSettings, fit_hyperplane
from ravine.validity.cluster_test import run_cluster_test
from ravine.validity.results import HalfTest, ValleyTest
from ravine.validity.spread_rows import MANY_FEATURES, spread_rows

# Largest number of random rows of the pooled test.
MOST_ROWS = 10_000
# Smallest number of rows that the exact test halves.
FEWEST_ROWS_EXACT = 4
# Finds the hyperplane of some rows, from their indices and a generator.
FindHyperplane = Callable[[NDArray[np.intp], np.random.Generator], Hyperplane]


def run_valley_test(
    rows: Rows,
    n_splits: int,
    settings: SearchSettings,
    rng: np.random.Generator,
    method: str = "pooled",
    level: float = 0.05,
) -> ValleyTest:
    """Test whether rows have a valley.

    Parameters
    ----------
    n_splits : int
        Number of random halvings of the exact test; the pooled test makes up to 16 partitions for each.
    settings : SearchSettings
        Search for the hyperplanes of the exact test.
    level : float
        Level of the pooled test: it stops when P is clearly above or below, and only a valley with a smaller P is
        compared with a bend.
    """
    rows = rows.densify_if_small()
    if method == "pooled":
        some = draw_indices(np.arange(rows.shape[0]), MOST_ROWS, rng)
        return run_cluster_test(spread_rows(rows, some, rng, drop_copies=True)[1], rng, level, n_splits)
    if rows.is_sparse and rows.shape[1] > MANY_FEATURES:
        raise ValueError(
            f"the exact test takes sparse matrices of at most {MANY_FEATURES} features, and X has {rows.shape[1]}. Use "
            "the pooled test, or fewer features, for example those of TruncatedSVD."
        )
    quiet = replace(settings, callback=None)

    def find(half: NDArray[np.intp], rng: np.random.Generator) -> Hyperplane:
        return fit_hyperplane(rows.subset(half), settings=quiet, rng=rng).hyperplane

    return cross_fit(rows, find, n_splits, rng)


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
    # The valley must show with every spreading.
    verdicts = [judge(valley, distances + added) for added in grids.spread(others, plane.normal, rng)]
    return HalfTest(plane, valley, max(verdicts, key=lambda verdict: verdict.pvalue))
