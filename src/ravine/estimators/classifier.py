"""MinimumDensityClassifier, a semi-supervised scikit-learn classifier."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from ravine._typing import Array
from ravine.checks import check_weights, count_threads, make_generator
from ravine.classes.labels import UNLABELLED, compare_labels, drop_weightless, encode_labels
from ravine.classes.pairs import PairModel, PairSettings, fit_pairs
from ravine.classes.query import choose_rows
from ravine.estimators._shared import (
    CALLBACKS,
    apply_to_rows,
    at_least,
    between,
    find_documentation,
    get_feature_names,
    insert_default,
    start_fit,
    warn_of_scales,
)
from ravine.estimators.hyperplane import MinimumDensityHyperplane, PathSettings
from ravine.hyperplane import Hyperplane, NoSplitWarning, PathStep
from ravine.index import LabelPenalty
from ravine.rows.inputs import allow_sparse, validate_rows
from ravine.search import Evidence, LabelSettings, Separator, make_label_settings

if TYPE_CHECKING:
    from ravine.plotting import HyperplaneDisplay

# Ratio of the bandwidth to that of the rule, for each method.
BANDWIDTH_FACTORS = {"relative": 1.5, "paper": 1.0}


class MinimumDensityClassifier(ClassifierMixin, *CALLBACKS, BaseEstimator):  # type: ignore[misc]
    """Classify with few labels: a linear classifier of the labels, moved to where rows are few nearby.

    The classifier starts from the hyperplane that the labels alone suggest, and moves it to a place nearby where there
    are fewer rows, labelled or not, than a normal curve would have. Where there is a gap, the unlabelled rows show it;
    where there is none, the hyperplane stays near that of the labels. The gaps between repeated values, such as yes and
    no, do not count. Several classes have a hyperplane for each pair. Standardise features that have different units.

    Parameters
    ----------
    hyperplane : MinimumDensityHyperplane or None, default=None
        Its ``bandwidth`` (h0), ``subsample`` and ``callback`` are used and, for ``method="paper"``, ``init``,
        ``alpha_max`` and ``path``. Its ``init`` names directions, of which the one with the lowest index is the start:
        ``"svm"``, ``"means"`` and ``"lda"`` come from the labels, ``"pc1"``, ``"pc2"``, ... are principal components,
        and ``"auto"`` is ``("pc1", "pc2", "svm")``. None means, for ``method="paper"``, ``alpha_max=0.9`` and
        ``path=PathSettings(n_alpha=20, max_iter=5, polish=False)``.
    method : {"relative", "paper"}, default="relative"
        The method above, or that of the paper (MDP²), eq. (17), which is used with
        ``**paper_settings("classification")``.
    C : "auto" or float, default="auto"
        Inverse strength of the regularisation of the labels' hyperplane, for rows scaled to a mean variance of 1.
        ``"auto"`` is 1, unless each class has several labels and 0.01, 0.1 or 10 predicts labels that are left out
        better by a paired t-test.
    density_weight : float, default=4.0
        Weight λ of the density in comparison with the labels; 0 is a linear classifier of the labels alone.
    bandwidth_factor : float or None, default=None
        Ratio of the kernel's standard deviation to h0. None is 1.5, or 1 for ``method="paper"``. For
        ``method="relative"`` h0 is multiplied by the standard deviation along the normal and divided by that along the
        first principal component.
    gamma : float or sequence of float, default=(0.1, 1.0, 10.0)
        Weights of the labels for ``method="paper"``, in increasing order. The first is used while alpha grows, the
        others in turn at the largest alpha.
    start_C : float, default=1.0
        C of the linear SVM that gives a start and, with several classes, the first classes of unlabelled rows.
    n_rounds : int, default=2
        With several classes, an unlabelled row is used only for the pairs of its current class, and each round improves
        the classes. 0 uses every unlabelled row for every pair.
    voting : {"soft", "hard"}, default="soft"
        How pairs are combined: by their probabilities, coupled into those of all classes (Wu, Lin & Weng 2004), or by
        one vote each, with ties broken by the log-odds of the pairs.
    n_jobs : int or None, default=None
        Number of threads, over pairs of classes or blocks of rows. None means 1, -1 all cores.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the subsample. Nothing is random without one (and with at most 10,000 labels).

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
        Log-ratio of the number of rows at a hyperplane to that of a normal curve, for the hyperplane of the labels and
        for the final one, and the angle between the two in degrees. Not with ``method="paper"``.
    pair_model_ : PairModel
        Hyperplanes of all pairs with the slopes of their log-odds.
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
    The guide on classification describes the method. A class may have a single label. `score` ignores unlabelled rows
    of y, so cross-validation works with the default scorer; other scorers treat -1 as a class.

    References
    ----------
    N. G. Pavlidis, D. P. Hofmeyr, S. K. Tasoulis. Minimum Density Hyperplanes. JMLR 17 (2016), 1-33.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from ravine import MinimumDensityClassifier
    >>> X, truth = make_blobs([100, 100], centers=[[0, 0], [5, 5]], random_state=0)
    >>> y = np.full(200, -1)  # unlabelled
    >>> y[[np.argmax(truth == 0), np.argmax(truth == 1)]] = 0, 1
    >>> mdc = MinimumDensityClassifier().fit(X, y)
    >>> bool((mdc.transduction_ == truth).all())
    True
    >>> mdc.predict([[0, 1], [5, 4]])
    array([0, 1])
    """

    classes_: NDArray[Any]
    transduction_: NDArray[Any]
    _doc_link_module = "ravine"
    _doc_link_template = property(lambda self: find_documentation())
    pair_model_: PairModel
    hyperplanes_: dict[tuple[Any, Any], Hyperplane]
    hyperplane_: Hyperplane
    coef_: Array
    intercept_: Array
    path_: tuple[PathStep, ...]
    n_iter_: int
    label_evidence_: Array
    density_evidence_: Array

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "hyperplane": [MinimumDensityHyperplane, None],
        "method": [StrOptions(set(BANDWIDTH_FACTORS))],
        "C": [between(1e-6, 1e6), StrOptions({"auto"})],
        "density_weight": [between(0, 1e6)],
        "bandwidth_factor": [between(1e-6, 1e6), None],
        "gamma": "no_validation",  # numbers in increasing order: by make_label_settings
        "start_C": [between(1e-12, 1e12)],
        "n_rounds": [at_least(0)],
        "voting": [StrOptions({"soft", "hard"})],
    }

    def __init__(
        self,
        *,
        hyperplane: MinimumDensityHyperplane | None = None,
        method: str = "relative",
        C: str | float = "auto",
        density_weight: float = 4.0,
        bandwidth_factor: float | None = None,
        gamma: float | Sequence[float] = (0.1, 1.0, 10.0),
        start_C: float = 1.0,
        n_rounds: int = 2,
        voting: str = "soft",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.hyperplane = hyperplane
        self.method = method
        self.C = C
        self.density_weight = density_weight
        self.bandwidth_factor = bandwidth_factor
        self.gamma = gamma
        self.start_C = start_C
        self.n_rounds = n_rounds
        self.voting = voting
        self.n_jobs = n_jobs
        self.random_state = random_state

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also those of the hyperplane, as in ``hyperplane__bandwidth``; return self."""
        insert_default(self, "hyperplane", lambda: self._get_hyperplane()[0], params)
        super().set_params(**params)
        return self

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
        with start_fit(self, X) as watch:
            rows = validate_rows(self, X, reset=True)
            warn_of_scales(self, rows)
            settings = self._make_settings(rows.shape[1])
            settings = replace(settings, search=replace(settings.search, callback=watch(settings.search.callback)))
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
        return self

    def _get_hyperplane(self) -> tuple[MinimumDensityHyperplane, PathSettings]:
        """Return the hyperplane and its path, with the defaults of the method."""
        hyperplane = self.hyperplane
        if hyperplane is None:
            path = PathSettings(n_alpha=20, max_iter=5, polish=False)
            hyperplane = MinimumDensityHyperplane(alpha_max=0.9, path=path)
        return hyperplane, PathSettings() if hyperplane.path is None else hyperplane.path

    def _make_settings(self, n_features: int) -> PairSettings:
        """Validate the parameters, and return them as settings of the search for all pairs."""
        self._validate_params()
        hyperplane, path = self._get_hyperplane()
        hyperplane._validate_params()
        path._validate_params()
        factor = BANDWIDTH_FACTORS[self.method] if self.bandwidth_factor is None else self.bandwidth_factor
        labels = LabelSettings(
            method=self.method,  # type: ignore[arg-type]
            bandwidth_factor=float(factor),
            C=None if isinstance(self.C, str) else float(self.C),
            density_weight=float(self.density_weight),
            penalty=LabelPenalty("sum", 0.0),  # eq. (16)
            start_C=float(self.start_C),
        )
        search = make_label_settings(
            hyperplane, path, labels, gamma=self.gamma, n_features=n_features, n_threads=count_threads(self.n_jobs)
        )
        return PairSettings(search, int(self.n_rounds), self.voting)

    def _store(self, model: PairModel, separators: Sequence[Separator], classes: NDArray[Any]) -> None:
        names = get_feature_names(self)
        model = replace(model, hyperplanes=tuple(replace(one, feature_names=names) for one in model.hyperplanes))
        self.classes_ = classes
        self.pair_model_ = model
        pairs = [tuple(classes[pair].tolist()) for pair in model.pairs]
        self.hyperplanes_ = dict(zip(pairs, model.hyperplanes, strict=True))
        if len(classes) == 2:
            self.hyperplane_ = model.hyperplanes[0]
        self.coef_ = np.stack([plane.normal for plane in model.hyperplanes])
        self.intercept_ = np.array([-plane.offset for plane in model.hyperplanes])
        self.path_ = tuple(step for separator in separators for step in separator.path)
        self.n_iter_ = max(1, sum(step.n_iter for step in self.path_))
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
        if unfinished and (self.method != "paper" or self._get_hyperplane()[1].polish):
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
        return apply_to_rows(self, self.pair_model_.compute_scores, X)

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
        return apply_to_rows(self, self._predict, X)

    def _predict(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.classes_[self.pair_model_.predict_codes(X)])

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
        return apply_to_rows(self, self.pair_model_.predict_proba, X)

    def query(self, X: ArrayLike, n: int = 10, *, strategy: str = "diverse") -> NDArray[np.intp]:
        """Return the rows whose labels would help most, the most helpful first.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to choose from: those that are not labelled.
        n : int, default=10
            Number of rows.
        strategy : {"diverse", "uncertainty", "change", "density"}, default="diverse"
            ``"uncertainty"``: rows between two classes. ``"change"``: rows whose labels are expected to change the
            classifier most. ``"density"``: uncertain rows with many others nearby. ``"diverse"``: uncertain rows that
            are far from each other.

        Returns
        -------
        ndarray of shape (n,)
            Indices of rows of X.
        """
        check_is_fitted(self)
        rows = validate_rows(self, X, reset=False)
        with rows.session():
            return choose_rows(rows, np.arange(rows.shape[0]), self.pair_model_.predict_proba, n, strategy)

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
