"""Valley of a projected density as three intervals, and an exact test of it with independent projections."""

from __future__ import annotations

import math
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
    bottom, top = float(density(b)), float(density([below[-1], above[0]]).min())
    if not top > bottom:
        return None
    points = np.unique(np.concatenate([density.points(BEYOND), modes, minima, [b]]))
    values, levels = density(points), bottom + LEVELS * (top - bottom)
    at = int(np.searchsorted(points, b))
    cells = np.array([_find_cells(values, at, level) for level in levels.tolist()])
    ends = _find_crossings(density, points, cells, levels)
    valleys = [Valley((left, right), (start, left), (right, end)) for start, left, right, end in ends.tolist()]
    return max(valleys, key=lambda valley: _score_valley(valley, projections))


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


def _find_cells(values: Array, at: int, level: float) -> list[int]:
    """Find the cells in which the density crosses a level: outer end of L, both ends of M, outer end of R."""
    low = values < level
    m0 = int(np.flatnonzero(~low[:at])[-1])  # last high point on the left
    l0 = int(np.flatnonzero(low[:m0])[-1])  # last low point left of L; it exists since the density ends in a tail
    m1 = at + int(np.flatnonzero(~low[at:])[0])
    r1 = m1 + int(np.flatnonzero(low[m1:])[0])
    return [l0, m0, m1 - 1, r1 - 1]


def _find_crossings(density: ProjectedDensity, points: Array, cells: NDArray[np.intp], levels: Array) -> Array:
    """Find where the density crosses each level (row) between neighbouring points, by bisection of all cells.

    The points are at most a quarter of a bandwidth apart near rows, so 32 halvings are exact to 1e-10 bandwidths.
    """
    a, c, level = points[cells], points[cells + 1], levels[:, None]
    falling = density(a) >= level
    for _ in range(32):
        middle = 0.5 * (a + c)
        crossed = (density(middle) >= level) != falling
        a, c = np.where(crossed, a, middle), np.where(crossed, middle, c)
    return np.asarray(0.5 * (a + c))


def _score_valley(valley: Valley, projections: Array) -> float:
    """Return the smaller of the two binomial z-scores of a valley."""
    in_middle, *beside = valley.counts(projections)
    middle, *widths = valley.widths()
    scores = []
    for count, width in zip(beside, widths, strict=True):
        share, n = middle / (middle + width), in_middle + count
        scores.append((n * share - in_middle) / math.sqrt(max(n * share * (1.0 - share), 1e-300)))
    return min(scores)
