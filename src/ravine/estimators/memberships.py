"""Memberships, exemplars and centres of clusters: computed from the rows of the fit when they are first used."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ravine._typing import Array
from ravine.estimators.training_rows import TrainingRows
from ravine.rows import Rows
from ravine.rows.inputs import validate_readable_rows, validate_rows

if TYPE_CHECKING:
    from ravine.tree import Tree
    from ravine.tree.memberships import SplitOdds

__all__ = ["MembershipMixin"]

T = TypeVar("T")

# Attribute that holds the reference to the rows of the fit.
TRAINING = "_training"
# About this number of rows of the fit is compared with its result before anything is computed from them.
CHECKED_ROWS = 1000


class MembershipMixin:
    """Mixin of clusterers with soft memberships.

    A fitted estimator keeps a reference to X. Memberships of its rows, exemplars and centres are computed from it when
    they are first used. Pickles and model files do not contain X: there, only values that were used before are known.
    """

    if TYPE_CHECKING:
        _training: TrainingRows

        def _get_partition(self) -> tuple[Tree, NDArray[np.intp]]: ...

    # ------------------------------------------------------------------------------------------- memberships

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return the memberships of each row in all clusters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            Rows sum to 1. The largest membership is that of the cluster that `predict` returns.
        """
        check_is_fitted(self)
        rows = validate_rows(self, X, reset=False)
        return rows.apply(self._make_membership_function())  # type: ignore[no-any-return]

    @property
    def probabilities_(self) -> Array:
        """Membership of each row of the fit in its own cluster."""
        return self._compute("probabilities", self._compute_probabilities)

    def _compute_probabilities(self) -> Array:
        rows = self._read_training_rows("probabilities_")
        tree, leaves = self._get_partition()
        function = self._make_membership_function()

        def find_own(X: Any) -> Array:
            return np.asarray(function(X).max(axis=1))

        _check_unchanged(rows, tree, leaves)
        return np.asarray(rows.apply(find_own))

    def _make_membership_function(self) -> Callable[[Any], Array]:
        odds, (tree, _) = self._get_split_odds(), self._get_partition()
        return _Memberships(odds, tree, self._count_columns(tree))

    def _count_columns(self, tree: Tree) -> int:
        return tree.n_clusters

    def _get_split_odds(self) -> SplitOdds:
        return self._compute("odds", self._compute_split_odds)

    def _compute_split_odds(self) -> SplitOdds:
        from ravine.tree.memberships import SplitOdds  # a hyperplane is fitted without a tree
        from ravine.tree.node_samples import sample_nodes

        tree, leaves = self._get_partition()
        if tree.n_leaves == 1:
            return SplitOdds(np.full(1, np.nan), np.full(1, np.nan))
        rows = self._read_training_rows("predict_proba")
        with rows.session():
            samples = self._get_samples() if self._is_unedited else sample_nodes(tree, leaves)
            return SplitOdds.of(tree, samples, rows, self._training.weights)

    def _get_samples(self) -> dict[int, NDArray[np.intp]]:
        """Return some rows of each node of the tree of the fit."""
        from ravine.tree.node_samples import sample_nodes

        return self._compute("samples", lambda: sample_nodes(*self._get_fit_partition()))

    # ------------------------------------------------------------------------------------------- centres

    @property
    def cluster_centers_(self) -> Array:
        """Means of the rows of each cluster, of shape (n_clusters, n_features)."""
        return self._compute("centers", self._compute_centers)

    def _compute_centers(self) -> Array:
        from ravine.tree.centers import average_clusters

        rows = self._read_training_rows("cluster_centers_")
        tree, _ = self._get_partition()
        with rows.session():
            return average_clusters(
                rows, self._get_typical_clusters(), self._count_columns(tree), self._training.weights
            )

    def _get_typical_clusters(self) -> NDArray[np.intp]:
        """Return the cluster of each row of the fit, with -1 for outliers of clusters that have other rows."""
        tree, leaves = self._get_partition()
        clusters = tree.cluster[leaves]
        marks = self._training.values.get("marks")
        if marks is None:
            return clusters
        others = np.bincount(clusters[~marks], minlength=tree.n_clusters)
        return np.where(marks & (others[clusters] > 0), -1, clusters)

    # ------------------------------------------------------------------------------------------- rows of the fit

    def _get_fit_partition(self) -> tuple[Tree, NDArray[np.intp]]:
        """Return the tree of the fit and the leaf of each row, whatever edits came later."""
        return self._training.values.get("partition") or self._get_partition()

    @property
    def _is_unedited(self) -> bool:
        return self._get_fit_partition()[0] is self._get_partition()[0]

    def _compute(self, name: str, function: Callable[[], T]) -> T:
        """Return a value that is computed once."""
        check_is_fitted(self)
        values = self._training.values
        if name not in values:
            values[name] = function()
        return values[name]  # type: ignore[no-any-return]

    def _read_training_rows(self, name: str) -> Rows:
        """Return the rows of the fit; raise an error that names the attribute if they are not known any more."""
        if self._training.X is None:
            raise AttributeError(
                f"{name} is not known: it is computed from the rows of the fit, which neither pickles nor model files "
                f"contain. Use {name} before the estimator is saved, or fit again."
            )
        known = self._training.rows
        if known is None or known.is_lazy:
            known = validate_readable_rows(self, self._training.X, reset=False)
        tree, leaves = self._get_fit_partition()
        if known.in_memory and len(leaves) == known.shape[0]:
            some = np.arange(0, len(leaves), max(1, len(leaves) // CHECKED_ROWS))
            _check_unchanged(known.subset(some), tree, leaves[some])
        return known

    def __getstate__(self) -> Any:
        if TRAINING in self.__dict__ and "odds" not in self._training.values:
            self._prepare_for_copy()
        return super().__getstate__()

    def _prepare_for_copy(self) -> None:
        """Estimate the log-odds of all splits while rows in memory are known, so that copies have memberships."""
        try:
            if validate_rows(self, self._training.X, reset=False).in_memory:
                self._get_split_odds()
        except (ValueError, TypeError, AttributeError):  # no rows, or they have changed
            return


def _check_unchanged(rows: Rows, tree: Tree, leaves: NDArray[np.intp]) -> None:
    """Raise an error if the values of X have changed since the fit, so that its rows reach other leaves."""
    if rows.shape[0] != len(leaves) or not np.array_equal(np.asarray(rows.apply(tree.apply)), leaves):
        raise ValueError("X has changed since the fit: fit again, or give a copy of X to fit.")


class _Memberships:
    """Function from rows to memberships, which can be sent to other processes.

    Parameters
    ----------
    odds : SplitOdds
    tree : Tree
    n_columns : int
        Number of columns, at least that of the clusters of the tree.
    """

    def __init__(self, odds: SplitOdds, tree: Tree, n_columns: int) -> None:
        self.odds, self.tree, self.n_columns = odds, tree, n_columns

    def __call__(self, X: Any) -> Array:
        proba = self.odds.predict_proba(self.tree, X)
        more = self.n_columns - proba.shape[1]
        return np.pad(proba, ((0, 0), (0, more))) if more else proba
