"""MinimumDensityClassifier, a semi-supervised scikit-learn classifier."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ravine._typing import Array
from ravine.checks import check_weights, make_generator, restore_on_failure
from ravine.classes.labels import UNLABELLED, compare_labels, drop_weightless, encode_labels
from ravine.classes.pairs import PairModel, PairSettings, check_pair_settings, fit_pairs
from ravine.classes.query import choose_rows
from ravine.estimators._parameters import pick_parameters
from ravine.estimators.hyperplane import NoSplitWarning
from ravine.estimators.plot_mixins import HyperplanePlotMixin
from ravine.hyperplane import PathStep
from ravine.rows import limit_library_threads
from ravine.rows.inputs import allow_sparse, validate_rows
from ravine.search import BandwidthRule, Evidence, Separator, check_label_settings, check_label_terms

__all__ = ["MinimumDensityClassifier"]


class MinimumDensityClassifier(HyperplanePlotMixin, ClassifierMixin, BaseEstimator):
    """Classify with few labels: a linear classifier of the labels, moved to where rows are few nearby.

    The classifier starts from the hyperplane that the labels alone suggest, and moves it to a place nearby where there
    are fewer rows, labelled or not, than a normal curve would have. Where there is a gap, the unlabelled rows show it;
    where there is none, the hyperplane stays near that of the labels. Several classes have a hyperplane for each pair.
    Standardise features that have different units, for example with :class:`sklearn.preprocessing.StandardScaler`.

    Parameters
    ----------
    method : {"relative", "paper"}, default="relative"
        ``"relative"`` is the method above. ``"paper"`` is that of the paper, MDP²: the hyperplane minimises the density
        on it plus a penalty for labelled rows on the wrong side, eq. (17). Use it with
        ``**paper_settings("classification")``.
    C : "auto" or float, default="auto"
        Inverse strength of the regularisation of the labels' hyperplane, for rows scaled to a mean variance of 1.
        ``"auto"`` is 1, unless 0.01, 0.1 or 10 predicts labels that are left out clearly better.
    density_weight : float, default=4.0
        Weight λ of the density in comparison with the labels; 0 is a linear classifier of the labels alone.
    bandwidth : "silverman", float or callable, default="silverman"
        Bandwidth h0. ``"silverman"`` is 0.9 · s · n^(-1/5), s the standard deviation along the first principal
        component. A callable is called with ``(n, s)``.
    bandwidth_factor : float or None, default=None
        Ratio of the kernel's standard deviation to h0. None is 1.5, or 1 for ``method="paper"``.
    gamma : float or sequence of float, default=(0.1, 1.0, 10.0)
        Weights of the labels, in increasing order. The first is used while ``alpha`` grows, the others in turn at the
        largest ``alpha``. This parameter, and all up to ``start_C``, are only for ``method="paper"``.
    init : str, sequence of str or array-like of shape (k, n_features), default=("pc1", "pc2", "svm")
        Directions of which the one with the lowest index is the start: ``"svm"``, the weights of a linear SVM on the
        labels; ``"means"``, the difference of the labels' means; ``"lda"``, the same times the inverse covariance of
        all rows; ``"pc1"``, ``"pc2"``, ..., principal components. An array: its rows, each pointing to ``classes_[1]``.
    alpha_min, alpha_max, n_alpha : float, float and int, default=0.01, 0.9, 20
        The offset stays within ``alpha`` standard deviations of the mean projection, with ``n_alpha`` values of
        ``alpha`` increasing from ``alpha_min`` to ``alpha_max``.
    max_iter : int, default=5
        Optimiser iterations for each value of ``alpha`` and ``gamma``.
    polish : bool, default=False
        Whether to optimise the hyperplane that is kept to convergence.
    tol : float, default=1e-6
        The optimiser stops when the expected relative decrease of the index falls below this.
    optimiser : str, default="lbfgs"
        How directions are optimised; see :class:`MinimumDensityHyperplane`.
    eta : float, default=0.01
        Accuracy, in bandwidths, to which the penalty keeps the offset within its interval (η of the paper).
    epsilon : float, default=1 - 1e-6
        The exponent of the penalties is 1 + epsilon (ε of the paper).
    start_C : float, default=1.0
        C of the linear SVM that gives a start and, with several classes, the first classes of unlabelled rows.
    multi_class : {"gated", "ovo"}, default="gated"
        With more than two classes there is a hyperplane for each pair. ``"ovo"`` uses every unlabelled row for every
        pair. ``"gated"`` uses it only for the pairs of its current class, which each round improves.
    n_rounds : int, default=2
        Number of rounds of ``"gated"``.
    voting : {"soft", "hard"}, default="soft"
        How pairs are combined: by their probabilities, coupled into those of all classes (Wu, Lin & Weng 2004), or by
        one vote each, with ties broken by the log-odds of the pairs.
    subsample : int, "auto" or None, default="auto"
        Size of a random subsample, on which hyperplanes are optimised first if X has at least four times as many rows.
        ``"auto"`` is 10,000; None disables subsampling.
    n_jobs : int or None, default=None
        Number of threads, over pairs of classes or blocks of rows. None means 1, -1 all cores.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the subsample. Nothing is random without one (and with at most 10,000 labels).
    callback : callable, optional
        Called with every :class:`PathStep` of the path.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    hyperplane_ : Hyperplane
        The hyperplane; its normal points to ``classes_[1]``. Only with two classes.
    hyperplanes_ : dict
        For each pair of classes ``(a, b)``, in the order of ``classes_``, the hyperplane whose normal points to b.
    coef_ : ndarray of shape (n_pairs, n_features)
        The normals.
    intercept_ : ndarray of shape (n_pairs,)
        Minus the offsets.
    transduction_ : ndarray of shape (n_samples,)
        Labels of all rows of the training data: those given, and predictions for the others.
    label_evidence_ : ndarray of shape (n_pairs, 2)
        Mean loss of the labels at their own hyperplane and at the final one. Not with ``method="paper"``.
    density_evidence_ : ndarray of shape (n_pairs, 3)
        Logarithm of the number of rows at the hyperplane over that of a normal curve, at the hyperplane of the labels
        alone and at the final one, and the angle between the two in degrees. Not with ``method="paper"``.
    path_ : tuple of PathStep
        For each pair, the hyperplane of the labels and the final one; with ``method="paper"``, those of the whole path.
    n_iter_ : int
        Number of optimiser iterations, over all pairs of the last round.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if all features of X have names that are strings.

    See Also
    --------
    MinimumDensityHyperplane : Two clusters, without labels.
    paper_settings : Constructor arguments that reproduce the paper.

    Notes
    -----
    With f(x) = w·x + c, the default minimises ``(|w|² + c²)/2C + Σ max(0, 1 - y f)² + λ E`` from the minimiser of the
    first two terms. E is the logarithm of the number of rows at the hyperplane over the number that a normal curve with
    their mean and variance would have there (`RelativeDensity`). The constants were chosen on simulated data and
    public tables, none of them among the paper's sets (docs/classification.md). The log-odds of a class are 2 f.

    Rows without weight are ignored, together with their labels. Labels that contradict each other or cannot be
    separated by a hyperplane are allowed. If every row is labelled, this is a linear classifier that prefers gaps. A
    class may have a single label. `score` ignores unlabelled rows of y, so cross-validation works with them if it uses
    the default scorer. Other scorers, and `OneVsRestClassifier`, treat -1 as a class. Do not normalise weights.

    References
    ----------
    N. G. Pavlidis, D. P. Hofmeyr, S. K. Tasoulis. Minimum Density Hyperplanes. JMLR 17 (2016), 1-33.

    T.-F. Wu, C.-J. Lin, R. C. Weng. Probability estimates for multi-class classification by pairwise coupling. JMLR 5
    (2004), 975-1005.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from ravine import MinimumDensityClassifier
    >>> X, truth = make_blobs([100, 100], centers=[[0, 0], [5, 5]], random_state=0)
    >>> y = np.full(200, -1)  # unlabelled
    >>> y[np.flatnonzero(truth == 1)[0]] = 1
    >>> y[np.flatnonzero(truth == 0)[0]] = 0
    >>> mdc = MinimumDensityClassifier().fit(X, y)
    >>> bool((mdc.transduction_ == truth).all())
    True
    >>> mdc.predict([[0, 1], [5, 4]])
    array([0, 1])
    """

    def __init__(
        self,
        *,
        method: str = "relative",
        C: str | float = "auto",
        density_weight: float = 4.0,
        bandwidth: BandwidthRule = "silverman",
        bandwidth_factor: float | None = None,
        gamma: float | Sequence[float] = (0.1, 1.0, 10.0),
        init: Sequence[str] | ArrayLike = ("pc1", "pc2", "svm"),
        alpha_min: float = 0.01,
        alpha_max: float = 0.9,
        n_alpha: int = 20,
        max_iter: int = 5,
        polish: bool = False,
        tol: float = 1e-6,
        optimiser: str = "lbfgs",
        eta: float = 0.01,
        epsilon: float = 1.0 - 1e-6,
        start_C: float = 1.0,
        multi_class: str = "gated",
        n_rounds: int = 2,
        voting: str = "soft",
        subsample: int | str | None = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        callback: Callable[[PathStep], object] | None = None,
    ) -> None:
        self.method = method
        self.C = C
        self.density_weight = density_weight
        self.bandwidth = bandwidth
        self.bandwidth_factor = bandwidth_factor
        self.gamma = gamma
        self.init = init
        self.alpha_min = alpha_min
        self.alpha_max = alpha_max
        self.n_alpha = n_alpha
        self.max_iter = max_iter
        self.polish = polish
        self.tol = tol
        self.optimiser = optimiser
        self.eta = eta
        self.epsilon = epsilon
        self.start_C = start_C
        self.multi_class = multi_class
        self.n_rounds = n_rounds
        self.voting = voting
        self.subsample = subsample
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callback = callback

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> MinimumDensityClassifier:
        """Find the hyperplanes.

        Parameters
        ----------
        X : array-like, sparse matrix, blocks of rows or Dask collection of shape (n_samples, n_features)
            Labelled and unlabelled rows.
        y : array-like of shape (n_samples,)
            Labels of any type; -1 (also None or NaN) marks unlabelled rows. A y that contains only -1 and +1 means two
            classes with every row labelled.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights; an integer weight equals repetition.

        Returns
        -------
        self
        """
        with restore_on_failure(self), limit_library_threads():
            rows = validate_rows(self, X, reset=True)
            settings = self._check_settings(rows.shape[1])
            rng = make_generator(self.random_state)
            all_weights = weights = check_weights(sample_weight, rows.shape[0])
            classes, all_codes = encode_labels(y, rows.shape[0], type(self).__name__)
            weighted, codes = rows, all_codes
            if all_weights is not None and not all_weights.all():
                has_weight = all_weights > 0.0
                classes, all_codes = drop_weightless(classes, all_codes, has_weight)
                weighted = rows.subset(np.flatnonzero(has_weight))
                codes, weights = all_codes[has_weight], all_weights[has_weight]
            with rows.session():
                model, separators = fit_pairs(weighted, codes, weights, len(classes), settings, rng)
                predicted = np.asarray(rows.apply(model.predict_codes))
            self.transduction_ = classes[np.where(all_codes == UNLABELLED, predicted, all_codes)]
            self._store(model, separators, classes)
            is_open = np.ones(len(all_codes)) if all_weights is None else all_weights
            self._rows_of_fit = rows, np.flatnonzero((all_codes == UNLABELLED) & (is_open > 0.0))
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_rows_of_fit"}

    def _check_settings(self, n_features: int) -> PairSettings:
        labels = check_label_terms(**pick_parameters(self, check_label_terms))
        parameters = pick_parameters(self, check_label_settings)
        search = check_label_settings(n_features=n_features, labels=labels, **parameters)
        return check_pair_settings(search, **pick_parameters(self, check_pair_settings))

    def _store(self, model: PairModel, separators: Sequence[Separator], classes: NDArray[Any]) -> None:
        self.classes_ = classes
        self._model = model
        pairs = [tuple(classes[pair].tolist()) for pair in model.pairs]
        self.hyperplanes_ = dict(zip(pairs, model.hyperplanes, strict=True))
        if len(classes) == 2:
            self.hyperplane_ = model.hyperplanes[0]
        elif hasattr(self, "hyperplane_"):
            del self.hyperplane_  # of an earlier fit
        self.coef_ = np.stack([plane.normal for plane in model.hyperplanes])
        self.intercept_ = np.array([-plane.offset for plane in model.hyperplanes])
        self.path_ = tuple(step for separator in separators for step in separator.path)
        self.n_iter_ = max(1, sum(step.n_iter for step in self.path_))
        self.__dict__.pop("label_evidence_", None)  # of an earlier fit
        self.__dict__.pop("density_evidence_", None)
        if self.method != "paper":
            evidence = [separator.evidence or Evidence() for separator in separators]
            self.label_evidence_ = np.array([e.label_losses for e in evidence])
            self.density_evidence_ = np.array([(*e.density_ratios, e.angle) for e in evidence])
        if any(not plane.splits for plane in model.hyperplanes):
            warnings.warn(
                "All rows are equal (for some classes): they get the class with more labels.",
                NoSplitWarning,
                stacklevel=3,
            )
        unfinished = [pair for pair, separator in zip(pairs, separators, strict=True) if not separator.converged]
        if (self.polish or self.method != "paper") and unfinished:
            warnings.warn(
                f"The hyperplane between {unfinished[0][0]!r} and {unfinished[0][1]!r}"
                + (f" (and {len(unfinished) - 1} more)" if len(unfinished) > 1 else "")
                + " has not fully converged, as happens where two valleys are equally deep: treat it as approximate, "
                "or increase tol or the bandwidth.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def decision_function(self, X: ArrayLike) -> Array:
        """Return the score of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes the signed Euclidean distance to the hyperplane, positive for ``classes_[1]``. With more
            classes the logarithms of the probabilities or, with ``voting="hard"``, votes plus a term that breaks ties.
        """
        check_is_fitted(self)
        return validate_rows(self, X, reset=False).apply(self._model.compute_scores)  # type: ignore[no-any-return]

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the class of each row: that of the largest score and of the largest probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return validate_rows(self, X, reset=False).apply(self._predict)  # type: ignore[no-any-return]

    def _predict(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.classes_[self._model.predict_codes(X)])

    def __sklearn_tags__(self) -> Any:
        return allow_sparse(super().__sklearn_tags__())

    def predict_proba(self, X: ArrayLike) -> Array:
        """Predict the probability of each class, by a logistic curve of the distance.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            With ``voting="hard"`` and more than two classes, the shares of the votes.
        """
        check_is_fitted(self)
        return validate_rows(self, X, reset=False).apply(self._model.predict_proba)  # type: ignore[no-any-return]

    def query(self, n: int = 10, X: ArrayLike | None = None, *, strategy: str = "diverse") -> NDArray[np.intp]:
        """Return the unlabelled rows whose labels would help most, the most helpful first.

        Parameters
        ----------
        n : int, default=10
            Number of rows.
        X : array-like of shape (n_samples, n_features), optional
            Rows to choose from. By default the unlabelled rows of the fit, which copies and model files do not have.
        strategy : {"diverse", "uncertainty", "change", "density"}, default="diverse"
            ``"uncertainty"``: rows between two classes. ``"change"``: rows whose labels are expected to change the
            classifier most. ``"density"``: uncertain rows with many others nearby. ``"diverse"``: uncertain rows that
            are far from each other.

        Returns
        -------
        ndarray of shape (n,)
            Indices of the rows, in the data of the fit or in X.
        """
        check_is_fitted(self)
        if X is not None:
            rows = validate_rows(self, X, reset=False)
            indices = np.arange(rows.shape[0])
        elif not hasattr(self, "_rows_of_fit"):
            raise ValueError("this classifier does not have the rows of its fit: pass the unlabelled rows as X.")
        else:
            rows, indices = self._rows_of_fit
        with rows.session():
            return choose_rows(rows, indices, self._model.predict_proba, n, strategy)

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy on the labelled rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Unlabelled rows (-1, None or NaN) are ignored.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        check_is_fitted(self)
        labelled, correct = compare_labels(y, self.predict(X), self.classes_)
        weights = check_weights(sample_weight, len(labelled))
        if weights is not None and not weights[labelled].any():
            raise ValueError("sample_weight is zero for all labelled rows: there is nothing to score.")
        return float(np.average(correct, weights=None if weights is None else weights[labelled]))
