"""LDA-k-means: k-means in the subspace that tells its own clusters apart best."""

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

from ravine._typing import Array
from ravine.baselines._shared.row_checks import check_moderate_rows
from ravine.baselines.clustering.discriminants import Discriminants, two_means
from ravine.checks import check_choice, check_flag, check_integer, check_number, make_generator, restore_on_failure
from ravine.estimators import NoSplitWarning
from ravine.rows import as_rows
from ravine.rows.inputs import validate_array
from ravine.search.space import WorkingSpace

__all__ = ["LDAKMeans"]

KMEANS = ("auto", "exact", "k-means++")


@dataclass(frozen=True)
class _Partition:
    """Directions as columns, the clusters that k-means found along them, and how well those are told apart."""

    directions: Array
    labels: NDArray[np.intp]
    objective: float


class LDAKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Alternate k-means in a subspace and linear discriminant analysis of its clusters.

    The subspace of k - 1 dimensions starts as that of the leading principal components. In turn, k-means finds clusters
    in it, and discriminant analysis finds the subspace in which they are told apart best, until neither changes. The
    aim is the largest J = tr[(U'S_w U)⁻¹ U'S_b U] over subspaces U and clusters. The best pair on the way is kept.

    Units do not matter, but for the start: columns in different units should be standardised first, e.g. with
    :class:`sklearn.preprocessing.StandardScaler`.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters k.
    weighted : bool, default=True
        Whether the covariance of a cluster counts in S_w in proportion to its size, as in discriminant analysis. False:
        each counts in full, as in the code of the paper's authors.
    kmeans : {"auto", "exact", "k-means++"}, default="auto"
        How clusters are found in the subspace. ``"exact"``, only for two clusters: the best cut of the line, by sorting
        it. Nothing is random then, and J never decreases (with ``weighted=True``). ``"k-means++"``: k-means from random
        seeds, one run each time, as in the paper. ``"auto"``: exact for two clusters.
    max_iter : int, default=300
        Iterations at most.
    tol : float, default=1e-5
        Stop when the sine of the largest angle between the old and the new subspace is at most this, or when the
        clusters do not change.
    n_init : int, default=1
        Runs; the largest J wins. With random seeds all are repeated. With exact clusters, the first run starts from the
        first principal component, the second from the second, and so on.
    ridge : float, default=1e-8
        This part of the mean variance of a column is added to the diagonal of S_w (divided by the number of rows), so
        that S_w has an inverse.
    random_state : int, RandomState, Generator or None, default=None
        For the seeds.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int
        From 0, by decreasing size of the cluster: with two clusters, 1 is the smaller.
    n_clusters_ : int
        Clusters found: fewer than asked for if there are fewer different rows.
    components_ : ndarray of shape (n_clusters_ - 1, n_features)
        Basis of the subspace.
    mean_ : ndarray of shape (n_features,)
        Mean of X: the origin of the subspace.
    centroids_ : ndarray of shape (n_clusters_, n_clusters_ - 1)
        Means of the clusters in the subspace.
    objective_ : float
        J.
    n_iter_ : int
        Iterations of the best run.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if the columns of X have names that are all strings.

    Notes
    -----
    The search is local. Where the first principal component says nothing of the clusters, try ``n_init`` of a few.

    With no more rows than columns any clusters can be told apart perfectly, so the first ones are the last: reduce the
    dimension first, or use a ``ridge`` of about 1.

    References
    ----------
    C. Ding, T. Li. Adaptive dimension reduction using discriminant analysis and K-means clustering. International
    Conference on Machine Learning (2007), 521-528.

    D. Arthur, S. Vassilvitskii. k-means++: the advantages of careful seeding. ACM-SIAM Symposium on Discrete Algorithms
    (2007), 1027-1035.

    Examples
    --------
    >>> import numpy as np
    >>> from ravine.baselines import LDAKMeans
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2)) * [4.0, 0.3]  # the first column is wide, the second has the clusters
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
        """Find subspace and clusters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        with restore_on_failure(self):
            k = check_integer("n_clusters", self.n_clusters, low=1)
            exact = check_choice("kmeans", self.kmeans, KMEANS) != "k-means++" and k == 2
            if self.kmeans == "exact" and k > 2:
                raise ValueError(f"kmeans='exact' is only for n_clusters=2, got n_clusters={k}: use 'k-means++'.")
            check_integer("max_iter", self.max_iter, low=1)
            check_number("tol", self.tol, low=0.0)
            check_flag("weighted", self.weighted)
            ridge = check_number("ridge", self.ridge, low=0.0)
            n_runs = check_integer("n_init", self.n_init, low=1)
            rng = make_generator(self.random_state)
            rows = check_moderate_rows(self, X)
            if k > len(rows):
                raise ValueError(f"n_clusters={k} is more than the {len(rows)} rows of X (n_samples={len(rows)}).")
            space = WorkingSpace.of(rows, None, None)
            centred, total = space.sample.fetch(np.arange(len(rows))), space.sample.moments().matrix
            lda = Discriminants(centred, total, ridge * float(np.trace(total)) / rows.shape[1], self.weighted)
            runs = []
            if k > 1 and not space.all_rows_equal():
                axes = lda.principal
                starts = [axes[:, [j]] for j in range(axes.shape[1])][:n_runs] if exact else [axes[:, : k - 1]] * n_runs
                runs = [self._alternate(lda, start, None if exact else (k, rng)) for start in starts]
            best, self.n_iter_, converged = max(runs, key=lambda run: run[0].objective, default=(None, 1, True))
            self._store(rows, space, best)
            self._report(k, converged)
        return self

    def _alternate(
        self, lda: Discriminants, directions: Array, seeded: tuple[int, np.random.Generator] | None
    ) -> tuple[_Partition, int, bool]:
        """One run: the best partition, the iterations, and whether neither subspace nor clusters changed any more."""
        best: _Partition | None = None
        labels: NDArray[np.intp] | None = None
        for n_iter in range(1, self.max_iter + 1):
            before = labels
            projections = lda.rows @ directions
            labels = _seeded_kmeans(projections, *seeded) if seeded else two_means(projections[:, 0])
            partition = _Partition(directions, labels, lda.objective(directions, labels))
            if best is None or partition.objective > best.objective:
                best = partition
            if before is not None and np.array_equal(labels, before):
                return best, n_iter, True
            new = lda.find(labels)
            if new.shape == directions.shape and _largest_sine(new, directions) <= self.tol:
                return best, n_iter, True
            directions = new
        assert best is not None
        return best, self.max_iter, False

    def _store(self, rows: NDArray[np.floating[Any]], space: WorkingSpace, best: _Partition | None) -> None:
        self.mean_ = space.origin
        self.objective_ = 0.0 if best is None else best.objective
        if best is None:
            directions, labels = np.zeros((rows.shape[1], 0)), np.zeros(len(rows), dtype=np.intp)
        else:
            inner, labels = best.directions / space.unit, best.labels
            directions = inner if space.basis is None else space.basis @ inner
        peaks = np.argmax(np.abs(directions), axis=0)
        signs = np.sign(directions[peaks, np.arange(directions.shape[1])])
        self.components_ = np.ascontiguousarray((directions * signs).T)
        projections = self._project(rows)
        classes, first, label, counts = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
        means = np.stack([projections[label == j].mean(axis=0) for j in range(len(classes))])
        self.centroids_ = means[np.lexsort((first, -counts))]
        self.n_clusters_ = len(classes)
        self.labels_ = self._nearest(projections)

    def _report(self, k: int, converged: bool) -> None:
        if self.n_clusters_ < k:
            warnings.warn(
                f"n_clusters={k} clusters were asked for, but X has only {self.n_clusters_} that differ.",
                NoSplitWarning,
                stacklevel=3,
            )
        elif not converged:
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

    def _nearest(self, projections: Array) -> NDArray[np.intp]:
        squares = [((projections - centroid) ** 2).sum(axis=1) for centroid in self.centroids_]
        return np.asarray(np.argmin(squares, axis=0), dtype=np.intp)

    def transform(self, X: ArrayLike) -> Array:
        """Coordinates of the rows in the subspace.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_clusters_ - 1)
        """
        check_is_fitted(self)
        return self._project(validate_array(self, X, reset=False))

    def predict(self, X: ArrayLike) -> NDArray[np.intp]:
        """Cluster with the nearest mean in the subspace.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self._nearest(self._project(validate_array(self, X, reset=False)))


def _seeded_kmeans(projections: Array, k: int, rng: np.random.Generator) -> NDArray[np.intp]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer than k different rows: reported after the fit
        means = KMeans(k, n_init=1, random_state=int(rng.integers(2**31))).fit(projections)
    return np.asarray(means.labels_, dtype=np.intp)


def _largest_sine(one: Array, other: Array) -> float:
    """Sine of the largest angle between the spans of columns: the same whatever their signs and lengths."""
    a, b = np.linalg.qr(one)[0], np.linalg.qr(other)[0]
    return float(np.linalg.norm(a - b @ (b.T @ a), ord=2)) if a.size else math.inf
