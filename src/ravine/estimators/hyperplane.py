"""MinimumDensityHyperplane, a scikit-learn clusterer of two clusters, and the settings of its path."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from ravine._typing import Array
from ravine.checks import check_weights, count_threads, make_generator
from ravine.estimators._shared import (
    Number,
    apply_to_rows,
    at_least,
    between,
    get_feature_names,
    insert_default,
    start_fit,
    warn_of_scales,
)
from ravine.estimators.clusterer import DensityClusterer
from ravine.explain.memberships import SplitOdds
from ravine.hyperplane import Hyperplane, NoSplitWarning, PathStep
from ravine.optimise import OPTIMISERS
from ravine.rows import Rows, as_rows
from ravine.rows.inputs import validate_rows
from ravine.search import BandwidthRule, Fit, SearchSettings, fit_hyperplane, make_settings
from ravine.validity import TEST_METHODS, ValleyTest, run_valley_test

if TYPE_CHECKING:
    from ravine.plotting import HyperplaneDisplay
    from ravine.tree import Tree

CONTAMINATION = [between(0, 0.5, "neither"), StrOptions({"auto"}), None]


class PathSettings(BaseEstimator):
    """Settings of the path on which a minimum density hyperplane is found.

    The offset of the hyperplane stays within alpha standard deviations of the mean projection, and alpha grows along
    the path to ``alpha_max`` of the estimator.

    Parameters
    ----------
    alpha_min : float, default=0.01
        First value of alpha.
    n_alpha : int, default=12
        Number of equally spaced values of alpha.
    max_iter : int, default=8
        Optimiser iterations for each alpha.
    select : {"last", "deepest"}, default="deepest"
        Which hyperplane of the path is kept, of those that separate two modes of the projected density: the last one,
        or the one with the largest relative depth (of those with an offset inside its interval, if there are any). With
        labels it is always the last one.
    polish : bool, default=True
        Whether to optimise the hyperplane that is kept to convergence. A hyperplane found on a subsample always is.
    tol : float, default=1e-6
        The optimiser stops when the expected relative decrease of the density falls below this.
    optimiser : str, default="lbfgs"
        How the direction is optimised: ``"lbfgs"`` is Riemannian L-BFGS. Others can be registered by
        ``ravine.optimise.register_optimiser``; ``import ravine_paper`` adds those of the paper's comparison. With more
        than 1000 sparse features the final optimisation in all of them always uses ``"lbfgs"``.
    eta : float, default=0.01
        Accuracy, in bandwidths, to which the penalty keeps the offset within its interval (η of the paper).
    epsilon : float, default=1-1e-6
        The exponent of the penalty is 1 + epsilon (ε of the paper).

    Examples
    --------
    >>> from ravine import MinimumDensityHyperplane, PathSettings
    >>> mdh = MinimumDensityHyperplane(path=PathSettings(n_alpha=20))
    >>> mdh.set_params(path__max_iter=5).path
    PathSettings(max_iter=5, n_alpha=20)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha_min": [between(0, 1e6)],
        "n_alpha": [Number(Integral, 1, 10_000, closed="both")],
        "max_iter": [at_least(1)],
        "select": [StrOptions({"last", "deepest"})],
        "polish": ["boolean"],
        "tol": [between(0, None, "left")],
        "optimiser": [StrOptions(OPTIMISERS.keys())],
        "eta": [between(0, None, "neither")],
        "epsilon": [between(0, 1, "right")],
    }

    def __init__(
        self,
        *,
        alpha_min: float = 0.01,
        n_alpha: int = 12,
        max_iter: int = 8,
        select: str = "deepest",
        polish: bool = True,
        tol: float = 1e-6,
        optimiser: str = "lbfgs",
        eta: float = 0.01,
        epsilon: float = 1.0 - 1e-6,
    ) -> None:
        self.alpha_min = alpha_min
        self.n_alpha = n_alpha
        self.max_iter = max_iter
        self.select = select
        self.polish = polish
        self.tol = tol
        self.optimiser = optimiser
        self.eta = eta
        self.epsilon = epsilon


