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
from ravine.rows import CovarianceProduct, Gradient, Histogram, Moments, Sample, SetDirection, Variances

# Number of rows added to both densities: a ratio of fewer rows than a few says nothing.
PRIOR_ROWS = 2.0


class DensityRatio(NamedTuple):
    """Value and derivatives of the log ratio E at a hyperplane v·z = b, in working units.

    Attributes
    ----------
    on_normal : ndarray of shape (d,)
        Derivatives by v, as if it were not a unit vector.
    on_offset : float
        Derivative by b.
    """

    value: float
    on_normal: Array
    on_offset: float


class RelativeDensity:
    """Log ratio E of the rows at a hyperplane to those expected there from a normal curve.

    With t = v·z - b and h the bandwidth, ``N = Σ exp(-t²/2h²)`` is the number of rows at the hyperplane. A normal curve
    with the mean of the rows (the origin) and their variance, plus h², τ², would have ``M = n (h/τ) exp(-b²/2τ²)``.
    ``E = log((N + a) / (M + a))``, with a = 2, is near 0 for normal data at every direction and offset, negative in a
    gap, and 0 beyond all rows.

    Values come from bins (see `ravine.density.sums`), gradients from the rows near the hyperplane.

    Parameters
    ----------
    moments : Moments
        Moments of the same rows.
    bandwidth : float
        In working units.
    """

    def __init__(self, sample: Sample, moments: Moments, bandwidth: float) -> None:
        self.sample, self.moments, self.bandwidth = sample, moments, bandwidth
        self.n_evaluations = 0
        self._projections = sample.new_projections()
        self._last: tuple[Array, float, DensityRatio] | None = None

    def evaluate(self, v: Array, b: float) -> Questions[DensityRatio]:
        """Go to the unit vector v; return the ratio at v·z = b and its derivatives."""
        if self._last is not None and self._last[1] == b and np.array_equal(self._last[0], v):
            return self._last[2]
        self.n_evaluations += 1
        h, n, projections = self.bandwidth, self.sample.total, self._projections
        window = Window.around(b, b, h)
        assert window is not None  # it has 68 bins
        requests = [
            SetDirection(projections, v),
            Histogram(projections, 0.0, window.lo, window.width, window.n_bins),
        ]
        if self.moments.is_stored:
            *_, moments = yield requests
            cov_v = self.moments.times(v)
            variance = float(v @ cov_v)
        else:
            *_, moments, (variance, _, _) = yield [*requests, Variances(projections, turned=False)]
        ((density,), (slope,), _) = BinnedDensity(moments, window, h, n).evaluate(np.array([b]))
        square = max(variance, 0.0) + h * h
        expected = n * h / math.sqrt(square) * math.exp(-0.5 * b * b / square)
        near, far = n * max(float(density), 0.0) + PRIOR_ROWS, expected + PRIOR_ROWS
        request = Gradient(projections, h, b, math.log(near), measure_reach(h, math.log(near / n)))
        if self.moments.is_stored:
            (on_normal,) = yield [request]
        else:
            cov_v, on_normal = yield [CovarianceProduct(projections), request]
        # dE = dN/(N+a) - dM/(M+a), where dM/M is the change of -log τ - b²/2τ².
        share = expected / far
        on_normal = on_normal + (share / square * (1.0 - b * b / square)) * cov_v
        ratio = DensityRatio(math.log(near / far), on_normal, n * float(slope) / (h * near) + share * b / square)
        self._last = v, b, ratio
        return ratio

    def describe(self, b: float, sigma: float) -> Questions[Separation]:
        """Return offset, density and depth of the hyperplane at the direction evaluated last."""
        return describe_hyperplane(self.sample, self._projections, self.bandwidth, b, sigma)
