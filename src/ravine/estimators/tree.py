"""MinimumDensityTree, a scikit-learn clusterer for any number of clusters."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from ravine._typing import Array
from ravine.checks import (
    check_cluster_count,
    check_enough_rows,
    check_weights,
    restore_on_failure,
)
from ravine.estimators.hyperplane import NoSplitWarning
from ravine.estimators.outliers import OutlierMixin, check_contamination
from ravine.estimators.plot_mixins import TreePlotMixin
from ravine.estimators.training_rows import TrainingRows
from ravine.estimators.tree_constraints import TreeConstraintMixin
from ravine.estimators.tree_edits import TreeEditMixin
from ravine.estimators.tree_growth import TreeGrowthMixin
from ravine.estimators.tree_shapes import TreeShapeMixin
from ravine.rows import Rows, limit_library_threads
from ravine.rows.inputs import allow_sparse, validate_rows
from ravine.search import BandwidthRule
from ravine.tree import Candidate, Splitter, Tree
from ravine.validity.valley_test import FEWEST_ROWS

__all__ = ["MinimumDensityTree"]


class MinimumDensityTree(
    TreePlotMixin,
    TreeEditMixin,
    TreeGrowthMixin,
    TreeShapeMixin,
    TreeConstraintMixin,
    OutlierMixin,
    ClusterMixin,
    BaseEstimator,
):
    """Divisive clustering by minimum density hyperplanes.

    The hyperplane of lowest density splits the rows, then each side is split again, until there are
    ``n_clusters`` clusters or, with ``"auto"``, until the valley test shows no further split to be real.

    Standardise features that have different units, for example with :class:`sklearn.preprocessing.StandardScaler`.

    Parameters
    ----------
    n_clusters : int, "auto" or "suggested", default="auto"
        Number of clusters. With ``"auto"``, those that are shown to be real: a node is split only if the valley test is
        significant at ``alpha_test`` times its share of all rows. With ``"suggested"``, at least these, and as many as
        trees of random halves of the rows agree on (see Notes): for an answer where the evidence is thin.
    split_next : {"cut", "size", "density", "depth", "significance"} or callable, default="cut"
        Which node is split next if ``n_clusters`` is a number: the one whose split separates the fewest nearest
        neighbours in relation to the sizes of the clusters (normalised cut), the largest, or that with the lowest
        density on its hyperplane, the largest relative depth or the smallest P-value. A callable is called with a
        candidate that has the attributes ``size``, ``hyperplane``, ``pvalue`` and ``cut``; the largest value is next.
        With ``n_clusters="auto"`` nodes are split level by level. With ``"cut"``, the nearest neighbours also choose
        the hyperplane of a node among all those of the search (see Notes); otherwise it is the deepest.
    shape : {"auto", "convex", "any"}, default="auto"
        Shape of the clusters. ``"convex"``: each is a leaf of a tree of hyperplanes. ``"any"``: hyperplanes cut the
        rows into more cells than there are clusters, and cells that no valley separates are joined, which finds rings,
        moons and bars. ``"auto"``: joined cells if they are clearly better, else convex clusters (see Notes). ``"any"``
        needs the default splitter, ``split_next="cut"`` and no tests; without these, ``"auto"`` means ``"convex"``.
    refine : bool, default=True
        Whether the hyperplanes of a tree with a given number of clusters are moved at last, all at once, if that
        lowers the normalised cut, or if valleys separate fewer clusters (see Notes). Only with ``split_next="cut"`` and
        without tests.
    min_cluster_size : int or float, default=5
        Smallest number of rows on a side of a split, or their share of all rows; with weights, their sum.
    max_cluster_size : int, float or None, default=None
        Largest number of rows of a cluster, or their share of all rows. Larger clusters are split first and, without a
        number of clusters, until none is left, also where no valley separates their parts. Clusters are then convex.
    test : bool, default=False
        Whether to test splits if ``n_clusters`` is a number. ``"auto"`` and ``"significance"`` always test.
    alpha_test : float, default=0.05
        Level of the test for ``n_clusters="auto"``. The z-score that keeps joined cells apart changes with it.
    test_method : {"pooled", "exact"}, default="pooled"
        The more powerful test, calibrated by simulation, or the one that is exactly valid at the root.
    n_splits : int, default=1
        Number of repetitions of each test: of up to eight partitions, or of a random halving.
    splitter : object, optional
        Object with a method ``split(X, indices, rng)`` that returns an object with the attributes ``hyperplane`` (a
        :class:`Hyperplane` or None) and ``pvalue``, for example a :class:`Split`. The default is the minimum density
        hyperplane with the parameters below. With ``n_jobs`` several threads call it.
    contamination : float, "auto" or None, default=None
        Share of the rows that are marked as outliers, with -1 in ``labels_``: those with the largest outlier scores. A
        number between 0 and 0.5; no row is marked if all scores are equal. ``"auto"``: the rows
        that are far out (see Notes). None: no row.
    use_labels : bool, default=False
        Whether the y of ``fit`` are known labels: rows of one label are in one cluster, and rows of different labels in
        different ones. By default y is ignored, since pipelines and searches pass it to clusterers, too.
    optimiser, eta, epsilon, subsample
        As for :class:`MinimumDensityHyperplane`.
    bandwidth, init, n_init, alpha_min, alpha_max, n_alpha, max_iter, select, polish, tol
        As for :class:`MinimumDensityHyperplane`. For splits, ``init="auto"`` means ``"axes"``: it takes a third of the
        time, and the deeper hyperplanes of ``"auto"`` do not make better trees. Tests use them.
    n_jobs : int or None, default=None
        Number of threads, over nodes. None means 1, -1 all cores. The result does not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the folds or halves of the test, the subsamples and the random starts.
    callback : callable, optional
        Called with the :class:`Tree` after every split, and once more if the tree is refined.

    Attributes
    ----------
    tree_ : Tree
        Hyperplanes, P-values and sizes as arrays, with methods for viewing, rules and editing.
    labels_ : ndarray of shape (n_samples,), int
        Cluster of each row: 0, 1, ... in the order of the leaves from left to right.
    leaves_ : ndarray of shape (n_samples,), int
        Number of the leaf of each row.
    n_clusters_ : int
    violated_constraints_ : list of (str, int, int)
        Kind ("label", "must_link" or "cannot_link") and rows of every constraint that is not met, if there are any
        constraints. Edits of the tree update it; those of a tree from a model file remove it.
    probabilities_ : ndarray of shape (n_samples,)
        Membership of each row in its cluster. This and the next four are computed when they are first used.
    outlier_scores_ : ndarray of shape (n_samples,)
        From 0 to 1, comparable across clusters; 0.5 is the median row. Edits of the tree do not change it.
    n_outliers_ : int
        Number of rows that are marked with -1, by ``contamination``.
    exemplars_ : list of ndarray of int
        Indices of the five most typical rows of each cluster: those with the smallest outlier scores.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Means of the rows of each cluster, without outliers.
    n_shown_, n_suggested_ : int
        Number of clusters that the test shows, and that is suggested, which is at least as large. Only if
        ``n_clusters`` is ``"auto"`` or ``"suggested"``, and until the tree is edited.
    suggested_tree_ : Tree
        The tree with that number of clusters. It continues the tree of ``"auto"``.
    suggested_leaves_ : ndarray of shape (n_samples,), int
        Number of the leaf of each row in that tree.
    shape_ : {"convex", "any"}
        Shape of the clusters that was used.
    shape_reason_ : str
        Why, as a sentence.
    n_iter_ : int
        Number of splits, at least 1.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if all features of X have names that are strings.

    See Also
    --------
    MinimumDensityHyperplane : A single split.
    valley_test : Test of a split.

    Notes
    -----
    The P-value of the root is valid if the rows are independent and, without a split, unimodal along every direction;
    :func:`valley_test` lists the exceptions. Below the root, the same rows have already chosen the splits above, so
    those P-values are only a guide. A test that is not significant does not show that there is one cluster: it misses
    small or overlapping clusters.

    With ``split_next="cut"``, the 40 nearest neighbours of (at most 3000) rows judge the splits. The normalised cut is
    the sum over all clusters of the share of neighbours outside the cluster. The hyperplane of a node is the one, of
    all that the search passed, with the smallest normalised cut divided by the evidence for its valley (the z-score of
    the number of rows in it; features of repeated values are spread over their cells as in the valley test). A tree
    with a given number of clusters is then refined: other trees separate the components of Gaussian mixtures, with a
    common covariance matrix or with one for each, which start from the clusters of the first, and those of k-means. The
    tree with the smallest normalised cut is kept. If valleys separate fewer clusters than are asked for, it is one of
    the latter.

    Without a number, a node that fails its test is explored if it has at least a fifth of the rows: a finer tree is
    grown on them, and its nodes are tested from the leaves upwards. If one shows a valley, the node is split. Its
    P-value is then twice the smallest of the tests, divided by the share of the rows that were tested. It says that a
    part of the node has a valley; the hyperplane itself need not have one.

    The suggested number of clusters is the largest, up to 10, for which trees of random halves of the rows have a
    prediction strength (Tibshirani & Walther 2005) of at least 0.65. It is a suggestion, not evidence: a uniform cube
    is sometimes suggested to have two clusters.

    With ``shape="any"``, hyperplanes of least normalised cut divide (at most 4000) rows into up to 50 cells, or three
    for each cluster. The groups of cells with the most nearest neighbours in common are joined first. Two groups stay
    apart if a valley separates them where they meet: a z-score of at least 4 for rows within a few steps of their
    boundary in the graph of nearest neighbours. This is done for up to five sets of cells; the clusters with the
    strongest weakest boundary are kept. A cluster is then a union of leaves, and all rows are assigned by the
    hyperplanes. The z-scores are calibrated by simulation, not proved, and there are no P-values.

    With ``"auto"``, joined cells are kept if a z-score of at least 4 separates all clusters and a tenth of two of them
    is on the wrong side of the hyperplane between them: no tree of convex clusters can have them. Otherwise they
    replace the convex clusters if the z-score of their weakest boundary is at least 3 and larger by 2. Without a number
    of clusters, they replace as many or more convex clusters only if the z-scores are at least 8 and below 2.

    Memberships multiply down the tree: at a split, the log-odds of the sides are proportional to the distance from the
    hyperplane, with a slope from the density and its curvature there. If another cluster than that of the row has the
    largest product, they are replaced by the closest distribution in which it has not. An outlier score is the
    log-density of a row in its leaf, by robust centres and covariances, mapped to [0, 1]. A row is far out if it is
    beyond the upper quartile by more than three interquartile ranges. The estimator keeps a reference to X for this;
    pickles and model files do not contain X.

    With labels or links, every hyperplane that separates linked rows is moved, or the node is not split. Leaves with
    rows that cannot be in one cluster are split, and leaves with linked rows are joined. If constraints are left, all
    their rows are assigned to clusters, and leaves are split until each has rows of one, if necessary with fewer than
    ``min_cluster_size`` rows. Trees are then not refined.

    With weights, n is their sum. Integer weights equal repetition, unless there are more rows than the graph of nearest
    neighbours has or than are subsampled: the random choices then differ. Outlier scores do not use weights.

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

    def __init__(
        self,
        n_clusters: int | str = "auto",
        *,
        split_next: str | Callable[[Candidate], float] = "cut",
        shape: str = "auto",
        refine: bool = True,
        min_cluster_size: float = 5,
        max_cluster_size: float | None = None,
        test: bool = False,
        alpha_test: float = 0.05,
        test_method: str = "pooled",
        n_splits: int = 1,
        splitter: Splitter | None = None,
        contamination: float | str | None = None,
        use_labels: bool = False,
        bandwidth: BandwidthRule = "silverman",
        init: str | ArrayLike = "auto",
        n_init: int = 6,
        alpha_min: float = 0.01,
        alpha_max: float = 1.5,
        n_alpha: int = 12,
        max_iter: int = 8,
        select: str = "deepest",
        polish: bool = True,
        tol: float = 1e-6,
        optimiser: str = "lbfgs",
        eta: float = 0.01,
        epsilon: float = 1.0 - 1e-6,
        subsample: int | str | None = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        callback: Callable[[Tree], object] | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.split_next = split_next
        self.shape = shape
        self.refine = refine
        self.min_cluster_size = min_cluster_size
        self.max_cluster_size = max_cluster_size
        self.test = test
        self.alpha_test = alpha_test
        self.test_method = test_method
        self.n_splits = n_splits
        self.splitter = splitter
        self.contamination = contamination
        self.use_labels = use_labels
        self.bandwidth = bandwidth
        self.init = init
        self.n_init = n_init
        self.alpha_min = alpha_min
        self.alpha_max = alpha_max
        self.n_alpha = n_alpha
        self.max_iter = max_iter
        self.select = select
        self.polish = polish
        self.tol = tol
        self.optimiser = optimiser
        self.eta = eta
        self.epsilon = epsilon
        self.subsample = subsample
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callback = callback

    # ------------------------------------------------------------------------------------------- fit

    def fit(
        self,
        X: ArrayLike,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        must_link: ArrayLike | None = None,
        cannot_link: ArrayLike | None = None,
    ) -> MinimumDensityTree:
        """Grow the tree.

        Parameters
        ----------
        X : array-like, sparse matrix, blocks of rows or Dask collection
            Arrays of float32 or float64 are not copied as a whole, but parts of them are, for small nodes.
        y : array-like of shape (n_samples,), optional
            Known labels if ``use_labels=True``, with -1, None or NaN for unlabelled rows; ignored otherwise.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights. Unless all are 1, only if ``n_clusters`` is a number and nothing is tested.
        must_link, cannot_link : array-like of shape (n_pairs, 2), optional
            Pairs of indices of rows that are in one cluster, or in different ones.

        Returns
        -------
        self
        """
        with restore_on_failure(self), limit_library_threads():
            check_contamination(self.contamination)
            rows = validate_rows(self, X, reset=True)
            n_clusters = check_cluster_count(self.n_clusters, names=("auto", "suggested"))
            check_enough_rows(n_clusters, rows.shape[0])
            rows = rows.densify_if_small() if n_clusters is None or self.test else rows
            weights = check_weights(sample_weight, rows.shape[0])
            if weights is not None and (weights == 1.0).all():
                weights = None
            with rows.session():
                constraints = self._check_constraints(rows, y, must_link, cannot_link, n_clusters)
                n_separated = self._grow(rows, n_clusters, weights, constraints)
            self._training = TrainingRows(X, weights, rows=rows)
            self._find_outliers()
            self.labels_ = self._mark(self.labels_)
            if self.shape == "any" and self.shape_ == "convex":
                warnings.warn(f"shape='any' is not possible. {self.shape_reason_}", UserWarning, stacklevel=2)
            if n_clusters is None and rows.shape[0] < FEWEST_ROWS and self.test_method == "pooled":
                warnings.warn(
                    f"the pooled test needs at least {FEWEST_ROWS} rows, but X has {rows.shape[0]}: no split can be "
                    "shown. Give n_clusters a number, or use test_method='exact'.",
                    NoSplitWarning,
                    stacklevel=2,
                )
            self._name_violations(constraints, n_clusters)
            self._warn_of_large_clusters(rows, n_clusters, weights)
            if n_clusters is not None and n_separated < n_clusters:
                self._warn_of_few_valleys(rows, n_clusters, n_separated, weights)
        return self

    def _warn_of_few_valleys(self, rows: Rows, n_clusters: int, n_separated: int, weights: Array | None) -> None:
        """Warn that valleys separate fewer clusters than were asked for."""
        found = f"only {n_separated}" if n_separated > 1 else "no two"
        least, end = f"at least min_cluster_size={self.min_cluster_size} rows each.", ""
        if self.n_clusters_ == n_clusters and self.shape_ == "convex":
            end = " All splits are therefore those of a Gaussian mixture or of k-means."
        if weights is not None:
            least = f"a sum of weights of at least min_cluster_size={self.min_cluster_size} each."
            total = float(weights.sum())
            if total < n_clusters * self._check_sizes(rows, None, weights).smallest:
                end += f" All weights sum to {total:.6g}: multiply them, for example so that their mean is 1."
        warnings.warn(
            f"n_clusters={n_clusters} clusters were asked for, but valleys separate {found} with {least}{end}",
            NoSplitWarning,
            stacklevel=3,
        )

    def _get_partition(self) -> tuple[Tree, NDArray[np.intp]]:
        return self.tree_, self.leaves_

    def __sklearn_tags__(self) -> Any:
        return allow_sparse(super().__sklearn_tags__())

    # ------------------------------------------------------------------------------------------- use

    @property
    def _label_rows(self) -> Callable[[Any], NDArray[np.intp]]:
        return self.tree_.predict

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