class MinimumDensityHyperplane(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DensityClusterer):
    """Split data in two by the hyperplane of lowest density.

    The hyperplane minimises the integral of the kernel density of the data over it, eq. (6) of the paper, so it avoids
    cutting through dense clusters. Minimum density projection pursuit (MDP²) finds the best offset of every direction
    exactly and optimises the direction over the sphere, for an interval of allowed offsets that widens from the mean
    outwards. Standardise features that have different units.

    Parameters
    ----------
    bandwidth : "silverman", float or callable, default="silverman"
        Standard deviation h of the Gaussian kernel. ``"silverman"`` is 0.9 · s · n^(-1/5), s the standard deviation
        along the first principal component. A callable is called with ``(n, s)`` and returns h.
    init : {"auto", "axes", "pca", "random"} or array-like of shape (k, n_features), default="auto"
        Directions to start from. ``"pca"``: the first principal components. ``"random"``: random directions.
        ``"axes"``: principal components and, for a third, the directions in which the data look least normal.
        ``"auto"``: the most promising of many directions. An array: its rows. A :class:`MinimumDensityClassifier` also
        takes names of starts that labels suggest.
    n_init : int, default=6
        Number of paths to follow. Ignored if ``init`` is an array.
    alpha_max : float, default=1.5
        The offset stays within alpha standard deviations of the mean projection, and alpha grows to ``alpha_max``.
        Smaller values favour balanced splits.
    subsample : int, "auto" or None, default="auto"
        Size of a random subsample for the paths, if X has at least four times as many rows; the best hyperplanes are
        then optimised on all rows. ``"auto"`` is 10,000; None disables subsampling.
    path : PathSettings or None, default=None
        Steps and optimiser of the path. None means ``PathSettings()``.
    test : {"pooled", "exact"} or None, default=None
        Test of whether X has more than one cluster: the more powerful one, whose level is checked by simulation, or the
        one that is exactly valid (see :func:`valley_test`). Not with weights.
    n_splits : int, default=1
        Number of repetitions of that test: of up to 16 partitions, or of a random halving.
    contamination : float, "auto" or None, default=None
        Share of the rows that are marked as outliers, with -1 in ``labels_``, between 0 and 0.5. ``"auto"``: rows whose
        log-density is beyond its quartile by more than three interquartile ranges. None: no row.
    n_jobs : int or None, default=None
        Number of threads. None means 1, -1 all cores. The result does not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the subsample, the random starts and the test. Nothing else is random.
    callback : callable, optional
        Called with a :class:`PathStep` after every stage of every start. The starts then run one after the other.

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
        Relative difference between the density at the lower of the two adjacent modes and that on the hyperplane; 0 if
        no split was found. It is not evidence for clusters by itself: see ``test``.
    bandwidth_ : float
        Bandwidth h.
    valley_test_ : ValleyTest
        Result of the test, if there was one.
    pvalue_ : float
        P-value of the test, if there was one.
    path_ : tuple of PathStep
        Every hyperplane on the paths of all starts.
    n_iter_ : int
        Number of optimiser iterations, over all starts.
    split_odds_ : SplitOdds
        Log-odds of the two sides, from which `predict_proba` computes memberships.
    outlier_model_, outlier_scores_, n_outliers_
        As for :class:`MinimumDensityTree`. Only with ``contamination``.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if all features of X have names that are strings.

    See Also
    --------
    minimum_density_hyperplane : Function that returns the hyperplane.
    paper_settings : Constructor arguments that reproduce the paper.

    Notes
    -----
    The defaults were chosen on simulated data, never on the paper's data sets. n is the sum of the weights, and
    standard deviations divide by n, so an integer weight equals repetition.

    References
    ----------
    N. G. Pavlidis, D. P. Hofmeyr, S. K. Tasoulis. Minimum Density Hyperplanes. JMLR 17 (2016), 1-33.

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
    """

    hyperplane_: Hyperplane
    coef_: Array
    intercept_: Array
    density_: float
    relative_depth_: float
    bandwidth_: float
    path_: tuple[PathStep, ...]
    valley_test_: ValleyTest
    pvalue_: float

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "bandwidth": [StrOptions({"silverman"}), between(0, None, "neither"), callable],
        "init": "no_validation",  # depends on the number of features and on labels
        "n_init": [at_least(1)],
        "alpha_max": [between(0, 1e6, "right")],
        "subsample": [at_least(2), StrOptions({"auto"}), None],
        "path": [PathSettings, None],
        "test": [StrOptions(set(TEST_METHODS)), None],
        "n_splits": [at_least(1)],
        "contamination": CONTAMINATION,
        "callback": [callable, None],
    }

    def __init__(
        self,
        bandwidth: BandwidthRule = "silverman",
        *,
        init: str | Sequence[str] | ArrayLike = "auto",
        n_init: int = 6,
        alpha_max: float = 1.5,
        subsample: int | str | None = "auto",
        path: PathSettings | None = None,
        test: str | None = None,
        n_splits: int = 1,
        contamination: float | str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        callback: Callable[[PathStep], object] | None = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.init = init
        self.n_init = n_init
        self.alpha_max = alpha_max
        self.subsample = subsample
        self.path = path
        self.test = test
        self.n_splits = n_splits
        self.contamination = contamination
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callback = callback

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also those of the path, as in ``path__n_alpha``; return self."""
        insert_default(self, "path", PathSettings, params)
        super().set_params(**params)
        return self

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
        with start_fit(self, X) as watch:
            settings = read_settings(self, n_threads=count_threads(self.n_jobs), callback=watch(self.callback))
            rng = make_generator(self.random_state)
            rows = validate_rows(self, X, reset=True, measure=sample_weight is None)
            warn_of_scales(self, rows)
            weights = check_weights(sample_weight, rows.shape[0])
            if self.test is not None and weights is not None and not (weights == 1.0).all():
                raise ValueError("test cannot be used with sample_weight: repeated rows are not evidence.")
            settings = settings.check_init(rows.shape[1])
            with rows.session():
                fit = fit_hyperplane(rows, weights, settings=settings, rng=rng)
                self._store_test(rows, settings, rng)
                if rows.is_lazy:
                    fit = replace(fit, labels=rows.apply(fit.hyperplane.side))
                self._store(fit)
                self.split_odds_ = _estimate_odds(fit, rows, weights)
                self._mark_outliers(rows, self.contamination, weights)
            self._warn(fit)
        return self

    def _store_test(self, rows: Rows, settings: SearchSettings, rng: np.random.Generator) -> None:
        if self.test is not None:
            self.valley_test_ = run_valley_test(rows, int(self.n_splits), settings, rng, method=self.test)
            self.pvalue_ = self.valley_test_.pvalue

    def _store(self, fit: Fit) -> None:
        self.hyperplane_ = replace(fit.hyperplane, feature_names=get_feature_names(self))
        assert fit.labels is not None
        self.labels_ = fit.labels
        self.coef_ = fit.hyperplane.normal[None].copy()
        self.intercept_ = np.array([-fit.hyperplane.offset])
        self.density_ = fit.hyperplane.density
        self.relative_depth_ = fit.hyperplane.relative_depth
        self.bandwidth_ = fit.hyperplane.bandwidth
        self.path_ = fit.path
        self.n_iter_ = max(1, sum(step.n_iter for step in self.path_))

    def _warn(self, fit: Fit) -> None:
        if fit.why_no_split is not None:
            warnings.warn(
                f"No split was found: {fit.why_no_split}. All rows get the label 0.", NoSplitWarning, stacklevel=3
            )
        elif fit.best is not None and fit.best.polished and not fit.best.converged and _get_path(self).polish:
            warnings.warn(
                "The hyperplane has not fully converged, as happens where two valleys are equally deep: treat the "
                "direction as approximate, or increase tol or the bandwidth.",
                ConvergenceWarning,
                stacklevel=3,
            )

    # ------------------------------------------------------------------------------------------- use

    def _get_tree(self) -> Tree:
        from ravine.tree.grow import make_split_tree  # most fits need no tree

        return make_split_tree(self.hyperplane_, (1, 1) if len(self.split_odds_.slopes) > 1 else (1, 0))

    def _get_labeller(self) -> Callable[[Any], NDArray[np.intp]]:
        return self.hyperplane_.side

    def _count_clusters(self) -> int:
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
        return apply_to_rows(self, self.hyperplane_.distance, X)

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
        return apply_to_rows(self, self._project, X)

    def _project(self, X: Any) -> Array:
        return as_rows(X).project(np.zeros(X.shape[1]), self.hyperplane_.normal)[:, None]

    def plot(self, X: ArrayLike | None = None, y: ArrayLike | None = None, **options: Any) -> HyperplaneDisplay:
        """Draw the hyperplane, the rows around it and the projected density.

        Parameters
        ----------
        X : array-like, sparse matrix, blocks of rows or Dask collection of shape (n_samples, n_features)
            The rows of the fit, or others. Required, since the estimator does not keep the rows of its fit.
        y : array-like of shape (n_samples,), optional
            Labels for the colours.
        **options
            Options of :meth:`ravine.plotting.HyperplaneDisplay.from_estimator`.

        Returns
        -------
        HyperplaneDisplay
        """
        from ravine.plotting import HyperplaneDisplay

        return HyperplaneDisplay.from_estimator(self, X, y, **options)


def read_settings(
    hyperplane: MinimumDensityHyperplane, *, n_threads: int = 1, callback: Callable[[PathStep], object] | None = None
) -> SearchSettings:
    """Validate the parameters of an estimator and of its path, and return them as settings of a search."""
    hyperplane._validate_params()
    path = _get_path(hyperplane)
    path._validate_params()
    return make_settings(hyperplane, path, n_threads=n_threads, callback=callback)


def _get_path(hyperplane: MinimumDensityHyperplane) -> PathSettings:
    return PathSettings() if hyperplane.path is None else hyperplane.path


def _estimate_odds(fit: Fit, rows: Rows, weights: Array | None) -> SplitOdds:
    """Estimate the log-odds of both sides; those of a tree of one leaf if there is no split."""
    if not fit.hyperplane.splits or not (rows.is_lazy or _has_both(np.asarray(fit.labels))):
        return SplitOdds.unknown(1)
    return SplitOdds.of_hyperplane(fit.hyperplane, rows, weights)


def _has_both(labels: NDArray[np.intp]) -> bool:
    return bool(labels.any() and not labels.all())
