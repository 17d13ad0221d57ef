"""SelfTuningSpectral: spectral clustering with local scales, exact or from landmarks."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans

from ravine._typing import Array
from ravine.baselines._shared.numbering import number_by_size
from ravine.baselines.clustering.affinity_eigenvectors import leading_eigenvectors, normalise, nystrom_eigenvectors
from ravine.baselines.clustering.local_affinities import affinities, local_scales, working_rows
from ravine.checks import check_choice, check_integer, make_generator, restore_on_failure
from ravine.estimators.hyperplane import NoSplitWarning
from ravine.rows.inputs import validate_array

__all__ = ["SelfTuningSpectral"]

# Landmarks where the number is not given.
LANDMARKS = 1000


class SelfTuningSpectral(ClusterMixin, BaseEstimator):
    """Normalised spectral clustering with a scale of its own for each row.

    The affinity of two rows is exp(-‖x - y‖² / (s_x s_y)), s the distance to the ``n_neighbors``-th nearest other row
    (Zelnik-Manor and Perona). The leading eigenvectors of D^-1/2 A D^-1/2, D the row sums of A, with rows scaled to
    length one, are clustered by k-means (Ng, Jordan and Weiss). For many rows the eigenvectors come from the affinities
    to some landmarks (Fowlkes et al.).

    Columns in different units should be standardised first, e.g. with :class:`sklearn.preprocessing.StandardScaler`.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    n_neighbors : int, default=7
        Which neighbour's distance is the scale of a row; at most the number of other rows.
    n_landmarks : int or None, default=None
        Rows, drawn at random, whose affinities to all rows are used. None is all rows, exactly, up to ``max_exact``
        rows, and 1000 landmarks above; an integer that many (at most all), whatever the number of rows.
    max_exact : int, default=6000
        Most rows for the exact method, which keeps one n × n array of float64: 288 MB for 6000 rows.
    duplicates : {"next", "floor"}, default="next"
        The scale of a row that has at least ``n_neighbors`` duplicates. ``"next"``: the distance to the nearest row
        that differs. ``"floor"``: 1e-8 of the median scale. Then such a group of equal rows has affinity zero to all
        others: an eigenvalue 1 of its own, so that two of these groups are the clusters, or an arbitrary mixture of
        them, whatever the other rows are. This is what the recipe as published does.
    n_init : int, default=10
        Starts of k-means.
    random_state : int, RandomState, Generator or None, default=None
        For the landmarks and k-means; the exact eigenvectors are not random.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int
        Clusters from 0 on, by decreasing size. All 0 if all rows are equal.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Leading eigenvectors, rows scaled to length one.
    eigenvalues_ : ndarray of shape (n_clusters,)
        Their eigenvalues, decreasing.
    scales_ : ndarray of shape (n_samples,)
        The scale of each row, in the units of X.
    landmarks_ : ndarray of shape (n_landmarks_,), int
        Row numbers of the landmarks, increasing; empty if the method was exact.
    n_landmarks_ : int
        Their number.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if the columns of X have names that are all strings.

    Notes
    -----
    Exact, the diagonal of A is zero as in Ng, Jordan and Weiss. With landmarks it is one as in Fowlkes et al.: a zero
    diagonal is no matrix of low rank, and completing one from some columns fails. The two agree where rows have many
    neighbours. If the block of the landmarks has no negative eigenvalue, Fowlkes' one-shot method is used, else the
    two-step method; both leave out eigenvalues below 1e-8 of the largest.

    There is no ``predict``. The Nyström extension would be the principled one, but it does not give rows of the fit
    their own labels (they have no affinity to themselves), and it would have to keep all rows.

    Time is O(n² d) for the scales (less in few columns) and for the exact affinities, O(n m d + n m²) for m landmarks.

    References
    ----------
    A. Y. Ng, M. I. Jordan, Y. Weiss. On Spectral Clustering: Analysis and an Algorithm. Advances in Neural Information
    Processing Systems 14 (2002), 849-856.

    L. Zelnik-Manor, P. Perona. Self-Tuning Spectral Clustering. Advances in Neural Information Processing Systems 17
    (2005), 1601-1608.

    C. Fowlkes, S. Belongie, F. Chung, J. Malik. Spectral Grouping Using the Nyström Method. IEEE Transactions on
    Pattern Analysis and Machine Intelligence 26 (2004), 214-225.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from ravine.baselines import SelfTuningSpectral
    >>> X, y = make_circles(300, factor=0.4, noise=0.03, random_state=0)
    >>> spectral = SelfTuningSpectral(random_state=0).fit(X)
    >>> bool(abs((spectral.labels_ == y).mean() - 0.5) == 0.5)
    True
    >>> spectral.embedding_.shape
    (300, 2)
    """

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        n_neighbors: int = 7,
        n_landmarks: int | None = None,
        max_exact: int = 6000,
        duplicates: str = "next",
        n_init: int = 10,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.n_landmarks = n_landmarks
        self.max_exact = max_exact
        self.duplicates = duplicates
        self.n_init = n_init
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> SelfTuningSpectral:
        """Find the clusters.

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
            n_neighbors = check_integer("n_neighbors", self.n_neighbors, low=1)
            n_init = check_integer("n_init", self.n_init, low=1)
            max_exact = check_integer("max_exact", self.max_exact, low=1)
            duplicates = check_choice("duplicates", self.duplicates, ("next", "floor"))
            n_landmarks = self.n_landmarks
            if n_landmarks is not None:
                n_landmarks = check_integer("n_landmarks", n_landmarks, low=1)
                if n_landmarks < k:
                    raise ValueError(f"n_landmarks must be at least n_clusters={k}, got {n_landmarks}.")
            rng = make_generator(self.random_state)
            rows, unit = working_rows(validate_array(self, X, reset=True))
            n = len(rows)
            if n < max(k, 2):
                raise ValueError(f"n_clusters={k} needs at least {max(k, 2)} rows, got n_samples={n}.")
            if n_landmarks is None and n > max_exact:
                n_landmarks = max(LANDMARKS, k)
            self.landmarks_ = self._draw(n, n_landmarks, rng)
            self.n_landmarks_ = len(self.landmarks_)
            if not rows.any():
                self._store_one_cluster(n, k)
                return self
            scales = local_scales(rows, n_neighbors, duplicates)
            self.scales_ = scales * unit
            self.eigenvalues_, vectors = self._eigenvectors(rows, scales, k)
            self.embedding_ = unit_rows(vectors)
            seed = int(rng.integers(2**31))
            means = KMeans(k, n_init=n_init, random_state=seed).fit(self.embedding_)
            self.labels_ = number_by_size(means.labels_)
        return self

    @staticmethod
    def _draw(n: int, n_landmarks: int | None, rng: np.random.Generator) -> NDArray[np.intp]:
        if n_landmarks is None:
            return np.empty(0, dtype=np.intp)
        return np.sort(rng.choice(n, min(n, n_landmarks), replace=False)).astype(np.intp)

    def _eigenvectors(self, rows: Array, scales: Array, k: int) -> tuple[Array, Array]:
        if self.n_landmarks_:
            columns = affinities(rows, scales, rows[self.landmarks_], scales[self.landmarks_])
            values, vectors, _ = nystrom_eigenvectors(columns, self.landmarks_, k)
            return values, vectors
        matrix = affinities(rows, scales, rows, scales)
        np.fill_diagonal(matrix, 0.0)
        normalise(matrix)
        return leading_eigenvectors(matrix, k)

    def _store_one_cluster(self, n: int, k: int) -> None:
        self.scales_ = np.zeros(n)
        self.eigenvalues_ = np.eye(1, k)[0]
        self.embedding_ = np.tile(np.eye(1, k), (n, 1))
        self.labels_ = np.zeros(n, dtype=np.intp)
        if k > 1:
            warnings.warn("All rows are equal: they are given the label 0.", NoSplitWarning, stacklevel=3)


def unit_rows(vectors: Array) -> Array:
    """Rows scaled to length one; a row of zeros becomes (1, ..., 1) / sqrt k."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
    k = vectors.shape[1]
    return np.where(lengths > 0.0, vectors / np.where(lengths > 0.0, lengths, 1.0), 1.0 / np.sqrt(k))
