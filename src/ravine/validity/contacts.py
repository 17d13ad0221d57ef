"""Contact of two groups of rows: evidence for a valley where they meet.

Rows near the boundary, within a few steps in the graph of nearest neighbours, get a signed coordinate: how much farther
the other group is than it would be without a valley. The density of this coordinate has a valley if the groups have one
between them. Only rows near the boundary count, so that a single curved cluster, which bends back towards itself
elsewhere, does not show a valley.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine import _kernels
from ravine._typing import Array
from ravine.density import ProjectedDensity, compute_silverman_bandwidth, measure_evidence

Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]
# Number of neighbours of a row.
N_NEIGHBOURS = 10
# Number of rows at which the effective dimension is measured.
ROWS_FOR_DIMENSION = 500
# Largest number of steps from a boundary in a graph of the usual size; larger graphs have shorter, hence more, steps.
USUAL_GRAPH_ROWS, MOST_STEPS = 500, 4
# The neighbourhood stops growing after this number of steps if both groups have enough rows in it.
FEWEST_STEPS, ENOUGH_ROWS = 2, 150
# Largest number of rows of both groups that are measured, and smallest number of rows of one group.
MOST_ROWS, FEWEST_ROWS = 400, 10
# Numbers of nearest rows, in one group and in both, that define the coordinate across the boundary.
N_GROUP_NEIGHBOURS, N_MIXED_NEIGHBOURS = 5, 10
# Factors of Silverman's bandwidth: the smaller one shows narrow valleys.
BANDWIDTH_FACTORS = 1.0, 0.6
# Number of points at which the lowest density between two groups is sought.
N_VALLEY_POINTS = 61


def find_neighbours(data: Any, n_neighbours: int) -> Indices:
    """Return the positions of the nearest other rows of each row, at most one less than there are rows."""
    from sklearn.neighbors import NearestNeighbors

    q = min(n_neighbours, data.shape[0] - 1)
    if q < 1:
        return np.zeros((data.shape[0], 0), dtype=np.intp)
    return np.asarray(NearestNeighbors(n_neighbors=q).fit(data).kneighbors(return_distance=False))


def measure_dimension(points: Array, nearest: Indices) -> float:
    """Return the effective dimension of some rows near their neighbours."""
    if nearest.shape[1] < 3:
        return 1.0
    some = np.linspace(0, len(points) - 1, min(len(points), ROWS_FOR_DIMENSION)).astype(np.intp)
    distances = np.linalg.norm(points[nearest[some]] - points[some, None], axis=2)
    last = distances[:, -1:]
    inner = np.where(distances[:, :-1] > 0.0, distances[:, :-1], np.where(last > 0.0, last, 1.0))
    return estimate_dimension(np.log(np.where(last > 0.0, last, 1.0) / inner).sum(axis=1), distances.shape[1])


def estimate_dimension(log_ratios: Array, n_neighbours: int) -> float:
    """Return the effective dimension of rows near their neighbours (Levina & Bickel 2004).

    Parameters
    ----------
    log_ratios : ndarray of shape (m,)
        Sums of the logarithms of the ratios of the last distance to the others, of each row.
    """
    known = log_ratios[log_ratios > 0.0]
    return (n_neighbours - 2) / float(known.mean()) if len(known) and n_neighbours > 2 else 1.0


@dataclass(frozen=True)
class Contact:
    """Rows of two groups near their boundary.

    Attributes
    ----------
    coordinates : ndarray of shape (m,)
        Signed coordinates, in units of the graph: 0 on the boundary, negative in the first group.
    is_second : ndarray of shape (m,), bool
        Whether a row belongs to the second group.
    at : float
        Coordinate of the lowest density between the groups.
    evidence : float
        z-score for a valley there; minus infinity if there is none.
    """

    coordinates: Array
    is_second: Mask
    at: float
    bandwidth: float
    evidence: float


def find_contact(points: Array, nearest: Indices, dimension: float, first: Mask, second: Mask) -> Contact | None:
    """Measure the contact of two groups; None if too few rows are near the boundary.

    Parameters
    ----------
    points : ndarray of shape (m, p)
    nearest : ndarray of shape (m, q), int
        Nearest neighbours of each row.
    dimension : float
        Effective dimension of the rows.
    first, second : ndarray of shape (m,), bool
        Rows of the two groups.
    """
    growth = max(len(points) / USUAL_GRAPH_ROWS, 1.0)
    most_steps = round(MOST_STEPS * growth ** (1.0 / max(dimension, 1.0)))
    near = _find_rows_near(nearest, first, second, most_steps, ENOUGH_ROWS * growth)
    chosen = _thin(np.flatnonzero(near & first), np.flatnonzero(near & second))
    if min(map(len, chosen)) < FEWEST_ROWS:
        return None
    coordinates = _compute_coordinates(points, *chosen)
    is_second = np.repeat([False, True], [len(some) for some in chosen])
    return _find_valley(coordinates, is_second)


def _find_rows_near(nearest: Indices, first: Mask, second: Mask, most_steps: int, enough: float) -> Mask:
    """Return which rows are within a few steps, inside the two groups, of an edge between them."""
    inside = first | second
    both = np.flatnonzero(inside)
    near = np.zeros(len(first), dtype=bool)
    for group, other in ((first, second), (second, first)):
        members = np.flatnonzero(group)
        crosses = other[nearest[members]]
        near[members[crosses.any(axis=1)]] = True
        near[nearest[members][crosses]] = True
    for step in range(most_steps):
        if step >= FEWEST_STEPS and min((near & first).sum(), (near & second).sum()) >= enough:
            break
        wider = near.copy()
        wider[both[near[nearest[both]].any(axis=1)]] = True
        wider[nearest[near]] = True
        near = wider & inside
    return near


def _thin(*groups: Indices) -> tuple[Indices, ...]:
    """Return random rows of large groups, so that both together have at most about `MOST_ROWS`."""
    total = sum(map(len, groups))
    if total <= MOST_ROWS:
        return groups
    rng = np.random.default_rng(0)  # the same rows in every run
    sizes = [max(len(group) * MOST_ROWS // total, min(len(group), MOST_ROWS // 10)) for group in groups]
    return tuple(rng.choice(group, size, replace=False) for group, size in zip(groups, sizes, strict=True))


def _compute_coordinates(points: Array, first: Indices, second: Indices) -> Array:
    """Return the signed coordinates of rows of two groups.

    The distance to the other group is compared with the one expected without a valley: to every second of the nearest
    rows, as if the other group had half of the rows nearby, or, in many dimensions, to the own group.
    """
    x = np.ascontiguousarray(points[np.concatenate([first, second])])
    own, other, expected, log_ratios = _kernels.measure_contact(x, len(first), N_GROUP_NEIGHBOURS, N_MIXED_NEIGHBOURS)
    weight = min(max((estimate_dimension(log_ratios, min(N_MIXED_NEIGHBOURS, len(x) - 1)) - 2.0) / 3.0, 0.0), 1.0)
    coordinates = other - weight * own - (1.0 - weight) * expected
    coordinates[: len(first)] *= -1.0
    return np.asarray(coordinates)


def _find_valley(coordinates: Array, is_second: Mask) -> Contact:
    """Find the lowest density between the medians of the two groups, at the bandwidth with more evidence."""
    low, high = float(np.median(coordinates[~is_second])), float(np.median(coordinates[is_second]))
    quartiles = np.percentile(coordinates, [25, 75])
    deviation = float(coordinates.std())
    deviation = min(deviation, float(quartiles[1] - quartiles[0]) / 1.34) or deviation
    if not (high > low and deviation > 1e-9 * float(np.ptp(coordinates))):
        return Contact(coordinates, is_second, 0.0, deviation, -np.inf)
    bandwidths = [factor * compute_silverman_bandwidth(deviation, len(coordinates)) for factor in BANDWIDTH_FACTORS]
    points = np.linspace(low, high, N_VALLEY_POINTS)
    at = float(points[int(ProjectedDensity(coordinates, bandwidths[0])(points).argmin())])
    evidence = [min(measure_evidence(coordinates, h, at)) for h in bandwidths]
    best = int(np.argmax(evidence))
    return Contact(coordinates, is_second, at, bandwidths[best], evidence[best])
