"""SelfTuningSpectral: spectral clustering with local scales, exact or from landmarks."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from ravine import NoSplitWarning
from ravine.checks import check_choice, check_enough_rows, check_integer, make_generator, restore_on_failure
from ravine.estimators import validate_array
from ravine_paper._typing import Array
from ravine_paper.baselines._shared.found_clusters import warn_of_fewer_clusters
from ravine_paper.baselines._shared.numbering import number_by_size
from ravine_paper.baselines.clustering.affinity_eigenvectors import (
    find_exact_eigenvectors,
    find_nystrom_eigenvectors,
    normalise,
)
from ravine_paper.baselines.clustering.local_affinities import (
    centre_and_scale,
    compute_affinities,
    compute_local_scales,
)

__all__ = ["SelfTuningSpectral"]

# Number of landmarks where it is not given.
LANDMARKS = 1000

# Digits of coordinates that rounding errors do not reach.
DIGITS = 12


@dataclass(frozen=True)
class _SpectralOptions:
    """Validated parameters of `SelfTuningSpectral`."""

    n_clusters: int
    n_neighbors: int
    n_landmarks: int | None
    max_exact: int
    duplicates: str
    n_init: int

    def draw_landmarks(self, n_rows: int, rng: np.random.Generator) -> NDArray[np.intp]:
        n_landmarks = self.n_landmarks
        if n_landmarks is None and n_rows > self.max_exact:
            n_landmarks = max(LANDMARKS, self.n_clusters)
        if n_landmarks is None:
            return np.empty(0, dtype=np.intp)
        return np.sort(rng.choice(n_rows, min(n_rows, n_landmarks), replace=False)).astype(np.intp)


class SelfTuningSpectral(ClusterMixin, BaseEstimator):
    """Normalised spectral clustering with a local scale for each row.

    The affinity of two rows is exp(-‖x - y‖² / (s_x s_y)), where s is the distance to the ``n_neighbors``-th nearest
    other row (Zelnik-Manor and Perona). The leading eigenvectors of D^-1/2 A D^-1/2, where D holds the row sums of A,
    with rows scaled to length one, are clustered by k-means (Ng, Jordan and Weiss). For many rows the eigenvectors are
    approximated from the affinities to some landmarks (Fowlkes et al.).

    Features in different units should be standardised first, e.g. with :class:`sklearn.preprocessing.StandardScaler`.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    n_neighbors : int, default=7
        The scale of a row is the distance to this neighbour; at most the number of other rows.
    n_landmarks : int or None, default=None
        Number of random rows whose affinities to all rows are used. None uses all rows, exactly, up to ``max_exact``
        rows, and 1000 landmarks above. An integer is used whatever the number of rows, but at most all rows.
    max_exact : int, default=6000
        Most rows for the exact method, which keeps one n × n array of float64: 288 MB for 6000 rows.
    duplicates : {"next", "floor"}, default="next"
        The scale of a row that has at least ``n_neighbors`` duplicates. ``"next"``: the distance to the nearest row
        that differs. ``"floor"``: 1e-8 of the median scale. Such a group of equal rows then has affinity zero to all
        others and an eigenvalue 1 of its own, so that two of these groups, or an arbitrary mixture of them, are the
        clusters, whatever the other rows are. This is the recipe as published.
    n_init : int, default=10
        Number of starts of k-means.
    random_state : int, RandomState, Generator or None, default=None
        Determines the landmarks and the starts of k-means; the exact eigenvectors are deterministic.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int
        Cluster of each row, numbered from 0 by decreasing size. All 0 if all rows are equal.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Leading eigenvectors, with rows scaled to length one.
    eigenvalues_ : ndarray of shape (n_clusters,)
        Their eigenvalues, decreasing.
    scales_ : ndarray of shape (n_samples,)
        The scale of each row, in the units of X.
    landmarks_ : ndarray of shape (n_landmarks,), int
        Row numbers of the landmarks, increasing; empty if the method was exact.
    n_landmarks_ : int
        Their number.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Defined only if X has feature names that are all strings.

    Notes
    -----
    In the exact method the diagonal of A is zero as in Ng, Jordan and Weiss. With landmarks it is one as in Fowlkes et
    al.: a matrix with a zero diagonal does not have low rank and cannot be completed from some columns. The two agree
    where rows have many neighbours. If the block of the landmarks has no negative eigenvalue, the one-shot method of
    Fowlkes et al. is used, else the two-step method; both leave out eigenvalues below 1e-8 of the largest.

    There is no ``predict``. The Nyström extension does not give rows of the fit their own labels (they have no affinity
    to themselves), and it would have to keep all rows.

    Time is O(n² d) for the scales (less with few features) and for the exact affinities, O(n m d + n m²) for m
    landmarks.

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
    >>> from ravine_paper.baselines import SelfTuningSpectral
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
            options = self._check_options()
            rng = make_generator(self.random_state)
            rows, unit = centre_and_scale(validate_array(self, X, reset=True))
            n, k = len(rows), options.n_clusters
            check_enough_rows(k, n)
            if n < 2:
                raise ValueError(f"SelfTuningSpectral needs at least 2 rows, got n_samples={n}.")
            self.landmarks_ = options.draw_landmarks(n, rng)
            self.n_landmarks_ = len(self.landmarks_)
            if not rows.any():
                self._store_one_cluster(n, k)
                return self
            scales = compute_local_scales(rows, options.n_neighbors, options.duplicates)
            self.scales_ = scales * unit
            self.eigenvalues_, vectors = self._find_eigenvectors(rows, scales, k)
            self.embedding_ = scale_to_unit_rows(vectors)
            seed = int(rng.integers(2**31))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # fewer than k distinct rows: reported below
                # Equal rows may differ by rounding errors in the embedding.
                places = np.round(self.embedding_, DIGITS)
                kmeans = KMeans(k, n_init=options.n_init, random_state=seed).fit(places)
            self.labels_ = number_by_size(kmeans.labels_)
            n_found = int(self.labels_.max()) + 1
            warn_of_fewer_clusters(k, n_found, f"the rows have only {n_found} different places in the embedding")
        return self

    def _check_options(self) -> _SpectralOptions:
        options = _SpectralOptions(
            n_clusters=check_integer("n_clusters", self.n_clusters, low=1),
            n_neighbors=check_integer("n_neighbors", self.n_neighbors, low=1),
            n_init=check_integer("n_init", self.n_init, low=1),
            max_exact=check_integer("max_exact", self.max_exact, low=1),
            duplicates=check_choice("duplicates", self.duplicates, ("next", "floor")),
            n_landmarks=None if self.n_landmarks is None else check_integer("n_landmarks", self.n_landmarks, low=1),
        )
        if options.n_landmarks is not None and options.n_landmarks < options.n_clusters:
            raise ValueError(
                f"n_landmarks must be at least n_clusters={options.n_clusters}, got {options.n_landmarks}."
            )
        return options

    def _find_eigenvectors(self, rows: Array, scales: Array, k: int) -> tuple[Array, Array]:
        if self.n_landmarks_:
            columns = compute_affinities(rows, scales, rows[self.landmarks_], scales[self.landmarks_])
            return find_nystrom_eigenvectors(columns, self.landmarks_, k)
        matrix = compute_affinities(rows, scales, rows, scales)
        np.fill_diagonal(matrix, 0.0)
        normalise(matrix)
        return find_exact_eigenvectors(matrix, k)

    def _store_one_cluster(self, n: int, k: int) -> None:
        self.scales_ = np.zeros(n)
        self.eigenvalues_ = np.eye(1, k)[0]
        self.embedding_ = np.tile(np.eye(1, k), (n, 1))
        self.labels_ = np.zeros(n, dtype=np.intp)
        if k > 1:
            warnings.warn("All rows are equal: they all get label 0.", NoSplitWarning, stacklevel=3)


def scale_to_unit_rows(vectors: Array) -> Array:
    """Scale rows to length one; a row of zeros becomes (1, ..., 1) / sqrt k."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
    k = vectors.shape[1]
    return np.where(lengths > 0.0, vectors / np.where(lengths > 0.0, lengths, 1.0), 1.0 / np.sqrt(k))
