"""LDA-k-means: k-means in the subspace that separates its own clusters best."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ravine.checks import (
    check_choice,
    check_enough_rows,
    check_flag,
    check_integer,
    check_number,
    make_generator,
    restore_on_failure,
)
from ravine.estimators import validate_array
from ravine.rows import as_rows
from ravine_paper._typing import Array
from ravine_paper.baselines._shared.eigenvectors import fix_signs
from ravine_paper.baselines._shared.found_clusters import warn_of_fewer_clusters
from ravine_paper.baselines._shared.numbering import number_by_size
from ravine_paper.baselines._shared.row_checks import check_moderate_rows
from ravine_paper.baselines._shared.working_rows import WorkingRows
from ravine_paper.baselines.clustering.discriminants import Discriminants, split_in_two_means

__all__ = ["LDAKMeans"]

KMEANS = ("auto", "exact", "k-means++")


@dataclass(frozen=True)
class _LDAOptions:
    """Validated parameters of `LDAKMeans`."""

    n_clusters: int
    weighted: bool
    exact: bool
    max_iter: int
    tol: float
    n_init: int
    ridge: float


@dataclass(frozen=True)
class _Partition:
    """Directions as columns, the clusters that k-means finds along them, and their objective J."""

    directions: Array
    labels: NDArray[np.intp]
    objective: float


@dataclass(frozen=True)
class _Run:
    """Best partition of one alternation, its number of iterations, and whether it converged."""

    best: _Partition
    n_iter: int
    converged: bool


class LDAKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Alternate k-means in a subspace and linear discriminant analysis of its clusters.

    The subspace of k - 1 dimensions starts as that of the leading principal components. In turn, k-means finds clusters
    in it, and discriminant analysis finds the subspace that separates them best, until neither changes. The aim is the
    largest J = tr[(U'S_w U)⁻¹ U'S_b U] over subspaces U and clusters. The pair with the largest J is kept.

    Only the start depends on units: features in different units should be standardised first, e.g. with
    :class:`sklearn.preprocessing.StandardScaler`.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters k.
    weighted : bool, default=True
        Whether the covariance of a cluster counts in S_w in proportion to its size, as in discriminant analysis. If
        False, each counts in full, as in the code of the paper's authors.
    kmeans : {"auto", "exact", "k-means++"}, default="auto"
        How clusters are found in the subspace. ``"exact"``, only for two clusters: the best cut of the line, by sorting
        it. The result is then deterministic, and J never decreases (with ``weighted=True``). ``"k-means++"``: k-means
        from random seeds, one run each time, as in the paper. ``"auto"``: exact for two clusters.
    max_iter : int, default=300
        Maximum number of iterations.
    tol : float, default=1e-5
        Stop when the sine of the largest angle between the old and the new subspace is at most this, or when the
        clusters do not change.
    n_init : int, default=1
        Number of runs, of which the one with the largest J is kept. With random seeds all of a run is repeated. With
        exact clusters the first run starts from the first principal component, the second from the second, and so on.
    ridge : float, default=1e-8
        This part of the mean variance of a feature is added to the diagonal of S_w (divided by the number of rows), so
        that S_w has an inverse.
    random_state : int, RandomState, Generator or None, default=None
        Determines the random seeds of k-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int
        Cluster of each row, numbered from 0 by decreasing size: with two clusters, 1 is the smaller.
    n_clusters_ : int
        Number of clusters found; fewer than requested if there are fewer distinct rows.
    components_ : ndarray of shape (n_clusters - 1, n_features)
        Basis of the subspace.
    mean_ : ndarray of shape (n_features,)
        Mean of X, the origin of the subspace.
    centroids_ : ndarray of shape (n_clusters, n_clusters - 1)
        Means of the clusters in the subspace.
    objective_ : float
        J.
    n_iter_ : int
        Number of iterations of the best run.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Defined only if X has feature names that are all strings.

    Notes
    -----
    The search is local. Where the first principal component does not separate the clusters, set ``n_init`` to a few.

    With no more rows than features any clusters can be separated perfectly, so the first clusters are also the last:
    reduce the dimension first, or use a ``ridge`` of about 1.

    References
    ----------
    C. Ding, T. Li. Adaptive dimension reduction using discriminant analysis and K-means clustering. International
    Conference on Machine Learning (2007), 521-528.

    D. Arthur, S. Vassilvitskii. k-means++: the advantages of careful seeding. ACM-SIAM Symposium on Discrete Algorithms
    (2007), 1027-1035.

    Examples
    --------
    >>> import numpy as np
    >>> from ravine_paper.baselines import LDAKMeans
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2)) * [4.0, 0.3]  # the first feature is wide, the second has the clusters
    >>> X[:80, 1] += 4.0
    >>> lda = LDAKMeans(n_init=2).fit(X)
    >>> np.bincount(lda.labels_)
    array([120,  80])
    >>> lda.transform(X).shape
    (200, 1)
    """

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        weighted: bool = True,
        kmeans: str = "auto",
        max_iter: int = 300,
        tol: float = 1e-5,
        n_init: int = 1,
        ridge: float = 1e-8,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.weighted = weighted
        self.kmeans = kmeans
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.ridge = ridge
        self.random_state = random_state

    # ------------------------------------------------------------------------------------------- fit

    def fit(self, X: ArrayLike, y: object = None) -> LDAKMeans:
        """Find the subspace and the clusters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        with restore_on_failure(self):
            options = self._check_options()
            rng = make_generator(self.random_state)
            X = check_moderate_rows(self, X)
            check_enough_rows(options.n_clusters, len(X))
            rows = WorkingRows.of(X)
            ridge = options.ridge * float(np.trace(rows.covariance)) / X.shape[1]
            lda = Discriminants(rows.coordinates, rows.covariance, ridge, options.weighted)
            splits = options.n_clusters > 1 and not rows.all_equal
            runs = [_alternate(lda, start, options, rng) for start in _choose_starts(lda, options)] if splits else []
            best = max(runs, key=lambda run: run.best.objective, default=None)
            self._store(X, rows, best)
            self._warn(options.n_clusters, best)
        return self

    def _check_options(self) -> _LDAOptions:
        n_clusters = check_integer("n_clusters", self.n_clusters, low=1)
        kmeans = check_choice("kmeans", self.kmeans, KMEANS)
        if kmeans == "exact" and n_clusters > 2:
            raise ValueError(f"kmeans='exact' is only for n_clusters=2, got n_clusters={n_clusters}: use 'k-means++'.")
        return _LDAOptions(
            n_clusters=n_clusters,
            exact=kmeans != "k-means++" and n_clusters == 2,
            max_iter=check_integer("max_iter", self.max_iter, low=1),
            tol=check_number("tol", self.tol, low=0.0),
            weighted=check_flag("weighted", self.weighted),
            ridge=check_number("ridge", self.ridge, low=0.0),
            n_init=check_integer("n_init", self.n_init, low=1),
        )

    def _store(self, X: NDArray[np.floating[Any]], rows: WorkingRows, run: _Run | None) -> None:
        self.mean_ = rows.origin
        self.objective_ = 0.0 if run is None else run.best.objective
        self.n_iter_ = 1 if run is None else run.n_iter
        if run is None:
            directions, labels = np.zeros((X.shape[1], 0)), np.zeros(len(X), dtype=np.intp)
        else:
            directions, labels = rows.to_original(run.best.directions / rows.unit), number_by_size(run.best.labels)
        self.components_ = np.ascontiguousarray(fix_signs(directions).T)
        projections = self._project(X)
        self.n_clusters_ = int(labels.max()) + 1
        self.centroids_ = np.stack([projections[labels == j].mean(axis=0) for j in range(self.n_clusters_)])
        self.labels_ = self._find_nearest(projections)

    def _warn(self, n_clusters: int, run: _Run | None) -> None:
        warn_of_fewer_clusters(n_clusters, self.n_clusters_, f"only {self.n_clusters_} of them differ", stacklevel=4)
        if self.n_clusters_ == n_clusters and run is not None and not run.converged:
            warnings.warn(
                f"Clusters and subspace still change after max_iter={self.max_iter} iterations; the best of them are "
                "kept. Increase max_iter.",
                ConvergenceWarning,
                stacklevel=3,
            )

    # ------------------------------------------------------------------------------------------- use

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _project(self, rows: NDArray[np.floating[Any]]) -> Array:
        columns = [as_rows(rows).project(self.mean_, direction) for direction in self.components_]
        return np.stack(columns, axis=1) if columns else np.zeros((len(rows), 0))

    def _find_nearest(self, projections: Array) -> NDArray[np.intp]:
        squares = [((projections - centroid) ** 2).sum(axis=1) for centroid in self.centroids_]
        return np.asarray(np.argmin(squares, axis=0), dtype=np.intp)

    def transform(self, X: ArrayLike) -> Array:
        """Project the rows on the subspace.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_clusters - 1)
        """
        check_is_fitted(self)
        return self._project(validate_array(self, X, reset=False))

    def predict(self, X: ArrayLike) -> NDArray[np.intp]:
        """Predict the cluster whose mean in the subspace is nearest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self._find_nearest(self._project(validate_array(self, X, reset=False)))


