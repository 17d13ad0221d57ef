"""Projected density as exact sums over sorted projections, in the log domain: accurate in valleys of any depth."""

from __future__ import annotations

import math

import numpy as np

from ravine import _kernels
from ravine._typing import Array
from ravine.density.penalty import BalancePenalty, Minima

__all__ = ["SortedDensity", "compute_relevant_distance"]

# Relative tolerance of the certified global minimum, and the most evaluations spent on it.
TOLERANCE = 1e-10
MAX_EVALUATIONS = 200_000


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
                penalty.factor, penalty.epsilon, penalty.eta, TOLERANCE, MAX_EVALUATIONS,
            )
        )  # fmt: skip

    def minimise_with(self, a: float, c: float, hinges: _kernels.Hinges) -> Minima:
        """Find all global minimisers over [a, c] of the density plus a convex function of b (eq. (17))."""
        return Minima.from_kernel(
            *_kernels.minimise_sorted_with(
                self.projections, self.weights, self.total, self.bandwidth, a, c, self._choose_spacing(a, c), hinges,
                TOLERANCE, MAX_EVALUATIONS,
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
