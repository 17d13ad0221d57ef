"""Valley of a projected density as three intervals, the evidence for it, and an exact test with other projections."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ravine import _kernels
from ravine._typing import Array
from ravine.checks import require
from ravine.density.projected import ProjectedDensity
from ravine.density.sums import BinnedDensity, Window

# Candidate levels, as fractions of the height from the bottom of the valley to the lower of its two modes.
LEVELS = np.linspace(0.08, 0.95, 24)
# Distance (in bandwidths) beyond the data up to which the density is evaluated: kernels are below 1e-31 of their peak.
BEYOND = 12.0
# Whether the density rises where it crosses a level: outer end of L, both ends of M, outer end of R.
RISING = np.array([True, False, True, False])
# A search for these crossings ends after a step shorter than this (in bandwidths), or after this many steps.
LAST_STEP = 1e-10
MAX_STEPS = 100
# Levels of `outline_valley`, as the same fractions: M is below the first, L and R above the second.
OUTLINE = 0.4, 0.7
# Distance (in bandwidths) beyond the data up to which `outline_valley` evaluates the density.
MARGIN = 6.0
# Smaller values (in units of the kernel's peak) are rounding errors of the bins.
NEGLIGIBLE = 1e-9

Interval = tuple[float, float]


@dataclass(frozen=True)
class Valley:
    """Interval around b where the density is low, and the next intervals on both sides where it is higher.

    Attributes
    ----------
    middle, left, right : tuple of two float
        The intervals M, L and R: M is where the density is below some level, L and R are where it is above the same
        level, next to M, or above a higher level, at a distance from M.

    Examples
    --------
    >>> import numpy as np
    >>> from ravine import Valley
    >>> valley = Valley(middle=(-1.0, 1.0), left=(-3.0, -1.0), right=(1.0, 4.0))
    >>> valley.widths()
    (2.0, 2.0, 3.0)
    >>> valley.counts(np.array([-2.5, -2.0, 0.0, 1.5, 2.0, 3.0]))
    (1, 2, 3)
    """

    middle: Interval
    left: Interval
    right: Interval

    def widths(self) -> tuple[float, float, float]:
        """Return the lengths of M, L and R."""
        return tuple(end - start for start, end in (self.middle, self.left, self.right))  # type: ignore[return-value]

    def counts(self, projections: Array) -> tuple[int, int, int]:
        """Count the sorted projections in M, L and R; a shared end belongs to M."""
        (m0, m1), (l0, l1), (r0, r1) = self.middle, self.left, self.right
        left, left_end, start = np.searchsorted(projections, [l0, l1, m0], side="left").tolist()
        end, right, right_end = np.searchsorted(projections, [m1, r0, r1], side="right").tolist()
        return end - start, left_end - left, right_end - right

    def validate(self) -> None:
        """Raise an error if an interval is reversed."""
        require(all(low <= high for low, high in (self.middle, self.left, self.right)), "an interval")

    def shares(self) -> tuple[float, float]:
        """Return the width of M as a share of the widths of M and L together, and of those of M and R."""
        middle, left, right = self.widths()
        return middle / (middle + left), middle / (middle + right)


@dataclass(frozen=True)
class Judgement:
    """Result of testing a valley with independent projections.

    Attributes
    ----------
    counts : tuple of three int
        Numbers of projections in M, L and R.
    pvalue_left, pvalue_right : float
        Probability of at most this count in M, compared with L or R, if the density were as high in M as there.
    """

    counts: tuple[int, int, int]
    pvalue_left: float
    pvalue_right: float

    @property
    def pvalue(self) -> float:
        """Larger of the two P-values: a unimodal density is at least as high in M as on one of its sides."""
        return max(self.pvalue_left, self.pvalue_right)


def find_valley(projections: Array, bandwidth: float, b: float) -> Valley | None:
    """Find the valley at b with the strongest evidence; return None if b does not separate two modes.

    For each of 24 levels the smaller of the two binomial z-scores is computed; the level with the largest is kept.
    """
    projections = np.sort(projections)
    density = ProjectedDensity(projections, bandwidth)
    minima, modes = density.extrema()
    below, above = modes[modes < b], modes[modes > b]
    if not len(below) or not len(above):
        return None
    bottom, *beside = density.evaluate(np.array([b, below[-1], above[0]]))[0].tolist()
    top = min(beside)
    if not top > bottom:
        return None
    points = np.unique(np.concatenate([density.points(BEYOND), modes, minima, [b]]))
    values, levels = density.evaluate(points)[0], bottom + LEVELS * (top - bottom)
    cells = _find_cells(values, int(np.searchsorted(points, b)), levels)
    ends = _find_crossings(density, points, values, cells, levels)
    start, left, right, end = ends[int(np.argmax(_score_valleys(ends, projections)))].tolist()
    return Valley((left, right), (start, left), (right, end))


def judge(valley: Valley, projections: Array) -> Judgement:
    """Test a valley with projections that were not used to find it: two exact one-sided binomial tests."""
    from scipy.special import bdtr  # imported late: domain objects load without SciPy

    middle, *beside = counts = valley.counts(np.sort(projections))
    left, right = (float(bdtr(middle, middle + n, q)) for n, q in zip(beside, valley.shares(), strict=True))
    return Judgement(counts, left, right)


def measure_evidence(projections: Array, bandwidth: float, b: float) -> tuple[float, float]:
    """Return how surprising the emptiness of the valley at b is, compared with its left and with its right side.

    Both are z-scores of the number of projections in M, given the number in M and L (or R) and the widths of the
    intervals of `outline_valley`; minus infinity if b does not separate two modes. The smaller one is the evidence for
    the valley. The projections that chose b exaggerate it.
    """
    valley = outline_valley(projections, bandwidth, b)
    return (-math.inf, -math.inf) if valley is None else score_valley(valley, projections)


def score_valley(valley: Valley, projections: Array) -> tuple[float, float]:
    """Return the z-scores of the number of projections in M, compared with L and with R."""
    middle, *beside = valley.counts(np.sort(projections))
    left, right = (_score_emptiness(middle, middle + n, q) for n, q in zip(beside, valley.shares(), strict=True))
    return left, right


def _score_emptiness(middle: float, n: float, share: float) -> float:
    """Return the z-score of ``middle`` of n projections where a share of n is expected; positive if they are fewer."""
    return (n * share - middle) / math.sqrt(max(n * share * (1.0 - share), 1e-300))


def outline_valley(projections: Array, bandwidth: float, b: float) -> Valley | None:
    """Return the valley of the local minimum next to b at fixed levels; None if it does not separate two modes.

    With f0 the density at that minimum and f1 that at the lower of its two adjacent modes, M is the interval below
    f0 + 0.4 (f1 - f0), and L and R are the next intervals above f0 + 0.7 (f1 - f0). The density is evaluated at points
    h/4 apart and is linear between them.
    """
    points, values = _evaluate_outline(projections, bandwidth)
    bottom = _descend(values, min(max(bisect_left(points, b), 1), len(points) - 2))
    left, right = _climb(values, bottom, -1), _climb(values, bottom, 1)
    f0, f1 = values[bottom], min(values[left], values[right])
    if not f1 > f0:
        return None
    levels = [f0 + level * (f1 - f0) for level in OUTLINE]
    m0, l1, l0 = _follow_levels(points, values, bottom, -1, *levels)
    m1, r0, r1 = _follow_levels(points, values, bottom, 1, *levels)
    return Valley((m0, m1), (l0, l1), (r0, r1))


def _evaluate_outline(projections: Array, bandwidth: float) -> tuple[list[float], list[float]]:
    """Return points h/4 apart, up to 6 h beyond the projections, and the density there (kernel's peak: 1)."""
    first, last = float(projections.min()), float(projections.max())
    window = Window.around(first, last, bandwidth)
    density: BinnedDensity | ProjectedDensity
    if window is None:
        density = ProjectedDensity(projections, bandwidth)
        points = density.points(MARGIN)
    else:
        moments = np.zeros((window.n_bins + 2, _kernels.MOMENTS))
        _kernels.bin(projections, None, 1.0, 0.0, None, window.lo, window.width, moments)
        density = BinnedDensity(moments, window, bandwidth, float(len(projections)))
        points = np.arange(first - MARGIN * bandwidth, last + (MARGIN + 0.25) * bandwidth, 0.25 * bandwidth)
    return points.tolist(), np.maximum(density.evaluate(points)[0], NEGLIGIBLE).tolist()


def _descend(values: list[float], k: int) -> int:
    """Return the local minimum that is reached from k, in the direction of the steeper descent."""
    step = 1 if values[k + 1] < values[k - 1] else -1
    while 0 < k < len(values) - 1 and values[k + step] <= values[k]:
        k += step
    return k


def _climb(values: list[float], k: int, step: int) -> int:
    """Return the mode that is reached from k in one direction."""
    while 0 <= k + step < len(values) and values[k + step] >= values[k]:
        k += step
    return k


def _follow_levels(
    points: list[float], values: list[float], k: int, step: int, low: float, high: float
) -> tuple[float, float, float]:
    """Return where the density, from the bottom k on, exceeds both levels and falls below the higher one again."""
    ends: list[float] = []
    for level, rises in ((low, True), (high, True), (high, False)):
        while (values[k] < level) == rises:
            if not 0 <= k + step < len(values):
                return ends[0], ends[1], points[k]
            k += step
        share = (level - values[k - step]) / (values[k] - values[k - step])
        ends.append(points[k - step] + share * (points[k] - points[k - step]))
    return ends[0], ends[1], ends[2]


def _find_cells(values: Array, at: int, levels: Array) -> NDArray[np.intp]:
    """Find the cells in which the density crosses each level (row): outer end of L, both ends of M, outer end of R."""
    high = values >= levels[:, None]
    # Places at which a level is crossed. All exist on both sides of b, since the density ends in tails.
    crossed = high[:, 1:] != high[:, :-1]
    outward = crossed[:, :at][:, ::-1]
    m0 = np.argmax(outward, axis=1)
    outward[np.arange(len(levels)), m0] = False
    m1 = np.argmax(crossed[:, at:], axis=1)
    crossed[np.arange(len(levels)), at + m1] = False
    l0, r1 = np.argmax(outward, axis=1), np.argmax(crossed[:, at:], axis=1)
    return np.stack([at - 1 - l0, at - 1 - m0, at + m1, at + r1], axis=1)


def _find_crossings(
    density: ProjectedDensity, points: Array, values: Array, cells: NDArray[np.intp], levels: Array
) -> Array:
    """Find where the density crosses each level (row) in its cells, to 1e-10 bandwidths.

    The density is monotone in every cell, and its logarithm is nearly quadratic there, also in tails: a safeguarded
    Newton method runs on the logarithm, in all cells at once, from where a line crosses the level.
    """
    left, right = cells.ravel(), cells.ravel() + 1
    level, rising = np.repeat(np.log(levels), 4), np.tile(RISING, len(levels))
    a, c = points[left], points[right]
    with np.errstate(divide="ignore", invalid="ignore"):  # the density may underflow in a wide gap
        height = np.log(values)
        x = a + (c - a) * ((level - height[left]) / (height[right] - height[left]))
        x = np.where((x >= a) & (x <= c), x, 0.5 * (a + c))
        for _ in range(MAX_STEPS):
            value, slope, _ = density.evaluate(x)
            excess = np.log(value) - level
            before = (excess < 0.0) == rising  # the crossing lies to the right of x
            a, c = np.where(before, x, a), np.where(before, c, x)
            newton = x - excess * value / slope * density.bandwidth
            following = np.where((newton >= a) & (newton <= c), newton, 0.5 * (a + c))
            last_step = np.abs(following - x).max()
            x = following
            if last_step <= LAST_STEP * density.bandwidth:
                break
    return x.reshape(cells.shape)


def _score_valleys(ends: Array, projections: Array) -> Array:
    """Return the smaller of the two binomial z-scores of each valley (row of four ends)."""
    left, start = np.searchsorted(projections, ends[:, :2], side="left").T
    end, right = np.searchsorted(projections, ends[:, 2:], side="right").T
    widths = np.diff(ends)
    in_middle, beside = (end - start)[:, None], np.stack([start - left, right - end], axis=1)
    share, n = widths[:, 1:2] / (widths[:, 1:2] + widths[:, ::2]), in_middle + beside
    scores = (n * share - in_middle) / np.sqrt(np.maximum(n * share * (1.0 - share), 1e-300))
    return np.asarray(scores.min(axis=1))
