"""Certificate of stationarity that also holds at kinks of the index."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ravine import Hyperplane, MinimumDensityClassifier, MinimumDensityHyperplane
from ravine.checks import check_integer, check_number, check_weights, make_generator
from ravine.classes import encode_labels, make_signs
from ravine.estimators import make_search_settings, validate_array
from ravine.index import ClusteringIndex
from ravine.optimise import Questions
from ravine.rows import as_rows
from ravine.search import Problem, SearchSettings, drive
from ravine_paper._typing import Array
from ravine_paper.optimise import find_min_norm_weights, sample_near, transport_to

__all__ = ["GradientSample", "Stationarity", "certify", "sample_gradients", "stationarity"]

# Offsets that differ by less than this, in bandwidths, are the same.
SAME_OFFSET = 1e-4


@dataclass(frozen=True)
class Stationarity:
    """Distance of a hyperplane from stationarity; norms are of gradients of log φ, per radian.

    Attributes
    ----------
    norm : float
        Norm of the shortest vector in the convex hull of the sampled gradients: 0 at every local minimum.
    steepest_descent : float
        The steepest descent at the hyperplane itself, by the directional derivatives of eq. (25): the norm of the
        longest of its gradients. At a tie φ is the lower of two functions, so it may descend in some direction although
        the hull contains 0.
    radius : float
        Angle within which gradients were sampled.
    n_gradients : int
        Number of gradients in the hull.
    n_minimisers : int
        Number of offsets that share the lowest index along the hyperplane's normal: more than one at a kink.
    lowest_offset : bool
        Whether the hyperplane's offset is one of them. If not, another offset with the same normal is better, and the
        certificate is for that one.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ravine import MinimumDensityHyperplane
    >>> from ravine_paper import stationarity
    >>> X, _ = make_blobs([60, 40], centers=[[0, 0], [6, 6]], random_state=0)
    >>> certificate = stationarity(MinimumDensityHyperplane(random_state=0).fit(X), X)
    >>> certificate.n_minimisers, certificate.lowest_offset
    (1, True)
    """

    norm: float
    steepest_descent: float
    radius: float
    n_gradients: int
    n_minimisers: int
    lowest_offset: bool


def certify(
    problem: Problem,
    plane: Hyperplane,
    *,
    bandwidth: float,
    alpha: float,
    radius: float,
    n_samples: int,
) -> Stationarity:
    """Compute the smallest element of the sampled Clarke gradient of the index at a hyperplane.

    Parameters
    ----------
    problem : Problem
    plane : Hyperplane
    bandwidth, alpha : float
        Bandwidth of the index, in the units of X, and half-width of F(v).
    radius : float
        Angle within which directions are sampled.
    n_samples : int
        Number of directions.
    """
    if problem.has_no_spread:
        raise ValueError("all rows of X are equal: there is no direction to certify.")
    assert plane.point is not None
    space, settings = problem.space, problem.settings
    index = problem.index(bandwidth=bandwidth / space.unit, alpha=alpha, gamma=settings.gammas[-1])
    assert isinstance(index, ClusteringIndex)
    (v,) = space.to_working(plane.normal[None])
    (near,) = drive(problem.sample, [sample_gradients(index, v, radius, n_samples, problem.rng)])
    offsets = near.minimisers * space.unit + float(plane.normal @ (space.origin - plane.point))
    return Stationarity(
        norm=near.shortest_norm,
        steepest_descent=float(np.linalg.norm(near.hull[: near.n_here], axis=1).max()),
        radius=radius,
        n_gradients=len(near.hull),
        n_minimisers=near.n_here,
        lowest_offset=bool(np.abs(offsets).min() <= max(SAME_OFFSET, 2.0 * settings.penalty.eta) * bandwidth),
    )


@dataclass(frozen=True, eq=False)
class GradientSample:
    """Gradients of log φ near a direction, transported to it.

    Attributes
    ----------
    hull : ndarray of shape (m, d)
        The first ``n_here`` are those at the direction itself.
    n_here : int
        Number of minimisers over b at the direction: more than one at a kink.
    minimisers : ndarray of shape (n_here,)
        Those minimisers, in working units.
    """

    hull: Array
    n_here: int
    minimisers: Array

    @property
    def shortest_norm(self) -> float:
        """Norm of the shortest vector of the convex hull."""
        return float(np.linalg.norm(find_min_norm_weights(self.hull) @ self.hull))


def sample_gradients(
    index: ClusteringIndex, v: Array, radius: float, n_samples: int, rng: np.random.Generator
) -> Questions[GradientSample]:
    """Compute gradients at v and at random directions within the radius, one for every tied minimiser over b."""
    gradients = []
    for point in [v, *(sample_near(v, radius, n_samples, rng) if len(v) > 1 else [])]:
        yield from index.begin(point)
        at_point = yield from index.gradients()
        gradients.append(np.array([transport_to(v, point, g) for g in at_point]))
        if point is v:
            minimisers = index.minima.ties
    return GradientSample(np.concatenate(gradients), len(gradients[0]), minimisers)


# --------------------------------------------------------------------------------------------------- function


def stationarity(
    fitted: Any,
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    radius: float = 1e-4,
    n_samples: int | None = None,
    bandwidth: float | None = None,
    alpha: float | None = None,
    sample_weight: ArrayLike | None = None,
    random_state: Any = 0,
) -> Stationarity:
    """Certify that a hyperplane is stationary, by the smallest element of the sampled Clarke gradient.

    The index φ has kinks where two offsets are equally good (Proposition 8 of the paper), and near a kink the gradient
    at a single point says little. The convex hull of the gradients nearby contains 0 at every local minimum. Its
    shortest vector is computed exactly.

    Parameters
    ----------
    fitted : Hyperplane, MinimumDensityHyperplane or MinimumDensityClassifier
        Hyperplane to certify. A classifier must have two classes.
    X : array-like of shape (n_samples, n_features)
        The rows it was fitted to.
    y : array-like of shape (n_samples,), optional
        Labels as given to `fit`; only with a classifier.
    radius : float, default=1e-4
        Angle within which directions are sampled.
    n_samples : int or None, default=None
        Number of directions. None means four times the number of features, at least 20.
    bandwidth, alpha : float or None, default=None
        Parameters of the index. None means those with which the hyperplane was found.
    sample_weight : array-like of shape (n_samples,), optional
    random_state : int, RandomState, Generator or None, default=0
        Seed of the sampled directions.

    Returns
    -------
    Stationarity

    References
    ----------
    J. V. Burke, A. S. Lewis, M. L. Overton. A robust gradient sampling algorithm for nonsmooth, nonconvex optimization.
    SIAM Journal on Optimization 15 (2005), 751-779.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ravine import Hyperplane, MinimumDensityHyperplane
    >>> from ravine_paper import stationarity
    >>> X, _ = make_blobs([40, 60], centers=[[0, 0], [6, 6]], random_state=0)
    >>> mdh = MinimumDensityHyperplane().fit(X)
    >>> stationarity(mdh, X).norm < 0.01
    True
    >>> stationarity(Hyperplane([1.0, 0.0], 3.0), X, bandwidth=mdh.bandwidth_, alpha=1.0).norm > 1.0
    True
    """
    plane = fitted if isinstance(fitted, Hyperplane) else getattr(fitted, "hyperplane_", None)
    if not isinstance(plane, Hyperplane):
        raise TypeError(
            f"fitted must be a Hyperplane or a fitted estimator that has one (hyperplane_), got {fitted!r}."
        )
    if not plane.splits or plane.point is None:
        raise ValueError("fitted found no split: its hyperplane lies at infinity and has nothing to certify.")
    radius = check_number("radius", radius, low=0.0, high=0.5 * math.pi, open_low=True)
    rows = as_rows(validate_array(MinimumDensityHyperplane(), X, reset=True))
    n_rows, n_features = rows.shape
    if n_features != len(plane.normal):
        raise ValueError(f"X has {n_features} features, but the hyperplane has {len(plane.normal)}.")
    count = max(20, 4 * n_features) if n_samples is None else check_integer("n_samples", n_samples, low=1)
    weights = check_weights(sample_weight, n_rows)
    h = _check_known("bandwidth", plane.bandwidth if bandwidth is None else bandwidth)
    half_width = _check_known("alpha", plane.alpha if alpha is None else alpha)
    signs, settings = _find_signs(fitted, y, n_rows), _find_settings(fitted, n_features)
    problem = Problem.of(rows, weights, signs, settings=settings, rng=make_generator(random_state))
    return certify(problem, plane, bandwidth=h, alpha=half_width, radius=radius, n_samples=count)


def _check_known(name: str, value: Any) -> float:
    if isinstance(value, float) and math.isnan(value):
        raise ValueError(f"the hyperplane does not record the {name} it was found with: give {name}=.")
    return check_number(name, value, low=0.0, open_low=name == "bandwidth")


def _find_signs(fitted: Any, y: ArrayLike | None, n_rows: int) -> Array | None:
    """Return +1 and -1 for the labelled rows of a classifier, 0 for others; None if there are no labels."""
    if isinstance(fitted, MinimumDensityClassifier):
        return make_signs(encode_labels(y, n_rows, "stationarity", stacklevel=4)[1])
    if y is not None:
        raise ValueError("y is for classifiers only: omit it for a hyperplane that was found without labels.")
    return None


def _find_settings(fitted: Any, n_features: int) -> SearchSettings:
    """Return the settings with which a hyperplane was found, or the default ones; without subsamples."""
    if isinstance(fitted, Hyperplane):
        return SearchSettings()
    return replace(make_search_settings(fitted, n_features), subsample=None)
