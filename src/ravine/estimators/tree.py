"""MinimumDensityTree, a scikit-learn clusterer for any number of clusters."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ravine._typing import Array
from ravine.checks import (
    check_choice,
    check_cluster_count,
    check_enough_rows,
    check_weights,
    count_threads,
    make_generator,
)
from ravine.estimators._shared import (
    Splitting,
    at_least,
    between,
    get_feature_names,
    insert_default,
    start_fit,
    warn_of_scales,
)
from ravine.estimators.clusterer import DensityClusterer
from ravine.estimators.hyperplane import CONTAMINATION, MinimumDensityHyperplane, read_settings
from ravine.explain.memberships import SplitOdds
from ravine.hyperplane import NoSplitWarning
from ravine.rows import Rows, limit_library_threads
from ravine.rows.inputs import validate_rows
from ravine.search import SearchSettings
from ravine.tree import Splitter, Tree
from ravine.tree.constraints import (
    Constraint,
    Constraints,
    describe_large_clusters,
    describe_many_clusters,
    describe_violations,
    list_violations,
    make_constraints,
    make_limits,
)
from ravine.tree.editing import find_new_nodes
from ravine.tree.fit import TreeFit, TreeSettings, describe_few_clusters, describe_few_rows, fit_tree, split_leaf
from ravine.validity import TEST_METHODS

if TYPE_CHECKING:
    from ravine.plotting import BoundaryDisplay, CellDisplay, HyperplaneDisplay, TreeDisplay

SIZE = [at_least(1), between(0, 1, "neither")]
# Parameters of the estimator that concern a single split.
SPLIT_PARAMETERS = ("hyperplane", "min_cluster_size", "random_state")


class MinimumDensityTree(DensityClusterer):
    """Clustering by a tree of hyperplanes that avoid dense regions.

    Clusters of any shape and of any number, each a union of convex cells that hyperplanes bound. Standardise features
    that have different units.

    Parameters
    ----------
    n_clusters : int, "auto" or "shown", default="auto"
        Number of clusters. ``"auto"``: one, unless a test shows that there are more; then the largest number for which
        there is a valley at every boundary. ``"shown"``: the same without splits that the test does not show.
    hyperplane : MinimumDensityHyperplane, object or None, default=None
        Its ``bandwidth`` is that of the densities along the hyperplanes; with ``test``, splits into a given number of
        clusters are tested, too. It also finds the hyperplanes of clusters that are too large and of `split`. Its
        ``contamination``, ``n_jobs``, ``random_state`` and ``callback`` are not used. Another object has a method
        ``split(X, indices, rng)`` that returns a :class:`Split`; it splits the largest cluster until there are
        ``n_clusters``.
    min_cluster_size : int or float, default=5
        Smallest number of rows of a cluster, or their share of all rows; with weights, their sum.
    max_cluster_size : int, float or None, default=None
        Largest number of rows of a cluster, or their share of all rows. Larger clusters are split, also where no valley
        separates their parts.
    alpha : float, default=0.05
        Level of the tests.
    contamination : float, "auto" or None, default=None
        Share of the rows that are marked as outliers, with -1 in ``labels_``, between 0 and 0.5. ``"auto"``: the rows
        that are far out. None: no row.
    n_jobs : int or None, default=None
        Number of threads of searches for hyperplanes. None means 1, -1 all cores. The result does not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the tests, the subsamples and the random starts.
    callback : callable, optional
        Called with the :class:`Tree` after every split.

    Attributes
    ----------
    tree_ : Tree
        Hyperplanes, P-values and sizes as arrays, with methods for viewing, rules and editing.
    labels_ : ndarray of shape (n_samples,), int
        Cluster of each row, in the order of the leaves from left to right.
    leaves_ : ndarray of shape (n_samples,), int
        Number of the leaf of each row.
    n_clusters_ : int
    split_odds_ : SplitOdds
        Log-odds of the two sides of each split, for `predict_proba`.
    n_iter_ : int
        Number of splits, at least 1.
    pvalue_ : float
        P-value of the hypothesis that there is one cluster; NaN if curved clusters make the test unnecessary. This and
        the next only if ``n_clusters`` is not a number, and until the tree is edited.
    n_shown_ : int
        Number of clusters without the splits that the test does not show.
    outlier_model_ : OutlierModel
        Robust densities of the leaves. This and the next two only with ``contamination``; edits do not change them.
    outlier_scores_ : ndarray of shape (n_samples,)
    n_outliers_ : int
    constraints_ : list of (str, int, int, bool)
        Kind ("label", "must_link" or "cannot_link") and rows of every constraint, and whether the rows must be in one
        cluster. Only with constraints.
    violated_constraints_ : list of (str, int, int)
        Kind and rows of every constraint that is not met.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if all features of X have names that are strings.

    See Also
    --------
    MinimumDensityHyperplane : A single split.
    valley_test : Test of a split.

    Notes
    -----
    The guide on trees describes the method. The same rows have already chosen the splits, so the P-values of splits are
    a guide; ``pvalue_`` is that of the test of one cluster. A test that is not significant does not show that there is
    one cluster.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ravine import MinimumDensityTree
    >>> X, y = make_blobs([150, 150, 150], centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> mdt = MinimumDensityTree(random_state=0).fit(X)
    >>> mdt.n_clusters_
    3
    >>> mdt.cut(n_clusters=2).max()
    np.int64(1)
    """

    tree_: Tree
    leaves_: NDArray[np.intp]
    n_clusters_: int
    n_shown_: int
    pvalue_: float
    constraints_: list[Constraint]
    violated_constraints_: list[tuple[str, int, int]]

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_clusters": "no_validation",  # by check_cluster_count
        "hyperplane": [MinimumDensityHyperplane, Splitting(), None],
        "min_cluster_size": SIZE,
        "max_cluster_size": [*SIZE, None],
        "alpha": [between(0, 1)],
        "contamination": CONTAMINATION,
        "callback": [callable, None],
    }

    def __init__(
        self,
        n_clusters: int | str = "auto",
        *,
        hyperplane: MinimumDensityHyperplane | Splitter | None = None,
        min_cluster_size: float = 5,
        max_cluster_size: float | None = None,
        alpha: float = 0.05,
        contamination: float | str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        callback: Callable[[Tree], object] | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.hyperplane = hyperplane
        self.min_cluster_size = min_cluster_size
        self.max_cluster_size = max_cluster_size
        self.alpha = alpha
        self.contamination = contamination
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callback = callback

    # ------------------------------------------------------------------------------------------- fit

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also those of the hyperplane, as in ``hyperplane__bandwidth``; return self."""
        insert_default(self, "hyperplane", MinimumDensityHyperplane, params)
        super().set_params(**params)
        return self

    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        labels: ArrayLike | None = None,
        must_link: ArrayLike | None = None,
        cannot_link: ArrayLike | None = None,
    ) -> MinimumDensityTree:
        """Grow the tree.

        Parameters
        ----------
        X : array-like, sparse matrix, blocks of rows or Dask collection
            Arrays of float32 or float64 are not copied as a whole, but parts of them are, for small nodes.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights. Unless all are 1, only if ``n_clusters`` is a number and nothing is tested.
        labels : array-like of shape (n_samples,), optional
            Known labels, with -1, None or NaN for unlabelled rows: rows of one label are in one cluster, and rows of
            different labels in different ones.
        must_link, cannot_link : array-like of shape (n_pairs, 2), optional
            Pairs of indices of rows that are in one cluster, or in different ones.

        Returns
        -------
        self
        """
        with start_fit(self, X) as watch:
            self._validate_params()
            n_clusters = check_cluster_count(self.n_clusters, names=("auto", "shown"))
            rows = validate_rows(self, X, reset=True)
            warn_of_scales(self, rows)
            check_enough_rows(n_clusters, rows.shape[0])
            weights = _drop_ones(check_weights(sample_weight, rows.shape[0]))
            settings = self._make_settings(rows, n_clusters, weights)
            rows = rows.densify_if_small() if settings.test is not None else rows
            with rows.session():
                constraints = make_constraints(rows.shape[0], labels, must_link, cannot_link, n_clusters)
                fit = fit_tree(
                    rows,
                    weights,
                    constraints,
                    settings=settings,
                    rng=make_generator(self.random_state),
                    notify=watch(self.callback),
                )
                self._store(fit, SplitOdds.of(fit.tree, fit.leaves, rows, weights), constraints)
                self._mark_outliers(rows, self.contamination, weights)
            self._warn(fit, settings, rows, weights)
        return self

    def _make_settings(self, rows: Rows, n_clusters: int | None, weights: Array | None) -> TreeSettings:
        """Return the parameters, which are valid, as the settings of a fit."""
        hyperplane = MinimumDensityHyperplane() if self.hyperplane is None else self.hyperplane
        splitter: SearchSettings | Splitter = hyperplane
        test, n_splits = "pooled" if n_clusters is None else None, 1
        if isinstance(hyperplane, MinimumDensityHyperplane):
            splitter = read_settings(hyperplane, n_threads=count_threads(self.n_jobs)).check_init(rows.shape[1])
            test, n_splits = hyperplane.test or test, int(hyperplane.n_splits)
        total = rows.shape[0] if weights is None else float(weights.sum())
        return TreeSettings(
            n_clusters,
            splitter,
            make_limits(self.min_cluster_size, self.max_cluster_size, total, n_clusters),
            test,
            n_splits,
            float(self.alpha),
            only_shown=self.n_clusters == "shown",
        )

    def _store(self, fit: TreeFit, odds: SplitOdds, constraints: Constraints | None) -> None:
        self._store_tree(fit.tree, fit.leaves, odds)
        if isinstance(self.n_clusters, str):
            self.pvalue_, self.n_shown_ = fit.pvalue, fit.n_shown
        if constraints is not None:
            self.constraints_ = constraints.links
            self.violated_constraints_ = list_violations(self.constraints_, self.labels_)

    def _store_tree(self, tree: Tree, leaves: NDArray[np.intp], odds: SplitOdds) -> None:
        self.tree_ = tree.with_arrays(feature_names=get_feature_names(self))
        self.leaves_ = leaves
        self.labels_ = tree.cluster[leaves]
        self.n_clusters_ = tree.n_clusters
        self.split_odds_ = odds
        self.n_iter_ = max(1, tree.n_leaves - 1)

    def _warn(self, fit: TreeFit, settings: TreeSettings, rows: Rows, weights: Array | None) -> None:
        found = [
            (describe_few_rows(settings, rows.shape[0]), NoSplitWarning),
            (describe_many_clusters(self.n_clusters_, settings.n_clusters), UserWarning),
            (describe_large_clusters(self.labels_, weights, settings.limits.largest), UserWarning),
            (describe_few_clusters(fit, settings, weights, self.min_cluster_size), NoSplitWarning),
        ]
        if hasattr(self, "constraints_"):
            found.append((describe_violations(self.violated_constraints_, len(self.constraints_)), UserWarning))
        for message, category in found:
            if message:
                warnings.warn(message, category, stacklevel=3)

    # ------------------------------------------------------------------------------------------- use

    def _get_tree(self) -> Tree:
        return self.tree_

    def decision_path(self, X: ArrayLike) -> Any:
        """Return the nodes on the path of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        scipy.sparse.csr_array of shape (n_samples, n_nodes)
        """
        check_is_fitted(self)
        rows = validate_rows(self, X, reset=False)
        with rows.session():
            return self.tree_.decision_path(rows)

    def cut(self, n_clusters: int | str | None = None, significance: float | None = None) -> NDArray[np.intp]:
        """Return labels of the training rows for fewer clusters, without fitting again.

        Parameters
        ----------
        n_clusters : int or "shown", optional
            Keep the first splits that give this many clusters, at most ``n_clusters_``; or those that the test shows.
        significance : float, optional
            Keep splits whose P-value, and those of all splits above, are at most this.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        if isinstance(n_clusters, str):
            if n_clusters != "shown" or not hasattr(self, "n_shown_"):
                raise ValueError(
                    f"n_clusters={n_clusters!r} is not a number of clusters; 'shown' needs a tree that was fitted with "
                    "n_clusters='auto' or 'shown' and not edited since."
                )
            n_clusters, significance = None, float(self.alpha)
        tree = self.tree_.cut(n_clusters, significance)
        return np.where(self.labels_ < 0, -1, tree.cluster[find_new_nodes(self.tree_, tree)[self.leaves_]])

    def prune(self, node: int) -> Self:
        """Return a copy in which a node is a leaf.

        Parameters
        ----------
        node : int

        Returns
        -------
        MinimumDensityTree
        """
        check_is_fitted(self)
        tree = self.tree_.prune(node)
        new_numbers = find_new_nodes(self.tree_, tree)
        return self._copy_with(tree, new_numbers[self.leaves_], self.split_odds_.renumber(new_numbers, tree))

    def merge(self, leaf: int, other: int) -> Self:
        """Return a copy in which two leaves are one cluster.

        Parameters
        ----------
        leaf, other : int

        Returns
        -------
        MinimumDensityTree
        """
        check_is_fitted(self)
        return self._copy_with(self.tree_.merge(leaf, other), self.leaves_.copy(), self.split_odds_)

    def split(self, leaf: int, X: ArrayLike, *, test: str | None = None, **parameters: Any) -> Self:
        """Return a copy in which a leaf is split.

        Parameters
        ----------
        leaf : int
        X : array-like of shape (n_samples, n_features)
            The rows of the training data.
        test : {"pooled", "exact"} or None, default=None
            Test that gives the split a P-value; None for none.
        **parameters
            Parameters of the estimator for this split: ``hyperplane`` (its ``test`` is not used) and names like
            ``hyperplane__bandwidth``, ``min_cluster_size`` and ``random_state``.

        Returns
        -------
        MinimumDensityTree
        """
        check_is_fitted(self)
        if test is not None:
            check_choice("test", test, TEST_METHODS)
        for name in parameters:
            if name.split("__")[0] not in SPLIT_PARAMETERS:
                raise TypeError(f"split has no parameter {name!r}: it takes {', '.join(SPLIT_PARAMETERS)}.")
        rows = validate_rows(self, X, reset=False)
        if rows.shape[0] != len(self.leaves_) or not np.array_equal(rows.apply(self.tree_.apply), self.leaves_):
            raise ValueError("X must contain the rows that the tree was fitted to.")
        worker = clone(self).set_params(**{"max_cluster_size": None, **parameters})
        worker._validate_params()
        settings = replace(worker._make_settings(rows, 2, None), test=test)
        with limit_library_threads():
            rng = make_generator(worker.random_state)
            tree, leaves = split_leaf(self.tree_, self.leaves_, leaf, rows, settings, rng)
            odds = self.split_odds_.extend(tree, leaf, leaves, rows)
        return self._copy_with(tree, leaves, odds)

    def _copy_with(self, tree: Tree, leaves: NDArray[np.intp], odds: SplitOdds) -> Self:
        """Return a copy with another tree; outliers are those of the fit."""
        edited = object.__new__(type(self))
        edited.__dict__.update(self.__dict__)
        for name in ("n_shown_", "pvalue_"):  # those of the fit
            edited.__dict__.pop(name, None)
        edited._store_tree(tree, leaves, odds)
        if hasattr(self, "constraints_"):
            edited.violated_constraints_ = list_violations(self.constraints_, edited.labels_)
        edited.labels_ = np.where(self.labels_ < 0, -1, edited.labels_)
        return edited

    def plot(
        self, X: ArrayLike | None = None, *, kind: str = "tree", **options: Any
    ) -> TreeDisplay | HyperplaneDisplay | CellDisplay | BoundaryDisplay:
        """Draw the tree, one of its splits, its cells or a boundary between two clusters.

        Parameters
        ----------
        X : array-like, sparse matrix, blocks of rows or Dask collection of shape (n_samples, n_features), optional
            The rows of the fit, or others. Without X there are no densities, since the estimator does not keep the rows
            of its fit.
        kind : {"tree", "cells", "boundary"}, default="tree"
            ``"cells"``: the cells in the plane, for two features. ``"boundary"``: the density across the boundary
            between two clusters. Both need X.
        **options
            Options of :meth:`ravine.plotting.TreeDisplay.from_estimator`; with ``node=k`` those of
            :meth:`ravine.plotting.HyperplaneDisplay.from_estimator`, which needs X; for the other kinds those of
            :meth:`ravine.plotting.CellDisplay.from_estimator` and
            :meth:`ravine.plotting.BoundaryDisplay.from_estimator`.

        Returns
        -------
        TreeDisplay, HyperplaneDisplay, CellDisplay or BoundaryDisplay
        """
        from ravine.plotting import BoundaryDisplay, CellDisplay, HyperplaneDisplay, TreeDisplay

        of_tree = HyperplaneDisplay if "node" in options else TreeDisplay
        displays = {"tree": of_tree, "cells": CellDisplay, "boundary": BoundaryDisplay}
        check_choice("kind", kind, tuple(displays))
        return displays[kind].from_estimator(self, X, **options)


def _drop_ones(weights: Array | None) -> Array | None:
    """Return None for weights that are all 1."""
    return None if weights is not None and (weights == 1.0).all() else weights
