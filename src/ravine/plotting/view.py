"""Contents of a `HyperplaneDisplay`, computed from the rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.checks import check_integer
from ravine.density import BalancePenalty, ProjectedDensity
from ravine.explain import place_points
from ravine.plotting.projection import ProjectedRows
from ravine.rows import Indices, Rows
from ravine.search import BandwidthRule, resolve_bandwidth

__all__ = ["View", "compute_view"]


@dataclass(frozen=True)
class View:
    """Direction, hyperplane and settings to draw.

    Attributes
    ----------
    normal : ndarray of shape (d,)
        Direction of length 1.
    offset : float or None
        Offset of the hyperplane, infinite for none; None to minimise the penalised density over it.
    alpha : float or None
        Half-width of F(v) in standard deviations; None for no interval.
    bandwidth : "silverman", float or callable
    penalty : BalancePenalty
    """

    normal: Array
    offset: float | None
    alpha: float | None
    bandwidth: BandwidthRule
    penalty: BalancePenalty


def compute_view(
    rows: Rows,
    labels: tuple[NDArray[np.intp], list[Any]] | None,
    view: View,
    weights: Array | None,
    max_rows: int,
    indices: Indices | None = None,
) -> dict[str, Any]:
    """Compute the arguments of `HyperplaneDisplay`.

    Parameters
    ----------
    rows : Rows of shape (n, d)
    labels : tuple of (ndarray of shape (n,), list) or None
        Codes, -1 for unlabelled rows, and the labels they stand for; by default the sides of the hyperplane.
    view : View
    weights : ndarray of shape (n,) or None
    max_rows : int
        Largest number of rows that are drawn as points.
    indices : ndarray of shape (n,), optional
        Indices of the rows in the X of the user; by default 0 to n - 1.
    """
    max_rows = check_integer("max_rows", max_rows, low=1)
    indices = np.arange(rows.shape[0]) if indices is None else indices
    if weights is not None and not weights.all():
        kept = np.flatnonzero(weights)
        labels = None if labels is None else (labels[0][kept], labels[1])
        rows, weights, indices = rows.subset(kept), weights[kept], indices[kept]
    projected = ProjectedRows.of(rows, view.normal, weights)
    along = projected.along
    if not projected.pc1_std > 0.0:
        raise ValueError("all rows of X are equal: there is nothing to draw.")
    total = rows.shape[0] if weights is None else float(weights.sum())
    h = resolve_bandwidth(view.bandwidth, total, projected.pc1_std)
    density = ProjectedDensity(along, h, weights)
    interval, offset = _locate_hyperplane(density, projected, view)
    points = _place_points(along, h, offset, interval)
    codes, names = _name_sides(along, offset) if labels is None else labels
    shown = _sample_rows(rows.shape[0], max_rows, np.flatnonzero(codes >= 0) if (codes < 0).any() else None)
    across = projected.project_across(rows, shown)
    if across is None:
        across = np.random.default_rng(0).uniform(-1.0, 1.0, len(shown))
    return {
        "points": points,
        "density": density(points),
        "index": None if interval is None else density.evaluate_penalised(points, *interval, view.penalty),
        "along": along[shown],
        "across": across,
        "rows": indices[shown],
        "codes": codes[shown],
        "names": names,
        "sizes": np.bincount(np.where(codes < 0, len(names), codes), minlength=len(names) + 1),
        "normal": view.normal,
        "across_direction": projected.across_direction,
        "offset": offset,
        "interval": interval,
        "relative_depth": density.relative_depth(offset) if math.isfinite(offset) else 0.0,
        "alpha": view.alpha,
        "bandwidth": h,
        "n_rows": rows.shape[0],
    }


def _locate_hyperplane(
    density: ProjectedDensity, projected: ProjectedRows, view: View
) -> tuple[tuple[float, float] | None, float]:
    """Return the interval F(v), eq. (7), and the offset, by default the minimiser of the penalised density."""
    if view.alpha is None:
        return None, math.inf if view.offset is None else view.offset
    half = view.alpha * projected.std
    interval = projected.mean - half, projected.mean + half
    return interval, density.minimise(*interval, view.penalty).b if view.offset is None else view.offset


def _place_points(along: Array, h: float, offset: float, interval: tuple[float, float] | None) -> Array:
    """Return points for the curves, among them the offset and the strips beside F(v) where the penalty rises."""
    include = [offset]
    if interval is not None:
        # The penalty rises within a few tenths of h: without points there its line would start too late.
        strip = np.linspace(0.0, 1.0, 33) ** 2 * h
        include += [*(interval[0] - strip).tolist(), *(interval[1] + strip).tolist()]
    return place_points(float(along.min()), float(along.max()), h, include=include)


def _name_sides(along: Array, offset: float) -> tuple[NDArray[np.intp], list[Any]]:
    """Return the sides of the hyperplane as labels; one label if there is no hyperplane."""
    if not math.isfinite(offset):
        return np.zeros(len(along), dtype=np.intp), ["rows"]
    return (along > offset).astype(np.intp), ["v·x ≤ b", "v·x > b"]


def _sample_rows(n_rows: int, most: int, first: Indices | None = None) -> Indices:
    """Return the indices of at most ``most`` rows, the same in every run.

    The rows ``first`` are among them if they are at most half of the sample: otherwise a few labels in a million rows
    would not be seen.
    """
    if n_rows <= most:
        return np.arange(n_rows)
    rng = np.random.default_rng(0)
    if first is None or not len(first) or len(first) > most // 2:
        return np.sort(rng.choice(n_rows, most, replace=False))
    others = np.setdiff1d(np.arange(n_rows), first, assume_unique=True)
    return np.sort(np.concatenate([first, rng.choice(others, most - len(first), replace=False)]))
