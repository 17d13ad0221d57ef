"""The shortest vector of a convex hull, exactly: Wolfe's algorithm (Wolfe 1976), an active-set method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array

__all__ = ["HullGap", "hull_gap", "min_norm_weights"]

EPS = float(np.finfo(float).eps)
# Major cycles for each dimension; a few are enough, this only ends what rounding would keep going.
MOST_CYCLES = 1000

# The vertex that is lowest along x, and its name.
Oracle = Callable[[Array], tuple[tuple[int, ...], Array]]


def min_norm_weights(points: Array) -> Array:
    """Weights of the shortest vector in the convex hull of points: the minimum of |λ'P| over the simplex.

    Parameters
    ----------
    points : ndarray of shape (m, d)

    Returns
    -------
    ndarray of shape (m,)
        Non-negative, of sum 1; ``weights @ points`` is the vector.
    """
    scale = float(np.abs(points).max()) or 1.0
    scaled = points / scale

    def lowest(x: Array) -> tuple[tuple[int, ...], Array]:
        k = int(np.argmin(scaled @ x))
        return (k,), scaled[k]

    first = int(np.argmin(np.einsum("ij,ij->i", scaled, scaled)))
    names, weights, _ = _wolfe(lowest, (first,), scaled[first])
    out = np.zeros(len(points))
    for (k,), weight in zip(names, weights.tolist(), strict=True):
        out[k] += weight
    return out


@dataclass(frozen=True)
class HullGap:
    """The shortest vector from one convex hull to another.

    Attributes
    ----------
    vector : ndarray of shape (d,)
        From the second to the first; of length 0 (or rounding) if they touch or overlap.
    first, second : ndarray of int
        Rows of the two sets that carry its ends.
    """

    vector: Array
    first: NDArray[np.intp]
    second: NDArray[np.intp]

    @property
    def distance(self) -> float:
        """Its length: twice the margin of the best hyperplane between the hulls."""
        return float(np.linalg.norm(self.vector))


def hull_gap(first: Array, second: Array) -> HullGap:
    """The shortest vector between the convex hulls of two sets of points: the hard-margin problem, solved exactly.

    It is the shortest vector of all differences, of which only the extreme ones along a direction are ever formed.

    Parameters
    ----------
    first, second : ndarray of shape (m, d) and (n, d)
    """
    center = second.mean(axis=0)
    a, c = first - center, second - center
    scale = max(float(np.abs(a).max()), float(np.abs(c).max())) or 1.0
    a, c = a / scale, c / scale

    def lowest(x: Array) -> tuple[tuple[int, ...], Array]:
        i, j = int(np.argmin(a @ x)), int(np.argmax(c @ x))
        return (i, j), a[i] - c[j]

    names, _, vector = _wolfe(lowest, *lowest(a.mean(axis=0) - c.mean(axis=0)))
    pairs = np.array(names, dtype=np.intp)
    return HullGap(vector * scale, np.unique(pairs[:, 0]), np.unique(pairs[:, 1]))


def _wolfe(lowest: Oracle, name: tuple[int, ...], point: Array) -> tuple[list[tuple[int, ...]], Array, Array]:
    """Names and weights of the points that carry the shortest vector, and that vector."""
    names, corral, weights = [name], point[None], np.ones(1)
    x = point
    best = names, weights, x
    for _ in range(MOST_CYCLES * (len(point) + 1)):
        name, point = lowest(x)
        squared = float(x @ x)
        reach = max(float(np.sqrt(np.einsum("ij,ij->i", corral, corral).max())), float(np.linalg.norm(point)))
        # x·x - x·p bounds the square of the distance to the solution; below its own rounding it says nothing.
        if name in names or squared - float(x @ point) <= 4.0 * EPS * reach * np.sqrt(squared):
            break
        names, corral, weights = [*names, name], np.vstack([corral, point]), np.append(weights, 0.0)
        while True:
            affine = _affine_weights(corral)
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
        if not float(x @ x) < squared:  # exact arithmetic always gains
            break
        best = names, weights, x
    return best


def _affine_weights(points: Array) -> Array:
    """Weights of sum 1, of any sign, of the shortest vector in the affine hull."""
    if len(points) == 1:
        return np.ones(1)
    along = np.linalg.lstsq((points[1:] - points[0]).T, -points[0], rcond=None)[0]
    return np.append(1.0 - along.sum(), along)
