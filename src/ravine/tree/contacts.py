"""Contact of two groups of rows: whether a valley of the density separates them where they meet.

Rows near the boundary, within a few steps in the graph of nearest neighbours, get a signed coordinate: how much farther
the other group is than it would be without a valley. The density of this coordinate has a valley if the groups have one
between them. Only rows near the boundary count, so that a single curved cluster, which bends back towards itself
elsewhere, does not show a valley.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ravine import _kernels
from ravine._typing import Array
from ravine.density import ProjectedDensity, measure_evidence
from ravine.tree.cells import CellGraph, estimate_dimension

__all__ = ["Contact", "find_contact"]

Mask = NDArray[np.bool_]

# In a graph of this many rows, the largest number of steps from the boundary; after two steps it is enough if both
# groups have as many rows there. In larger graphs the steps are shorter, so that there are more of both.
USUAL_ROWS, MOST_STEPS, FEWEST_STEPS, ENOUGH_ROWS = 500, 4, 2, 150
# Rows of both groups together that are measured; with fewer rows of a group nothing is known.
MOST_ROWS, FEWEST_ROWS = 400, 10
# Number of neighbours in each group, and in both.
FEW, MANY = 5, 10
# Bandwidth in units of the robust standard deviation times m^(-1/5): Silverman's, and a smaller one for narrow valleys.
BANDWIDTHS = 0.9, 0.54
# Points at which the lowest density between the two groups is sought.
N_POINTS = 61


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
    bandwidth : float
    evidence : float
        z-score for a valley there; minus infinity if there is none.
    """

    coordinates: Array
    is_second: Mask
    at: float
    bandwidth: float
    evidence: float


def find_contact(graph: CellGraph, first: Mask, second: Mask) -> Contact | None:
    """Measure the contact of two groups; None if too few rows are near the boundary.

    Parameters
    ----------
    graph : CellGraph
    first, second : ndarray of shape (m,), bool
        Which rows of the graph the two groups contain.
    """
    growth = max(len(graph.indices) / USUAL_ROWS, 1.0)
    most_steps = round(MOST_STEPS * growth ** (1.0 / max(graph.dimension, 1.0)))
    near = _find_rows_near(graph.nearest, first, second, most_steps, ENOUGH_ROWS * growth)
    chosen = _thin(np.flatnonzero(near & first), np.flatnonzero(near & second))
    if min(map(len, chosen)) < FEWEST_ROWS:
        return None
    coordinates = _compute_coordinates(graph.points, *chosen)
    is_second = np.repeat([False, True], [len(some) for some in chosen])
    return _find_valley(coordinates, is_second)


def _find_rows_near(nearest: NDArray[np.intp], first: Mask, second: Mask, most_steps: int, enough: float) -> Mask:
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


def _thin(*groups: NDArray[np.intp]) -> tuple[NDArray[np.intp], ...]:
    """Return random rows of large groups, so that both together have at most about `MOST_ROWS`."""
    total = sum(map(len, groups))
    if total <= MOST_ROWS:
        return groups
    rng = np.random.default_rng(0)  # the same rows in every run
    sizes = [max(len(group) * MOST_ROWS // total, min(len(group), MOST_ROWS // 10)) for group in groups]
    return tuple(rng.choice(group, size, replace=False) for group, size in zip(groups, sizes, strict=True))


def _compute_coordinates(points: Array, first: NDArray[np.intp], second: NDArray[np.intp]) -> Array:
    """Return the signed coordinates of rows of two groups.

    The distance to the other group is compared with the one expected without a valley: to every second of the nearest
    rows, as if the other group had half of the rows nearby, or, in many dimensions, to the own group.
    """
    x = np.ascontiguousarray(points[np.concatenate([first, second])])
    own, other, expected, log_ratios = _kernels.measure_contact(x, len(first), FEW, MANY)
    weight = min(max((estimate_dimension(log_ratios, min(MANY, len(x) - 1)) - 2.0) / 3.0, 0.0), 1.0)
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
    scale = deviation * len(coordinates) ** -0.2
    points = np.linspace(low, high, N_POINTS)
    at = float(points[int(ProjectedDensity(coordinates, BANDWIDTHS[0] * scale)(points).argmin())])
    evidence = [min(measure_evidence(coordinates, factor * scale, at)) for factor in BANDWIDTHS]
    best = int(np.argmax(evidence))
    return Contact(coordinates, is_second, at, BANDWIDTHS[best] * scale, evidence[best])
