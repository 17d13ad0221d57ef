"""Is a split real? The cross-fitted valley test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine.density import Judgement, Valley, find_valley, judge
from ravine.hyperplane import Hyperplane
from ravine.rows import as_rows
from ravine.search.hyperplane import find_hyperplane
from ravine.validity.repeated_values import Grids

__all__ = ["HalfTest", "ValleyTest", "cross_fitted_test", "split_test"]

# With fewer, a half cannot be split.
FEWEST_ROWS = 4

# Finds the hyperplane of some rows; it gets their numbers and a generator.
FindHyperplane = Callable[[NDArray[np.intp], np.random.Generator], Hyperplane]


@dataclass(frozen=True)
class HalfTest:
    """One half of the rows chose a hyperplane and a valley, the other half judged it.

    Attributes
    ----------
    hyperplane : Hyperplane
        Found on the first half; at infinity if that has no split.
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
        """Of this half alone; 1 if it has no split."""
        return 1.0 if self.judgement is None else self.judgement.pvalue


@dataclass(frozen=True)
class ValleyTest:
    """Result of the valley test.

    Attributes
    ----------
    pvalue : float
        Probability of so clear a valley if the density were unimodal along every direction. With one halving
        min(1, 2 min(p_A, p_B)); with several twice the median of these.
    halves : tuple of HalfTest
        Two for each random halving.
    grid_columns : tuple of int
        Columns of repeated values, whose rows were spread over their cells before they judged.
    """

    pvalue: float
    halves: tuple[HalfTest, ...]
    grid_columns: tuple[int, ...]

    def __str__(self) -> str:
        """Describe the result in a few lines of plain words."""
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
            lines.append(f"  {n} column{'' if n == 1 else 's'} of repeated values spread over the cells")
        return "\n".join(lines)


def cross_fitted_test(
    X: Any,
    rows: NDArray[np.intp],
    find: FindHyperplane,
    n_splits: int,
    rng: np.random.Generator,
) -> ValleyTest:
    """Test whether the rows have a valley along some hyperplane.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    rows : ndarray of shape (m,), int
        The rows of X to test.
    find : callable
        Finds the hyperplane of some rows.
    n_splits : int
        Random halvings.
    rng : numpy.random.Generator
    """
    if len(rows) < FEWEST_ROWS:
        return ValleyTest(1.0, (), ())
    grids = Grids.of(X, rows, rng)
    halves: list[HalfTest] = []
    pvalues = []
    for _ in range(n_splits):
        shuffled = rng.permutation(rows)
        one, other = np.sort(shuffled[: len(rows) // 2]), np.sort(shuffled[len(rows) // 2 :])
        pair = [_half(X, chooses, judges, find, grids, rng) for chooses, judges in ((one, other), (other, one))]
        halves += pair
        pvalues.append(min(1.0, 2.0 * min(half.pvalue for half in pair)))
    # Twice the median of valid P-values is valid whatever their dependence.
    pvalue = pvalues[0] if n_splits == 1 else min(1.0, 2.0 * float(np.median(pvalues)))
    return ValleyTest(pvalue, tuple(halves), tuple(grids.columns))


def split_test(X: Any, rows: NDArray[np.intp], n_splits: int, options: dict[str, Any]) -> ValleyTest:
    """The valley test of some rows, with hyperplanes found as `find_hyperplane` would with these options."""
    data = as_rows(X)
    if data.is_sparse:
        raise ValueError(
            "the valley test (test=True, n_clusters='auto', split_next='significance') looks at the values of every "
            "column and is not for sparse matrices: give n_clusters a number, or convert X with X.toarray()."
        )
    quiet = {**options, "callback": None}

    def find(half: NDArray[np.intp], rng: np.random.Generator) -> Hyperplane:
        return find_hyperplane(data.subset(half), **{**quiet, "rng": rng}).hyperplane

    return cross_fitted_test(data, rows, find, n_splits, options["rng"])


def _half(
    X: Any,
    chooses: NDArray[np.intp],
    judges: NDArray[np.intp],
    find: FindHyperplane,
    grids: Grids,
    rng: np.random.Generator,
) -> HalfTest:
    plane = find(chooses, rng)
    if not plane.splits:
        return HalfTest(plane, None, None)
    valley = find_valley(plane.distance(X, chooses), plane.bandwidth, 0.0)
    if valley is None:
        return HalfTest(plane, None, None)
    distances = plane.distance(X, judges)
    verdicts = [judge(valley, distances + grids.spread(X, judges, plane.normal, rng))]
    if grids.related:  # then the valley must show with both ways of spreading
        verdicts.append(judge(valley, distances + grids.spread(X, judges, plane.normal, rng, together=True)))
    return HalfTest(plane, valley, max(verdicts, key=lambda verdict: verdict.pvalue))
