"""Simulated data for benchmarks and for the choice of defaults."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["simulate_mixture"]


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
