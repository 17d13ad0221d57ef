"""Projected density as sums over the rows, in two forms.

`BinnedDensity` sums Taylor moments of bins: one pass over the projections, without exponentials or sorting. With bins
of width δ = h/4 and Q = 8 moments each, the error is at most 1.0865 (δ/2h)^Q / sqrt(Q!) = 3.2e-10 of the kernel's peak,
plus 6e-12 for the bins beyond 7.2 h that are not summed. `SortedDensity` sums exactly over sorted projections, in the
log domain, and is accurate in valleys of any depth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

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


# ----------------------------------------------------------------------------------------------- penalty


@dataclass(frozen=True)
class BalancePenalty:
    """Penalty for b outside F(v), eq. (10), with η in units of h so that it does not depend on the units of the data.

    In units of h and of the kernel's peak, ``L`` is exp(-1/2) and the penalty at a distance e from F(v) is
    ``L / eta**epsilon * e**(1 + epsilon)``. Minimisers lie at most η outside F(v) (Proposition 2).
    """

    eta: float = 0.01
    epsilon: float = 1.0 - 1e-6

    def __post_init__(self) -> None:
        # Up to this limit density plus penalty is strictly convex outside F(v): |f''| <= 1 and
        # penalty'' >= L ε (1 + ε) / η there.
        limit = math.exp(-0.5) * self.epsilon * (1.0 + self.epsilon)
        if not 0.0 < self.epsilon <= 1.0:
            raise ValueError(f"epsilon must lie in (0, 1], got {self.epsilon!r}.")
        if not 1e-150 < self.eta <= limit:
            raise ValueError(
                f"eta must lie in (0, {limit:.3g}] (in bandwidths, for epsilon={self.epsilon:g}), got {self.eta!r}."
            )

    @property
    def factor(self) -> float:
        """L / η^ε in units of h and of the kernel's peak."""
        return math.exp(-0.5) / math.pow(self.eta, self.epsilon)

    def evaluate(self, distance: Array) -> Array:
        """Return the penalty at distances from F(v), in units of h and of the kernel's peak."""
        return np.asarray(self.factor * np.maximum(distance, 0.0) ** (1.0 + self.epsilon))


@dataclass(frozen=True)
class Minima:
    """Set B_C(v) of global minimisers of the penalised density over b (eq. (12) and (23)), lowest first.

    Attributes
    ----------
    b : float
        The lowest minimiser.
    log_index : float
        Log of the penalised density there, in units of the kernel's peak.
    log_density, slope, curvature : float
        Log of the density without the penalty, and its derivatives in units of h.
    side : int
        -1 or +1 if b lies outside the lower or upper end of F(v) (by at most η), else 0.
    ties : ndarray of shape (k,)
        All minimisers within tolerance, ``b`` first.
    certified : bool
        Whether no other b can be lower by more than the tolerance.
    n_evaluations : int
        Number of evaluations of the density that the minimisation took.
    table : ndarray of shape (k, 6), optional
        b, log_index, log_density, slope, curvature and side of all ties.
    half : float, optional
        F(v) is [-half, half]; None if the kernel determined ``side``.
    """

    b: float
    log_index: float
    log_density: float
    slope: float
    curvature: float
    side: int
    ties: Array
    certified: bool
    n_evaluations: int
    table: Array | None = field(default=None, repr=False)
    half: float | None = field(default=None, repr=False)

    @property
    def density_share(self) -> float:
        """Share of the density in the penalised density."""
        return math.exp(self.log_density - self.log_index)

    @property
    def is_unpenalised(self) -> bool:
        """Whether the penalty is zero at the lowest minimiser."""
        return self.log_index == self.log_density

    def mark_side(self, half: float) -> Minima:
        """Return a copy whose ``side`` is relative to F(v) = [-half, half]."""
        return replace(self, side=int(self.b > half) - int(self.b < -half), half=half)

    def list_ties(self) -> list[Minima]:
        """Return one result for each tied minimiser."""
        if self.table is None or len(self.table) == 1:
            return [self]
        rows = (self.table[k : k + 1] for k in range(len(self.table)))
        ties = [Minima.from_kernel(row, self.certified, self.n_evaluations) for row in rows]
        return ties if self.half is None else [m.mark_side(self.half) for m in ties]

    @classmethod
    def from_kernel(cls, table: Array, certified: bool, n_evaluations: int) -> Minima:
        """Make a result from the table of ties, the certificate and the number of evaluations that a kernel returns."""
        b, log_index, log_density, slope, curvature, side = table[0].tolist()
        return cls(b, log_index, log_density, slope, curvature, int(side), table[:, 0], certified, n_evaluations, table)
