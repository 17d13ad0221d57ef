"""Simulated data for benchmarks and for the choice of defaults."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["gaussian_mixture"]


def gaussian_mixture(
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
    """Rows and components of a rotated mixture of Gaussians.

    Means are random unit vectors times separation/√2, so about ``separation`` apart; axis scales are uniform in
    [.5, 1.5]; weights are Dirichlet(5) and at least .5/k, unless given.

    Parameters
    ----------
    nuisance : int
        Axes with standard deviation 4 and no difference in means, so that the leading principal components carry no
        clusters.
    tail : {"normal", "t3", "outliers"}
        Multivariate t with 3 degrees of freedom, or one row in a hundred 6 times as far out.
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
