"""Splits of rows along their first principal component: at the mean, or where the density is lowest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine import Hyperplane
from ravine.density import ProjectedDensity
from ravine.rows import as_rows
from ravine.search import points_to_larger
from ravine.tree import Split
from ravine_paper._typing import Array
from ravine_paper.baselines.clustering.principal_axis import PrincipalAxis

__all__ = ["MeanSplitter", "ScatterHyperplane", "ValleySplitter"]

# Standard deviations between the quartiles of a normal distribution, as rounded in Silverman's book.
NORMAL_IQR = 1.34
# Part of the range below which rounding keeps a density from being resolved.
SMALLEST_BANDWIDTH = 1e-12


@dataclass(frozen=True, eq=False)
class ScatterHyperplane(Hyperplane):
    """Hyperplane with the scatter of the rows that it splits."""

    scatter: float = math.nan


class MeanSplitter:
    """Splitter at the mean of the first principal component (Boley 1998)."""

    def split(self, X: NDArray[np.floating[Any]], indices: NDArray[np.intp], rng: np.random.Generator) -> Split:
        """Split some rows, unless they are all equal."""
        axis = PrincipalAxis.of(X, indices)
        if axis is None:
            return Split(None)
        offset = float(axis.direction @ axis.mean)
        plane = ScatterHyperplane(axis.direction, offset, point=axis.mean, scatter=axis.scatter)
        return Split(_point_to_smaller_side(plane, X, indices))


class ValleySplitter:
    """Splitter at the lowest density minimum along the first principal component (Tasoulis et al. 2010).

    Parameters
    ----------
    bandwidth_scale, spread, percentile
        Validated parameters of `DePDDP`.
    """

    def __init__(self, bandwidth_scale: float = 0.5, spread: str = "std", percentile: float = 0.1) -> None:
        self.bandwidth_scale = bandwidth_scale
        self.spread = spread
        self.percentile = percentile

    def split(self, X: NDArray[np.floating[Any]], indices: NDArray[np.intp], rng: np.random.Generator) -> Split:
        """Split some rows if their density has a local minimum strictly between the two quantiles."""
        axis = PrincipalAxis.of(X, indices)
        if axis is None:
            return Split(None)
        projections = as_rows(X).project(axis.mean, axis.direction, indices)
        lo, hi = np.quantile(projections, [self.percentile, 1.0 - self.percentile]).tolist()
        if not lo < hi:
            return Split(None)
        h = self._choose_bandwidth(projections)
        density = ProjectedDensity(projections, h)
        minima = density.minima(lo, hi)
        minima = minima[(minima > lo) & (minima < hi)]
        if not len(minima):
            return Split(None)
        b = float(minima[np.argmin(density.log(minima))])
        point = axis.mean + b * axis.direction
        plane = Hyperplane(
            axis.direction,
            float(axis.direction @ point),
            density=float(density(b)),
            relative_depth=density.relative_depth(b),
            bandwidth=h,
            point=point,
        )
        return Split(_point_to_smaller_side(plane, X, indices))

    def _choose_bandwidth(self, projections: Array) -> float:
        rule = float(self.bandwidth_scale * 0.9 * self._compute_spread(projections) * len(projections) ** -0.2)
        return max(rule, SMALLEST_BANDWIDTH * float(np.ptp(projections)))

    def _compute_spread(self, projections: Array) -> float:
        std = float(projections.std())
        if self.spread == "std":
            return std
        quartiles = np.quantile(projections, [0.25, 0.75])
        robust = float(quartiles[1] - quartiles[0]) / NORMAL_IQR
        return min(std, robust) if robust > 0.0 else std  # half of the rows may be equal


def _point_to_smaller_side(plane: Hyperplane, X: NDArray[np.floating[Any]], indices: NDArray[np.intp]) -> Hyperplane:
    """Let the normal point to the smaller side; between equal sides, to the longer tail."""
    return plane.reversed() if points_to_larger(plane.distance(X, indices), None) else plane
