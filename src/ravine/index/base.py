"""Interface between a projection index and the search that minimises it.

A projection index assigns a number to every direction; the search looks for the direction where it is lowest. To add
one, write a class with the members of `ProjectionIndex` and name it in `ravine.search.SearchSettings` as ``new_index``.
`ClusteringIndex` and `SemiSupervisedIndex` are the two indices of the paper.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ravine._typing import Array
from ravine.density import DEEP, MARGIN, BinnedDensity, SortedDensity, Window, compute_relative_log_depth
from ravine.optimise import Questions, SphereObjective
from ravine.rows import Histogram, LogSum, Sample, ValuesIn

# A valley that is shallower than this, relative to its modes, cannot be distinguished from rounding.
SHALLOWEST = 1e-6


class ProjectionIndex(SphereObjective, Protocol):
    """Function on the unit sphere that a search minimises, for one start.

    Every method that needs the rows is a generator: it yields lists of requests (`ravine.rows.questions`) and receives
    their answers, so that one pass over the rows serves many starts. A method that needs nothing yields nothing.
    `begin`, `set_tangent`, `evaluate`, `differentiate` and `accept` come from `SphereObjective`: an optimiser calls no
    others.

    Attributes
    ----------
    sample : Sample
        The rows, in working units.
    bandwidth : float
        Length scale of the index, in working units; it is reported with the hyperplane.
    alpha : float
        Half-width of the interval F(v) of allowed offsets, eq. (7), in standard deviations. The search increases it.
    gamma : float
        Weight of the labels, eq. (16). The search increases it.
    n_evaluations, n_tied : int
        Number of evaluations so far, and of those with several minimising offsets.
    certified : bool
        Whether the offset was a proven global minimiser in all evaluations.
    """

    sample: Sample
    bandwidth: float
    alpha: float
    gamma: float
    n_evaluations: int
    n_tied: int
    certified: bool

    @property
    def is_interior(self) -> bool:
        """Whether the offset lies strictly inside F(v)."""

    def is_at(self, v: Array) -> bool:
        """Return whether the last evaluation was at v."""

    def adjust(self, alpha: float, gamma: float) -> Questions[bool]:
        """Set alpha and gamma at the current normal; return whether the offset stays, so that nothing else changes."""

    def describe(self, depth: bool = True) -> Questions[Separation]:
        """Return offset, density and, unless ``depth`` is False, depth of the hyperplane at the current normal."""


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
    projections : object
        Projections of the sample on the normal (`Sample.new_projections`).
    bandwidth, b, sigma : float
        Bandwidth, offset, and standard deviation of the projections, in working units.
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
