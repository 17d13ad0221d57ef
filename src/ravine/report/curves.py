"""The projected density of a split, at as many points as a picture needs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ravine._typing import Array
from ravine.density import MARGIN, ProjectedDensity

__all__ = ["Curve", "density_curve"]

FEWEST_POINTS = 96
# Part of the rows that may lie beyond each end of the picture: a few far rows would leave nothing to see.
FAR = 5e-4


@dataclass(frozen=True)
class Curve:
    """The density of signed distances from a hyperplane, at points at equal distances.

    Attributes
    ----------
    low, high : float
        The first and the last point.
    density : ndarray of shape (k,)
    bandwidth : float
        What it was drawn with.
    own_bandwidth : bool
        Whether that is the bandwidth of the fit.
    below, above : int
        Rows further out than the first and the last point.
    """

    low: float
    high: float
    density: Array
    bandwidth: float
    own_bandwidth: bool
    below: int
    above: int

    @property
    def points(self) -> Array:
        """Where the density was evaluated."""
        return np.linspace(self.low, self.high, len(self.density))


def density_curve(distances: Array, bandwidth: float, most_points: int) -> Curve | None:
    """The curve of all distances; None if there are none.

    Parameters
    ----------
    distances : ndarray of shape (n,)
        Signed distances from the hyperplane, which is part of the picture.
    bandwidth : float
        Of the fit. Where it is unknown, a rule of thumb takes its place; where the picture has too few points to show
        it, the distance of two points does.
    most_points : int
    """
    n = len(distances)
    if n == 0:
        return None
    k = int(FAR * n)
    if k:
        parted = np.partition(distances, (k, n - 1 - k))
        low, high = float(parted[k]), float(parted[n - 1 - k])
    else:
        low, high = float(distances.min()), float(distances.max())
    low, high = min(low, 0.0), max(high, 0.0)
    h = bandwidth
    if not (math.isfinite(h) and h > 0.0):
        unit = max(high - low, 1e-290)
        h = max(0.9 * float(np.std(np.clip(distances, low, high) / unit)) * n**-0.2, 1e-3) * unit
    low, high = low - 3.0 * h, high + 3.0 * h
    n_points = int(min(max(math.ceil(4.0 * (high - low) / h), FEWEST_POINTS), most_points))
    drawn = max(h, (high - low) / (n_points - 1))
    near = distances[(distances >= low - MARGIN * drawn) & (distances <= high + MARGIN * drawn)]
    points = np.linspace(low, high, n_points)
    # Rows further out count only in n.
    density = ProjectedDensity(near, drawn)(points) * (len(near) / n)
    below, above = int((distances < low).sum()), int((distances > high).sum())
    return Curve(low, high, density, drawn, drawn == bandwidth, below, above)
