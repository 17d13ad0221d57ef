"""Directions to start from: principal ones, unusual ones, those between clusters, and random ones."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.rows import Moments, Sample

# Number of rows per whitened axis; with fewer, the fourth moments show the noise of the whitening.
ROWS_PER_WHITE_AXIS = 20
# Largest number of whitened axes; more would cost more than the search.
MOST_WHITE_AXES = 200
# Absolute cosine above which two directions count as one.
SAME_DIRECTION = 0.99
# Largest number of clusters whose pairs are worth screening.
MOST_CLUSTERS = 8
# Largest number of principal coordinates in which clusters are found: in more, distances show mainly noise.
MOST_CLUSTER_AXES = 30
CLUSTER_ITERATIONS = 6
# Fraction of the mean variance that is added to the covariance within clusters.
WITHIN_RIDGE = 0.01


@dataclass(frozen=True)
class PrincipalAxes:
    """Eigenvectors of the covariance with positive variance, by decreasing variance.

    Attributes
    ----------
    variances : ndarray of shape (r,)
    directions : ndarray of shape (r, d)
        As rows.
    """

    variances: Array
    directions: Array

    @classmethod
    def of(cls, moments: Moments, n_axes: int = 0) -> PrincipalAxes:
        """Compute the principal axes: all if the covariance is stored, otherwise the ``n_axes`` leading ones."""
        return cls(*moments.principal_axes(n_axes))


def draw_random_starts(axes: PrincipalAxes, n: int, rng: np.random.Generator) -> Array:
    """Draw directions uniformly in the principal basis, so that a rotation of the data rotates them with it."""
    return _unit_rows(rng.standard_normal((n, len(axes.variances))) @ axes.directions)


def find_unusual_starts(axes: PrincipalAxes, sample: Sample) -> Array:
    """Return directions in which the data look least normal, alternating between lowest and highest kurtosis.

    They are the eigenvectors of the fourth-moment scatter of the whitened rows (invariant coordinate selection: Tyler,
    Critchley, Dümbgen & Oja 2009). Two groups of similar size show up at the low end, a small group at the high end,
    also in directions of small variance. The number of whitened axes is limited by the number of rows.
    """
    n_axes = min(len(axes.variances), MOST_WHITE_AXES, max(2, int(sample.total) // ROWS_PER_WHITE_AXIS))
    whitening = axes.directions[:n_axes] / np.sqrt(axes.variances[:n_axes])[:, None]
    _, vectors = np.linalg.eigh(sample.fourth_moments(whitening))
    order = [k // 2 if k % 2 == 0 else n_axes - 1 - k // 2 for k in range(n_axes)]
    return _unit_rows(vectors.T[order] @ whitening)


def choose_starts(init: str, n: int, axes: PrincipalAxes, sample: Sample, rng: np.random.Generator) -> Array:
    """Return unit vectors (rows) to start from.

    ``"pca"`` takes the n leading principal directions, ``"random"`` draws n directions, ``"axes"`` takes principal
    directions for two thirds and the most unusual directions for the rest, and ``"auto"`` proposes more than n
    directions, which the search screens (`propose_starts`). Axes and starts are signed by the skewness of the
    projections, a rule that does not depend on the coordinates.
    """
    if init == "random":
        signs = sample.skewness_signs(axes.directions)[:, None]
        return draw_random_starts(replace(axes, directions=axes.directions * signs), n, rng)
    if init == "pca" or n == 1 or len(axes.variances) == 1:
        starts = axes.directions[:n]
    elif init == "axes":
        n_unusual = n // 3
        starts = np.concatenate([axes.directions[: n - n_unusual], find_unusual_starts(axes, sample)[:n_unusual]])
    else:
        starts = propose_starts(n, axes, sample)
    return starts * sample.skewness_signs(starts)[:, None]


def propose_starts(n: int, axes: PrincipalAxes, sample: Sample) -> Array:
    """Return principal directions, unusual directions and directions between clusters, without repetitions.

    Parameters
    ----------
    n : int
        Number of principal directions and of clusters.
    sample : Sample
        Rows in memory.
    """
    between = find_directions_between_clusters(axes, sample, min(n, MOST_CLUSTERS))
    unusual = find_unusual_starts(axes, sample)[: 2 * n // 3]
    proposed = np.concatenate([axes.directions[:n], unusual, between])
    return proposed[list_distinct(proposed)]


def find_directions_between_clusters(axes: PrincipalAxes, sample: Sample, k: int) -> Array:
    """Return the discriminant directions of all pairs of k clusters: S⁻¹(m_i - m_j).

    The m_i are the means of k-means clusters in the leading principal coordinates, and S is their pooled covariance
    within clusters with a small ridge. Nothing is random, and neither the order nor the coordinates of the rows matter.
    """
    basis = axes.directions[:MOST_CLUSTER_AXES]
    rows = sample.fetch(np.arange(sample.n_rows)) @ basis.T
    weights = np.ones(len(rows)) if sample.weights is None else sample.weights
    means, labels = cluster_rows(rows, weights, k)
    rows -= means[labels]
    within = (rows * weights[:, None]).T @ rows / sample.total
    within.flat[:: len(within) + 1] += WITHIN_RIDGE * float(np.sum(axes.variances[: len(basis)])) / len(basis)
    first, second = np.triu_indices(len(means), 1)
    differences = means[second] - means[first]
    differences = differences[differences.any(axis=1)]
    return _unit_rows(np.linalg.solve(within, differences.T).T @ basis)


def cluster_rows(rows: Array, weights: Array, k: int) -> tuple[Array, NDArray[np.intp]]:
    """Return the means of at most k clusters and the cluster of each row, by a few iterations of k-means.

    The first clusters come from dividing, k - 1 times, the one with the largest sum of squares, at its mean along the
    coordinate of largest variance (Su & Dy 2007), so that they depend neither on chance nor on the order of the rows.
    """
    means, labels = _divide_clusters(rows, weights, k)
    for _ in range(CLUSTER_ITERATIONS):
        labels = np.argmin(np.sum(means**2, axis=1)[:, None] - 2.0 * (means @ rows.T), axis=0)
        totals, updated = _average(weights, labels, len(means), rows)
        updated = np.where(totals[:, None] > 0.0, updated, means)
        if np.array_equal(updated, means):
            break
        means = updated
    return means, labels


def _divide_clusters(rows: Array, weights: Array, k: int) -> tuple[Array, NDArray[np.intp]]:
    """Return the means of at most k clusters and the cluster of each row, by repeated division."""
    labels, squares = np.zeros(len(rows), dtype=np.intp), rows**2
    totals, means, mean_squares = _average(weights, labels, 1, rows, squares)
    for new in range(1, k):
        scatter = totals[:, None] * (mean_squares - means**2)
        largest = int(np.argmax(scatter.sum(axis=1)))
        axis = int(np.argmax(scatter[largest]))
        on_far_side = (labels == largest) & (rows[:, axis] > means[largest, axis])
        if not on_far_side.any():
            break
        labels[on_far_side] = new
        totals, means, mean_squares = _average(weights, labels, new + 1, rows, squares)
    return means, labels


def list_distinct(directions: Array) -> list[int]:
    """Return the indices of the directions (rows) that are not almost parallel to an earlier one in the list."""
    parallel = np.abs(directions @ directions.T) > SAME_DIRECTION
    chosen: list[int] = []
    repeated = np.zeros(len(parallel), dtype=bool)
    for i, row in enumerate(parallel):
        if not repeated[i]:
            chosen.append(i)
            repeated |= row
    return chosen


def _average(weights: Array, labels: NDArray[np.intp], k: int, *tables: Array) -> list[Array]:
    """Return the weight of each of k clusters and its mean in each table of values, which is zero for an empty one."""
    members = (labels == np.arange(k)[:, None]) * weights
    totals = members.sum(axis=1)
    divisors = np.where(totals > 0.0, totals, 1.0)[:, None]
    return [totals, *((members @ values) / divisors for values in tables)]


def _unit_rows(directions: Array) -> Array:
    return np.ascontiguousarray(directions / np.linalg.norm(directions, axis=1, keepdims=True))
