"""Valley of a projected density as three intervals, and an exact test of it with independent projections."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.density.projected import ProjectedDensity

__all__ = ["Judgement", "Valley", "find_valley", "judge"]

# Candidate levels, as fractions of the height from the bottom of the valley to the lower of its two modes.
LEVELS = np.linspace(0.08, 0.95, 24)
# Distance (in bandwidths) beyond the data up to which the density is evaluated: kernels are below 1e-31 of their peak.
BEYOND = 12.0
# Whether the density rises where it crosses a level: outer end of L, both ends of M, outer end of R.
RISING = np.array([True, False, True, False])
# A search for these crossings ends after a step shorter than this (in bandwidths), or after this many steps.
LAST_STEP = 1e-10
MAX_STEPS = 100

Interval = tuple[float, float]


@dataclass(frozen=True)
class Valley:
    """Interval around b where the density is below some level, and the intervals above it on both sides.

    Attributes
    ----------
    middle, left, right : tuple of two float
        The intervals M, L and R: M is where the density is below the level, L and R are where it is above, next to it.
    """

    middle: Interval
    left: Interval
    right: Interval

    def widths(self) -> tuple[float, float, float]:
        """Return the lengths of M, L and R."""
        return tuple(end - start for start, end in (self.middle, self.left, self.right))  # type: ignore[return-value]

    def counts(self, projections: Array) -> tuple[int, int, int]:
        """Count the sorted projections in M, L and R; a shared end belongs to M."""
        (m0, m1), (l0, _), (_, r1) = self.middle, self.left, self.right
        left, start = np.searchsorted(projections, [l0, m0], side="left").tolist()
        end, right = np.searchsorted(projections, [m1, r1], side="right").tolist()
        return end - start, start - left, right - end


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

    counts = valley.counts(np.sort(projections))
    middle, left, right = valley.widths()
    return Judgement(
        counts,
        float(bdtr(counts[0], counts[0] + counts[1], middle / (middle + left))),
        float(bdtr(counts[0], counts[0] + counts[2], middle / (middle + right))),
    )


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
