"""Directions along which rows may have a valley: differences, components and shrunk linear discriminants."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array


def find_discriminant(x: Array, on_right: NDArray[np.bool_]) -> Array | None:
    """Return the unit vector of the shrunk linear discriminant of two sides; None if there is none."""
    if min(np.count_nonzero(on_right), np.count_nonzero(~on_right)) < 2:
        return None
    means = x[~on_right].mean(axis=0), x[on_right].mean(axis=0)
    direction = solve_shrunk(np.where(on_right[:, None], x - means[1], x - means[0]), means[1] - means[0])
    length = float(np.linalg.norm(direction))
    return direction / length if 0.0 < length < math.inf else None


def list_directions(x: Array, n_differences: int, n_components: int, rng: np.random.Generator) -> Array:
    """Return unit vectors: differences of the means of rows nearer to either of two random rows, and components.

    The former are one step of k-means with two centres; the latter are the first principal components.
    """
    if x.shape[1] == 1:
        return np.ones((1, 1))
    pairs = x[rng.integers(len(x), size=(2, n_differences))]
    between = pairs[1] - pairs[0]
    nearer = (x @ between.T > 0.5 * np.einsum("ij,ij->i", between, pairs[0] + pairs[1])).astype(np.float64)
    counts, sums = nearer.sum(axis=0)[:, None], nearer.T @ x
    differences = sums / np.maximum(counts, 1.0) - (x.sum(axis=0) - sums) / np.maximum(len(x) - counts, 1.0)
    centred = x - x.mean(axis=0)
    components = np.linalg.eigh(centred.T @ centred)[1][:, : -n_components - 1 : -1].T
    directions = np.concatenate([differences, components])
    lengths = np.linalg.norm(directions, axis=1)
    return np.ascontiguousarray(directions[lengths > 1e-12] / lengths[lengths > 1e-12, None])


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
