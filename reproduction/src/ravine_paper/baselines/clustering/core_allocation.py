"""Kernel densities of rows, and the stages in which rows outside all cores join one."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ravine_paper._typing import Array
from ravine_paper.baselines._shared.distances import compute_squared_distances
from ravine_paper.baselines._shared.row_slices import split_into_blocks

__all__ = ["allocate", "compute_log_density", "compute_normal_bandwidth"]


def compute_normal_bandwidth(rows: Array) -> Array:
    """Compute the bandwidth of each feature that is best for normal data: sd (4 / ((d + 2) n))^(1 / (d + 4))."""
    n, d = rows.shape
    return np.asarray(rows.std(axis=0, ddof=1) * (4.0 / ((d + 2.0) * n)) ** (1.0 / (d + 4.0)))


def compute_log_density(at: Array, rows: Array, bandwidth: Array) -> Array:
    """Compute the logarithm of the density at some points, with a product of Gaussian kernels."""
    result, scaled = np.empty(len(at)), rows / bandwidth
    for block in split_into_blocks(len(at), len(rows)):
        result[block] = logsumexp(-0.5 * compute_squared_distances(at[block] / bandwidth, scaled), axis=1)
    n, d = rows.shape
    return np.asarray(result - math.log(n) - float(np.log(bandwidth).sum()) - 0.5 * d * math.log(2.0 * math.pi))


def allocate(
    rows: Array, core: NDArray[np.intp], n_clusters: int, bandwidth: Array, factor: float, n_stages: int
) -> NDArray[np.intp]:
    """Label all rows: those outside all cores (-1) join one in stages, the clearest first.

    In each stage the density of every cluster is estimated from its current rows. The clearness of a row is
    (log f1 - log f2) / sqrt(se1² + se2²), with f1 and f2 its two largest densities and se² = 1 / (f n Π h).
    """
    labels = core.copy()
    for stages in range(n_stages, 0, -1):
        rest = np.flatnonzero(labels < 0)
        if not len(rest):
            break
        log_density, log_variance = np.empty((2, n_clusters, len(rest)))
        for m in range(n_clusters):
            members = rows[labels == m]
            h = _blend_bandwidths(members, bandwidth, factor, len(rows))
            log_density[m] = compute_log_density(rows[rest], members, h)
            log_variance[m] = -log_density[m] - math.log(len(members)) - float(np.log(h).sum())
        best = np.argmax(log_density, axis=0)
        n_chosen = math.ceil(len(rest) / stages) if n_clusters > 1 else len(rest)
        chosen = _order_by_clearness(log_density, log_variance)[:n_chosen]
        labels[rest[chosen]] = best[chosen]
    return labels


def _blend_bandwidths(members: Array, bandwidth: Array, factor: float, n: int) -> Array:
    """Interpolate between the bandwidth of all rows and that of the core on the log scale, by the share of the core."""
    own = factor * compute_normal_bandwidth(members)
    share = len(members) / n
    return np.asarray(np.where(own > 0.0, bandwidth ** (1.0 - share) * own**share, bandwidth))


def _order_by_clearness(log_density: Array, log_variance: Array) -> NDArray[np.intp]:
    """Order rows (columns of the arguments) by decreasing clearness."""
    column = np.arange(log_density.shape[1])
    if len(log_density) < 2:
        return column
    first, second = np.argsort(-log_density, axis=0, kind="stable")[:2]
    lead = log_density[first, column] - log_density[second, column]
    spread = 0.5 * np.logaddexp(log_variance[first, column], log_variance[second, column])
    with np.errstate(divide="ignore"):
        clearness = np.log(lead) - spread
    return np.lexsort((-lead, -clearness))