def _choose_starts(lda: Discriminants, options: _LDAOptions) -> list[Array]:
    axes = lda.principal_components
    if options.exact:
        return [axes[:, [j]] for j in range(axes.shape[1])][: options.n_init]
    return [axes[:, : options.n_clusters - 1]] * options.n_init


def _alternate(lda: Discriminants, directions: Array, options: _LDAOptions, rng: np.random.Generator) -> _Run:
    """Alternate k-means and discriminant analysis until neither the clusters nor the subspace change."""
    best: _Partition | None = None
    labels: NDArray[np.intp] | None = None
    for n_iter in range(1, options.max_iter + 1):
        before = labels
        labels = _find_clusters(lda.rows @ directions, options, rng)
        partition = _Partition(directions, labels, lda.evaluate(directions, labels))
        if best is None or partition.objective > best.objective:
            best = partition
        if before is not None and np.array_equal(labels, before):
            return _Run(best, n_iter, converged=True)
        new = lda.find_directions(labels)
        if new.shape == directions.shape and _compute_largest_sine(new, directions) <= options.tol:
            return _Run(best, n_iter, converged=True)
        directions = new
    assert best is not None
    return _Run(best, options.max_iter, converged=False)


def _find_clusters(projections: Array, options: _LDAOptions, rng: np.random.Generator) -> NDArray[np.intp]:
    if options.exact:
        return split_in_two_means(projections[:, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer than k distinct rows: reported after the fit
        kmeans = KMeans(options.n_clusters, n_init=1, random_state=int(rng.integers(2**31))).fit(projections)
    return np.asarray(kmeans.labels_, dtype=np.intp)


def _compute_largest_sine(one: Array, other: Array) -> float:
    """Compute the sine of the largest angle between the spans of columns, whatever their signs and lengths."""
    a, b = np.linalg.qr(one)[0], np.linalg.qr(other)[0]
    return float(np.linalg.norm(a - b @ (b.T @ a), ord=2)) if a.size else math.inf
