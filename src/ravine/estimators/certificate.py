"""Whether a hyperplane is stationary: a certificate that also holds at kinks of the index."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ravine._typing import Array
from ravine.checks import check_integer, check_number, check_weights, make_generator
from ravine.classes.labels import encode_labels
from ravine.density import BalancePenalty
from ravine.estimators.classifier import MinimumDensityClassifier
from ravine.estimators.classifier_options import pair_options
from ravine.estimators.hyperplane import MinimumDensityHyperplane
from ravine.hyperplane import Hyperplane
from ravine.index import ClusteringIndex, LabelledRows, SemiSupervisedIndex
from ravine.rows.inputs import validate_array
from ravine.search import drive
from ravine.search.settings import check_penalty
from ravine.search.space import WorkingSpace
from ravine.theory.clarke import sample_clarke

__all__ = ["Stationarity", "stationarity"]

# Offsets that differ by less than this, in bandwidths, are the same.
SAME_OFFSET = 1e-4


@dataclass(frozen=True)
class Stationarity:
    """How far from stationary a hyperplane is; lengths are of gradients of log φ, per radian.

    Attributes
    ----------
    norm : float
        Of the shortest vector in the convex hull of the sampled gradients: 0 at every local minimum.
    steepest_descent : float
        The steepest slope downwards at the hyperplane itself, by the directional derivatives of eq. (25): the length
        of the longest of its gradients. At a tie φ is the lower of two functions, so it may descend in some direction
        although the hull holds 0.
    radius : float
        Angle within which gradients were sampled.
    n_gradients : int
        Gradients in the hull.
    n_minimisers : int
        Offsets that share the lowest index along the hyperplane's normal: more than one at a kink.
    lowest_offset : bool
        Whether the hyperplane's offset is one of them. If not, another offset with the same normal is better, and the
        certificate speaks of that one.
    """

    norm: float
    steepest_descent: float
    radius: float
    n_gradients: int
    n_minimisers: int
    lowest_offset: bool


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
    """Ask a hyperplane for a certificate of stationarity: the smallest element of the sampled Clarke gradient.

    The index φ has kinks where two offsets are equally good, and close to one a gradient at a single point says little.
    The convex hull of the gradients near by holds 0 at every local minimum; its shortest vector is computed exactly.

    Parameters
    ----------
    fitted : Hyperplane, MinimumDensityHyperplane or MinimumDensityClassifier
        What is asked. A classifier must have two classes.
    X : array-like of shape (n_samples, n_features)
        The rows it was fitted to.
    y : array-like of shape (n_samples,), optional
        Their labels; only with a classifier, and as given to its `fit`.
    radius : float, default=1e-4
        Angle within which directions are sampled.
    n_samples : int or None, default=None
        Directions. None is four times the number of columns, at least 20.
    bandwidth, alpha : float or None, default=None
        Of the index. None takes those that the hyperplane was found with.
    sample_weight : array-like of shape (n_samples,), optional
    random_state : int, RandomState, Generator or None, default=0
        Of the sampled directions.

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
    >>> from ravine.estimators import stationarity
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
    rows = validate_array(MinimumDensityHyperplane(), X, reset=True)
    if rows.shape[1] != len(plane.normal):
        raise ValueError(f"X has {rows.shape[1]} columns, but the hyperplane has {len(plane.normal)}.")
    count = max(20, 4 * rows.shape[1]) if n_samples is None else check_integer("n_samples", n_samples, low=1)
    weights = check_weights(sample_weight, len(rows))
    h = _known("bandwidth", plane.bandwidth if bandwidth is None else bandwidth)
    half_width = _known("alpha", plane.alpha if alpha is None else alpha)
    signs = _signs(fitted, y, len(rows))
    if weights is not None and not weights.all():
        kept = weights > 0.0
        rows, weights, signs = rows[kept], weights[kept], None if signs is None else signs[kept]
    space = WorkingSpace.of(rows, weights, None)
    if space.all_rows_equal():
        raise ValueError("all rows of X are equal: there is no direction to certify.")
    index = _index(fitted, space, h / space.unit, half_width, signs, weights)
    (v,) = space.to_working(plane.normal[None])
    (sample,) = drive(space.sample, [sample_clarke(index, v, radius, count, make_generator(random_state))])
    offsets = sample.minimisers * space.unit + float(plane.normal @ (space.origin - plane.point))
    here = sample.hull[: sample.n_here]
    return Stationarity(
        norm=sample.shortest(),
        steepest_descent=float(np.linalg.norm(here, axis=1).max()),
        radius=radius,
        n_gradients=len(sample.hull),
        n_minimisers=sample.n_here,
        lowest_offset=bool(np.abs(offsets).min() <= max(SAME_OFFSET, 2.0 * index.penalty.eta) * h),
    )


def _known(name: str, value: Any) -> float:
    if isinstance(value, float) and math.isnan(value):
        raise ValueError(f"the hyperplane does not know the {name} it was found with: give {name}=.")
    return check_number(name, value, low=0.0, open_low=name == "bandwidth")


def _signs(fitted: Any, y: ArrayLike | None, n_rows: int) -> Array | None:
    """+1 and -1 for the labelled rows of a classifier, 0 for others; None where there are no labels."""
    if not isinstance(fitted, MinimumDensityClassifier):
        if y is not None:
            raise ValueError("y belongs to a classifier only: a hyperplane found without labels is asked without y.")
        return None
    codes = encode_labels(y, n_rows, "stationarity")[1]
    return np.where(codes == 1, 1.0, np.where(codes == 0, -1.0, 0.0))


def _index(
    fitted: Any, space: WorkingSpace, bandwidth: float, alpha: float, signs: Array | None, weights: Array | None
) -> ClusteringIndex:
    moments = space.sample.moments()
    if signs is None:
        own = isinstance(fitted, MinimumDensityHyperplane)
        penalty = check_penalty(fitted.eta, fitted.epsilon) if own else BalancePenalty()
        return ClusteringIndex(space.sample, moments, bandwidth, penalty, alpha)
    options = pair_options(fitted, len(space.origin))["options"]
    which: NDArray[np.intp] = np.flatnonzero(signs)
    label_weights = np.ones(len(which)) if weights is None else weights[which]
    return SemiSupervisedIndex(
        space.sample,
        moments,
        bandwidth,
        options.settings.penalty,
        alpha,
        labelled=LabelledRows(space.sample.fetch(which), signs[which], label_weights),
        label_penalty=options.label_penalty,
        reference=bandwidth / options.bandwidth_factor,
        gamma=options.settings.gammas[-1],
    )
