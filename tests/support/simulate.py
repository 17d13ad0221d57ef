"""Simulated data for tests."""

import numpy as np
from scipy.stats import norm

from mixtures import simulate_mixture


def orthogonal(d, seed=0):
    """Random orthogonal matrix."""
    q, r = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))
    return q * np.sign(np.diag(r))


def two_clusters(n=200, d=4, seed=0, *, separation=8.0, fraction=0.4):
    """Two rotated Gaussians of unequal size, separated along the widest axis, with distinct principal variances.

    Returns the rows, in random order, and the component of each; component 1 is the smaller.
    """
    rng = np.random.default_rng(seed)
    y = (rng.permutation(n) < round(fraction * n)).astype(int)
    X = rng.standard_normal((n, d)) * np.linspace(1.0, 0.4, d)
    X[:, 0] += separation * y
    return X @ orthogonal(d, seed).T, y


def one_gaussian_line(n=200):
    """Normal quantiles in one column: a sample as unimodal as possible."""
    return norm.ppf((np.arange(n) + 0.5) / n)[:, None]


def mixture(n, d, seed=0, *, nuisance=0):
    """Three separated Gaussians; the nuisance axes are wide and do not separate them."""
    return simulate_mixture(n, d, nuisance=nuisance, seed=seed)


def with_zeros(X, below=0.3):
    """Set small entries to zero."""
    return np.where(np.abs(X) < below, 0.0, X)
