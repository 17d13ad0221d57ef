"""Minimum density hyperplanes of simulated rows as the bandwidth shrinks."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ravine import MinimumDensityHyperplane
from ravine.optimise import measure_angle
from ravine_paper._typing import Array
from ravine_paper.theory import BandwidthPath, MaximumMarginHyperplane, bandwidth_path

__all__ = ["N_ANGLES", "Convergence", "find_widest_gap", "follow_path", "simulate_rows"]

# As in the paper: two Gaussians of equal covariance on both sides of the hyperplane with the normal (1, -1) through 0,
# and no row within a narrow band about another hyperplane.
N_EACH = 250
BAND, TILT, SHIFT = 0.1, math.radians(15.0), 0.15
# Half-width of the interval of offsets, for minimum density and maximum margin.
ALPHA = 0.9
N_BANDWIDTHS = 25
N_ANGLES = 3600


def simulate_rows(seed: int = 0) -> Array:
    """Simulate the mixture and remove the rows in the band."""
    rng = np.random.default_rng(seed)
    across, along = np.array([1.0, -1.0]) / math.sqrt(2.0), np.array([1.0, 1.0]) / math.sqrt(2.0)
    centers = np.repeat([-1.4, 1.4], N_EACH)
    rows = np.multiply.outer(centers + 0.7 * rng.standard_normal(2 * N_EACH), across)
    rows += np.multiply.outer(1.2 * rng.standard_normal(2 * N_EACH), along)
    normal = math.cos(TILT) * across + math.sin(TILT) * along
    return np.asarray(rows[np.abs(rows @ normal - SHIFT) > BAND])


def find_widest_gap(X: Array, alpha: float = ALPHA, n_angles: int = N_ANGLES) -> tuple[float, Array, float]:
    """Return the largest margin over equally spaced directions of the plane, with its normal and offset."""
    best = (0.0, np.array([1.0, 0.0]), 0.0)
    for angle in math.pi * np.arange(n_angles) / n_angles:
        v = np.array([math.cos(angle), math.sin(angle)])
        p = np.sort(X @ v)
        mean, half = p.mean(), alpha * p.std()
        b = np.clip(0.5 * (p[:-1] + p[1:]), mean - half, mean + half)
        margins = np.minimum(b - p[:-1], p[1:] - b)
        k = int(np.argmax(margins))
        if margins[k] > best[0]:
            best = float(margins[k]), v, float(b[k])
    return best


@dataclass(frozen=True, eq=False)
class Convergence:
    """Bandwidth path to the maximum margin hyperplane.

    Attributes
    ----------
    X : ndarray of shape (n, 2)
    path : BandwidthPath
    limit : MaximumMarginHyperplane
    widest : float
        Largest margin of `find_widest_gap`.
    """

    X: Array
    path: BandwidthPath
    limit: MaximumMarginHyperplane
    widest: float

    @property
    def degrees(self) -> Array:
        """Angles to the maximum margin hyperplane."""
        limit = self.limit.hyperplane_.normal
        return np.array([_measure_degrees(step.hyperplane.normal, limit) for step in self.path.steps])


def _measure_degrees(a: Array, c: Array) -> float:
    """Return the angle between two lines, accurate for tiny angles."""
    return math.degrees(measure_angle(a, c if float(a @ c) >= 0.0 else -c))


def follow_path(seed: int = 0, n_bandwidths: int = N_BANDWIDTHS) -> Convergence:
    """Follow the minimum density hyperplane of simulated rows, and find the maximum margin independently."""
    X = simulate_rows(seed)
    path = bandwidth_path(X, n_bandwidths=n_bandwidths, hyperplane=MinimumDensityHyperplane(alpha_max=ALPHA))
    limit = MaximumMarginHyperplane(alpha=ALPHA, n_bandwidths=n_bandwidths).fit(X)
    return Convergence(X, path, limit, find_widest_gap(X)[0])
