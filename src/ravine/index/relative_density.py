"""Density on a hyperplane relative to that of a normal curve, and its gradient."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ravine._typing import Array
from ravine.density import BinnedDensity, Window
from ravine.index.base import Separation, describe_hyperplane
from ravine.index.clustering import measure_reach
from ravine.optimise import Questions
from ravine.rows import CovarianceProduct, Gradient, Histogram, Moments, Request, Sample, SetDirection, Variances

# Number of rows added to both densities, so that few rows say little: of many directions, some are empty by chance.
PRIOR_ROWS = 20.0
# Lower bound on the standard deviation that sets the bandwidth, relative to that of all features together.
NARROWEST = 1e-6


class DensityRatio(NamedTuple):
    """Value and derivatives of the log ratio E at a hyperplane v·z = b, in working units.

    Attributes
    ----------
    on_normal : ndarray of shape (d,)
        Derivatives by v, as if it were not a unit vector.
    on_offset : float
        Derivative by b.
    bandwidth : float
        Bandwidth along v.
    """

    value: float
    on_normal: Array
    on_offset: float
    bandwidth: float


class RelativeDensity:
    """Log ratio E of the rows at a hyperplane to those expected there from a normal curve.

    With t = v·z - b and h the bandwidth, ``N = Σ exp(-t²/2h²)`` is the number of rows at the hyperplane. A normal curve
    with the mean of the rows (the origin) and their variance, plus h², τ², would have ``M = n (h/τ) exp(-b²/2τ²)``.
    ``E = log((N + a) / (M + a))``, with a = 20, is near 0 for normal data at every direction and offset, negative in a
    gap, and 0 beyond all rows.

    The bandwidth belongs to the direction: ``h² = r² v·Σv + v·Cv``. It is a fraction r of the standard deviation of the
    projections, so that a gap counts the same along a direction of small variance. C is the covariance of the cells of
    repeated values, so that the gaps between these do not look like valleys.

    Values come from bins (see `ravine.density.sums`), gradients from the rows near the hyperplane.

    Parameters
    ----------
    moments : Moments
        Moments of the same rows.
    ratio : float
        Bandwidth in standard deviations of the projections: r.
    cells : ndarray of shape (d, d), optional
        The matrix C, in working units; only if the covariance of the rows is stored.
    """

    def __init__(self, sample: Sample, moments: Moments, ratio: float, cells: Array | None = None) -> None:
        self.sample, self.moments, self.ratio, self.cells = sample, moments, ratio, cells
        self.n_evaluations = 0
        self._narrowest = (NARROWEST * ratio) ** 2 * moments.trace
        self._projections = sample.new_projections()
        self._last: tuple[Array, float, DensityRatio] | None = None

    def evaluate(self, v: Array, b: float) -> Questions[DensityRatio]:
        """Go to the unit vector v; return the ratio at v·z = b and its derivatives."""
        if self._last is not None and self._last[1] == b and np.array_equal(self._last[0], v):
            return self._last[2]
        self.n_evaluations += 1
        n, projections, is_stored = self.sample.total, self._projections, self.moments.is_stored
        requests: list[Request] = [SetDirection(projections, v)]
        if is_stored:
            cov_v = self.moments.times(v)
            variance = float(v @ cov_v)
        else:
            _, (variance, _, _) = yield [*requests, Variances(projections, turned=False)]
            requests = []
        cells_v = np.zeros(len(v)) if self.cells is None else self.cells @ v
        square = self.ratio**2 * max(variance, 0.0) + float(v @ cells_v) + self._narrowest
        h, total = math.sqrt(square), max(variance, 0.0) + square
        window = Window.around(b, b, h)
        assert window is not None  # it has 68 bins
        *_, moments = yield [*requests, Histogram(projections, 0.0, window.lo, window.width, window.n_bins)]
        ((density,), (slope,), (curvature,)) = BinnedDensity(moments, window, h, n).evaluate(np.array([b]))
        expected = n * h / math.sqrt(total) * math.exp(-0.5 * b * b / total)
        near, far = n * max(float(density), 0.0) + PRIOR_ROWS, expected + PRIOR_ROWS
        request = Gradient(projections, h, b, math.log(near), measure_reach(h, math.log(near / n)))
        if is_stored:
            (on_normal,) = yield [request]
        else:
            cov_v, on_normal = yield [CovarianceProduct(projections), request]
        # dE = dN/(N+a) - dM/(M+a), where dM/M is the change of log h - log τ - b²/2τ², and dN/dh² = Σ kernel · t²/2h⁴.
        share, widening = expected / far, 2.0 * (self.ratio**2 * cov_v + cells_v)
        on_square = 0.5 * (n * float(curvature + density) / near - share) / square
        on_total = 0.5 * share / total * (1.0 - b * b / total)
        on_normal = on_normal + on_square * widening + on_total * (2.0 * cov_v + widening)
        on_offset = n * float(slope) / (h * near) + share * b / total
        ratio = DensityRatio(math.log(near / far), on_normal, on_offset, h)
        self._last = v, b, ratio
        return ratio

    def describe(self, v: Array, b: float, depth: bool = True) -> Questions[tuple[DensityRatio, Separation]]:
        """Return the ratio at v·z = b, and offset, density and, unless ``depth`` is False, depth of the hyperplane."""
        ratio = yield from self.evaluate(v, b)
        sigma = math.sqrt(self.moments.variance_along(v))
        h = ratio.bandwidth
        separation = yield from describe_hyperplane(self.sample, self._projections, h, b, sigma, depth=depth)
        return ratio, separation
