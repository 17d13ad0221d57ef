"""The projected density as exact sums over sorted projections, in the log domain: right however deep the valley."""

from __future__ import annotations

import math

import numpy as np

from ravine import _kernels
from ravine._typing import Array
from ravine.density.penalty import BalancePenalty, Minima

__all__ = ["SortedDensity", "relevant_distance"]

TOLERANCE = 1e-10
EVALUATIONS = 200_000


def relevant_distance(nearest: float, n: float) -> float:
    """How far (in h) rows matter to 1e-16 of a sum whose nearest row is ``nearest`` away."""
    return math.sqrt(nearest**2 + 2.0 * (math.log(1e16) + math.log(max(n, 1.0))))


class SortedDensity:
    """The density of sorted projections; ``total`` is the weight of all rows, gathered or not."""

    def __init__(self, projections: Array, weights: Array | None, bandwidth: float, total: float) -> None:
        self.projections = projections
        self.weights = weights
        self.bandwidth = bandwidth
        self.total = total

    def log_evaluate(self, points: Array) -> Array:
        """Rows: log-density (units of the kernel's peak) at the points and its derivatives in units of h."""
        return _kernels.evaluate_sorted(self.projections, self.weights, self.total, self.bandwidth, points)

    def minimise(self, a: float, c: float, penalty: BalancePenalty) -> Minima:
        """All global minimisers of the penalised density over b (eq. (13))."""
        return Minima.from_kernel(
            *_kernels.minimise_sorted(
                self.projections, self.weights, self.total, self.bandwidth, a, c, self._spacing(a, c),
                penalty.factor, penalty.epsilon, penalty.eta, TOLERANCE, EVALUATIONS,
            )
        )  # fmt: skip

    def minimise_with(self, a: float, c: float, hinges: _kernels.Hinges) -> Minima:
        """All global minimisers over [a, c] of the density plus a convex function of b (eq. (17))."""
        return Minima.from_kernel(
            *_kernels.minimise_sorted_with(
                self.projections, self.weights, self.total, self.bandwidth, a, c, self._spacing(a, c), hinges,
                TOLERANCE, EVALUATIONS,
            )
        )  # fmt: skip

    def _spacing(self, a: float, c: float) -> float:
        """Distance in h of the first points that a minimisation looks at."""
        return max(1.0, (c - a) / self.bandwidth / max(16, min(1024, len(self.projections))))

    def nodes(self, a: float, c: float) -> Array:
        """Points at most h/4 apart within 1.25 h of a row, and further apart across empty gaps.

        Further from every row than h each kernel is convex, so the density has one minimum there and no mode.
        """
        h, p = self.bandwidth, self.projections
        step = h / _kernels.BINS_PER_BANDWIDTH
        inside = p[(p >= a - 2.0 * h) & (p <= c + 2.0 * h)]
        # On one grid, so that rows close together share their nodes; its origin keeps the numbers small.
        cells = np.unique(np.rint((inside - a) / step))
        near = np.unique(cells[:, None] + np.arange(-6.0, 7.0)) * step + a
        return np.unique(np.concatenate([[a, c], near[(near > a) & (near < c)]]))
