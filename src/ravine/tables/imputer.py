"""Missing cells filled several times, at random, with values of similar rows, and one clustering from all of these."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from scipy.stats import mode
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from ravine._typing import Array
from ravine.checks import check_integer, make_generator, require
from ravine.rows.inputs import check_unique_names

# Donors: complete rows that are kept, at most. More take longer and hardly change the neighbours.
MOST_DONORS = 2000
# Each missing cell is drawn again this many times, from neighbours in all other features.
N_SWEEPS = 3
# Fewest and most neighbours, unless a number is given: the root of the number of donors between these.
FEWEST_NEIGHBOURS, MOST_NEIGHBOURS = 5, 40
# A feature of which at least this share of the values is repeated gets values of donors as they are.
REPEATED = 0.5
# Width of the smooth noise that is added to a drawn value, in standard deviations of the neighbours: Silverman's rule.
SMOOTHING = 1.06
# Numbers in a block of distances.
BLOCK = 1 << 21

Labels = NDArray[np.intp]


class MultipleImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Several random completions of rows with missing cells.

    A missing cell gets the value of a random one of the rows that are nearest in all other features, plus smooth noise,
    with the variance of these neighbours. The completed rows have the density of complete ones, while means or medians
    would pile up. Features that are missing together (the categories of one column) get the values of one row. Cells
    that are used to find neighbours may be missing themselves: they are drawn from all rows first, and everything is
    then drawn again three times.

    Parameters
    ----------
    n_imputations : int, default=8
        Number of completions.
    n_neighbors : int or None, default=None
        Number of nearest rows of which one is drawn. None: the root of the number of rows, at least 5, at most 40.
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    donors_ : ndarray of shape (m, n_features)
        Complete rows (at most 2000) whose values fill the cells of new rows.
    donor_gaps_ : ndarray of bool of shape (m, n_features)
        Cells of these rows that were missing themselves.
    seed_ : int
        Seed of the completions.
    mean_, scale_ : ndarray of shape (n_features,)
        Means and standard deviations of the values that are there; distances are measured in these units.
    repeated_ : ndarray of bool of shape (n_features,)
        Features with few different values, to which no noise is added.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if all features of X have names that are strings.

    See Also
    --------
    fit_consensus : One tree from several completions, and the instability of each row.

    Examples
    --------
    >>> import numpy as np
    >>> from ravine import MultipleImputer
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> X[::5, 1] = np.nan
    >>> completions = MultipleImputer(n_imputations=4, random_state=0).fit(X).impute(X)
    >>> completions.shape
    (4, 100, 3)
    >>> bool(np.isnan(completions).any())
    False
    """

    donors_: Array
    donor_gaps_: NDArray[np.bool_]
    seed_: int
    mean_: Array
    scale_: Array
    repeated_: NDArray[np.bool_]

    def __init__(self, n_imputations: int = 8, *, n_neighbors: int | None = None, random_state: Any = None) -> None:
        self.n_imputations = n_imputations
        self.n_neighbors = n_neighbors
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> MultipleImputer:
        """Keep rows, completed once, whose values fill missing cells.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN marks a missing cell.
        y : ignored

        Returns
        -------
        self
        """
        self._check_parameters()
        values = self._validate(X, reset=True)
        gaps = np.isnan(values)
        empty = self.get_feature_names_out()[gaps.all(axis=0)]
        if len(empty):
            raise ValueError(f"all cells of the feature {str(empty[0])!r} are missing: leave it out.")
        with np.errstate(over="ignore", invalid="ignore"):
            self.mean_, spread = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
        large = self.get_feature_names_out()[~np.isfinite(spread)]
        if len(large):
            raise ValueError(f"the feature {str(large[0])!r} has values that are too large: use a larger unit.")
        self.scale_ = np.where(spread > 0.0, spread, 1.0)
        self.repeated_ = np.array([_is_repeated(column[~gap]) for column, gap in zip(values.T, gaps.T, strict=True)])
        rng = make_generator(self.random_state)
        self.seed_ = int(rng.integers(2**31))
        z = (values - self.mean_) / self.scale_
        some = np.arange(len(z)) if len(z) <= MOST_DONORS else np.sort(rng.choice(len(z), MOST_DONORS, replace=False))
        self.donor_gaps_ = gaps[some]
        self.donors_ = self._complete(z[some], None, gaps[some], rng) * self.scale_ + self.mean_
        return self

    def impute(self, X: ArrayLike) -> Array:
        """Return several completions of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_imputations, n_samples, n_features)
            The same for the same X.
        """
        check_is_fitted(self)
        values = self._validate(X, reset=False)
        gaps = np.isnan(values)
        out = np.repeat(values[None], self.n_imputations, axis=0)
        rows = gaps.any(axis=1)
        z, donors = ((some - self.mean_) / self.scale_ for some in (values[rows], self.donors_))
        for k in range(self.n_imputations if len(z) else 0):
            filled = self._complete(z, donors, self.donor_gaps_, np.random.default_rng([self.seed_, k]))
            out[k, gaps] = (filled * self.scale_ + self.mean_)[gaps[rows]]
        return out

    def transform(self, X: ArrayLike) -> Array:
        """Return the first completion of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        return np.asarray(self.impute(X)[0])

    # ------------------------------------------------------------------------------------------- inner parts

    def _check_parameters(self) -> None:
        check_integer("n_imputations", self.n_imputations, low=1, high=10_000)
        if self.n_neighbors is not None:
            check_integer("n_neighbors", self.n_neighbors, low=1)

    def validate(self) -> None:
        """Raise an error if the donors and their statistics contradict each other."""
        m, d = self.donors_.shape
        require(m > 0 and d == self.n_features_in_ and self.donor_gaps_.shape == (m, d), "shapes")
        require(self.mean_.shape == self.scale_.shape == self.repeated_.shape == (d,), "shapes")
        self._check_parameters()
        require(not self.donor_gaps_.all(axis=0).any(), "donor_gaps_")

    def _validate(self, X: Any, *, reset: bool) -> Array:
        check_unique_names(X)
        with np.errstate(over="ignore", invalid="ignore"):  # scikit-learn sums all values, whose signs may differ
            return np.asarray(validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan"))

    def _complete(
        self, z: Array, donors: Array | None, donor_gaps: NDArray[np.bool_], rng: np.random.Generator
    ) -> Array:
        """Return rows, in units of standard deviations, with all missing cells drawn from donors.

        The donors are the rows themselves by default. They give only values that are not missing in ``donor_gaps``, and
        only a bootstrap sample of them takes part at a time, so that completions differ as much as they should.
        """
        gaps, filled = np.isnan(z), z.copy()
        donors = filled if donors is None else donors
        groups = _group_features(gaps)
        for group in groups:  # a first value, from any donor
            rows, known = np.flatnonzero(gaps[:, group[0]]), np.flatnonzero(~donor_gaps[:, group[0]])
            filled[np.ix_(rows, group)] = donors[np.ix_(rng.choice(known, len(rows)), group)]
        for _ in range(N_SWEEPS):
            for group in sorted(groups, key=lambda group: int(gaps[:, group[0]].sum())):
                rows, known = np.flatnonzero(gaps[:, group[0]]), np.flatnonzero(~donor_gaps[:, group[0]])
                sample = np.unique(rng.choice(known, len(known)))  # bootstrap
                filled[np.ix_(rows, group)] = self._draw(filled[rows], donors[sample], group, rng)
        return filled

    def _draw(self, rows: Array, donors: Array, group: NDArray[np.intp], rng: np.random.Generator) -> Array:
        """Draw the features of a group for rows from the donors that are nearest in the other features."""
        k = self.n_neighbors or min(max(math.isqrt(len(donors)), FEWEST_NEIGHBOURS), MOST_NEIGHBOURS)
        k = min(k, len(donors))
        near = rng.integers(len(donors), size=(len(rows), k))  # of a single feature, all donors are equally near
        if len(group) < rows.shape[1]:
            near = _find_nearest(np.delete(rows, group, axis=1), np.delete(donors, group, axis=1), k)
        chosen = near[np.arange(len(rows)), rng.integers(k, size=len(rows))]
        values = donors[np.ix_(chosen, group)]
        smooth = ~self.repeated_[group]
        if k > 1 and smooth.any():
            around = donors[:, group[smooth]][near]
            mean, spread = around.mean(axis=1), around.std(axis=1)
            width = SMOOTHING * k**-0.2
            noise = width * spread * rng.standard_normal(spread.shape)
            values[:, smooth] = mean + (values[:, smooth] - mean + noise) / math.sqrt(1.0 + width**2)
        return values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _is_repeated(values: Array) -> bool:
    """Return whether most values occur more than once."""
    _, counts = np.unique(values, return_counts=True)
    return bool(counts[counts > 1].sum() >= REPEATED * len(values))


def _group_features(gaps: NDArray[np.bool_]) -> list[NDArray[np.intp]]:
    """Return groups of features that are missing in the same rows, without those that are never missing."""
    groups: dict[bytes, list[int]] = {}
    for j in np.flatnonzero(gaps.any(axis=0)).tolist():
        groups.setdefault(np.packbits(gaps[:, j]).tobytes(), []).append(j)
    return [np.array(group, dtype=np.intp) for group in groups.values()]


def _find_nearest(rows: Array, donors: Array, k: int) -> NDArray[np.intp]:
    """Return the nearest donors of each row, in no particular order."""
    squares = np.einsum("ij,ij->i", donors, donors)
    out = np.empty((len(rows), k), dtype=np.intp)
    for block in gen_batches(len(rows), max(1, BLOCK // max(1, len(donors)))):
        distances = squares - 2.0 * (rows[block] @ donors.T)
        out[block] = np.argpartition(distances, k - 1, axis=1)[:, :k]
    return out


# ----------------------------------------------------------------------------------------------- consensus


@dataclass(frozen=True, eq=False)
class Consensus:
    """Clustering on which completions of the rows agree most.

    Attributes
    ----------
    estimator : object
        Estimator that was fitted to the completion with the best agreement.
    X : ndarray of shape (n, d)
        Rows, each in a completion that this estimator puts into the cluster of the row.
    labels : ndarray of shape (n,), int
        Cluster into which this estimator puts most completions of each row.
    instability : ndarray of shape (n,)
        Share of the completions whose own clustering puts a row into another cluster, from 0 to 1.
    n_clusters : tuple of int
        Number of clusters of each completion.
    imputer : MultipleImputer

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.cluster import KMeans
    >>> from ravine import fit_consensus
    >>> X = np.r_[np.zeros((30, 2)), np.full((30, 2), 9.0)] + np.random.default_rng(0).normal(size=(60, 2))
    >>> X[::10, 0] = np.nan
    >>> consensus = fit_consensus(KMeans(2, n_init=1, random_state=0), X)
    >>> bool((consensus.predict(X) == consensus.labels).all())
    True
    """

    estimator: Any
    X: Array
    labels: Labels
    instability: Array
    n_clusters: tuple[int, ...]
    imputer: MultipleImputer

    def predict(self, X: ArrayLike) -> Labels:
        """Return the most frequent cluster of each row over its completions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN marks a missing cell.
        """
        return vote(self.estimator, self.imputer.impute(X))[0]


def fit_consensus(
    estimator: Any, X: ArrayLike, *, imputer: MultipleImputer | None = None, **fit_parameters: Any
) -> Consensus:
    """Cluster rows with missing cells: one tree from several random completions, and how stable it is.

    Each completion of X is clustered by a copy of the estimator. The most frequent number of clusters is kept, the
    smaller one in a tie. Of the trees with this number, the one that agrees best with all others is the result. A row
    belongs to the cluster to which this tree assigns most of its completions.

    Parameters
    ----------
    estimator : MinimumDensityTree or another clusterer
        Not changed. One with ``contamination`` is refused: a consensus does not mark outliers.
    X : array-like of shape (n_samples, n_features)
        NaN marks a missing cell.
    imputer : MultipleImputer, optional
        By default one with eight completions and the ``random_state`` of the estimator.
    **fit_parameters
        Arguments of ``fit`` of the estimator, for example known labels.

    Returns
    -------
    Consensus

    See Also
    --------
    MultipleImputer : The completions.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from ravine import MinimumDensityTree, fit_consensus
    >>> X, y = make_blobs([80, 80], centers=[[0, 0, 0], [6, 6, 6]], random_state=0)
    >>> X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    >>> consensus = fit_consensus(MinimumDensityTree(2, random_state=0), X)
    >>> consensus.n_clusters
    (2, 2, 2, 2, 2, 2, 2, 2)
    >>> bool(consensus.instability.mean() < 0.05)
    True
    """
    if getattr(estimator, "contamination", None) is not None:
        raise ValueError("fit_consensus marks no outliers: set contamination=None, and score those of the result.")
    imputer = clone(imputer or MultipleImputer(random_state=getattr(estimator, "random_state", None))).fit(X)
    return choose_consensus(lambda: clone(estimator), imputer.impute(X), imputer, **fit_parameters)


def choose_consensus(
    make_estimator: Callable[[], Any], completions: Array, imputer: MultipleImputer, **fit_parameters: Any
) -> Consensus:
    """Fit an estimator to each completion, and choose the clustering on which they agree most.

    Parameters
    ----------
    make_estimator : callable
        Makes an unfitted estimator.
    completions : ndarray of shape (m, n, d)
    imputer : MultipleImputer
    **fit_parameters
        Arguments of ``fit``.
    """
    fits = [make_estimator().fit(X, **fit_parameters) for X in completions]
    labels = [np.asarray(fit.labels_) for fit in fits]
    sizes = tuple(len(np.unique(one[one >= 0])) for one in labels)  # -1 marks outliers
    usual = [k for k, size in enumerate(sizes) if size == mode(sizes).mode]
    best = max(usual, key=lambda k: sum(adjusted_rand_score(labels[k], other) for other in labels))
    votes = np.array([fits[best].predict(X) for X in completions])
    chosen = np.asarray(mode(votes).mode, dtype=np.intp)
    agrees = (votes == chosen).astype(np.intp)
    agrees[best] *= 2  # the completion of the fit, where it is one of the most frequent
    X = completions[agrees.argmax(axis=0), np.arange(completions.shape[1])]
    return Consensus(fits[best], X, chosen, _measure_instability(labels, best, chosen), sizes, imputer)


def vote(estimator: Any, completions: Array) -> tuple[Labels, Array]:
    """Return the most frequent cluster of each row over its completions, and the share of completions that differ."""
    found, counts = mode([estimator.predict(X) for X in completions], axis=0)
    return np.asarray(found, dtype=np.intp), 1.0 - counts / len(completions)


def average_memberships(estimator: Any, completions: Array, labels: Labels) -> Array:
    """Return the membership of each row in its cluster, averaged over its completions."""
    rows = np.arange(len(labels))
    return np.asarray(np.mean([estimator.predict_proba(X)[rows, labels] for X in completions], axis=0))


def _measure_instability(labels: list[Labels], best: int, chosen: Labels) -> Array:
    """Return the share of all clusterings in which each row is in another cluster than the chosen one.

    Clusters are matched with those of the best clustering such that most rows agree.
    """
    differs = np.zeros(len(chosen))
    for other in labels:
        ours, theirs = linear_sum_assignment(contingency_matrix(labels[best], other), maximize=True)
        partner = np.full(other.max() + 2, -1)  # the last one is that of outliers, -1
        partner[np.unique(other)[theirs]] = np.unique(labels[best])[ours]
        differs += partner[other] != chosen
    return np.asarray(differs / len(labels))
