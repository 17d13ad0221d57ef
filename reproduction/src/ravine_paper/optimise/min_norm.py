"""Shortest vector of a convex hull by Wolfe's algorithm (Wolfe 1976), an exact active-set method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ravine_paper._typing import Array

__all__ = ["HullGap", "find_hull_gap", "find_min_norm_weights"]

EPS = float(np.finfo(float).eps)
# Major cycles per dimension. A few suffice; the limit only stops cycles caused by rounding.
MAX_CYCLES = 1000

# Returns the name and the coordinates of the vertex that is lowest along x.
Oracle = Callable[[Array], tuple[tuple[int, ...], Array]]


def find_min_norm_weights(points: Array) -> Array:
    """Find the weights λ of the shortest vector in the convex hull of points: minimise |λ'P| over the simplex.

    Parameters
    ----------
    points : ndarray of shape (m, d)

    Returns
    -------
    ndarray of shape (m,)
        Non-negative weights of sum 1; ``weights @ points`` is the vector.
    """
    scale = float(np.abs(points).max()) or 1.0
    scaled = points / scale

    def find_lowest(x: Array) -> tuple[tuple[int, ...], Array]:
        k = int(np.argmin(scaled @ x))
        return (k,), scaled[k]

    first = int(np.argmin(np.einsum("ij,ij->i", scaled, scaled)))
    names, weights, _ = _run_wolfe(find_lowest, (first,), scaled[first])
    out = np.zeros(len(points))
    for (k,), weight in zip(names, weights.tolist(), strict=True):
        out[k] += weight
    return out


@dataclass(frozen=True)
class HullGap:
    """Shortest vector from one convex hull to another.

    Attributes
    ----------
    vector : ndarray of shape (d,)
        Vector from the second hull to the first; zero up to rounding if they touch or overlap.
    first, second : ndarray of int
        Indices of the points in the two sets whose convex combinations are the ends of the vector.
    """

    vector: Array
    first: NDArray[np.intp]
    second: NDArray[np.intp]

    @property
    def distance(self) -> float:
        """Length of the vector: twice the largest margin of a hyperplane between the hulls."""
        return float(np.linalg.norm(self.vector))


def find_hull_gap(first: Array, second: Array) -> HullGap:
    """Find the shortest vector between the convex hulls of two sets of points: the hard-margin problem, solved exactly.

    It is the shortest vector in the hull of all differences. Only differences that are extreme along some direction are
    ever computed.

    Parameters
    ----------
    first, second : ndarray of shape (m, d) and (n, d)
    """
    center = second.mean(axis=0)
    a, c = first - center, second - center
    scale = max(float(np.abs(a).max()), float(np.abs(c).max())) or 1.0
    a, c = a / scale, c / scale

    def find_lowest(x: Array) -> tuple[tuple[int, ...], Array]:
        i, j = int(np.argmin(a @ x)), int(np.argmax(c @ x))
        return (i, j), a[i] - c[j]

    names, _, vector = _run_wolfe(find_lowest, *find_lowest(a.mean(axis=0) - c.mean(axis=0)))
    pairs = np.array(names, dtype=np.intp)
    return HullGap(vector * scale, np.unique(pairs[:, 0]), np.unique(pairs[:, 1]))


def _run_wolfe(find_lowest: Oracle, name: tuple[int, ...], point: Array) -> tuple[list[tuple[int, ...]], Array, Array]:
    """Find the shortest vector; return the names and weights of the points that it combines, and the vector."""
    names, corral, weights = [name], point[None], np.ones(1)
    x = point
    best = names, weights, x
    for _ in range(MAX_CYCLES * (len(point) + 1)):
        name, point = find_lowest(x)
        squared = float(x @ x)
        reach = max(float(np.sqrt(np.einsum("ij,ij->i", corral, corral).max())), float(np.linalg.norm(point)))
        # x·x - x·p bounds the squared distance to the solution, unless it is below its own rounding error.
        if name in names or squared - float(x @ point) <= 4.0 * EPS * reach * np.sqrt(squared):
            break
        names, corral, weights = [*names, name], np.vstack([corral, point]), np.append(weights, 0.0)
        while True:
            affine = _find_affine_weights(corral)
            outside = affine <= EPS
            if not outside.any():
                weights = affine
                break
            fraction = weights[outside] / np.maximum(weights[outside] - affine[outside], EPS)
            weights = weights + float(fraction.min()) * (affine - weights)
            kept = weights > EPS
            kept[np.flatnonzero(outside)[np.argmin(fraction)]] = False
            if not kept.any():
                return best
            names = [n for n, k in zip(names, kept.tolist(), strict=True) if k]
            corral, weights = corral[kept], weights[kept] / weights[kept].sum()
        x = weights @ corral
        if not float(x @ x) < squared:  # in exact arithmetic it always is
            break
        best = names, weights, x
    return best


def _find_affine_weights(points: Array) -> Array:
    """Find the weights (of sum 1 and any sign) of the shortest vector in the affine hull."""
    if len(points) == 1:
        return np.ones(1)
    along = np.linalg.lstsq((points[1:] - points[0]).T, -points[0], rcond=None)[0]
    return np.append(1.0 - along.sum(), along)
