"""Directions along which rows may have a valley: the normal of a hyperplane, and those its two sides suggest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.density import ProjectedDensity, compute_silverman_bandwidth, measure_evidence
from ravine.rows import Rows, round_to_power_of_two
from ravine.search.hyperplane import Fit

# Number of features above which sparse rows stay sparse and the covariance is estimated from fewer rows: the second.
MANY_FEATURES, FEW_ROWS = 1000, 1000
Spread = Callable[[Array], list[Array]]
DIRECTIONS = "normal", "discriminant", "means"
# Smallest number of rows on a side of a hyperplane.
SMALLEST_SIDE = 5
# Evidence above which hyperplanes are compared by their depth, which is less noisy.
ENOUGH_EVIDENCE = 2.0
# Approximate number of rows on which the hyperplanes of a search are compared.
COMPARED = 2000
# Share of the distance between the means of the sides, at each end, that the search for the minimum leaves out.
INNER = 0.05
# Smallest bandwidth that can be divided into bins.
SMALLEST_NUMBER = 1e-322


class Choosers:
    """Rows in an array.

    Parameters
    ----------
    values : ndarray of shape (n, d), float64
    """

    def __init__(self, values: Any) -> None:
        self.values = values

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def take(self, indices: Any) -> Choosers:
        """Return some rows."""
        return type(self)(self.values[indices])

    def mean(self, members: NDArray[np.bool_] | None = None) -> Array:
        """Return the mean of all or some rows."""
        some = self.values if members is None else self.values[members]
        return np.asarray(some.mean(axis=0)).ravel()

    def project(self, center: Array, normal: Array) -> Array:
        """Return the projections of the rows."""
        return np.asarray((self.values - center) @ normal)

    def discriminate(self, on_right: NDArray[np.bool_], means: tuple[Array, Array]) -> Array:
        """Return S⁻¹(m1 - m0) for the means m0 and m1 of two sides and the shrunk covariance S within them."""
        within = np.where(on_right[:, None], self.values - means[1], self.values - means[0])
        if self.values.shape[1] > MANY_FEATURES:
            within = within[:: max(1, len(within) // FEW_ROWS)]
        return solve_shrunk(within, means[1] - means[0])


class SparseChoosers(Choosers):
    """Rows of a sparse matrix with more features than rows are used for a covariance."""

    def project(self, center: Array, normal: Array) -> Array:
        """Return the projections of the rows."""
        return np.asarray(self.values @ normal) - float(center @ normal)

    def discriminate(self, on_right: NDArray[np.bool_], means: tuple[Array, Array]) -> Array:
        """Return S⁻¹(m1 - m0), from the products of the rows with each other only."""
        step = max(1, len(self) // FEW_ROWS)
        X, side = self.values[::step], on_right[::step].astype(np.intp)
        both, difference = np.array(means), means[1] - means[0]
        n, d = X.shape
        scale = float(max(abs(X).max(), np.abs(both).max())) or 1.0  # squares of large values overflow
        X, both = X / scale, both / scale
        products = np.asarray((X @ X.T).toarray())
        with_means = np.asarray(X @ both.T)
        products -= with_means[:, side] + with_means[:, side].T - (both @ both.T)[np.ix_(side, side)]
        share, ridge = _shrink(products / n, np.diagonal(products), d)
        if not ridge > 0.0:
            return difference
        inner = np.linalg.solve(
            ridge * np.eye(n) + (1.0 - share) * products / n,
            np.asarray(X @ difference) - (both @ difference)[side],
        )
        back = np.asarray(X.T @ inner) - both.T @ np.bincount(side, weights=inner, minlength=2)
        return np.asarray((difference - (1.0 - share) / n * back) / ridge)


def as_choosers(rows: Rows, indices: NDArray[np.intp] | None = None) -> Choosers:
    """Return all or some rows as `Choosers`: sparse if they are sparse and have many features."""
    if rows.is_sparse and rows.shape[1] > MANY_FEATURES:
        some = rows if indices is None else rows.subset(indices)
        return SparseChoosers(some.data.astype(np.float64))
    return Choosers(np.asarray(rows.to_array() if indices is None else rows.take(indices), dtype=np.float64))


def solve_shrunk(within: Array, difference: Array) -> Array:
    """Solve S v = difference for the covariance S of centred rows, shrunk towards a multiple of the identity.

    The shrinkage is that of Ledoit and Wolf (2004).
    """
    n, d = within.shape
    scale = float(np.abs(within).max()) or 1.0  # squares of large values overflow
    z = within / scale
    gram = z.T @ z / n if d <= n else z @ z.T / n
    share, ridge = _shrink(gram, np.einsum("ij,ij->i", z, z), d)
    if not ridge > 0.0:
        return difference
    if d <= n:
        return np.asarray(np.linalg.solve((1.0 - share) * gram + ridge * np.eye(d), difference))
    inner = np.linalg.solve(ridge * np.eye(n) + (1.0 - share) * gram, z @ difference)
    return np.asarray((difference - (1.0 - share) / n * (z.T @ inner)) / ridge)


def _shrink(gram: Array, squared_lengths: Array, d: int) -> tuple[float, float]:
    """Return the share of the identity in the shrunk covariance, and its multiple of the identity."""
    n = len(squared_lengths)
    mean = float(np.trace(gram)) / d
    squares = float((gram**2).sum())
    spread = squares / d - mean**2
    noise = (float((squared_lengths**2).sum()) / n - squares) / (n * d)
    share = 1.0 if spread <= 0.0 else min(max(noise / spread, 0.0), 1.0)
    return share, max(share * mean, 1e-10 * mean)


@dataclass(frozen=True, eq=False)
class Cut:
    """Hyperplane {x : normal·(x - center) = offset} and the bandwidth of the density along its normal."""

    normal: Array
    center: Array
    offset: float
    bandwidth: float

    def project(self, rows: Choosers) -> Array:
        """Return the projections of rows."""
        return rows.project(self.center, self.normal)


def select_compared(n: int) -> slice:
    """Return which of n rows compare hyperplanes."""
    return slice(None, None, max(1, n // COMPARED))


def choose_cuts(rows: Choosers, fit: Fit, spread: Spread | None = None) -> list[Cut | None]:
    """Choose the most promising hyperplane of a search by its evidence on some rows, and two others from its sides.

    The others have the normals S⁻¹(m1 - m0) and m1 - m0, with the means m0 and m1 of the two sides and the shrunk
    covariance S within them, and lie at the lowest density between the means.

    Parameters
    ----------
    spread : callable, optional
        Returns, for directions of shape (k, d), what to add to the projections of the rows that compare hyperplanes
        so that repeated values are spread over their cells: an array of shape (k, m) for every spreading.
        Gaps between repeated values are not evidence.
    """
    first = _choose_stage(rows, fit, spread)
    if first is None:
        return [None] * len(DIRECTIONS)
    return [first, *_cut_between(rows, first.project(rows) > first.offset)]


def _cut_between(rows: Choosers, on_right: NDArray[np.bool_]) -> list[Cut | None]:
    """Return the hyperplanes of lowest density between two sides, along their discriminant and between their means."""
    means = rows.mean(~on_right), rows.mean(on_right)
    return [_cut_along(v, rows, on_right) for v in (rows.discriminate(on_right, means), means[1] - means[0])]


def _choose_stage(rows: Choosers, fit: Fit, spread: Spread | None) -> Cut | None:
    """Return the deepest stage of the search with enough evidence on the rows, or that with the largest evidence."""
    center, some = rows.mean(), rows.take(select_compared(len(rows)))
    steps = (step.hyperplane for step in fit.log.steps)
    planes = {(p.offset, p.normal.tobytes()): p for p in steps if p.splits and p.relative_depth > 0.0}
    added = [np.zeros((len(planes), 1))]
    if spread is not None and planes:
        added = spread(np.array([plane.normal for plane in planes.values()]))
    best, cut = (False, -np.inf), None
    for k, plane in enumerate(planes.values()):
        assert plane.point is not None
        projections = some.project(center, plane.normal)
        offset = float((plane.point - center) @ plane.normal)
        n_right = np.count_nonzero(projections > offset)
        if min(n_right, len(some) - n_right) < SMALLEST_SIDE:
            continue
        evidence = min(min(measure_evidence(projections + shifts[k], plane.bandwidth, offset)) for shifts in added)
        is_enough = evidence >= ENOUGH_EVIDENCE
        merit = is_enough, plane.relative_depth if is_enough else evidence
        if merit > best:
            best, cut = merit, Cut(plane.normal, center, offset, plane.bandwidth)
    return cut


def _cut_along(direction: Array, rows: Choosers, on_right: NDArray[np.bool_]) -> Cut | None:
    """Return the hyperplane of lowest density between the means of two sides, with a given normal."""
    # Squares of large and small values overflow and vanish: lengths and spreads are computed in units of powers of two.
    direction = direction / round_to_power_of_two(float(np.abs(direction).max()))
    length = float(np.linalg.norm(direction))
    if not (np.isfinite(length) and length > 0.0):
        return None
    normal, center = direction / length, rows.mean()
    projections = rows.project(center, normal)
    unit = round_to_power_of_two(float(np.abs(projections).max()))
    bandwidth = compute_silverman_bandwidth(unit * float((projections / unit).std()), len(rows))
    low, high = sorted((float(projections[~on_right].mean()), float(projections[on_right].mean())))
    inner = INNER * (high - low)
    if not (bandwidth > SMALLEST_NUMBER and high > low):
        return None
    density = ProjectedDensity(projections, bandwidth)
    return Cut(normal, center, float(density.minimise(low + inner, high - inner).b), bandwidth)
