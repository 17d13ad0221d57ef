"""One clustering from several completions of rows with missing cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from ravine._typing import Array
from ravine.tables.imputer import MultipleImputer

Labels = NDArray[np.intp]


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
        raise ValueError(
            "fit_consensus does not mark outliers: set contamination=None, and score the rows of the result with "
            "consensus.estimator.score_outliers(consensus.X)."
        )
    if imputer is None:
        imputer = MultipleImputer(random_state=getattr(estimator, "random_state", None))
    imputer = clone(imputer).fit(X)
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
    counts = Counter(sizes)
    usual = min(counts, key=lambda k: (-counts[k], k))
    agreement = [
        sum(adjusted_rand_score(one, other) for other in labels) if k == usual else -np.inf
        for one, k in zip(labels, sizes, strict=True)
    ]
    best = int(np.argmax(agreement))
    votes = _predict_all(fits[best], completions)
    chosen = _find_most_frequent(votes)[0]
    agrees = (votes == chosen).astype(np.intp)
    agrees[best] *= 2  # the completion of the fit, where it is one of the most frequent
    X = completions[agrees.argmax(axis=0), np.arange(completions.shape[1])]
    return Consensus(fits[best], X, chosen, _measure_instability(labels, best, chosen), sizes, imputer)


def vote(estimator: Any, completions: Array) -> tuple[Labels, Array]:
    """Return the most frequent cluster of each row over its completions, and the share of completions that differ."""
    return _find_most_frequent(_predict_all(estimator, completions))


def average_memberships(estimator: Any, completions: Array, labels: Labels) -> Array:
    """Return the membership of each row in its cluster, averaged over its completions."""
    rows = np.arange(len(labels))
    return np.asarray(np.mean([estimator.predict_proba(X)[rows, labels] for X in completions], axis=0))


def _predict_all(estimator: Any, completions: Array) -> Labels:
    return np.array([estimator.predict(X) for X in completions], dtype=np.intp)


def _find_most_frequent(votes: Labels) -> tuple[Labels, Array]:
    """Return the most frequent label of each column, and the share of the others."""
    counts = np.array([(votes == k).sum(axis=0) for k in range(int(votes.max(initial=0)) + 1)])
    return np.asarray(counts.argmax(axis=0), dtype=np.intp), 1.0 - counts.max(axis=0) / len(votes)


def _measure_instability(labels: list[Labels], best: int, chosen: Labels) -> Array:
    """Return the share of all clusterings in which each row is in another cluster than the chosen one.

    Clusters are matched with those of the best clustering such that most rows agree.
    """
    from scipy.optimize import linear_sum_assignment

    differs = np.zeros(len(chosen))
    for other in labels:
        codes, own = (np.unique(one, return_inverse=True) for one in (other, labels[best]))
        table = np.zeros((len(own[0]), len(codes[0])))
        np.add.at(table, (own[1], codes[1]), 1.0)
        ours, theirs = linear_sum_assignment(-table)
        partner = np.full(table.shape[1], -1)
        partner[theirs] = own[0][ours]
        differs += partner[codes[1]] != chosen
    return np.asarray(differs / len(labels))
