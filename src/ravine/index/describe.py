"""Description of a hyperplane: its density, and how deep it lies between two modes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ravine.density import DEEP, MARGIN, BinnedDensity, SortedDensity, Window, compute_relative_log_depth
from ravine.optimise import Questions
from ravine.rows import Histogram, LogSum, Sample, ValuesIn

__all__ = ["Separation", "describe_hyperplane"]

# A valley that is shallower than this, relative to its modes, cannot be distinguished from rounding.
SHALLOWEST = 1e-6


@dataclass(frozen=True)
class Separation:
    """Offset, density and depth of a hyperplane.

    Attributes
    ----------
    b : float
        Offset, in working units.
    log_density : float
        Exact log of the density on the hyperplane, in units of the kernel's peak.
    log_depth : float
        Log of the density at the lower of the two adjacent modes over that on the hyperplane. Not positive, or -inf, if
        the hyperplane does not separate two modes; NaN if it was not computed.
    """

    b: float
    log_density: float
    log_depth: float

    @property
    def valid(self) -> bool:
        """Whether two modes of the projected density are separated, by more than the rounding of the sums."""
        return self.log_depth > SHALLOWEST


def describe_hyperplane(
    sample: Sample, projections: Any, bandwidth: float, b: float, sigma: float, *, depth: bool = True
) -> Questions[Separation]:
    """Return the density at b as an exact sum and, unless ``depth`` is False, the depth of the valley there.

    Parameters
    ----------
    sample : Sample
    projections : object
        Projections of the sample on the normal (`Sample.new_projections`).
    bandwidth, b, sigma : float
        Bandwidth, offset, and standard deviation of the projections, in working units.
    depth : bool, default=True
    """
    (log_sum,) = yield [LogSum(projections, 0.0, bandwidth, b)]
    log_density = log_sum - math.log(sample.total)
    if not depth:
        return Separation(b, log_density, math.nan)
    log_depth = yield from _measure_log_depth(sample, projections, bandwidth, b, sigma, log_density)
    return Separation(b, log_density, log_depth)


def _measure_log_depth(
    sample: Sample, projections: Any, h: float, b: float, sigma: float, log_density: float
) -> Questions[float]:
    """Return log(1 + relative depth) at b, eq. (30); the window widens until it contains the adjacent modes."""
    half = abs(b) + 2.0 * sigma + h
    while log_density > math.log(DEEP):
        window = Window.around(-half, half, h)
        if window is None:
            break
        *_, moments = yield [Histogram(projections, 0.0, window.lo, window.width, window.n_bins)]
        density = BinnedDensity(moments, window, h, sample.total)
        has_all_rows = density.mass >= 1.0 - 1e-12
        shown = half + (MARGIN * h if has_all_rows else 0.0)
        nodes = np.linspace(-shown, shown, math.ceil(8.0 * shown / h) + 1)
        log_depth = compute_relative_log_depth(density.evaluate_log, nodes, h, b)
        if has_all_rows or log_depth > -math.inf:
            return log_depth
        half *= 4.0
    *_, (values, weights) = yield [ValuesIn(projections, 0.0, -math.inf, math.inf)]
    exact = SortedDensity(values, weights, h, sample.total)
    return compute_relative_log_depth(exact.evaluate_log, exact.place_nodes(values[0] - h, values[-1] + h), h, b)
