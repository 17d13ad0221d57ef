"""PDDP and dePDDP: divisive clustering along the first principal component."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ravine._typing import Array
from ravine.baselines._shared.row_checks import check_moderate_rows
from ravine.baselines.clustering.principal_axis import PrincipalAxis, towards_smaller_side
from ravine.checks import check_choice, check_integer, check_number, restore_on_failure
from ravine.density import ProjectedDensity
from ravine.estimators import NoSplitWarning
from ravine.hyperplane import Hyperplane
from ravine.rows import as_rows
from ravine.rows.inputs import validate_array
from ravine.tree import Split, Splitter, grow
from ravine.tree.grow import Candidate

__all__ = ["PDDP", "DePDDP", "MeanSplitter", "ValleySplitter"]

SPREADS = ("std", "robust")
# Quartiles of a normal distribution are this many standard deviations apart; 1.34 in Silverman's book.
NORMAL_IQR = 1.34


@dataclass(frozen=True, eq=False)
class _ScatterPlane(Hyperplane):
    """A hyperplane that knows the scatter of the rows it splits."""

    scatter: float = math.nan


class MeanSplitter:
    """Splits at the mean of the first principal component (Boley 1998)."""

    def split(self, X: NDArray[np.floating[Any]], rows: NDArray[np.intp], rng: np.random.Generator) -> Split:
        """Split some rows, unless they are all equal."""
        axis = PrincipalAxis.of(X, rows)
        if axis is None:
            return Split(None)
        plane = _ScatterPlane(axis.direction, float(axis.direction @ axis.mean), point=axis.mean, scatter=axis.scatter)
        return Split(towards_smaller_side(plane, plane.distance(X, rows))[0])


class ValleySplitter:
    """Splits at the lowest local minimum of the density along the first principal component (Tasoulis et al. 2010).

    Parameters
    ----------
    bandwidth_scale, spread, percentile
        As for `DePDDP`, validated.
    """

    def __init__(self, bandwidth_scale: float = 0.5, spread: str = "std", percentile: float = 0.1) -> None:
        self.bandwidth_scale = bandwidth_scale
        self.spread = spread
        self.percentile = percentile

    def split(self, X: NDArray[np.floating[Any]], rows: NDArray[np.intp], rng: np.random.Generator) -> Split:
        """Split some rows if their density has a local minimum strictly between the two quantiles."""
        axis = PrincipalAxis.of(X, rows)
        if axis is None:
            return Split(None)
        p = as_rows(X).project(axis.mean, axis.direction, rows)
        lo, hi = np.quantile(p, [self.percentile, 1.0 - self.percentile]).tolist()
        if not lo < hi:
            return Split(None)
        # Not below what rounding lets a density resolve, however close the quartiles are.
        h = max(self.bandwidth_scale * 0.9 * self._spread(p) * len(p) ** -0.2, 1e-12 * float(np.ptp(p)))
        density = ProjectedDensity(p, h)
        minima = density.minima(lo, hi)
        minima = minima[(minima > lo) & (minima < hi)]
        if not len(minima):
            return Split(None)
        b = float(minima[np.argmin(density.log(minima))])
        point = axis.mean + b * axis.direction
        plane = Hyperplane(
            axis.direction,
            float(axis.direction @ point),
            density=float(density(b)),
            relative_depth=density.relative_depth(b),
            bandwidth=h,
            point=point,
        )
        return Split(towards_smaller_side(plane, plane.distance(X, rows))[0])

    def _spread(self, p: Array) -> float:
        std = float(p.std())
        if self.spread == "std":
            return std
        quartiles = np.quantile(p, [0.25, 0.75])
        robust = float(quartiles[1] - quartiles[0]) / NORMAL_IQR
        return min(std, robust) if robust > 0.0 else std  # half of the rows may be equal


def _has_at_most_two_clusters(estimator: Any) -> bool:
    if getattr(estimator, "n_clusters_", 0) > 2:
        raise AttributeError(
            f"decision_function needs at most two clusters, but there are {estimator.n_clusters_}: use "
            "tree_.hyperplane(node), which has the distances to the hyperplane of a node."
        )
    return True


class _PrincipalTree(ClusterMixin, BaseEstimator):
    """What the two estimators share: growing the tree and using it."""

    n_clusters: int | str

    def _grow(
        self, X: ArrayLike, splitter: Splitter, n_clusters: int | None, priority: Any, min_cluster_size: int
    ) -> None:
        rows = check_moderate_rows(self, X)
        if n_clusters is not None and n_clusters > len(rows):
            raise ValueError(f"n_clusters={n_clusters} is more than the {len(rows)} rows of X.")
        self.tree_, self.leaves_ = grow(
            rows, splitter, n_clusters=n_clusters, priority=priority, min_cluster_size=min_cluster_size, seed=0
        )
        self.labels_ = self.tree_.cluster[self.leaves_]
        self.n_clusters_ = self.tree_.n_clusters

    def predict(self, X: ArrayLike) -> NDArray[np.intp]:
        """Cluster of each row, by the hyperplanes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self.tree_.predict(validate_array(self, X, reset=False))

    @available_if(_has_at_most_two_clusters)  # type: ignore[untyped-decorator]
    def decision_function(self, X: ArrayLike) -> Array:
        """Signed Euclidean distance to the only hyperplane, positive for label 1; -inf if no split was found.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        rows = validate_array(self, X, reset=False)
        plane = self.tree_.hyperplane(0)
        return np.full(len(rows), -np.inf) if plane is None else plane.distance(rows)


def _largest_scatter(candidate: Candidate) -> float:
    assert isinstance(candidate.hyperplane, _ScatterPlane)
    return candidate.hyperplane.scatter


def _lowest_density(candidate: Candidate) -> float:
    return -candidate.hyperplane.density


class PDDP(_PrincipalTree):
    """Principal direction divisive partitioning: split at the mean of the first principal component.

    The leaf with the largest scatter (sum of squared distances to its mean) is split next. Nothing is random.

    Columns in different units should be standardised first, e.g. with :class:`sklearn.preprocessing.StandardScaler`.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.

    Attributes
    ----------
    tree_ : Tree
        The hyperplanes and sizes as arrays, with views, rules in words and editing.
    labels_ : ndarray of shape (n_samples,), int
        Cluster of each row, from 0 in the order of the leaves of the tree from left to right; with two clusters, 1 is
        the smaller.
    leaves_ : ndarray of shape (n_samples,), int
        Leaf (number of the node) of each row.
    n_clusters_ : int
        Clusters found: fewer than asked for if there are fewer different rows.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if the columns of X have names that are all strings.

    See Also
    --------
    DePDDP : Splits where the density is low, if it is low anywhere.

    References
    ----------
    D. Boley. Principal Direction Divisive Partitioning. Data Mining and Knowledge Discovery 2 (1998), 325-344.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ravine.baselines import PDDP
    >>> X, y = make_blobs([40, 60], centers=[[0, 0], [6, 6]], random_state=0)
    >>> pddp = PDDP().fit(X)
    >>> pddp.predict([[0, 0], [6, 6]])
    array([1, 0])
    """

    def __init__(self, n_clusters: int = 2) -> None:
        self.n_clusters = n_clusters

    def fit(self, X: ArrayLike, y: object = None) -> PDDP:
        """Grow the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        with restore_on_failure(self):
            n_clusters = check_integer("n_clusters", self.n_clusters, low=1)
            self._grow(X, MeanSplitter(), n_clusters, _largest_scatter, 1)
            if self.n_clusters_ < n_clusters:
                warnings.warn(
                    f"n_clusters={n_clusters} clusters were asked for, but X has only {self.n_clusters_} that differ.",
                    NoSplitWarning,
                    stacklevel=2,
                )
        return self


