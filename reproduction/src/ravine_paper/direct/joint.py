"""The density as a function of normal and offset together, with its constraints, eq. (9) and (14)."""

from __future__ import annotations

import math

import numpy as np

from ravine.density import SortedDensity
from ravine.index import LabelledRows, Separation, describe_hyperplane, measure_reach
from ravine.optimise import Questions
from ravine.rows import Gradient, LogSum, Sample, SetDirection, ValuesIn
from ravine_paper._typing import Array

__all__ = ["JointDensity"]


class JointDensity:
    """Log-density on the hyperplane (v, b), and the constraints on it; v may have any length.

    Parameters
    ----------
    sample : Sample
    covariance : ndarray of shape (d, d)
        In working units.
    bandwidth : float
        In working units.
    alpha : float
        Half-width of F(v) in standard deviations.
    labelled : LabelledRows, optional
        Rows that have to lie on their own sides.

    Attributes
    ----------
    n_evaluations : int
    """

    def __init__(
        self, sample: Sample, covariance: Array, bandwidth: float, alpha: float, labelled: LabelledRows | None = None
    ) -> None:
        self.sample = sample
        self.covariance = covariance
        self.bandwidth = bandwidth
        self.alpha = alpha
        self.labelled = labelled
        self.n_evaluations = 0
        self._projections = sample.new_projections()
        self._v: Array | None = None

    def evaluate(self, v: Array, b: float) -> Questions[tuple[float, Array, float]]:
        """Return the log of Î(v, b), eq. (3), its gradient by v and its derivative by b."""
        self.n_evaluations += 1
        h, projections = self.bandwidth, self._projections
        *_, log_sum = yield [*self._project(v), LogSum(projections, 0.0, h, b)]
        log_density = log_sum - math.log(self.sample.total)
        reach = measure_reach(h, log_density)
        gradient, (values, weights) = yield [
            Gradient(projections, h, b, log_sum, reach),
            ValuesIn(projections, 0.0, b - reach, b + reach),
        ]
        _, slope, _ = SortedDensity(values, weights, h, self.sample.total).evaluate_log(np.array([b]))
        return log_density, gradient, float(slope[0]) / h

    def constraints(self, v: Array, b: float) -> tuple[Array, Array]:
        """Return the values that must be non-negative in eq. (9) or (14), and their derivatives by (v, b).

        The mean is the origin of the working units.
        """
        covariance_v = self.covariance @ v
        sigma = math.sqrt(max(float(v @ covariance_v), np.finfo(float).tiny))
        widening = self.alpha / sigma * covariance_v
        values = np.array([b + self.alpha * sigma, self.alpha * sigma - b])
        slopes = np.array([np.append(widening, 1.0), np.append(widening, -1.0)])
        if self.labelled is None:
            return values, slopes
        rows, signs = self.labelled.rows, self.labelled.signs
        of_labels = signs[:, None] * np.column_stack([rows, np.full(len(rows), -1.0)])
        return np.append(values, of_labels @ np.append(v, b)), np.vstack([slopes, of_labels])

    def describe(self, v: Array, b: float) -> Questions[Separation]:
        """Return offset, density and depth of the hyperplane (v, b), for a unit vector v."""
        requests = self._project(v)
        if requests:
            yield requests
        sigma = math.sqrt(max(float(v @ self.covariance @ v), 0.0))
        return (yield from describe_hyperplane(self.sample, self._projections, self.bandwidth, b, sigma))

    def _project(self, v: Array) -> list[SetDirection]:
        """Return the request that projects on v, if the projections are not there yet."""
        if self._v is not None and np.array_equal(v, self._v):
            return []
        self._v = v
        return [SetDirection(self._projections, v)]
