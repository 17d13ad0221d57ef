"""Robust density of the rows of one leaf: a normal distribution, or a few components where that fits better."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.rows import limit_library_threads

__all__ = ["LeafDensity", "fit_leaf", "pool_variances"]

# With more features, these are taken to be independent, and there is one component.
MOST_FEATURES, MOST_FOR_COMPONENTS = 100, 10
# Share of the rows, the most central ones, that define centre and covariance; and how often they are chosen.
CENTRAL, N_STEPS = 0.6, 4
# Numbers of components that are tried, the fewest rows of each, and the share of the rows that they describe.
N_COMPONENTS, ROWS_PER_COMPONENT, DESCRIBED = (2, 4, 8), 20, 0.9
# A component is dropped if its level is below the highest by more than this, plus the second for each feature.
SPARSE, SPARSE_PER_FEATURE = 3.0, 0.4
# Share of the common variance in the variances of the coordinates of a component.
COMMON = 0.05
# Rows of least density do not count for the number of components.
IGNORED = 0.15
# Least variance of a feature, of which the spread over all rows is 1.
LEAST = 1e-12


@dataclass(frozen=True)
class LeafDensity:
    """Largest of a few normal densities, in coordinates in which the covariance of the leaf is the identity.

    Attributes
    ----------
    center : ndarray of shape (d,)
    transform : ndarray of shape (d, d) or (d,)
        Matrix that leads to the coordinates, or factors if features are independent.
    means, precisions : ndarray of shape (c, d)
        Means and inverse variances of the components; a single one has mean 0.
    levels : ndarray of shape (c,)
        Log-densities at the means.
    """

    center: Array
    transform: Array
    means: Array
    precisions: Array
    levels: Array

    def evaluate(self, X: NDArray[np.floating[Any]], overwrite: bool = False) -> Array:
        """Return the log-density at each row; with ``overwrite``, the memory of an X of float64 is used."""
        z = np.subtract(X, self.center, out=X if overwrite and X.dtype == np.float64 else None)
        if len(self.levels) == 1:  # the mean is the centre
            factors = np.sqrt(self.precisions[0])
            z = z @ (self.transform * factors) if self.transform.ndim == 2 else z * (self.transform * factors)
            return np.asarray(self.levels[0] - 0.5 * np.einsum("ij,ij->i", z, z))
        z = z @ self.transform
        squares = (z * z) @ self.precisions.T - 2.0 * z @ (self.precisions * self.means).T
        heights = self.levels - 0.5 * np.einsum("ij,ij->i", self.means**2, self.precisions)
        return np.asarray((heights - 0.5 * squares).max(axis=1))

    def shift(self, change: float) -> LeafDensity:
        """Return the density with another level."""
        return replace(self, levels=self.levels + change)

    def rescale(self, origin: Array, unit: Array) -> LeafDensity:
        """Return the density as a function of ``origin + unit * x``, with the same values."""
        scale = unit if self.transform.ndim == 1 else unit[:, None]
        return replace(self, center=origin + unit * self.center, transform=self.transform / scale)


def pool_variances(samples: dict[int, Array], sizes: dict[int, int]) -> Array:
    """Return the variances of the features inside leaves, averaged over all rows."""
    total = sum(sizes.values())
    pooled = sum(sizes[k] / total * sample.var(axis=0) for k, sample in samples.items())
    return np.asarray(np.maximum(pooled, LEAST))


def fit_leaf(sample: Array, share: float, pooled: Array) -> LeafDensity:
    """Estimate the density of a leaf.

    Parameters
    ----------
    sample : ndarray of shape (m, d)
        Rows of the leaf.
    share : float
        Share of the leaf of all rows.
    pooled : ndarray of shape (d,)
        Variances of the features inside all leaves, towards which few rows are shrunk.
    """
    n, d = sample.shape
    center, transform, log_volume, distances = _find_center(sample, pooled)
    # Chosen so that the median distance is that of the median row.
    variance = max(float(np.median(distances)) / d, 1e-6)
    level = np.log(share) + log_volume
    normal = LeafDensity(
        center,
        transform,
        np.zeros((1, d)),
        np.full((1, d), 1.0 / variance),
        np.array([level - 0.5 * d * np.log(variance)]),
    )
    if d > MOST_FOR_COMPONENTS or d == 0:
        return normal
    best, highest = normal, _rate(normal, sample)
    z = (sample - center) @ transform
    inner = z[np.argsort(distances, kind="stable")[: int(DESCRIBED * n)]]
    for c in N_COMPONENTS:
        if n < ROWS_PER_COMPONENT * c:
            break
        means, variances, weights = _find_components(inner, c)
        levels = level + np.log(weights) - 0.5 * np.log(variances).sum(axis=1)
        dense = levels >= levels.max() - SPARSE - d * SPARSE_PER_FEATURE
        found = LeafDensity(center, transform, means[dense], 1.0 / variances[dense], levels[dense])
        if dense.sum() == 1:
            continue
        rating = _rate(found, sample)
        if rating > highest:
            best, highest = found, rating
    return best


def _find_center(x: Array, pooled: Array) -> tuple[Array, Array, float, Array]:
    """Return robust centre, transformation, its log-determinant and the squared distances of the rows.

    Concentration steps as for the minimum covariance determinant, from the median and the absolute deviations.
    """
    n, d = x.shape
    center = np.median(x, axis=0)
    distances = ((x - center) ** 2 / pooled).sum(axis=1)
    m = min(n, max(int(CENTRAL * n), 2))
    transform: Array = 1.0 / np.sqrt(pooled)
    for _ in range(N_STEPS):
        central = x[np.argpartition(distances, m - 1)[:m]]
        center = central.mean(axis=0)
        shrinkage = d / (d + m)
        if d > MOST_FEATURES:
            variances = (1.0 - shrinkage) * central.var(axis=0) + shrinkage * pooled + LEAST
            transform = 1.0 / np.sqrt(variances)
            z = (x - center) * transform
        else:
            centred = central - central.mean(axis=0)
            covariance = (1.0 - shrinkage) * (centred.T @ centred) / len(centred)
            covariance[np.diag_indices(d)] += shrinkage * pooled + LEAST
            values, vectors = np.linalg.eigh(covariance)
            transform = vectors / np.sqrt(np.maximum(values, LEAST))
            z = (x - center) @ transform
        distances = np.einsum("ij,ij->i", z, z)
    factors = transform if transform.ndim == 1 else np.linalg.norm(transform, axis=0)
    return center, transform, float(np.log(factors).sum()), distances


def _find_components(z: Array, c: int) -> tuple[Array, Array, Array]:
    """Return means, variances and weights of the clusters of k-means."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings(), limit_library_threads():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows
        of_row = KMeans(c, n_init=1, max_iter=20, random_state=0).fit_predict(z)
    groups = [z[of_row == j] for j in np.unique(of_row)]
    means = np.array([group.mean(axis=0) for group in groups])
    variances = np.array([group.var(axis=0) for group in groups])
    variances += COMMON * variances.mean(axis=1, keepdims=True) + 1e-9
    return means, variances, np.array([len(group) / len(z) for group in groups])


def _rate(density: LeafDensity, sample: Array) -> float:
    """Return the mean log-density without the lowest values, with a penalty for each component."""
    n, d = sample.shape
    values = np.sort(density.evaluate(sample))[int(IGNORED * n) :]
    return float(values.mean() - d * len(density.levels) * np.log(n) / n)
