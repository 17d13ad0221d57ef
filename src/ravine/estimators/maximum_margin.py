"""MaximumMarginHyperplane, a scikit-learn clusterer: the end of the road that minimum density hyperplanes take."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from ravine._typing import Array
from ravine.checks import check_integer, check_number, check_weights, restore_on_failure
from ravine.estimators.hyperplane import MinimumDensityHyperplane, NoSplitWarning
from ravine.estimators.margin_path import narrowing
from ravine.hyperplane import Hyperplane
from ravine.rows.inputs import validate_array
from ravine.search import BandwidthRule, PrincipalAxes, choose_starts
from ravine.search.hyperplane import points_to_larger
from ravine.search.space import WorkingSpace
from ravine.theory.margins import HardMargin, maximise_bounded_margin, maximise_free_margin

__all__ = ["MaximumMarginHyperplane"]

# Partitions that are polished: those whose hyperplanes had the largest margins on the way.
MOST_PARTITIONS = 60
# Gaps of the projections on every normal that was passed that give partitions of their own.
GAPS = 3
# Of the partitions, so many are improved by moving single rows.
BASINS = 5
# Rows whose distance exceeds the margin by no more than this fraction are support points.
SAME_DISTANCE = 1e-7
# Rows nearest to the hyperplane that are tried on the other side, and rounds of that.
NEIGHBOURS = 30
MOST_ROUNDS = 50


class MaximumMarginHyperplane(ClusterMixin, BaseEstimator):
    """Split data in two by the hyperplane that is farthest from every row.

    As its bandwidth goes to 0 the minimum density hyperplane becomes the one of largest margin, and from some bandwidth
    on the two divide the rows alike (Lemma 4 of the paper). So the minimum density hyperplanes of several
    starts are followed through decreasing bandwidths; the partitions that they pass are polished by the hard-margin
    problem, solved exactly; and the best few are improved by moving single rows to the other side while that widens
    the margin.

    Without a limit to the offset the answer would cut off the farthest row: the offset is kept within ``alpha``
    standard deviations of the mean projection (F(v) of the paper). Where the widest margin of a partition violates
    this, the hyperplane with the largest margin at the end of the interval is taken; it need not lie in the middle
    between its nearest rows, and is found by local optimisation (the constraint is not convex).

    Parameters
    ----------
    alpha : float, default=0.9
        Half-width of the interval of offsets, in standard deviations of the projections.
    bandwidth : "silverman", float or callable, default="silverman"
        The largest bandwidth, as for :class:`MinimumDensityHyperplane`.
    n_bandwidths : int, default=25
        Number of bandwidths on the way to a millionth of it, in equal ratios.
    n_init : int, default=6
        Number of principal and unusual directions to start a pursuit from.
    n_random : int, default=12
        Number of random directions that are followed beside them.
    random_state : int, RandomState, Generator or None, default=0
        For the random directions.

    Attributes
    ----------
    hyperplane_ : Hyperplane
        The hyperplane; its normal points to the smaller side. If no split was found it lies at infinity.
    labels_ : ndarray of shape (n_samples,), int
        0 and 1; 1 is the smaller side (by weight). All 0 if no split was found.
    margin_ : float
        Distance of the nearest row; NaN if no split was found.
    support_ : ndarray of int
        Rows at that distance.
    bound_ : bool
        Whether the interval of offsets holds the hyperplane: a larger ``alpha`` would give a wider margin.
    coef_ : ndarray of shape (1, n_features)
        The normal.
    intercept_ : ndarray of shape (1,)
        Minus the offset.
    n_partitions_ : int
        Partitions for which the hard-margin problem was solved.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if the columns of X have names that are all strings.

    See Also
    --------
    bandwidth_path : The road itself.

    Notes
    -----
    Maximum margin clustering is hard: nothing guarantees the global optimum in many dimensions. Margins say little
    about clusters when rows are many, since a few rows decide: prefer :class:`MinimumDensityHyperplane` then.

    References
    ----------
    N. G. Pavlidis, D. P. Hofmeyr, S. K. Tasoulis. Minimum Density Hyperplanes. Journal of Machine Learning Research
    17 (2016), 1-33.

    L. Xu, J. Neufeld, B. Larson, D. Schuurmans. Maximum margin clustering. Advances in Neural Information Processing
    Systems 17 (2004).

    Examples
    --------
    >>> from ravine.estimators import MaximumMarginHyperplane
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
            Non-negative weights of the densities and of the interval of offsets. A row without weight has no margin.

        Returns
        -------
        self
        """
        with restore_on_failure(self):
            alpha = check_number("alpha", self.alpha, low=0.0, high=1e6)
            n_bandwidths = check_integer("n_bandwidths", self.n_bandwidths, low=2, high=10_000)
            n_random = check_integer("n_random", self.n_random, low=0)
            finder = MinimumDensityHyperplane(
                bandwidth=self.bandwidth,
                n_init=self.n_init,
                alpha_min=min(0.01, alpha),
                alpha_max=max(alpha, 1e-9),
                subsample=None,
                random_state=self.random_state,
            )
            options = finder._options()
            rows = validate_array(self, X, reset=True)
            weights = check_weights(sample_weight, len(rows))
            counted = np.ones(len(rows), dtype=bool) if weights is None else weights > 0.0
            space = WorkingSpace.of(rows[counted], None if weights is None else weights[counted], None)
            if space.all_rows_equal():
                self._store_nothing(rows, "all rows are equal" if counted.sum() > 1 else "there is only one row")
                return self

            def directions(space: WorkingSpace) -> Array:
                axes = PrincipalAxes.of(space.sample.moments())
                return choose_starts("random", n_random, axes, space.sample, options["rng"])

            found = narrowing(finder, rows, weights, None, n_bandwidths, extra=directions)
            # Equal rows have one margin, and change sides together.
            distinct = np.sort(np.unique(rows[counted], axis=0, return_index=True)[1])
            points = found.space.sample.fetch(distinct)
            search = _Search(points, found.space.sample.moments().covariance, alpha)
            best = search.run([(s.normal, s.separation.b) for track in found.tracks for s in track])
            self.n_partitions_ = len(search.free)
            if best is None:
                self._store_nothing(rows, f"no hyperplane within alpha={alpha:g} has a margin")
            else:
                self._store(found.space, best, rows, weights, counted)
        return self

    def _store(
        self,
        space: WorkingSpace,
        best: HardMargin,
        rows: NDArray[np.floating[Any]],
        weights: Array | None,
        counted: NDArray[np.bool_],
    ) -> None:
        normal = best.normal if space.basis is None else space.basis @ best.normal
        normal = normal / np.linalg.norm(normal)
        point = space.origin + best.offset * space.unit * normal
        plane = Hyperplane(normal, float(normal @ point), alpha=float(self.alpha), point=point)
        distance = plane.distance(rows)
        if points_to_larger(distance, weights):
            plane, distance = plane.reversed(), -distance
        self.hyperplane_ = plane
        self.labels_ = (distance > 0.0).astype(np.intp)
        self.margin_ = float(np.abs(distance[counted]).min())
        near = np.abs(distance) <= self.margin_ * (1.0 + SAME_DISTANCE) + 1e-12 * space.unit
        self.support_ = np.flatnonzero(counted & near)
        self.bound_ = best.bound
        self.coef_, self.intercept_ = plane.normal[None].copy(), np.array([-plane.offset])

    def _store_nothing(self, rows: NDArray[np.floating[Any]], why: str) -> None:
        self.hyperplane_ = Hyperplane.at_infinity(np.eye(1, rows.shape[1])[0])
        self.labels_ = np.zeros(len(rows), dtype=np.intp)
        self.margin_, self.support_, self.bound_ = np.nan, np.empty(0, dtype=np.intp), False
        self.coef_, self.intercept_ = self.hyperplane_.normal[None].copy(), np.array([-np.inf])
        self.n_partitions_ = 0
        warnings.warn(f"No split was found: {why}. All rows are given the label 0.", NoSplitWarning, stacklevel=3)

    def decision_function(self, X: ArrayLike) -> Array:
        """Signed Euclidean distance to the hyperplane, positive for label 1; -inf if no split was found.

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
        """Side of the hyperplane: 0 or 1.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return (self.decision_function(X) > 0.0).astype(np.intp)


class _Search:
    """Hard-margin problems of partitions, and the walk among neighbouring ones."""

    def __init__(self, points: Array, covariance: Array, alpha: float) -> None:
        self.points, self.covariance, self.alpha = points, covariance, alpha
        self.free: dict[bytes, HardMargin | None] = {}

    def run(self, hyperplanes: list[tuple[Array, float]]) -> HardMargin | None:
        """The best margin of all partitions that these hyperplanes induce, improved by its neighbours."""
        hyperplanes = [*hyperplanes, *(gap for v, _ in hyperplanes for gap in self._gaps(v))]
        margins = np.array([np.abs(self.points @ v - b).min() for v, b in hyperplanes])
        chosen: dict[bytes, tuple[NDArray[np.bool_], Array, float, HardMargin]] = {}
        for k in np.argsort(-margins, kind="stable").tolist():
            v, b = hyperplanes[k]
            side = self.points @ v > b
            key, free = self._key(side), self._free(side)
            if key not in chosen and free is not None:
                chosen[key] = side, v, b, free
            if len(chosen) == MOST_PARTITIONS:
                break
        best: list[HardMargin] = []  # each may lie in a basin of its own
        for side, v, b, free in sorted(chosen.values(), key=lambda c: -c[3].margin):
            if len(best) < BASINS or free.margin > best[-1].margin:
                found = maximise_bounded_margin(self.points, side, self.covariance, self.alpha, [(v, b)], free)
                best = sorted([*best, *([found] if found else [])], key=lambda m: -m.margin)[:BASINS]
        return max((self._improved(m) for m in best), key=lambda m: m.margin, default=None)

    def _gaps(self, v: Array) -> list[tuple[Array, float]]:
        """The widest gaps between the projections on v, with the best offset in each that the interval allows.

        A hyperplane of low density may lie beyond all rows if the interval is wide; these never do.
        """
        p = np.sort(self.points @ v)
        half = self.alpha * math.sqrt(max(float(v @ self.covariance @ v), 0.0))
        b = np.clip(0.5 * (p[:-1] + p[1:]), -half, half)
        margins = np.minimum(b - p[:-1], p[1:] - b)
        return [(v, float(b[k])) for k in np.argsort(-margins, kind="stable")[:GAPS] if margins[k] > 0.0]

    def _improved(self, best: HardMargin) -> HardMargin:
        """Move single rows, of those nearest, to the other side while that widens the margin."""
        for _ in range(MOST_ROUNDS):
            signed = self.points @ best.normal - best.offset
            wider = best
            for k in np.argsort(np.abs(signed), kind="stable")[:NEIGHBOURS].tolist():
                side = signed > 0.0
                side[k] = not side[k]
                free = self._free(side)
                if free is None or free.margin <= wider.margin * (1.0 + 1e-12):
                    continue
                start = [(best.normal, best.offset)]
                moved = maximise_bounded_margin(self.points, side, self.covariance, self.alpha, start, free)
                if moved is not None and moved.margin > wider.margin * (1.0 + 1e-12):
                    wider = moved
            if wider is best:
                return best
            best = wider
        return best

    def _key(self, side: NDArray[np.bool_]) -> bytes:
        return np.packbits(side if side[0] else ~side).tobytes()

    def _free(self, side: NDArray[np.bool_]) -> HardMargin | None:
        """The hard-margin problem of a partition without the interval, solved once: a bound for the one with it."""
        if side.all() or not side.any():
            return None
        key = self._key(side)
        if key not in self.free:
            self.free[key] = maximise_free_margin(self.points, side)
        found = self.free[key]
        if found is not None and float(self.points[int(np.argmax(side))] @ found.normal) <= found.offset:
            return HardMargin(-found.normal, -found.offset, found.margin)  # found with the sides exchanged
        return found
