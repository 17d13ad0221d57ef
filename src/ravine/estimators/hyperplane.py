"""MinimumDensityHyperplane, a scikit-learn clusterer of two clusters."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ravine._typing import Array
from ravine.checks import check_choice, check_flag, check_integer, check_weights, make_generator, restore_on_failure
from ravine.estimators._parameters import pick_parameters
from ravine.estimators.outliers import OutlierMixin, check_contamination
from ravine.estimators.plot_mixins import HyperplanePlotMixin
from ravine.estimators.training_rows import TrainingRows
from ravine.hyperplane import PathStep
from ravine.rows import as_rows, limit_library_threads
from ravine.rows.inputs import allow_sparse, validate_rows
from ravine.search import BandwidthRule, Fit, check_settings, fit_hyperplane
from ravine.validity import TEST_METHODS, run_valley_test

if TYPE_CHECKING:
    from ravine.tree import Tree

__all__ = ["MinimumDensityHyperplane", "NoSplitWarning"]


class NoSplitWarning(UserWarning):
    """Warning that some rows could not be split, so that there are fewer clusters or classes than possible.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from ravine import MinimumDensityHyperplane, NoSplitWarning
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     mdh = MinimumDensityHyperplane().fit(np.zeros((10, 2)))
    >>> caught[0].category is NoSplitWarning, mdh.labels_.max()
    (True, np.int64(0))
    """


class MinimumDensityHyperplane(
    HyperplanePlotMixin,
    OutlierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
):
    """Split data in two by the hyperplane of lowest density.

    The hyperplane minimises the integral of the kernel density of the data over it, eq. (6) of the paper, so it avoids
    cutting through dense clusters. Minimum density projection pursuit (MDP²) finds it: for every direction the best
    offset is found globally and exactly, and the direction is optimised over the sphere, for an interval of allowed
    offsets that widens from the mean outwards.

    Standardise features that have different units, for example with :class:`sklearn.preprocessing.StandardScaler`.

    Parameters
    ----------
    bandwidth : "silverman", float or callable, default="silverman"
        Standard deviation h of the Gaussian kernel. ``"silverman"`` is 0.9 · s · n^(-1/5), s the standard deviation
        along the first principal component. A callable is called with ``(n, s)`` and returns h.
    init : {"auto", "axes", "pca", "random"} or array-like of shape (k, n_features), default="auto"
        Directions to start from. ``"pca"``: the first ``n_init`` principal components. ``"random"``: ``n_init`` random
        directions. ``"axes"``: principal components for two thirds of them and, for the rest, the directions in which
        the data look least normal (invariant coordinate selection). ``"auto"``: the most promising of many directions.
        These are ``n_init`` principal components, the directions in which the data look least normal, and the
        discriminants of all pairs of ``n_init`` k-means clusters (at most 8). Short paths from all of them are compared
        on at most 3000 rows, and the deepest are followed. An array: its rows.
    n_init : int, default=6
        Number of paths to follow. With ``init="auto"`` half of them continue the deepest short paths, and the others
        start again from the same hyperplanes with the smallest ``alpha``. Ignored if ``init`` is an array.
    alpha_min, alpha_max : float, default=0.01, 1.5
        The offset stays within ``alpha`` standard deviations of the mean projection, with ``alpha`` increasing from
        ``alpha_min`` to ``alpha_max``. Smaller values favour balanced splits.
    n_alpha : int, default=12
        Number of equally spaced values of ``alpha``.
    max_iter : int, default=8
        Optimiser iterations for each ``alpha``.
    select : {"last", "deepest"}, default="deepest"
        Which hyperplane of the path is kept, of those that separate two modes of the projected density: the last one,
        or the one with the largest relative depth (of those with an offset inside its interval, if there are any).
    polish : bool, default=True
        Whether to optimise the hyperplane that is kept to convergence. A hyperplane found on a subsample always is.
    tol : float, default=1e-6
        The optimiser stops when the expected relative decrease of the density falls below this.
    optimiser : str, default="lbfgs"
        How the direction is optimised: ``"lbfgs"``, Riemannian L-BFGS; ``"bfgs"``, BFGS on a vector of any length;
        ``"spherical"``, BFGS in spherical coordinates, as in the paper; ``"gradient_sampling"`` or
        ``"adaptive_gradient_sampling"``, for kinks. All but the first are provided for comparison and cost more. With
        more than 1000 sparse features the final optimisation in all of them always uses ``"lbfgs"``.
    eta : float, default=0.01
        Accuracy, in bandwidths, to which the penalty keeps the offset within its interval (η of the paper).
    epsilon : float, default=1-1e-6
        The exponent of the penalty is 1 + epsilon (ε of the paper).
    subsample : int, "auto" or None, default="auto"
        Size of a random subsample. If X has at least four times as many rows, paths are followed on the subsample,
        and the best one or two hyperplanes are then optimised on all rows. If X has at least a hundred times as many
        rows, subsamples of ten times the size, and so on, come in between. ``"auto"`` is 10,000; None disables
        subsampling.
    test : bool, default=False
        Whether to test if the split is real (see :func:`valley_test`). Not with weights.
    test_method : {"pooled", "exact"}, default="pooled"
        The more powerful test, calibrated by simulation, or the one that is exactly valid.
    n_splits : int, default=1
        Number of repetitions of that test: of up to eight partitions, or of a random halving.
    contamination : float, "auto" or None, default=None
        Share of the rows that are marked as outliers, with -1 in ``labels_``: those with the largest outlier scores. A
        number between 0 and 0.5; no row is marked if all scores are equal. ``"auto"``: rows whose
        log-density is beyond its quartile by more than three interquartile ranges. None: no row.
    n_jobs : int or None, default=None
        Number of threads. None means 1, -1 all cores. The result does not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the subsample, the random starts and the test. Nothing else is random.
    callback : callable, optional
        Called with a :class:`PathStep` after every stage of every start. The starts then run one after the other,
        whatever ``n_jobs`` is.

    Attributes
    ----------
    hyperplane_ : Hyperplane
        The hyperplane; its normal points to the smaller side. If no split was found it lies at infinity.
    labels_ : ndarray of shape (n_samples,), int
        0 or 1; 1 is the smaller side (by weight). All 0 if no split was found. A lazy array if X is a Dask collection.
    coef_ : ndarray of shape (1, n_features)
        The normal.
    intercept_ : ndarray of shape (1,)
        Minus the offset, so that ``X @ coef_.T + intercept_`` is the signed distance.
    density_ : float
        Density integrated over the hyperplane; NaN if no split was found.
    relative_depth_ : float
        Relative difference between the density at the lower of the two adjacent modes and that on the hyperplane, at
        most 8.2e307; 0 if no split was found. It is not evidence for clusters by itself, because the direction was
        chosen to make it large. See ``test``.
    bandwidth_ : float
        Bandwidth h.
    valley_test_ : ValleyTest
        Result of the test. Only if ``test=True``.
    pvalue_ : float
        P-value of the test. Only if ``test=True``.
    path_ : tuple of PathStep
        Every hyperplane on the paths of all starts.
    n_iter_ : int
        Number of optimiser iterations, over all starts.
    probabilities_, outlier_scores_, n_outliers_, exemplars_, cluster_centers_
        As for :class:`MinimumDensityTree`; computed when they are first used.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if all features of X have names that are strings.

    See Also
    --------
    minimum_density_hyperplane : Function that returns the hyperplane.
    paper_settings : Constructor arguments that reproduce the paper.

    Notes
    -----
    The defaults were chosen on simulated data (``benchmarks/defaults.py``), never on the paper's data sets. The paper's
    settings are available from :func:`paper_settings`.

    n is the sum of the weights, and standard deviations divide by n, so an integer weight equals repetition. η is in
    units of the bandwidth, not of the data as in the paper, so the result does not depend on units.

    References
    ----------
    N. G. Pavlidis, D. P. Hofmeyr, S. K. Tasoulis. Minimum Density Hyperplanes. Journal of Machine Learning Research
    17 (2016), 1-33.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ravine import MinimumDensityHyperplane
    >>> X, y = make_blobs([40, 60], centers=[[0, 0], [6, 6]], random_state=0)
    >>> mdh = MinimumDensityHyperplane().fit(X)
    >>> mdh.labels_.sum()
    np.int64(40)
    >>> mdh.predict([[0, 0], [6, 6]])
    array([1, 0])
    >>> bool(mdh.relative_depth_ > 1)
    True
    """

    def __init__(
        self,
        *,
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
        test: bool = False,
        test_method: str = "pooled",
        n_splits: int = 1,
        contamination: float | str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        callback: Callable[[PathStep], object] | None = None,
    ) -> None:
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
        self.test = test
        self.test_method = test_method
        self.n_splits = n_splits
        self.contamination = contamination
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callback = callback

    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> MinimumDensityHyperplane:
        """Find the hyperplane.

        Parameters
        ----------
        X : array-like, sparse matrix, blocks of rows or Dask collection of shape (n_samples, n_features)
            Blocks are a list of arrays or `RowBlocks`, for data larger than memory. Float32 and float64 arrays, in C
            or Fortran order, are not copied, unless they have fewer rows than features or some weights are zero.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights.

        Returns
        -------
        self
        """
        with restore_on_failure(self), limit_library_threads():
            check_contamination(self.contamination)
            test, n_splits = check_flag("test", self.test), check_integer("n_splits", self.n_splits, low=1)
            test_method = check_choice("test_method", self.test_method, TEST_METHODS)
            settings = check_settings(**pick_parameters(self, check_settings))
            rng = make_generator(self.random_state)
            rows = validate_rows(self, X, reset=True, measure=sample_weight is None)
            weights = check_weights(sample_weight, rows.shape[0])
            if test and weights is not None:
                raise ValueError("test=True cannot be used with sample_weight: repeated rows are not evidence.")
            settings = settings.check_init(rows.shape[1])
            with rows.session():
                fit = fit_hyperplane(rows, weights, settings=settings, rng=rng)
                for name in ("valley_test_", "pvalue_"):
                    self.__dict__.pop(name, None)
                if test:
                    self.valley_test_ = run_valley_test(rows, n_splits, settings, rng, method=test_method)
                    self.pvalue_ = self.valley_test_.pvalue
            if rows.is_lazy:
                fit = replace(fit, labels=rows.apply(fit.hyperplane.side))
            self._training = TrainingRows(X, weights, {"labels": fit.labels}, rows)
            self._store(fit)
            self._find_outliers()
            if self.contamination is not None:
                self.labels_ = self._mark(np.asarray(fit.labels))
        return self

    def _store(self, fit: Fit) -> None:
        self.hyperplane_ = fit.hyperplane
        self.labels_ = fit.labels
        self.coef_ = fit.hyperplane.normal[None].copy()
        self.intercept_ = np.array([-fit.hyperplane.offset])
        self.density_ = fit.hyperplane.density
        self.relative_depth_ = fit.hyperplane.relative_depth
        self.bandwidth_ = fit.hyperplane.bandwidth
        self.path_ = fit.path
        self.n_iter_ = max(1, sum(step.n_iter for step in self.path_))
        if fit.why_no_split is not None:
            warnings.warn(
                f"No split was found: {fit.why_no_split}. All rows get the label 0.", NoSplitWarning, stacklevel=3
            )
        elif self.polish and fit.best is not None and fit.best.polished and not fit.best.converged:
            warnings.warn(
                "The hyperplane has not fully converged, as happens where two valleys are equally deep: treat the "
                "direction as approximate, or increase tol or the bandwidth.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _get_partition(self) -> tuple[Tree, NDArray[np.intp]]:
        """Return the tree of the one split, and the leaf of each row."""
        from ravine.tree.grow import make_split_tree  # a fit needs no tree

        labels = self._training.values["labels"]  # without marks of outliers
        return self._compute("split_tree", lambda: make_split_tree(self.hyperplane_, np.asarray(labels)))

    def _count_columns(self, tree: Tree) -> int:
        return 2

    @property
    def _n_features_out(self) -> int:
        return 1

    def decision_function(self, X: ArrayLike) -> Array:
        """Return the signed Euclidean distance to the hyperplane: positive for label 1, -inf if no split was found.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return validate_rows(self, X, reset=False).apply(self.hyperplane_.distance)  # type: ignore[no-any-return]

    @property
    def _label_rows(self) -> Callable[[Any], NDArray[np.intp]]:
        return self.hyperplane_.side

    def transform(self, X: ArrayLike) -> Array:
        """Project the rows on the normal; the split is at ``hyperplane_.offset``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, 1)
        """
        check_is_fitted(self)
        return validate_rows(self, X, reset=False).apply(self._project)  # type: ignore[no-any-return]

    def _project(self, X: Any) -> Array:
        return as_rows(X).project(np.zeros(X.shape[1]), self.hyperplane_.normal)[:, None]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        return allow_sparse(tags)
