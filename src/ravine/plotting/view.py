"""What a `HyperplaneDisplay` shows, computed from the rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.checks import check_integer
from ravine.density import BalancePenalty, ProjectedDensity
from ravine.plotting.projection import Line, density_curve, sample_rows
from ravine.rows import Rows
from ravine.search import BandwidthRule, resolve_bandwidth

__all__ = ["View", "look"]


@dataclass(frozen=True)
class View:
    """How to look at some rows.

    Attributes
    ----------
    normal : ndarray of shape (d,)
        Of length 1.
    offset : float or None
        Of the hyperplane, infinite for none; None to look for it in F(v).
    alpha : float or None
        Half-width of F(v) in standard deviations.
    bandwidth : "silverman", float or callable
    penalty : BalancePenalty
    """

    normal: Array
    offset: float | None
    alpha: float | None
    bandwidth: BandwidthRule
    penalty: BalancePenalty


def look(
    X: Rows,
    labels: tuple[NDArray[np.intp], list[Any]] | None,
    view: View,
    weights: Array | None,
    max_rows: int,
    numbers: NDArray[np.intp] | None = None,
) -> dict[str, Any]:
    """The arguments of `HyperplaneDisplay`; ``numbers`` are those of the rows in the X of the user."""
    max_rows = check_integer("max_rows", max_rows, low=1)
    numbers = np.arange(X.shape[0]) if numbers is None else numbers
    if weights is not None and not weights.all():
        counted = weights > 0.0
        labels = None if labels is None else (labels[0][counted], labels[1])
        X, weights, numbers = X.subset(np.flatnonzero(counted)), weights[counted], numbers[counted]
    line = Line.of(X, view.normal, weights)
    if not line.pc1_std > 0.0:
        raise ValueError("all rows of X are equal: there is nothing to draw.")
    h = resolve_bandwidth(view.bandwidth, X.shape[0] if weights is None else float(weights.sum()), line.pc1_std)
    density = ProjectedDensity(line.along, h, weights)
    interval = None
    if view.alpha is not None:
        interval = line.mean - view.alpha * line.std, line.mean + view.alpha * line.std  # F(v), eq. (7)
    offset = view.offset
    if offset is None:
        offset = math.inf if interval is None else density.minimise(*interval, view.penalty).b
    depth = density.relative_depth(offset) if math.isfinite(offset) else 0.0
    curve = density_curve(density, line.along.min(), line.along.max(), interval, view.penalty, [offset])
    if labels is None:
        sides = (line.along > offset).astype(np.intp), ["v·x ≤ b", "v·x > b"]
        labels = sides if math.isfinite(offset) else (np.zeros(X.shape[0], dtype=np.intp), ["rows"])
    codes, names = labels
    shown = sample_rows(X.shape[0], max_rows, np.flatnonzero(codes >= 0) if (codes < 0).any() else None)
    across = line.across(X, shown)
    if across is None:
        across = np.random.default_rng(0).uniform(-1.0, 1.0, len(shown))
    return {
        "points": curve.points,
        "density": curve.density,
        "index": curve.index,
        "along": line.along[shown],
        "across": across,
        "rows": numbers[shown],
        "codes": codes[shown],
        "names": names,
        "sizes": np.bincount(np.where(codes < 0, len(names), codes), minlength=len(names) + 1),
        "normal": view.normal,
        "across_direction": line.across_direction,
        "offset": offset,
        "interval": interval,
        "relative_depth": depth,
        "alpha": view.alpha,
        "bandwidth": h,
        "n_rows": X.shape[0],
    }