class DePDDP(_PrincipalTree):
    """Density-enhanced PDDP: split at the lowest density minimum along the first principal component.

    The leaf whose minimum is lowest is split next. A leaf without a minimum between the two quantiles is not split, so
    there may be fewer clusters than asked for, down to one. Nothing is random.

    Columns in different units should be standardised first, e.g. with :class:`sklearn.preprocessing.StandardScaler`.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        Number of clusters at most. ``"auto"``: split whatever has a minimum.
    bandwidth_scale : float, default=0.5
        The bandwidth is ``bandwidth_scale * 0.9 * s * n**(-1/5)``: 1 is Silverman's rule.
    spread : {"std", "robust"}, default="std"
        s: the standard deviation of the projections, or the smaller of it and their interquartile range / 1.34.
    percentile : float, default=0.1
        Only minima strictly between the quantiles ``percentile`` and ``1 - percentile`` of the projections count; less
        than 0.5.
    min_cluster_size : int, default=5
        A split with fewer rows on a side is not made: a handful of rows always has minima.

    Attributes
    ----------
    tree_ : Tree
        The hyperplanes, their densities and sizes as arrays, with views, rules in words and editing.
    labels_ : ndarray of shape (n_samples,), int
        Cluster of each row, from 0 in the order of the leaves of the tree from left to right; with two clusters, 1 is
        the smaller. All 0 if no split was found.
    leaves_ : ndarray of shape (n_samples,), int
        Leaf (number of the node) of each row.
    n_clusters_ : int
        Clusters found.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if the columns of X have names that are all strings.

    See Also
    --------
    PDDP : Splits at the mean.
    ravine.MinimumDensityTree : Searches for the direction with the lowest density instead of taking the widest one.

    Notes
    -----
    The paper does not give the settings of its dePDDP row. ``percentile=0``, every local minimum as its text says, and
    half of Silverman's rule come closest to its Table 2: the zeros there are cuts that split off a tail. Both were
    found with the labels of its data sets in view. The default of 0.1 guards against such cuts.

    References
    ----------
    S. K. Tasoulis, D. K. Tasoulis, V. P. Plagianakos. Enhancing principal direction divisive clustering. Pattern
    Recognition 43 (2010), 3391-3411.

    B. W. Silverman. Density Estimation for Statistics and Data Analysis. Chapman and Hall (1986), eq. 3.31.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ravine.baselines import DePDDP
    >>> X, y = make_blobs([40, 60], centers=[[0, 0], [6, 6]], random_state=0)
    >>> depddp = DePDDP(bandwidth_scale=1.0).fit(X)
    >>> depddp.labels_.sum()
    np.int64(40)
    """

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        bandwidth_scale: float = 0.5,
        spread: str = "std",
        percentile: float = 0.1,
        min_cluster_size: int = 5,
    ) -> None:
        self.n_clusters = n_clusters
        self.bandwidth_scale = bandwidth_scale
        self.spread = spread
        self.percentile = percentile
        self.min_cluster_size = min_cluster_size

    def fit(self, X: ArrayLike, y: object = None) -> DePDDP:
        """Grow the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        with restore_on_failure(self):
            n_clusters = self._wanted()
            splitter = ValleySplitter(
                check_number("bandwidth_scale", self.bandwidth_scale, low=1e-6, high=1e6),
                check_choice("spread", self.spread, SPREADS),
                check_number("percentile", self.percentile, low=0.0, high=0.49),
            )
            fewest = check_integer("min_cluster_size", self.min_cluster_size, low=1)
            self._grow(X, splitter, n_clusters, _lowest_density, fewest)
            if n_clusters is not None and self.n_clusters_ < n_clusters:
                found = f"only {self.n_clusters_}" if self.n_clusters_ > 1 else "no two"
                warnings.warn(
                    f"n_clusters={n_clusters} clusters were asked for, but {found} are separated by a minimum of the "
                    f"density along a first principal component with min_cluster_size={fewest} rows on each side.",
                    NoSplitWarning,
                    stacklevel=2,
                )
        return self

    def _wanted(self) -> int | None:
        if isinstance(self.n_clusters, str) and self.n_clusters == "auto":
            return None
        if isinstance(self.n_clusters, str) or self.n_clusters is None:
            raise ValueError(f"n_clusters must be an integer >= 1 or 'auto', got {self.n_clusters!r}.")
        return check_integer("n_clusters", self.n_clusters, low=1)
