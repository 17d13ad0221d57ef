"""The clustering index φ_CL and its gradient, eq. (10), (13) and (26) of the paper.

The optimiser sees log φ, which has the same minimisers, never underflows, and has neither the unit of the data nor that
of the density.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ravine._typing import Array
from ravine.density import (
    DEEP,
    MARGIN,
    BalancePenalty,
    BinnedDensity,
    Minima,
    SortedDensity,
    Window,
    compute_relative_log_depth,
    compute_relevant_distance,
)
from ravine.optimise import Asking
from ravine.rows import (
    AngleDerivative,
    CovarianceProduct,
    Gradient,
    GradientNoise,
    Histogram,
    LogSum,
    Moments,
    Request,
    Rotate,
    Sample,
    SetDirection,
    SetTangent,
    ValuesIn,
    Variances,
)

__all__ = ["ClusteringIndex", "Separation"]

# Rows beyond the reach of a sum together change it by less than this fraction.
NEGLIGIBLE = 1e-10
# A valley less deep than this, relative to its modes, is rounding.
SHALLOWEST = 1e-6
# A first guess of how far (in h) the next row is where exact sums are needed.
VALLEY_MARGIN = 8.0


Solve = Callable[[BinnedDensity | SortedDensity, float, float], Minima]


@dataclass(frozen=True)
class Separation:
    """What the hyperplane at the current normal separates.

    Attributes
    ----------
    b : float
        Its offset, in working units.
    log_density : float
        Exact log of the density on it, in units of the kernel's peak.
    log_depth : float
        Log of the density at the lower of the two adjacent modes over that on the hyperplane; not positive, or -inf, if
        it does not separate two modes; NaN if nobody asked for it.
    """

    b: float
    log_density: float
    log_depth: float

    @property
    def valid(self) -> bool:
        """Whether two modes of the projected density are separated, by more than the rounding of the sums."""
        return self.log_depth > SHALLOWEST


class ClusteringIndex:
    """log φ_CL as an objective on the sphere, for one start.

    Parameters
    ----------
    sample : Sample
    moments : Moments
        Whose standard deviation defines F(v) (eq. (7)). Where the covariance is not stored, that of the
        sample's own rows, about the same mean, is used: the sample is asked for its products.
    bandwidth : float
        In working units.
    penalty : BalancePenalty
    alpha : float
        Half-width of F(v) in standard deviations; may be changed between optimisations.

    Attributes
    ----------
    minima : Minima
        The minimisers over b at the current normal.
    gamma : float
        Weight of the labels: none here.
    n_evaluations, n_tied : int
        Evaluations of the index so far, and how many of them had more than one minimiser (B(v) not a singleton).
    certified : bool
        Whether the minimum over b was certified in all of them.
    exact : bool
        Whether bins are passed over: for few rows and small bandwidths exact sums are cheaper.
    """

    gamma = 0.0
    exact = False

    def __init__(
        self, sample: Sample, moments: Moments, bandwidth: float, penalty: BalancePenalty, alpha: float
    ) -> None:
        self.sample = sample
        self.moments = moments
        self.bandwidth = bandwidth
        self.penalty = penalty
        self.alpha = alpha
        self._track = sample.track()
        self._v: Array | None = None
        self._cov_v: Array  # the covariance times v, and times u
        self._cov_u: Array
        self._quadratic: tuple[float, float, float]  # variances and covariance on v and u
        self._vv: float  # variance on v, where the covariance is not stored
        self._pending: list[Request] = []
        self.n_evaluations = 0
        self.n_tied = 0
        self.certified = True

    # ------------------------------------------------------------------------------------------- objective

    def begin(self, v: Array) -> Asking[tuple[float, Array]]:
        """Go to v (no new projection if already there): value and gradient."""
        if not self.is_at(v):
            self._aim(v)
            if not self.moments.is_stored:
                *_, (self._vv, _, _) = yield [*self._flush(), Variances(self._track, turned=False)]
        self.minima = self._trial = yield from self._minimise_over_b(0.0, self._sigma(0.0))
        return self.minima.log_index, (yield from self._gradient())

    def is_at(self, v: Array) -> bool:
        """Whether the minimisers at hand are those at v."""
        return self._v is not None and np.array_equal(v, self._v)

    def adjust(self, alpha: float, gamma: float) -> Asking[bool]:
        """Set alpha and gamma at the current normal; whether b stays where it is, so that nothing else changes."""
        before, gamma_before = self.minima, self.gamma
        self.alpha, self.gamma = alpha, gamma
        self.minima = self._trial = yield from self._minimise_over_b(0.0, self._sigma(0.0))
        same = abs(self.minima.b - before.b) <= 1e-9 * self.bandwidth
        same_penalty = gamma == gamma_before or (before.is_unpenalised and self.minima.is_unpenalised)
        return same and same_penalty and before.side == 0 and self.minima.side == 0

    def set_tangent(self, u: Array) -> Asking[None]:
        """Face along u; the projection is asked for with the first trial, or with the product of the covariance."""
        self._turn(u)
        if not self.moments.is_stored:
            *_, self._quadratic = yield [*self._flush(), Variances(self._track, turned=True)]
            return
        assert self._v is not None
        self._quadratic = float(self._v @ self._cov_v), float(self._v @ self._cov_u), float(u @ self._cov_u)

    def evaluate(self, t: float) -> Asking[float]:
        """Value at the angle t."""
        self._trial = yield from self._minimise_over_b(t, self._sigma(t))
        return self._trial.log_index

    def differentiate(self, t: float) -> Asking[float]:
        """Derivative by the angle at the last trial: needs only the two projections (eq. (26) along the circle)."""
        m = self._trial
        (along,) = yield [AngleDerivative(self._track, t, self.bandwidth, m.b, *self._sum_and_reach(m.log_density))]
        c, s = math.cos(t), math.sin(t)
        vv, vu, uu = self._quadratic
        sigma_slope = (c * s * (uu - vv) + (c * c - s * s) * vu) / self._sigma(t)
        return float(along * m.density_share + self._penalty_slope(m, t, sigma_slope))

    def accept(self, t: float, v: Array) -> Asking[Array]:
        """Go to the last trial: gradient there."""
        self._move(t, v)
        self.minima = self._trial
        return (yield from self._gradient())

    # ------------------------------------------------------------------------------------------- ties

    def gradients(self) -> Asking[Array]:
        """The gradient of log f(v, b) for every b in B(v) at the current normal, as rows.

        With a single minimiser there is one, that of the index; with several the index has a kink.
        """
        found = self.minima.list_ties()
        pulled = yield [
            *self._flush(),
            *(Gradient(self._track, self.bandwidth, m.b, *self._sum_and_reach(m.log_density)) for m in found),
        ]
        rows = zip(pulled[-len(found) :], found, strict=True)
        return np.array([gradient * m.density_share + self._penalty_gradient(m) for gradient, m in rows])

    def directional_derivative(self, u: Array) -> Asking[float]:
        """One-sided derivative of log φ along the tangent u at the current normal: the least over B(v), eq. (25)."""
        gradients = yield from self.gradients()
        return float((gradients @ u).min())

    def signal_to_noise(self, v: Array) -> Asking[float]:
        """Squared length of the gradient at v over what chance alone would make of it: 1, if there is nothing else."""
        _, gradient = yield from self.begin(v)
        m = self.minima
        (noise,) = yield [GradientNoise(self._track, self.bandwidth, m.b, *self._sum_and_reach(m.log_density))]
        tangent = gradient - (gradient @ v) * v
        return float(tangent @ tangent / max(m.density_share**2 * noise, np.finfo(float).tiny))

    # ------------------------------------------------------------------------------------------- jointly in (v, b)

    def joint(self, v: Array, b: float) -> Asking[tuple[float, Array, float]]:
        """The log of Î(v, b), eq. (3), its gradient by v and its derivative by b; v may have any length."""
        if not self.is_at(v):
            self._aim(v)
        self.n_evaluations += 1
        h = self.bandwidth
        *_, log_sum = yield [*self._flush(), LogSum(self._track, 0.0, h, b)]
        log_density = log_sum - math.log(self.sample.total)
        _, reach = self._sum_and_reach(log_density)
        gradient, (rows, weights) = yield [
            Gradient(self._track, h, b, log_sum, reach),
            ValuesIn(self._track, 0.0, b - reach, b + reach),
        ]
        _, slope, _ = SortedDensity(rows, weights, h, self.sample.total).evaluate_log(np.array([b]))
        return log_density, gradient, float(slope[0]) / h

    def constraints(self, v: Array, b: float) -> tuple[Array, Array]:
        """What must not be negative in eq. (9), and its derivatives by (v, b); the mean is the origin."""
        covered = self.moments.times(v)
        sigma = math.sqrt(max(float(v @ covered), np.finfo(float).tiny))
        wider = self.alpha / sigma * covered
        return (
            np.array([b + self.alpha * sigma, self.alpha * sigma - b]),
            np.array([np.append(wider, 1.0), np.append(wider, -1.0)]),
        )

    # ------------------------------------------------------------------------------------------- pieces

    def _aim(self, v: Array) -> None:
        self._pending.append(SetDirection(self._track, v))
        self._v = v
        if self.moments.is_stored:
            self._cov_v = self.moments.times(v)

    def _turn(self, u: Array) -> None:
        if self.moments.is_stored:
            self._cov_u = self.moments.times(u)
        self._pending.append(SetTangent(self._track, u))

    def _move(self, t: float, v: Array) -> None:
        self._pending.append(Rotate(self._track, t))
        if not self.moments.is_stored:
            self._v, self._vv = v, self._sigma(t) ** 2
        else:
            self._v, self._cov_v = v, math.cos(t) * self._cov_v + math.sin(t) * self._cov_u

    def _sigma(self, t: float) -> float:
        """Standard deviation of the projections at the angle t."""
        if t == 0.0:
            if not self.moments.is_stored:
                return math.sqrt(self._vv)
            assert self._v is not None
            return math.sqrt(max(float(self._v @ self._cov_v), 0.0))
        vv, vu, uu = self._quadratic
        c, s = math.cos(t), math.sin(t)
        return math.sqrt(max(c * c * vv + 2.0 * c * s * vu + s * s * uu, np.finfo(float).tiny))

    def _pull(self, m: Minima) -> float:
        """Derivative of log φ by σ_v: not zero only where b lies outside F(v).

        At the minimiser the slope of the penalty equals minus the slope of the density (eq. (10)), which is used
        in its place: it is as exact in the deepest valley, where the penalty itself underflows.
        """
        return m.side * m.slope / self.bandwidth * self.alpha * m.density_share if m.side else 0.0

    def _penalty_slope(self, m: Minima, _: float, sigma_slope: float) -> float:
        """What the penalty adds to the slope at the last trial, at the angle t, where σ_v changes by sigma_slope."""
        return self._pull(m) * sigma_slope

    def _penalty_gradient(self, m: Minima) -> Array:
        """What the penalty adds to the gradient."""
        if not m.side:
            return np.zeros(self.sample.n_features)
        return np.asarray((self._pull(m) / self._sigma(0.0)) * self._cov_v)

    def _sum_and_reach(self, log_density: float) -> tuple[float, float]:
        reach = self.bandwidth * math.sqrt(2.0 * (-math.log(NEGLIGIBLE) - log_density))
        return log_density + math.log(self.sample.total), reach

    def _gradient(self) -> Asking[Array]:
        """Gradient of log φ at the current normal (eq. (26)): the rows near b, and the balance penalty."""
        m = self.minima
        pull_back = Gradient(self._track, self.bandwidth, m.b, *self._sum_and_reach(m.log_density))
        if not self.moments.is_stored and self._feels_sigma(m):
            *_, self._cov_v, gradient = yield [*self._flush(), CovarianceProduct(self._track), pull_back]
        else:
            *_, gradient = yield [*self._flush(), pull_back]
        return np.asarray(gradient * m.density_share + self._penalty_gradient(m))

    def _feels_sigma(self, m: Minima) -> bool:
        """Whether the gradient of the penalty may depend on that of σ_v."""
        return m.side != 0

    def _flush(self) -> list[Request]:
        pending, self._pending = self._pending, []
        return pending

    def _minimise_over_b(self, t: float, sigma: float) -> Asking[Minima]:
        """Global minimisers over b of the penalised density at the angle t (eq. (13))."""
        h = self.bandwidth
        lo, hi, solve = self._problem(t, self.alpha * sigma)
        window = None if self.exact else Window.around(lo - self.penalty.eta * h, hi + self.penalty.eta * h, h)
        self.n_evaluations += 1
        if window is None:
            minima = yield from self._minimise_exactly(t, lo, hi, solve)
        else:
            *_, moments = yield [*self._flush(), Histogram(self._track, t, window.lo, window.width, window.n_bins)]
            density = BinnedDensity(moments, window, h, self.sample.total)
            minima = solve(density, lo, hi)
            if minima.log_index < math.log(DEEP):
                nodes = np.linspace(lo, hi, max(2, math.ceil(4.0 * (hi - lo) / h) + 1))
                low = nodes[density.evaluate(nodes)[0] < 10.0 * DEEP]
                step = h / 4.0
                a, c = max(lo, low[0] - step), min(hi, low[-1] + step)
                minima = yield from self._minimise_exactly(t, a, c, solve)
        self.n_tied += len(minima.ties) > 1
        self.certified &= minima.certified
        return minima

    def _problem(self, _: float, half: float) -> tuple[float, float, Solve]:
        """The interval of b to be searched at the angle t, and how to search a part of it; F(v) is [-half, half]."""
        return -half, half, lambda density, a, c: density.minimise(a, c, self.penalty)

    def _minimise_exactly(self, t: float, a: float, c: float, solve: Solve) -> Asking[Minima]:
        """The same by exact sums over [a, c], from the rows that matter there."""
        h, n = self.bandwidth, self.sample.total / self.sample.lightest
        reach = 0.5 * (c - a) + compute_relevant_distance(VALLEY_MARGIN, n) * h
        while True:
            *_, (rows, weights) = yield [*self._flush(), ValuesIn(self._track, t, a - reach, c + reach)]
            needed = compute_relevant_distance(_farthest(rows, a, c) / h, n) * h if len(rows) else 10.0 * reach
            if reach >= needed:
                return solve(SortedDensity(rows, weights, h, self.sample.total), a, c)
            reach = needed

    # ------------------------------------------------------------------------------------------- description

    def describe(self, depth: bool = True) -> Asking[Separation]:
        """What the hyperplane at the current normal separates; its density as an exact sum, its depth if asked for."""
        return (yield from self.describe_at(self.minima.b, depth))

    def describe_at(self, b: float, depth: bool = True) -> Asking[Separation]:
        """The same for another offset."""
        (log_sum,) = yield [LogSum(self._track, 0.0, self.bandwidth, b)]
        log_density = log_sum - math.log(self.sample.total)
        log_depth = (yield from self._log_depth(b, log_density)) if depth else math.nan
        return Separation(b, log_density, log_depth)

    def _log_depth(self, b: float, log_density: float) -> Asking[float]:
        """Relative log-depth at b (eq. (30)), from a window that is widened until the adjacent modes are inside."""
        h, sigma = self.bandwidth, self._sigma(0.0)
        half = abs(b) + 2.0 * sigma + h
        while log_density > math.log(DEEP):
            window = Window.around(-half, half, h)
            if window is None:
                break
            *_, moments = yield [Histogram(self._track, 0.0, window.lo, window.width, window.n_bins)]
            density = BinnedDensity(moments, window, h, self.sample.total)
            everything_seen = density.mass >= 1.0 - 1e-12
            shown = half + (MARGIN * h if everything_seen else 0.0)
            nodes = np.linspace(-shown, shown, math.ceil(8.0 * shown / h) + 1)
            log_depth = compute_relative_log_depth(density.evaluate_log, nodes, h, b)
            if everything_seen or log_depth > -math.inf:
                return log_depth
            half *= 4.0
        *_, (projections, weights) = yield [ValuesIn(self._track, 0.0, -math.inf, math.inf)]
        exact = SortedDensity(projections, weights, h, self.sample.total)
        return compute_relative_log_depth(
            exact.evaluate_log, exact.place_nodes(projections[0] - h, projections[-1] + h), h, b
        )


def _farthest(rows: Array, a: float, c: float) -> float:
    """How far a point of [a, c] can be from the next of the sorted rows."""
    gaps = np.diff(rows)[(rows[1:] > a) & (rows[:-1] < c)]
    return float(max(np.abs(rows - a).min(), np.abs(rows - c).min(), 0.5 * gaps.max(initial=0.0)))
