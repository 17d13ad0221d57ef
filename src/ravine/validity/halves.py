"""The exact valley test: one half of the rows chooses a hyperplane and a valley, the other half judges."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ravine.density import find_valley, judge
from ravine.hyperplane import Hyperplane
from ravine.rows import Rows
from ravine.validity.repeated_values import Grids
from ravine.validity.results import HalfTest, ValleyTest
from ravine.validity.sparse_values import SparseGrids, find_grids

__all__ = ["cross_fit"]

# With fewer rows, a half cannot be split.
FEWEST_ROWS = 4

# Finds the hyperplane of some rows, from their indices and a generator.
FindHyperplane = Callable[[NDArray[np.intp], np.random.Generator], Hyperplane]


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
    # The valley must show with every way of spreading.
    verdicts = [judge(valley, distances + added) for added in grids.spread(others, plane.normal, rng)]
    return HalfTest(plane, valley, max(verdicts, key=lambda verdict: verdict.pvalue))
