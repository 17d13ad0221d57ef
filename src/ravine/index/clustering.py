"""The clustering index φ_CL and its gradient, eq. (10), (13) and (26) of the paper.

The optimiser sees log φ_CL. It has the same minimisers, never underflows, and depends neither on the unit of the data
nor on that of the density.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import cast

import numpy as np

from ravine._typing import Array
from ravine.density import (
    DEEP,
    BalancePenalty,
    BinnedDensity,
    Minima,
    SortedDensity,
    Window,
    compute_relevant_distance,
    has_few_rows,
)
from ravine.index.base import Separation, describe_hyperplane
from ravine.optimise import Questions
from ravine.rows import (
    AngleDerivative,
    CovarianceProduct,
    Gradient,
    GradientNoise,
    Histogram,
    Moments,
    Request,
    Rotate,
    RowsIn,
    Sample,
    SetDirection,
    SetTangent,
    ValuesIn,
    Variances,
)

# Rows beyond the reach of a sum together change it by less than this fraction.
NEGLIGIBLE = 1e-10
# First guess of the distance to the next row (in h) where exact sums are needed.
VALLEY_MARGIN = 8.0
# Points of a scan that are evaluated in one call.
NODES_AT_ONCE = 128

# Minimises a density over an interval of b.
MinimiseOver = Callable[[BinnedDensity | SortedDensity, float, float], Minima]


class ClusteringIndex:
    """log φ_CL as an objective on the sphere, for one start.

    Parameters
    ----------
    moments : Moments
        Moments whose standard deviation defines F(v), eq. (7). If they do not store the covariance, the standard
        deviation of the sample's own rows is used instead, about the same mean.
    bandwidth : float
        In working units.
    alpha : float
        Half-width of F(v) in standard deviations. It may change between optimisations.

    Attributes
    ----------
    minima : Minima
        Minimisers over b at the current normal.
    gamma : float
        Weight of the labels; always 0 for this index.
    n_evaluations, n_tied : int
        Number of evaluations so far, and of those with more than one minimiser (B(v) is not a singleton).
    certified : bool
        Whether the minimum over b was certified in all evaluations.
    exact : bool
        Whether to skip binning. For few rows and small bandwidths exact sums are cheaper.
    offsets : tuple of two float
        Interval that b is restricted to, in addition to F(v): where the sample has all rows that matter.
    """

    gamma = 0.0
    exact = False
    offsets = (-math.inf, math.inf)

    def __init__(
        self, sample: Sample, moments: Moments, bandwidth: float, penalty: BalancePenalty, alpha: float
    ) -> None:
        self.sample = sample
        self.moments = moments
        self.bandwidth = bandwidth
        self.penalty = penalty
        self.alpha = alpha
        self._projections = sample.new_projections()
        self._v: Array | None = None
        self._cov_v: Array  # product of the covariance with the normal v
        self._cov_u: Array  # and with the tangent u
        self._quadratic: tuple[float, float, float]  # v'Cv, v'Cu and u'Cu for the covariance C
        self._variance: float  # variance along v, where the covariance is not stored
        self._pending: list[Request] = []
        self.n_evaluations = 0
        self.n_tied = 0
        self.certified = True

    # ------------------------------------------------------------------------------------------- objective

    def begin(self, v: Array) -> Questions[tuple[float, Array]]:
        """Go to v and return value and gradient; project only if not there already."""
        yield from self.locate(v)
        return self.minima.log_index, (yield from self._compute_gradient())

    def set_tangent(self, u: Array) -> Questions[None]:
        """Set the tangent of the great circle; its projection waits for the next request."""
        self._set_tangent(u)
        if not self.moments.is_stored:
            *_, self._quadratic = yield [*self._flush(), Variances(self._projections, turned=True)]
            return
        assert self._v is not None
        self._quadratic = float(self._v @ self._cov_v), float(self._v @ self._cov_u), float(u @ self._cov_u)

    def evaluate(self, t: float) -> Questions[float]:
        """Return the value at the angle t."""
        self._trial = yield from self._minimise_over_b(t, self._sigma(t))
        return self._trial.log_index

    def differentiate(self, t: float) -> Questions[float]:
        """Return the derivative by the angle at the angle evaluated last, eq. (26) along the circle.

        It needs only the two projections, not the rows.
        """
        m = self._trial
        (along,) = yield [
            AngleDerivative(self._projections, t, self.bandwidth, m.b, *self._sum_and_reach(m.log_density))
        ]
        c, s = math.cos(t), math.sin(t)
        vv, vu, uu = self._quadratic
        sigma_slope = (c * s * (uu - vv) + (c * c - s * s) * vu) / self._sigma(t)
        return float(along * m.density_share + self._penalty_slope(m, t, sigma_slope))

    def accept(self, t: float, v: Array) -> Questions[Array]:
        """Go to the angle evaluated last and return the gradient there."""
        self._rotate(t, v)
        self.minima = self._trial
        return (yield from self._compute_gradient())

    # ------------------------------------------------------------------------------------------- search

    def gather(self, v: Array, b: float, reach: float) -> Questions[Sample]:
        """Go to v and return the rows within reach of b, or a sample of them, in memory (see `RowsIn`)."""
        if not self.is_at(v):
            self._set_direction(v)
        request = RowsIn(self._projections, self.bandwidth, b, reach, self.sample.most_gathered)
        *_, slab = yield [*self._flush(), request]
        return cast("Sample", slab)

    def locate(self, v: Array) -> Questions[None]:
        """Go to v and find the minimisers over b; project only if not there already."""
        if not self.is_at(v):
            self._set_direction(v)
            if not self.moments.is_stored:
                *_, (self._variance, _, _) = yield [*self._flush(), Variances(self._projections, turned=False)]
        self.minima = self._trial = yield from self._minimise_over_b(0.0, self._sigma(0.0))

    def is_at(self, v: Array) -> bool:
        """Return whether the current minimisers are those at v."""
        return v is self._v or (self._v is not None and np.array_equal(v, self._v))

    @property
    def is_interior(self) -> bool:
        """Whether the offset lies strictly inside F(v)."""
        return self.minima.side == 0

    def adjust(self, alpha: float, gamma: float) -> Questions[bool]:
        """Set alpha and gamma at the current normal; return whether b stays, so that nothing else changes."""
        before, gamma_before = self.minima, self.gamma
        self.alpha, self.gamma = alpha, gamma
        self.minima = self._trial = yield from self._minimise_over_b(0.0, self._sigma(0.0))
        same = abs(self.minima.b - before.b) <= 1e-9 * self.bandwidth
        same_penalty = gamma == gamma_before or (before.is_unpenalised and self.minima.is_unpenalised)
        return same and same_penalty and before.side == 0 and self.minima.side == 0

    def describe(self, depth: bool = True) -> Questions[Separation]:
        """Return offset, density and, unless ``depth`` is False, depth of the hyperplane at the current normal."""
        return describe_hyperplane(
            self.sample, self._projections, self.bandwidth, self.minima.b, self._sigma(0.0), depth=depth
        )

    # ------------------------------------------------------------------------------------------- gradients

    def gradients(self) -> Questions[Array]:
        """Return the gradient of log f(v, b) for every b in B(v) at the current normal, as rows.

        A single minimiser gives the gradient of the index. With several, the index has a kink.
        """
        tied = self.minima.list_ties()
        answers = yield [
            *self._flush(),
            *(Gradient(self._projections, self.bandwidth, m.b, *self._sum_and_reach(m.log_density)) for m in tied),
        ]
        pairs = zip(answers[-len(tied) :], tied, strict=True)
        return np.array([gradient * m.density_share + self._penalty_gradient(m) for gradient, m in pairs])

    def directional_derivative(self, u: Array) -> Questions[float]:
        """Return the one-sided derivative of log φ along the tangent u: the least over B(v), eq. (25)."""
        gradients = yield from self.gradients()
        return float((gradients @ u).min())

    def signal_to_noise(self, v: Array) -> Questions[float]:
        """Return the ratio of the squared gradient norm at v to its expectation under pure noise (1: no signal)."""
        _, gradient = yield from self.begin(v)
        m = self.minima
        (noise,) = yield [GradientNoise(self._projections, self.bandwidth, m.b, *self._sum_and_reach(m.log_density))]
        tangent = gradient - (gradient @ v) * v
        return float(tangent @ tangent / max(m.density_share**2 * noise, np.finfo(float).tiny))

    def _compute_gradient(self) -> Questions[Array]:
        """Return the gradient of log φ at the current normal, eq. (26): rows near b, and the balance penalty."""
        m = self.minima
        request = Gradient(self._projections, self.bandwidth, m.b, *self._sum_and_reach(m.log_density))
        if not self.moments.is_stored and self._depends_on_sigma(m):
            *_, self._cov_v, gradient = yield [*self._flush(), CovarianceProduct(self._projections), request]
        else:
            *_, gradient = yield [*self._flush(), request]
        return np.asarray(gradient * m.density_share + self._penalty_gradient(m))

    def _sum_and_reach(self, log_density: float) -> tuple[float, float]:
        return log_density + math.log(self.sample.total), measure_reach(self.bandwidth, log_density)

    # ------------------------------------------------------------------------------------------- penalty

    def _depends_on_sigma(self, m: Minima) -> bool:
        """Return whether the gradient of the penalty may depend on that of σ_v."""
        return m.side != 0

    def _sigma_derivative(self, m: Minima) -> float:
        """Return the derivative of log φ by σ_v, which is not zero only where b lies outside F(v).

        At the minimiser the slope of the penalty equals minus the slope of the density, eq. (10). The latter is used,
        because it stays exact in the deepest valley, where the penalty itself underflows.
        """
        return m.side * m.slope / self.bandwidth * self.alpha * m.density_share if m.side else 0.0

    def _penalty_slope(self, m: Minima, _: float, sigma_slope: float) -> float:
        """Return the part of the penalty in the slope at the angle t, where σ_v changes by sigma_slope."""
        return self._sigma_derivative(m) * sigma_slope

    def _penalty_gradient(self, m: Minima) -> Array:
        """Return the part of the penalty in the gradient."""
        if not m.side:
            return np.zeros(self.sample.n_features)
        return np.asarray((self._sigma_derivative(m) / self._sigma(0.0)) * self._cov_v)

    # ------------------------------------------------------------------------------------------- projections

    def _set_direction(self, v: Array) -> None:
        self._pending.append(SetDirection(self._projections, v))
        self._v = v
        if self.moments.is_stored:
            self._cov_v = self.moments.times(v)

    def _set_tangent(self, u: Array) -> None:
        if self.moments.is_stored:
            self._cov_u = self.moments.times(u)
        self._pending.append(SetTangent(self._projections, u))

    def _rotate(self, t: float, v: Array) -> None:
        self._pending.append(Rotate(self._projections, t))
        if not self.moments.is_stored:
            self._v, self._variance = v, self._sigma(t) ** 2
        else:
            self._v, self._cov_v = v, math.cos(t) * self._cov_v + math.sin(t) * self._cov_u

    def _flush(self) -> list[Request]:
        pending, self._pending = self._pending, []
        return pending

    def _sigma(self, t: float) -> float:
        """Return the standard deviation of the projections at the angle t."""
        if t == 0.0:
            if not self.moments.is_stored:
                return math.sqrt(self._variance)
            assert self._v is not None
            return math.sqrt(max(float(self._v @ self._cov_v), 0.0))
        vv, vu, uu = self._quadratic
        c, s = math.cos(t), math.sin(t)
        return math.sqrt(max(c * c * vv + 2.0 * c * s * vu + s * s * uu, np.finfo(float).tiny))

    # ------------------------------------------------------------------------------------------- minimum over b

    def _minimise_over_b(self, t: float, sigma: float) -> Questions[Minima]:
        """Return the global minimisers over b of the penalised density at the angle t, eq. (13)."""
        h = self.bandwidth
        lo, hi, minimise = self._offset_problem(t, self.alpha * sigma)
        lo, hi = _clip(lo, *self.offsets), _clip(hi, *self.offsets)
        window = None
        if not self.exact and not has_few_rows(self.sample.n_rows, lo, hi, h):
            window = Window.around(lo - self.penalty.eta * h, hi + self.penalty.eta * h, h)
        self.n_evaluations += 1
        if window is None:
            minima = yield from self._minimise_exactly(t, lo, hi, minimise)
        else:
            *_, moments = yield [
                *self._flush(),
                Histogram(self._projections, t, window.lo, window.width, window.n_bins),
            ]
            density = BinnedDensity(moments, window, h, self.sample.total)
            minima = minimise(density, lo, hi)
            if minima.log_index < math.log(DEEP):
                minima = yield from self._minimise_exactly(t, *_find_deep_part(density, lo, hi, h), minimise)
        self.n_tied += len(minima.ties) > 1
        self.certified &= minima.certified
        return minima

    def _offset_problem(self, _: float, half: float) -> tuple[float, float, MinimiseOver]:
        """Return the interval of b to search at the angle t, and how to search part of it; F(v) is [-half, half]."""
        return -half, half, lambda density, a, c: density.minimise(a, c, self.penalty)

    def _minimise_exactly(self, t: float, a: float, c: float, minimise: MinimiseOver) -> Questions[Minima]:
        """Minimise over [a, c] by exact sums over the rows that matter there."""
        h, n = self.bandwidth, self.sample.total / self.sample.lightest
        reach = 0.5 * (c - a) + compute_relevant_distance(VALLEY_MARGIN, n) * h
        while True:
            *_, (values, weights) = yield [
                *self._flush(),
                ValuesIn(self._projections, t, a - reach, c + reach),
            ]
            needed = compute_relevant_distance(_largest_gap(values, a, c) / h, n) * h if len(values) else 10.0 * reach
            if reach >= needed:
                return minimise(SortedDensity(values, weights, h, self.sample.total), a, c)
            reach = needed


def measure_reach(bandwidth: float, log_density: float, negligible: float = NEGLIGIBLE) -> float:
    """Return the distance from b beyond which rows are negligible for the density there and its derivatives.

    Together they change the density by less than ``negligible``, as a fraction of itself.
    """
    return bandwidth * math.sqrt(2.0 * (-math.log(max(negligible, NEGLIGIBLE)) - log_density))


def _clip(b: float, lo: float, hi: float) -> float:
    return min(max(b, lo), hi)


def _find_deep_part(density: BinnedDensity, lo: float, hi: float, h: float) -> tuple[float, float]:
    """Return the part of [lo, hi] where the density may be too low for bins."""
    nodes = np.linspace(lo, hi, max(2, math.ceil(4.0 * (hi - lo) / h) + 1))
    first, last, step = _find_first_low(density, nodes), _find_first_low(density, nodes[::-1]), h / 4.0
    return max(lo, first - step), min(hi, last + step)


def _find_first_low(density: BinnedDensity, nodes: Array) -> float:
    """Return the first of the nodes where the density may be too low for bins, or the last."""
    for start in range(0, len(nodes), NODES_AT_ONCE):
        some = np.ascontiguousarray(nodes[start : start + NODES_AT_ONCE])
        low = some[density.evaluate(some)[0] < 10.0 * DEEP]
        if len(low):
            return float(low[0])
    return float(nodes[-1])


def _largest_gap(values: Array, a: float, c: float) -> float:
    """Return the largest distance from a point of [a, c] to the nearest of the sorted values."""
    gaps = np.diff(values)[(values[1:] > a) & (values[:-1] < c)]
    return float(max(np.abs(values - a).min(), np.abs(values - c).min(), 0.5 * gaps.max(initial=0.0)))
