"""Simulated data for benchmarks and for the choice of defaults.

Seeds 100 to 139 of the hard mixtures chose rules of MinimumDensityTree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["SHAPES", "draw_root_covariances", "place_means", "simulate_hard_mixture", "simulate_mixture"]

SHAPES = ("balls", "common ellipsoid", "ellipsoids", "heavy tails")


def simulate_mixture(
    n: int,
    d: int,
    *,
    k: int = 3,
    separation: float = 7.0,
    weights: tuple[float, ...] | None = None,
    nuisance: int = 0,
    tail: str = "normal",
    seed: int = 0,
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Simulate rows and components of a rotated mixture of Gaussians.

    Means are random unit vectors times separation/√2, so that they are about ``separation`` apart. Scales of the axes
    are uniform in [.5, 1.5]. Weights are Dirichlet(5) and at least .5/k by default.

    Parameters
    ----------
    nuisance : int
        Number of axes with standard deviation 4 and no difference in means, so that the leading principal components do
        not separate the clusters.
    tail : {"normal", "t3", "outliers"}
        "t3": multivariate t with 3 degrees of freedom. "outliers": one row in a hundred is 6 times as far out.
    """
    rng = np.random.default_rng(seed)
    means = rng.standard_normal((k, d))
    means[:, :nuisance] = 0.0
    means *= separation / np.sqrt(2.0) / np.linalg.norm(means, axis=1, keepdims=True)
    scales = rng.uniform(0.5, 1.5, size=(k, d))
    scales[:, :nuisance] = 4.0
    share = np.maximum(rng.dirichlet(np.full(k, 5.0)), 0.5 / k) if weights is None else np.asarray(weights)
    y = rng.choice(k, size=n, p=share / share.sum())
    noise = rng.standard_normal((n, d))
    if tail == "t3":
        noise *= 0.8 * np.sqrt(3.0 / rng.chisquare(3.0, size=(n, 1)))
    elif tail == "outliers":
        noise[rng.random(n) < 0.01] *= 6.0
    rotation = np.linalg.qr(rng.standard_normal((d, d)))[0]
    X = scales[y] * noise
    X += means[y]
    return X @ rotation, y


def simulate_hard_mixture(seed: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Simulate rows and components of a mixture of 3 to 8 unequal clusters that overlap.

    There are 300 to 1500 rows and 2 to 20 features. The separation of two clusters is the Mahalanobis distance of their
    means by the average of their covariance matrices: the distance in standard deviations along the direction that
    separates them best. Means are normal, scaled such that the closest pair has a separation that is uniform between
    2.6 and 4.2. Shares are Dirichlet(3) and at least .4/k before they are scaled to sum to one.

    The remainder of the seed by 4 chooses one of `SHAPES`: balls of unequal size (scales .6 to 1.4), one ellipsoid for
    all clusters, an ellipsoid for each, and the latter with the tails of Student's t with 5 degrees of freedom. The
    axes of an ellipsoid are log-uniform between 2/3 and 3/2, in random directions.
    """
    rng = np.random.default_rng([17, seed])
    shape = SHAPES[seed % len(SHAPES)]
    n, d, k = int(rng.integers(300, 1501)), int(rng.integers(2, 21)), int(rng.integers(3, 9))
    roots = draw_root_covariances(shape, k, d, rng)
    means = place_means(roots, rng.uniform(2.6, 4.2), rng)
    share = np.maximum(rng.dirichlet(np.full(k, 3.0)), 0.4 / k)
    y = rng.choice(k, size=n, p=share / share.sum())
    noise = rng.standard_normal((n, d))
    if shape == "heavy tails":
        noise *= np.sqrt(3.0 / rng.chisquare(5.0, size=(n, 1)))  # unit variance
    return means[y] + np.einsum("ij,ikj->ik", noise, roots[y]), y


def draw_root_covariances(shape: str, k: int, d: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw matrices A, such that A z has the covariance of a cluster if z is standard normal."""
    if shape == "balls":
        return rng.uniform(0.6, 1.4, size=(k, 1, 1)) * np.eye(d)
    rotations = np.linalg.qr(rng.standard_normal((k, d, d)))[0]
    roots = rotations * np.exp(rng.uniform(-np.log(1.5), np.log(1.5), size=(k, 1, d)))
    return np.broadcast_to(roots[0], roots.shape) if shape == "common ellipsoid" else roots


def place_means(roots: NDArray[np.float64], separation: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw means from a normal distribution and scale them such that the closest pair has the separation."""
    k, d = roots.shape[:2]
    covariances = roots @ roots.transpose(0, 2, 1)
    means = rng.standard_normal((k, d))
    i, j = np.triu_indices(k, 1)
    differences = means[i] - means[j]
    scaled = np.linalg.solve((covariances[i] + covariances[j]) / 2.0, differences[..., None])[..., 0]
    return means * separation / np.sqrt((differences * scaled).sum(axis=1).min())
