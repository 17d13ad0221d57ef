"""Results of the valley test."""

from __future__ import annotations

from dataclasses import dataclass, field

from ravine._plurals import count, format_pvalue
from ravine.density import Judgement, Valley
from ravine.hyperplane import Hyperplane

# Range of z-scores: below it there is no evidence, above it P underflows.
LOWEST, HIGHEST = -3.0, 37.0


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
