"""Projected densities at as many points as a picture needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ravine._typing import Array
from ravine.density import MARGIN, ProjectedDensity, compute_silverman_bandwidth

# A curve goes on for this many bandwidths beyond the outermost row.
TAIL = 3.0
# Fraction of the rows that a summary may leave out at each end: a few far rows would squeeze all others together.
FAR = 5e-4
MIN_SUMMARY_POINTS = 96


def place_points(
    low: float,
    high: float,
    bandwidth: float,
    *,
    per_bandwidth: float = 8.0,
    fewest: int = 256,
    most: int = 4096,
    include: Sequence[float] = (),
) -> Array:
    """Return increasing points at which a density is drawn.

    Parameters
    ----------
    low, high : float
        Range of the projections; the points go on for three bandwidths beyond it.
    per_bandwidth : float, default=8
        Points per bandwidth, unless that is fewer than ``fewest`` or more than ``most`` in all.
    include : sequence of float, optional
        Further points, for example the offset of a hyperplane, which is drawn where the density is evaluated. Infinite
        ones are left out.

    Returns
    -------
    ndarray of shape (k,)
    """
    low, high = low - TAIL * bandwidth, high + TAIL * bandwidth
    n_points = int(min(max(math.ceil(per_bandwidth * (high - low) / bandwidth), fewest), most))
    points = np.linspace(low, high, n_points)
    finite = [x for x in include if math.isfinite(x)]
    return np.unique(np.concatenate([points, finite])) if finite else points


@dataclass(frozen=True)
class DensitySummary:
    """Density of signed distances from a hyperplane at a limited number of equally spaced points.

    Attributes
    ----------
    low, high : float
        The first and the last point.
    density : ndarray of shape (k,)
    bandwidth : float
        The bandwidth of the curve.
    has_fitted_bandwidth : bool
        Whether that is the bandwidth of the fit.
    below, above : int
        Numbers of rows beyond the first and the last point.
    """

    low: float
    high: float
    density: Array
    bandwidth: float
    has_fitted_bandwidth: bool
    below: int
    above: int

    @property
    def points(self) -> Array:
        """Points at which the density was evaluated."""
        return np.linspace(self.low, self.high, len(self.density))


def summarise_density(distances: Array, bandwidth: float, most_points: int) -> DensitySummary | None:
    """Summarise the density of signed distances from a hyperplane; None if there are no rows.

    Parameters
    ----------
    distances : ndarray of shape (n,)
        Signed distances from the hyperplane, which is always within the curve.
    bandwidth : float
        Bandwidth of the fit. Where it is unknown, a rule of thumb replaces it; where the points are too few to show it,
        their spacing does.

    Returns
    -------
    DensitySummary or None
    """
    n = len(distances)
    if n == 0:
        return None
    low, high = _trim(distances)
    h = bandwidth
    if not (math.isfinite(h) and h > 0.0):
        unit = max(high - low, 1e-290)
        h = max(compute_silverman_bandwidth(float(np.std(np.clip(distances, low, high) / unit)), n), 1e-3) * unit
    points = place_points(low, high, h, per_bandwidth=4.0, fewest=MIN_SUMMARY_POINTS, most=most_points)
    low, high = float(points[0]), float(points[-1])
    shown_bandwidth = max(h, (high - low) / (len(points) - 1))
    reach = MARGIN * shown_bandwidth
    near = distances[(distances >= low - reach) & (distances <= high + reach)]
    # Rows further out count only in n.
    density = ProjectedDensity(near, shown_bandwidth)(points) * (len(near) / n)
    below, above = int((distances < low).sum()), int((distances > high).sum())
    return DensitySummary(low, high, density, shown_bandwidth, shown_bandwidth == bandwidth, below, above)


def _trim(distances: Array) -> tuple[float, float]:
    """Return the range of the distances and 0, without a few far rows."""
    n = len(distances)
    k = int(FAR * n)
    ordered = np.partition(distances, (k, n - 1 - k))
    return min(float(ordered[k]), 0.0), max(float(ordered[n - 1 - k]), 0.0)
