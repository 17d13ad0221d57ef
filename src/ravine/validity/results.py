"""Results of the valley test."""

from __future__ import annotations

from dataclasses import dataclass

from ravine._html import make_section, make_table
from ravine._plurals import count, format_pvalue
from ravine.checks import require
from ravine.density import Judgement, Valley
from ravine.hyperplane import Hyperplane

TEST_METHODS = "pooled", "exact"
# Number of folds of a partition of the pooled test.
N_FOLDS = 3
# Range of z-scores: below it there is no evidence, above it P underflows.
LOWEST, HIGHEST = -3.0, 37.1


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
        """Z-score of that probability, within [-3, 37.1]."""
        from scipy.special import ndtri

        p = self.pvalue
        return HIGHEST if p <= 0.0 else float(min(max(-ndtri(p), LOWEST), HIGHEST))


@dataclass(frozen=True)
class Evidence:
    """Evidence of one partition of the rows into folds.

    Attributes
    ----------
    weak, strong : Tally
        Comparison with the side on which the other folds have less evidence, and with the other side.
    """

    weak: Tally
    strong: Tally

    @property
    def score(self) -> float:
        """Z-score of the side with less evidence."""
        return min(self.weak.score, self.strong.score)


@dataclass(frozen=True, repr=False)
class ValleyTest:
    """Result of the valley test.

    Attributes
    ----------
    pvalue : float
        P-value. With ``method="exact"`` it is a bound on the probability of a valley this clear if the density were
        unimodal along every direction: min(1, 2 min(p_A, p_B)) of one halving, or twice the median of several. With
        ``method="pooled"`` its level is checked by simulation.
    halves : tuple of HalfTest
        Two for each random halving of the exact test.
    grid_columns : tuple of int
        Features of repeated values, which were spread over their cells before the judgement.
    method : {"pooled", "exact"}
    partitions : tuple of Evidence
        Evidence of each random partition of the pooled test; empty if there are too few rows.
    is_bend : bool
        Whether the pooled test found a valley whose two sides are connected around it, as in a ring or an arc. P is
        then 1.

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
    partitions: tuple[Evidence, ...] = ()
    is_bend: bool = False

    def validate(self) -> None:
        """Raise an error if the P-value or the method is impossible, or if a bend contradicts them."""
        require(0.0 <= self.pvalue <= 1.0 and self.method in TEST_METHODS, "pvalue or method")
        require(not self.is_bend or (self.pvalue == 1.0 and self.method == "pooled"), "is_bend")

    def _repr_html_(self) -> str:
        title, *lines = str(self).split("\n")
        return make_section(title, make_table([(line.strip(),) for line in lines]))

    def __repr__(self) -> str:
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
                f"{format_pvalue(half.pvalue)}"
            )
        return lines

    def _describe_partitions(self) -> list[str]:
        if not self.partitions:
            reason = "too few rows for a test: at least 20 are needed, without copies"
            return [f"Valley test: {format_pvalue(self.pvalue)} ({reason})"]
        n = count(len(self.partitions), "random partition")
        lines = [f"Valley test: {format_pvalue(self.pvalue)} (pooled over {n} into {N_FOLDS} folds)"]
        if self.is_bend:
            lines.append("  the valley is that of a bend: its two sides are connected around it")
        for k, one in enumerate(self.partitions):
            if not one.weak.total:
                lines.append(f"  partition {k + 1}: no split")
                continue
            lines.append(
                f"  partition {k + 1}: {one.weak.middle} rows in the valleys found without them, where the sides "
                f"suggest {one.weak.expected:.1f} and {one.strong.expected:.1f}"
            )
        return lines
