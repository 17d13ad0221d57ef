"""Missing cells filled several times, at random, with values of similar rows, and one clustering from all of these."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.special import ndtri
from scipy.stats import mode
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from ravine._html import make_section, make_table
from ravine._plurals import count
from ravine._typing import Array
from ravine.checks import check_integer, make_generator, require
from ravine.explain import describe_completions, describe_groups
from ravine.rows.inputs import check_unique_names

# Donors: complete rows that are kept, at most. More take longer and hardly change the neighbours.
MOST_DONORS = 2000
# Completions, at most: each takes the memory of all rows.
MOST_IMPUTATIONS = 100
# Each missing cell is drawn again this many times, from neighbours in all other features.
N_SWEEPS = 3
# Fewest and most neighbours, unless a number is given: the root of the number of donors between these.
FEWEST_NEIGHBOURS, MOST_NEIGHBOURS = 5, 40
# A feature of which at least this share of the values is repeated gets values of donors as they are.
REPEATED = 0.5
# Width of the smooth noise that is added to a drawn value, in standard deviations of the neighbours: Silverman's rule.
SMOOTHING = 1.06
# Rows are unstable if a larger share of the completions puts them into another cluster.
UNSTABLE = 0.25
# Largest number of clusters whose sizes a notebook shows.
MAX_CLUSTERS = 12
# Increment of the generator SplitMix64.
STEP = np.uint64(0x9E3779B97F4A7C15)
# Numbers in a block of distances.
BLOCK = 1 << 21

Labels = NDArray[np.intp]
Keys = NDArray[np.uint64]


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
        keys = rng.integers(2**64, size=len(some), dtype=np.uint64)
        self.donors_ = self._complete(z[some], None, keys, []) * self.scale_ + self.mean_
        return self

    def impute(self, X: ArrayLike, *, apart: bool = False) -> Array:
        """Return several completions of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        apart : bool, default=False
            Whether equal rows get different completions, as rows that are clustered need: equal ones would be piled up.

        Returns
        -------
        ndarray of shape (n_imputations, n_samples, n_features)
            The completions of a row do not depend on the other rows. With ``apart``, this holds for the first of equal
            rows.
        """
        check_is_fitted(self)
        values = self._validate(X, reset=False)
        gaps = np.isnan(values)
        out = np.repeat(values[None], self.n_imputations, axis=0)
        rows = gaps.any(axis=1)
        keys = _hash_rows(values[rows], _number_copies(values[rows]) if apart else None)
        z, donors = ((some - self.mean_) / self.scale_ for some in (values[rows], self.donors_))
        for k in range(self.n_imputations if len(z) else 0):
            filled = self._complete(z, donors, keys, [k])
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
        check_integer("n_imputations", self.n_imputations, low=1, high=MOST_IMPUTATIONS)
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

    def _complete(self, z: Array, donors: Array | None, keys: Keys, stream: list[int]) -> Array:
        """Return rows, in units of standard deviations, with all missing cells drawn from donors.

        The donors are the rows themselves by default. They give only values that were not missing, and only a bootstrap
        sample of them takes part at a time, so that completions differ as much as they should.

        Parameters
        ----------
        keys : ndarray of shape (n,), uint64
            Seeds of the random numbers of each row.
        stream : list of int
            Further seed.
        """
        gaps, filled = np.isnan(z), z.copy()
        donors = filled if donors is None else donors
        parts = _list_parts(gaps, self.donor_gaps_)
        for sweep in range(N_SWEEPS + 1):
            for group, rows, features in parts:
                seed = [self.seed_, *stream, sweep, group]
                known = np.flatnonzero(~self.donor_gaps_[:, group])
                if sweep == 0:  # a first value, from any donor
                    chosen = known[(_draw_uniform(keys[rows], seed, 1)[:, 0] * len(known)).astype(np.intp)]
                    filled[np.ix_(rows, features)] = donors[np.ix_(chosen, features)]
                else:
                    sample = np.unique(np.random.default_rng(seed).choice(known, len(known)))  # bootstrap
                    filled[np.ix_(rows, features)] = self._draw(
                        filled[rows], donors[sample], features, keys[rows], seed
                    )
        return filled

    def _draw(self, rows: Array, donors: Array, group: NDArray[np.intp], keys: Keys, seed: list[int]) -> Array:
        """Draw the features of a group for rows from the donors that are nearest in the other features."""
        k = self.n_neighbors or min(max(math.isqrt(len(donors)), FEWEST_NEIGHBOURS), MOST_NEIGHBOURS)
        k = min(k, len(donors))
        is_single = len(group) == rows.shape[1]
        u = _draw_uniform(keys, seed, 1 + len(group) + (k if is_single else 0))
        if not is_single:
            near = _find_nearest(np.delete(rows, group, axis=1), np.delete(donors, group, axis=1), k)
        else:  # without other features, all donors are equally near
            near = (u[:, 1 + len(group) :] * len(donors)).astype(np.intp)
        chosen = near[np.arange(len(rows)), (u[:, 0] * k).astype(np.intp)]
        values = donors[np.ix_(chosen, group)]
        smooth = ~self.repeated_[group]
        if k > 1 and smooth.any():
            around = donors[:, group[smooth]][near]
            mean, spread = around.mean(axis=1), around.std(axis=1)
            width = SMOOTHING * k**-0.2
            noise = width * spread * ndtri(u[:, 1 : 1 + len(group)][:, smooth])
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


def _list_parts(
    gaps: NDArray[np.bool_], donor_gaps: NDArray[np.bool_]
) -> list[tuple[int, NDArray[np.intp], NDArray[np.intp]]]:
    """Return rows with the features that are drawn together for them, and the first feature of their group.

    A group has the features that are missing in the same donors. Those missing in the fewest donors are drawn first.
    """
    patterns, group_of = np.unique(donor_gaps, axis=1, return_inverse=True)
    found = []
    for k in np.argsort(patterns.sum(axis=0), kind="stable").tolist():
        group = np.flatnonzero(group_of.ravel() == k)
        rows = np.flatnonzero(gaps[:, group].any(axis=1))
        missing, part_of = np.unique(gaps[np.ix_(rows, group)], axis=0, return_inverse=True)
        found += [(int(group[0]), rows[part_of.ravel() == i], group[part]) for i, part in enumerate(missing)]
    return found


def _find_nearest(rows: Array, donors: Array, k: int) -> NDArray[np.intp]:
    """Return the nearest donors of each row, in no particular order."""
    out = np.empty((len(rows), k), dtype=np.intp)
    for block in gen_batches(len(rows), max(1, BLOCK // max(1, len(donors)))):
        # Products of matrices would round the distances of a row in a way that depends on the other rows.
        distances = cdist(rows[block], donors, "sqeuclidean")
        out[block] = np.argpartition(distances, k - 1, axis=1)[:, :k]
    return out


def _number_copies(values: Array) -> NDArray[np.uint64]:
    """Return the number of equal rows before each row."""
    _, group = np.unique(_hash_rows(values), return_inverse=True)
    order = np.argsort(group, kind="stable")
    first = np.searchsorted(group[order], np.arange(len(order)))
    number = np.empty(len(group), dtype=np.uint64)
    number[order] = np.arange(len(order)) - first[group[order]]
    return number


def _find_first_copies(X: ArrayLike) -> NDArray[np.intp]:
    """Return the first of the rows that are equal to each row."""
    _, first, group = np.unique(_hash_rows(np.asarray(X, dtype=np.float64)), return_index=True, return_inverse=True)
    return np.asarray(first[group])


def _hash_rows(values: Array, numbers: NDArray[np.uint64] | None = None) -> Keys:
    """Return a key of each row from its values, NaN being equal, and a number."""
    keys = _mix(np.zeros(len(values), dtype=np.uint64) if numbers is None else numbers)
    for column in np.where(np.isnan(values), np.nan, values + 0.0).T:  # there is one NaN, and no negative zero
        keys = _mix(keys + np.ascontiguousarray(column).view(np.uint64))
    return keys


def _draw_uniform(keys: Keys, seed: list[int], n: int) -> Array:
    """Return n numbers between 0 and 1 for each row, from its key and a common seed, by the generator SplitMix64."""
    start = keys ^ np.random.SeedSequence(seed).generate_state(1, np.uint64)
    bits = _mix(start[:, None] + STEP * np.arange(n, dtype=np.uint64))
    return np.asarray(((bits >> np.uint64(11)) + 0.5) * 2.0**-53)


def _mix(x: Keys) -> Keys:
    """Return the output of SplitMix64 for the states x."""
    x = x + STEP
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


# ----------------------------------------------------------------------------------------------- consensus


@dataclass(frozen=True, eq=False, repr=False)
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

    def __repr__(self) -> str:
        return "\n".join(self._describe())

    def _repr_html_(self) -> str:
        title, *lines = self._describe()
        sizes = np.bincount(self.labels[self.labels >= 0])
        clusters = make_table([(f"cluster {k}", count(int(n), "row")) for k, n in enumerate(sizes[:MAX_CLUSTERS])])
        return make_section(title, clusters + make_table([(line.strip(),) for line in lines]))

    def _describe(self) -> list[str]:
        """Return a title, and how far the completions agree."""
        title = f"Consensus of {count(len(self.n_clusters), 'completion')}: "
        n_unstable = int(np.count_nonzero(self.instability > UNSTABLE))
        return [
            title + describe_groups(len(np.unique(self.labels)), len(self.X)),
            f"  {describe_completions(self.n_clusters, n_unstable, UNSTABLE)}",
        ]

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
    return choose_consensus(lambda: clone(estimator), X, imputer, **fit_parameters)


def choose_consensus(
    make_estimator: Callable[[], Any], X: ArrayLike, imputer: MultipleImputer, **fit_parameters: Any
) -> Consensus:
    """Fit an estimator to each completion of rows, and choose the clustering on which they agree most.

    Parameters
    ----------
    make_estimator : callable
        Makes an unfitted estimator.
    X : array-like of shape (n, d)
    imputer : MultipleImputer
        Fitted.
    **fit_parameters
        Arguments of ``fit``.
    """
    completions = imputer.impute(X, apart=True)
    fits = [make_estimator().fit(X, **fit_parameters) for X in completions]
    labels = [np.asarray(fit.labels_) for fit in fits]
    sizes = tuple(len(np.unique(one[one >= 0])) for one in labels)  # -1 marks outliers
    usual = [k for k, size in enumerate(sizes) if size == mode(sizes).mode]
    best = max(usual, key=lambda k: sum(adjusted_rand_score(labels[k], other) for other in labels))
    votes, n = np.array([fits[best].predict(X) for X in completions]), completions.shape[1]
    first = _find_first_copies(X)  # whose completions are those of `Consensus.predict`
    chosen = np.asarray(mode(votes).mode, dtype=np.intp)[first]
    agrees = (votes == chosen).astype(np.intp)
    agrees[best] *= 2  # the completion of the fit, where it is one of the most frequent
    source = np.where(agrees.any(axis=0), np.arange(n), first)
    Z = completions[agrees[:, source].argmax(axis=0), source]
    return Consensus(fits[best], Z, chosen, _measure_instability(labels, best, chosen), sizes, imputer)


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
