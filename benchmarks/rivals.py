"""Tests of "more than one cluster": the valley test and what statisticians would take instead.

Every test is a function of rows and a seed that returns whether it shows more than one cluster at the level of 5 %.

- GMM + BIC: a mixture of two or three Gaussians has a lower BIC than one Gaussian, with full covariance matrices; and
  the same with the best of four kinds of covariance matrices on either side.
- SigClust: the 2-means cluster index against its distribution for Gaussian data. Y. Liu, D. N. Hayes, A. Nobel and
  J. S. Marron (2008), Statistical significance of clustering for high-dimension, low-sample size data, JASA 103. The
  eigenvalues of the Gaussian are soft-thresholded: H. Huang, Y. Liu, M. Yuan and J. S. Marron (2015), Statistical
  significance of clustering using soft thresholding, J. Comput. Graph. Stat. 24. This is a re-implementation.
- Dip test: J. A. Hartigan and P. M. Hartigan (1985), The dip test of unimodality, Annals of Statistics 13; along the
  first principal component, and along the normal of the minimum density hyperplane of the same rows.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import norm
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

from ravine import MinimumDensityHyperplane, valley_test

__all__ = [
    "LEVEL",
    "TESTS",
    "compute_dip",
    "compute_dip_pvalue",
    "has_several_components",
    "rejects_gaussian",
    "threshold_eigenvalues",
]

Array = NDArray[np.float64]

LEVEL = 0.05
SIGCLUST_DRAWS, DIP_DRAWS = 99, 999


def has_several_components(X: Array, seed: int, kinds: tuple[str, ...] = ("full",)) -> bool:
    """Return whether the BIC prefers two or three Gaussians to one, each with its best kind of covariances."""

    def compute_bic(k: int, kind: str) -> float:
        try:
            return float(GaussianMixture(k, covariance_type=kind, n_init=3, random_state=seed).fit(X).bic(X))
        except ValueError:  # a component collapsed
            return np.inf

    one, *others = (min(compute_bic(k, kind) for kind in kinds) for k in (1, 2, 3))
    return min(others) < one


def rejects_gaussian(X: Array, seed: int) -> bool:
    """Return whether the 2-means cluster index is among the smallest 5 % of its values for Gaussian data."""
    rng = np.random.default_rng(seed)
    scales = np.sqrt(threshold_eigenvalues(X))
    index = compute_cluster_index(X)
    allowed = LEVEL * (1.0 + SIGCLUST_DRAWS) - 1.0 + 1e-9
    n_smaller = 0
    for _ in range(SIGCLUST_DRAWS):
        n_smaller += compute_cluster_index(rng.standard_normal(X.shape) * scales) <= index
        if n_smaller > allowed:  # the Monte-Carlo P-value will exceed the level
            return False
    return True


def compute_cluster_index(X: Array) -> float:
    """Compute the sum of squares within two clusters as a share of the total."""
    within = KMeans(2, n_init=3, random_state=0).fit(X).inertia_
    return float(within / np.sum((X - X.mean(axis=0)) ** 2))


def threshold_eigenvalues(X: Array) -> Array:
    """Estimate the eigenvalues of a Gaussian: at least the background noise, with the trace of the sample.

    The noise is the squared median absolute deviation of all centred entries, in standard deviations of a Gaussian.
    """
    centred = X - X.mean(axis=0)
    values = np.linalg.svd(centred, compute_uv=False) ** 2 / (len(X) - 1)
    values = np.pad(values, (0, max(0, X.shape[1] - len(values))))[: X.shape[1]]
    noise = (np.median(np.abs(centred - np.median(centred))) / norm.ppf(0.75)) ** 2

    def compute_excess(shift: float) -> float:
        return float(np.maximum(values - shift, noise).sum() - values.sum())

    # If the noise alone exceeds the trace, all eigenvalues are equal; the cluster index does not depend on the scale.
    shift = values[0] if compute_excess(values[0]) >= 0.0 else brentq(compute_excess, 0.0, values[0])
    return np.maximum(values - shift, max(noise, 1e-12 * values[0]))


def compute_dip(x: Array) -> float:
    """Compute the dip statistic: the distance of the empirical distribution from the nearest unimodal one."""
    points, counts = np.unique(x, return_counts=True)
    above = np.cumsum(counts).astype(float)
    below = above - counts
    low, high, deepest = 0, len(points) - 1, 1.0
    while True:
        part = slice(low, high + 1)
        minorant, lower = _fit_minorant(points[part], below[part])
        negative, upper = _fit_minorant(points[part], -above[part])
        majorant = -negative
        gaps = majorant - minorant
        touching = np.union1d(lower, upper)
        widest = touching[np.argmax(gaps[touching])]
        if gaps[widest] <= deepest:
            return deepest / (2.0 * len(x))
        # The modal interval: from the last touching point of the minorant to the first of the majorant.
        start, end = lower[lower <= widest].max(), upper[upper >= widest].min()
        # Its ends may carry an atom, the mode.
        left = (above[part] - minorant)[:start].max(initial=1.0)
        right = (majorant - below[part])[end + 1 :].max(initial=1.0)
        deepest = max(deepest, float(left), float(right))
        if (low, high) == (low + start, low + end):
            return deepest / (2.0 * len(x))
        low, high = low + start, low + end


def _fit_minorant(x: Array, y: Array) -> tuple[Array, NDArray[np.intp]]:
    """Return the greatest convex minorant of points at their places, and the indices where it touches them."""
    hull: list[int] = []
    px, py = x.tolist(), y.tolist()
    for i in range(len(px)):
        while len(hull) > 1:
            a, b = hull[-2], hull[-1]
            if (py[b] - py[a]) * (px[i] - px[a]) < (py[i] - py[a]) * (px[b] - px[a]):
                break
            hull.pop()
        hull.append(i)
    touching = np.array(hull)
    return np.interp(x, x[touching], y[touching]), touching


@functools.cache
def _simulate_dips(n: int) -> Array:
    rng = np.random.default_rng(n)
    return np.sort([compute_dip(rng.random(n)) for _ in range(DIP_DRAWS)])


def compute_dip_pvalue(x: Array) -> float:
    """Compute the Monte-Carlo P-value of the dip for uniform data, the least favourable case of the dip test."""
    dips = _simulate_dips(len(x))
    return (1.0 + len(dips) - np.searchsorted(dips, compute_dip(x) * (1.0 - 1e-12))) / (1.0 + len(dips))


def _project_on_first_component(X: Array) -> Array:
    centred = X - X.mean(axis=0)
    return centred @ np.linalg.svd(centred, full_matrices=False)[2][0]


def _dips_on_component(X: Array, _: int) -> bool:
    return compute_dip_pvalue(_project_on_first_component(X)) <= LEVEL


def _dips_on_hyperplane(X: Array, seed: int) -> bool:
    model = MinimumDensityHyperplane(random_state=seed).fit(X)
    return model.hyperplane_.splits and compute_dip_pvalue(model.decision_function(X)) <= LEVEL


def _shows_valley(X: Array, seed: int, **options: str) -> bool:
    return valley_test(X, random_state=seed, **options).pvalue <= LEVEL


def _quieten(test: Callable[[Array, int], bool]) -> Callable[[Array, int], bool]:
    """Return a test without warnings, for example about a hyperplane that does not split or too few iterations."""

    def run(X: Array, seed: int) -> bool:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return bool(test(X, seed))

    return run


_VALLEY_TESTS: dict[str, Callable[[Array, int], bool]] = (
    {
        "valley, pooled": functools.partial(_shows_valley, method="pooled"),
        "valley, exact": functools.partial(_shows_valley, method="exact"),
    }
    if "method" in inspect.signature(valley_test).parameters
    else {"valley, exact": _shows_valley}
)
TESTS: dict[str, Callable[[Array, int], bool]] = {
    name: _quieten(test)
    for name, test in {
        **_VALLEY_TESTS,
        "GMM + BIC": has_several_components,
        "GMM + BIC, 4 kinds": functools.partial(has_several_components, kinds=("full", "tied", "diag", "spherical")),
        "SigClust": rejects_gaussian,
        "dip, first component": _dips_on_component,
        "dip, found direction": _dips_on_hyperplane,
    }.items()
}
