"""Projected density as sums over the rows, in two forms.

`BinnedDensity` sums Taylor moments of bins: one pass over the projections, without exponentials or sorting. With bins
of width δ = h/4 and Q = 8 moments each, the error is at most 1.0865 (δ/2h)^Q / sqrt(Q!) = 3.2e-10 of the kernel's peak,
plus 6e-12 for the bins beyond 7.2 h that are not summed. `SortedDensity` sums exactly over sorted projections, in the
log domain, and is accurate in valleys of any depth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ravine import _kernels
from ravine._kernels import (  # density.hpp explains them
    BINNED_BUDGET,
    BINNED_TOLERANCE,
    MARGIN,
    MAX_BINS,
    MAX_BINS_PER_ROW,
    SORTED_BUDGET,
    SORTED_TOLERANCE,
)
from ravine._typing import Array
from ravine.density.penalty import BalancePenalty, Minima

# The inverse of a smaller width overflows.
SMALLEST_WIDTH = 2.0**-1020
_HERMITE = np.array([_kernels.BINS_PER_BANDWIDTH**-k / math.factorial(k) for k in range(_kernels.MOMENTS)])


@dataclass(frozen=True)
class Window:
    """Equidistant bins for evaluations of the density in an interval."""

    lo: float
    width: float
    n_bins: int

    @classmethod
    def around(cls, a: float, c: float, bandwidth: float) -> Window | None:
        """Place bins over [a, c] and a margin; return None if they would be too many."""
        width = bandwidth / _kernels.BINS_PER_BANDWIDTH
        needed = (c - a + 2.0 * MARGIN * bandwidth) / width
        if not needed <= MAX_BINS - 4 or width < SMALLEST_WIDTH:
            return None
        return cls(a - MARGIN * bandwidth, width, 4 * math.ceil((needed + 1.0) / 4.0))


def has_few_rows(n_rows: int, a: float, c: float, bandwidth: float) -> bool:
    """Return whether exact sums over the rows are cheaper than bins over [a, c]."""
    return (c - a) / bandwidth * _kernels.BINS_PER_BANDWIDTH > MAX_BINS_PER_ROW * n_rows


class BinnedDensity:
    """Projected density in a window, in units of one kernel's peak.

    Parameters
    ----------
    moments : ndarray of shape (n_bins + 2, 8)
        Sums of powers of the positions within each bin, as `ravine.rows.Histogram` returns them.
    """

    def __init__(self, moments: Array, window: Window, bandwidth: float, total: float) -> None:
        self.coefficients: Array = np.ascontiguousarray((moments[1:-1] * (_HERMITE / total)).T)
        self.lo = window.lo
        self.bandwidth = bandwidth
        self.mass = float(self.coefficients[0].sum())

    def evaluate(self, points: Array) -> Array:
        """Return value, slope and curvature at the points as rows, in units of h."""
        return _kernels.evaluate(self.coefficients, self.lo, self.bandwidth, points)

    def evaluate_log(self, points: Array) -> Array:
        """Return the log-density at the points and its derivatives (in units of h) as rows.

        Values below 1e-9 of the kernel's peak are not reliable.
        """
        value, slope, curvature = self.evaluate(points)
        out = np.empty((3, len(points)))
        np.log(np.maximum(value, 1e-14, out=value), out=out[0])
        np.divide(slope, value, out=out[1])
        np.divide(curvature, value, out=out[2])
        out[2] -= out[1] * out[1]
        return out

    def minimise(self, a: float, c: float, penalty: BalancePenalty) -> Minima:
        """Find all global minimisers of the penalised density over b (eq. (13))."""
        return Minima.from_kernel(
            *_kernels.minimise(
                self.coefficients, self.lo, self.bandwidth, a, c,
                penalty.factor, penalty.epsilon, penalty.eta, BINNED_TOLERANCE, BINNED_BUDGET,
            )
        )  # fmt: skip

    def minimise_with(self, a: float, c: float, hinges: _kernels.Hinges) -> Minima:
        """Find all global minimisers over [a, c] of the density plus a convex function of b (eq. (17))."""
        return Minima.from_kernel(
            *_kernels.minimise_with(
                self.coefficients, self.lo, self.bandwidth, a, c, hinges, BINNED_TOLERANCE, BINNED_BUDGET
            )
        )


def compute_relevant_distance(nearest: float, n: float) -> float:
    """Return the distance (in h) beyond which rows are below 1e-16 of a sum with its nearest row ``nearest`` away."""
    return math.sqrt(nearest**2 + 2.0 * (math.log(1e16) + math.log(max(n, 1.0))))


class SortedDensity:
    """Density of sorted projections; ``total`` is the weight of all rows, including those that are left out."""

    def __init__(self, projections: Array, weights: Array | None, bandwidth: float, total: float) -> None:
        self.projections = projections
        self.weights = weights
        self.bandwidth = bandwidth
        self.total = total

    def evaluate_log(self, points: Array) -> Array:
        """Return the log-density (in units of the kernel's peak) and its derivatives (in units of h) as rows."""
        return _kernels.evaluate_sorted(self.projections, self.weights, self.total, self.bandwidth, points)

    def minimise(self, a: float, c: float, penalty: BalancePenalty) -> Minima:
        """Find all global minimisers of the penalised density over b (eq. (13))."""
        return Minima.from_kernel(
            *_kernels.minimise_sorted(
                self.projections, self.weights, self.total, self.bandwidth, a, c, self._choose_spacing(a, c),
                penalty.factor, penalty.epsilon, penalty.eta, SORTED_TOLERANCE, SORTED_BUDGET,
            )
        )  # fmt: skip

    def minimise_with(self, a: float, c: float, hinges: _kernels.Hinges) -> Minima:
        """Find all global minimisers over [a, c] of the density plus a convex function of b (eq. (17))."""
        return Minima.from_kernel(
            *_kernels.minimise_sorted_with(
                self.projections, self.weights, self.total, self.bandwidth, a, c, self._choose_spacing(a, c), hinges,
                SORTED_TOLERANCE, SORTED_BUDGET,
            )
        )  # fmt: skip

    def _choose_spacing(self, a: float, c: float) -> float:
        """Choose the distance (in h) between the first points that a minimisation evaluates."""
        return max(1.0, (c - a) / self.bandwidth / max(16, min(1024, len(self.projections))))

    def place_nodes(self, a: float, c: float) -> Array:
        """Place points in [a, c] at most h/4 apart within 1.25 h of a row, and farther apart across empty gaps.

        Farther than h from every row each kernel is convex, so the density has one minimum and no mode there.
        """
        h, p = self.bandwidth, self.projections
        step = h / _kernels.BINS_PER_BANDWIDTH
        inside = p[(p >= a - 2.0 * h) & (p <= c + 2.0 * h)]
        # One grid, so that neighbouring rows share their nodes; starting it at a keeps the numbers small.
        cells = np.rint((inside - a) / step)
        cells = cells[np.diff(cells, prepend=-np.inf) > 0.0]  # they are sorted
        near = np.unique(cells[:, None] + np.arange(-6.0, 7.0)) * step + a
        return np.unique(np.concatenate([[a, c], near[(near > a) & (near < c)]]))
