"""Kernel densities of rows, and the stages in which rows outside of all cores join one."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ravine._typing import Array
from ravine.baselines.clustering.local_affinities import squared_distances

__all__ = ["allocate", "log_kernel_density", "normal_bandwidth"]

# Numbers in a block of distances.
BLOCK = 1 << 21


def normal_bandwidth(rows: Array) -> Array:
    """The bandwidth of each column that is best for normal data: sd (4 / ((d + 2) n))^(1 / (d + 4))."""
    n, d = rows.shape
    return np.asarray(rows.std(axis=0, ddof=1) * (4.0 / ((d + 2.0) * n)) ** (1.0 / (d + 4.0)))


def log_kernel_density(at: Array, rows: Array, bandwidth: Array) -> Array:
    """Logarithm of the density with a Gaussian kernel for each column."""
    result, scaled = np.empty(len(at)), rows / bandwidth
    step = max(1, BLOCK // len(rows))
    for start in range(0, len(at), step):
        squared = squared_distances(at[start : start + step] / bandwidth, scaled)
        result[start : start + step] = logsumexp(-0.5 * squared, axis=1)
    n, d = rows.shape
    return np.asarray(result - math.log(n) - float(np.log(bandwidth).sum()) - 0.5 * d * math.log(2.0 * math.pi))


def core_bandwidth(members: Array, bandwidth: Array, factor: float, n: int) -> Array:
    """Between the bandwidth of all rows and that of the core alone, on the log scale, by the share of the core."""
    own = factor * normal_bandwidth(members)
    share = len(members) / n
    return np.asarray(np.where(own > 0.0, bandwidth ** (1.0 - share) * own**share, bandwidth))


def allocate(
    rows: Array, core: NDArray[np.intp], n_clusters: int, bandwidth: Array, factor: float, n_stages: int
) -> NDArray[np.intp]:
    """Labels of all rows: those in no core (-1) join one, in stages, the clearest first.

    In each stage the density of every cluster is estimated from its rows so far. A row is as clear as
    (log f1 - log f2) / sqrt(se1² + se2²) is large, f1 and f2 its two largest densities and se² = 1 / (f n Π h).
    """
    labels = core.copy()
    for stages in range(n_stages, 0, -1):
        rest = np.flatnonzero(labels < 0)
        if not len(rest):
            break
        log_density, log_variance = np.empty((2, n_clusters, len(rest)))
        for m in range(n_clusters):
            members = rows[labels == m]
            h = core_bandwidth(members, bandwidth, factor, len(rows))
            log_density[m] = log_kernel_density(rows[rest], members, h)
            log_variance[m] = -log_density[m] - math.log(len(members)) - float(np.log(h).sum())
        best = np.argmax(log_density, axis=0)
        if n_clusters > 1:
            first, second = np.argsort(-log_density, axis=0, kind="stable")[:2]
            column = np.arange(len(rest))
            lead = log_density[first, column] - log_density[second, column]
            spread = 0.5 * np.logaddexp(log_variance[first, column], log_variance[second, column])
            with np.errstate(divide="ignore"):
                clear = np.log(lead) - spread
            chosen = np.lexsort((-lead, -clear))[: math.ceil(len(rest) / stages)]
        else:
            chosen = np.arange(len(rest))
        labels[rest[chosen]] = best[chosen]
    return labels
