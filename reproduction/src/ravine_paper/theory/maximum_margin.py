"""MaximumMarginHyperplane, a scikit-learn clusterer: the limit of minimum density hyperplanes (Theorem 5)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from ravine import Hyperplane, MinimumDensityHyperplane, NoSplitWarning, PathSettings
from ravine.checks import check_integer, check_number, check_weights, make_generator, restore_on_failure
from ravine.estimators import make_search_settings, validate_array
from ravine.rows import Rows, as_rows
from ravine.search import BandwidthRule, Problem, WorkingSpace, choose_starts, points_to_larger
from ravine_paper._typing import Array
from ravine_paper.theory.continuation import choose_bandwidths, follow_bandwidths
from ravine_paper.theory.margins import HardMargin
from ravine_paper.theory.partitions import MarginSearch

__all__ = ["MaximumMarginHyperplane"]

# Rows whose distance exceeds the margin by no more than this fraction are support points.
SAME_DISTANCE = 1e-7


class MaximumMarginHyperplane(ClusterMixin, BaseEstimator):
    """Split data in two by the hyperplane that is farthest from every row.

    As its bandwidth goes to 0, the minimum density hyperplane becomes the one of largest margin, eq. (19), and below
    some bandwidth the two give the same partition of the rows (Lemma 4 and Theorem 5 of the paper). The search follows
    the minimum density hyperplanes of several starts through decreasing bandwidths, solves the hard-margin problem of
    their partitions exactly, and improves the best few by moving single rows to the other side while that widens the
    margin.

    Without a limit on the offset the result would cut off the farthest row. The offset therefore stays within ``alpha``
    standard deviations of the mean projection (F(v), eq. (7) of the paper). If the widest margin of a partition
    violates this, the hyperplane of largest margin at the end of the interval is taken. It need not lie in the middle
    between its nearest rows. Local optimisation finds it, since the constraint is not convex.

    Parameters
    ----------
    alpha : float, default=0.9
        Half-width of the interval of offsets, in standard deviations of the projections.
    bandwidth : "silverman", float or callable, default="silverman"
        Largest bandwidth; see :class:`MinimumDensityHyperplane`.
    n_bandwidths : int, default=25
        Number of bandwidths, in equal ratios, from the largest to a millionth of it.
    n_init : int, default=6
        Number of principal and unusual directions to start a search from.
    n_random : int, default=12
        Number of random directions that are followed without a search.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the random directions.

    Attributes
    ----------
    hyperplane_ : Hyperplane
        The hyperplane; its normal points to the smaller side. If no split was found it lies at infinity.
    labels_ : ndarray of shape (n_samples,), int
        0 or 1; 1 is the smaller side (by weight). All 0 if no split was found.
    margin_ : float
        Distance of the nearest row; NaN if no split was found.
    support_ : ndarray of int
        Indices of the rows at that distance.
    bound_ : bool
        Whether the interval of offsets limits the margin: a larger ``alpha`` would give a wider one.
    coef_ : ndarray of shape (1, n_features)
        The normal.
    intercept_ : ndarray of shape (1,)
        Minus the offset.
    n_partitions_ : int
        Number of partitions for which the hard-margin problem was solved.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if all features of X have names that are strings.

    See Also
    --------
    bandwidth_path : Minimum density hyperplanes for decreasing bandwidths.

    Notes
    -----
    Maximum margin clustering is a hard problem, and there is no guarantee of the global optimum in many dimensions.
    With many rows, a margin depends on a few of them and says little about clusters: prefer
    :class:`MinimumDensityHyperplane` then.

    References
    ----------
    N. G. Pavlidis, D. P. Hofmeyr, S. K. Tasoulis. Minimum Density Hyperplanes. Journal of Machine Learning Research
    17 (2016), 1-33.

    L. Xu, J. Neufeld, B. Larson, D. Schuurmans. Maximum margin clustering. Advances in Neural Information Processing
    Systems 17 (2004).

    Examples
    --------
    >>> from ravine_paper import MaximumMarginHyperplane
    >>> X = [[0.0, 0.0], [1.0, 0.5], [0.0, 1.0], [5.0, 0.0], [6.0, 1.0]]
    >>> mmh = MaximumMarginHyperplane().fit(X)
    >>> mmh.labels_
    array([0, 0, 0, 1, 1])
    >>> round(mmh.margin_, 6)
    2.015564
    """

    def __init__(
        self,
        *,
        alpha: float = 0.9,
        bandwidth: BandwidthRule = "silverman",
        n_bandwidths: int = 25,
        n_init: int = 6,
        n_random: int = 12,
        random_state: Any = 0,
    ) -> None:
        self.alpha = alpha
        self.bandwidth = bandwidth
        self.n_bandwidths = n_bandwidths
        self.n_init = n_init
        self.n_random = n_random
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> MaximumMarginHyperplane:
        """Find the hyperplane.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights of the densities and of the interval of offsets. Rows without weight are ignored.

        Returns
        -------
        self
        """
        with restore_on_failure(self):
            alpha = check_number("alpha", self.alpha, low=0.0, high=1e6)
            n_bandwidths = check_integer("n_bandwidths", self.n_bandwidths, low=2, high=10_000)
            n_random = check_integer("n_random", self.n_random, low=0)
            path = PathSettings(alpha_min=min(0.01, alpha))
            finder = MinimumDensityHyperplane(
                self.bandwidth, n_init=self.n_init, alpha_max=max(alpha, 1e-9), subsample=None, path=path
            )
            rng = make_generator(self.random_state)
            rows = as_rows(validate_array(self, X, reset=True))
            settings = make_search_settings(finder, rows.shape[1])
            weights = check_weights(sample_weight, rows.shape[0])
            problem = Problem.of(*_merge_equal_rows(rows, weights), settings=settings, rng=rng)
            if problem.has_no_spread:
                n_rows = rows.shape[0] if weights is None else np.count_nonzero(weights)
                self._store_nothing(rows, "all rows are equal" if n_rows > 1 else "there is only one row")
                return self
            random_starts = choose_starts("random", n_random, problem.axes, problem.sample, rng)
            bandwidths = choose_bandwidths(problem, None, n_bandwidths)
            stages_by_start = follow_bandwidths(problem, bandwidths, random_starts)
            points = problem.sample.fetch(np.arange(problem.sample.n_rows))
            search = MarginSearch(points, problem.moments.covariance, alpha)
            best = search.run([(s.normal, s.separation.b) for stages in stages_by_start for s in stages])
            self.n_partitions_ = len(search.free)
            if best is None:
                self._store_nothing(rows, f"no hyperplane within alpha={alpha:g} has a margin")
            else:
                self._store(rows, weights, problem.space, best)
        return self

    def _store(self, rows: Rows, weights: Array | None, space: WorkingSpace, best: HardMargin) -> None:
        normal = space.to_original(best.normal)
        point = space.origin + best.offset * space.unit * normal
        plane = Hyperplane(normal, float(normal @ point), alpha=float(self.alpha), point=point)
        distance = plane.distance(rows)
        if points_to_larger(distance, weights):
            plane, distance = plane.reversed(), -distance
        has_weight = np.ones(len(distance), dtype=bool) if weights is None else weights > 0.0
        self.hyperplane_ = plane
        self.labels_ = (distance > 0.0).astype(np.intp)
        self.margin_ = float(np.abs(distance[has_weight]).min())
        near = np.abs(distance) <= self.margin_ * (1.0 + SAME_DISTANCE) + 1e-12 * space.unit
        self.support_ = np.flatnonzero(has_weight & near)
        self.bound_ = best.bound
        self.coef_, self.intercept_ = plane.normal[None].copy(), np.array([-plane.offset])

    def _store_nothing(self, rows: Rows, why: str) -> None:
        self.hyperplane_ = Hyperplane.at_infinity(np.eye(1, rows.shape[1])[0])
        self.labels_ = np.zeros(rows.shape[0], dtype=np.intp)
        self.margin_, self.support_, self.bound_ = np.nan, np.empty(0, dtype=np.intp), False
        self.coef_, self.intercept_ = self.hyperplane_.normal[None].copy(), np.array([-np.inf])
        self.n_partitions_ = 0
        warnings.warn(f"No split was found: {why}. All rows get the label 0.", NoSplitWarning, stacklevel=3)

    def decision_function(self, X: ArrayLike) -> Array:
        """Return the signed Euclidean distance to the hyperplane: positive for label 1, -inf if no split was found.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self.hyperplane_.distance(validate_array(self, X, reset=False))

    def predict(self, X: ArrayLike) -> NDArray[np.intp]:
        """Predict the side of the hyperplane: 0 or 1.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return (self.decision_function(X) > 0.0).astype(np.intp)


def _merge_equal_rows(rows: Rows, weights: Array | None) -> tuple[Rows, Array | None]:
    """Return the distinct rows with weight in a fixed order, and the sums of their weights (None if all are 1).

    Equal rows have one margin and change sides together. At the smallest bandwidths rounding errors grow until they
    decide between local optima; after this step, equal problems are equal to the bit, whatever the order of their rows
    and whether rows are repeated or have integer weights.
    """
    indices = np.arange(rows.shape[0]) if weights is None else np.flatnonzero(weights > 0.0)
    distinct, inverse = np.unique(rows.take(indices), axis=0, return_inverse=True)
    sums = np.bincount(inverse.ravel(), None if weights is None else weights[indices], minlength=len(distinct))
    return as_rows(distinct), None if np.all(sums == 1.0) else sums.astype(np.float64)
