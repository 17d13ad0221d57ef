"""Transductive support vector machine trained by gradient descent (Chapelle and Zien)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ravine.checks import check_integer, check_number
from ravine_paper._typing import Array
from ravine_paper.baselines.semi_supervised.coordinates import KernelOptions, Map
from ravine_paper.baselines.semi_supervised.cross_validation import (
    check_grid,
    select_best,
    sort_by_nearness,
    split_labels,
)
from ravine_paper.baselines.semi_supervised.margin_descent import MarginLoss, anneal
from ravine_paper.baselines.semi_supervised.transductive import Rule, TransductiveClassifier

__all__ = ["GradientTSVM"]

DEFAULT_C = 1.0
# First value of the unlabelled cost, as a part of the last.
FIRST_FACTOR = 0.01
# Tolerance of the solutions before the last, and of the cross-validated ones.
PATH_TOL = 1e-3


class GradientTSVM(TransductiveClassifier):
    """∇TSVM: linear function that keeps labelled rows on their sides and unlabelled rows away from zero.

    For two classes it minimises over f(x) = w·φ(x) + b

        ½ ‖w‖² + C Σ_labelled max(0, 1 - y f(x))² + C* Σ_unlabelled exp(-3 f(x)²)

    where the mean of f over the unlabelled rows is constrained to the mean of the labels. C* takes ``n_stages`` values
    from C/100 to C in geometric progression. Each problem starts from the solution of the one before, since the
    objective has many local minima.

    With the inner-product kernel the boundary is a hyperplane in a gap of the rows, similar to a minimum density
    hyperplane of fixed bandwidth. ``kernel="rbf"`` uses the coordinates of kernel PCA.

    Parameters
    ----------
    C : float or sequence of float, default=(0.1, 1.0, 10.0, 100.0)
        In units of 1 / total variance of the rows (or of their coordinates), so that it does not depend on the units of
        X. One of several values is chosen by cross-validation on the labels.
    unlabelled_weight : float, default=1.0
        Last value of C* / C. Zero ignores unlabelled rows except in the constraint.
    n_stages : int, default=11
        Number of values of C*.
    tol : float, default=1e-7
        Largest entry of the gradient, relative to the sum of all costs, at which the last solution is accepted.
    max_iter : int, default=500
        Maximum number of iterations for each value of C*.
    kernel : {"linear", "rbf"}, default="linear"
    kernel_gamma : "scale" or float, default="scale"
        Parameter of the kernel exp(-gamma ‖x - x'‖²). ``"scale"`` is 1 / (n_features · mean variance).
    n_landmarks : int, default=500
        With ``kernel="rbf"`` and more rows than this, the Nyström method approximates the kernel from this many random
        rows.
    multi_class : {"ovo", "gated"}, default="gated"
        With more than two classes there is a function for each pair, and they vote. With ``"gated"`` a pair uses only
        rows that a linear SVM on the labels assigns to one of the two; with ``"ovo"`` it keeps away from unlabelled
        rows of all classes.
    random_state : int, RandomState, Generator or None, default=None
        Determines the folds and the landmarks.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n_samples,)
        Given labels, and the predicted ones of unlabelled rows.
    chosen_ : list of dict
        Parameters used for each pair of classes.
    cv_errors_ : ndarray
        Their cross-validated error on the labels of the pair; NaN if it was not used for a choice.
    coef_ : ndarray of shape (n_pairs, n_features)
        Defined only with the linear kernel, as is `intercept_`.
    intercept_ : ndarray of shape (n_pairs,)
    n_iter_ : ndarray of shape (n_pairs,)
        Number of iterations of the final fits, for all values of C* together.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Defined only if X has feature names that are all strings.

    Notes
    -----
    C is chosen with the labels of a pair alone: by leaving out one label at a time for up to 10, else by five
    stratified folds. Ties go to the value nearest 1, which is also used where a class has a single label. If no row is
    unlabelled there is no constraint: b is free, and this is a linear SVM with squared hinges. Probabilities are not
    available, since the margins of a few labels cannot be calibrated.

    C/100 as the first value, eleven stages and squared hinges are those of the program that Chapelle and Zien released
    (their text has plain hinges). Here the ratio of two successive values is 100^(1/10), so that the eleven include
    both ends; in their program it is 100^(1/11). The first problem starts from w = 0.

    References
    ----------
    O. Chapelle, A. Zien. Semi-supervised classification by low density separation. International Workshop on
    Artificial Intelligence and Statistics (2005). The graph distances of that paper are not part of this.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from ravine_paper.baselines import GradientTSVM
    >>> X, truth = make_blobs([100, 100], centers=[[0, 0], [5, 5]], random_state=0)
    >>> y = np.where(np.arange(200) < 20, truth, -1)
    >>> tsvm = GradientTSVM(random_state=0).fit(X, y)
    >>> bool((tsvm.transduction_ == truth).all())
    True
    """

    def __init__(
        self,
        *,
        C: float | Sequence[float] = (0.1, 1.0, 10.0, 100.0),
        unlabelled_weight: float = 1.0,
        n_stages: int = 11,
        tol: float = 1e-7,
        max_iter: int = 500,
        kernel: str = "linear",
        kernel_gamma: float | str = "scale",
        n_landmarks: int = 500,
        multi_class: str = "gated",
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.unlabelled_weight = unlabelled_weight
        self.n_stages = n_stages
        self.tol = tol
        self.max_iter = max_iter
        self.kernel = kernel
        self.kernel_gamma = kernel_gamma
        self.n_landmarks = n_landmarks
        self.multi_class = multi_class
        self.random_state = random_state

    def _make_learner(self, n_rows: int, n_features: int, n_classes: int) -> _GradientTSVMLearner:
        n_stages = check_integer("n_stages", self.n_stages, low=1)
        return _GradientTSVMLearner(
            sort_by_nearness(check_grid("C", self.C), DEFAULT_C),
            check_number("unlabelled_weight", self.unlabelled_weight, low=0.0),
            np.geomspace(FIRST_FACTOR, 1.0, n_stages) if n_stages > 1 else np.ones(1),
            check_number("tol", self.tol, low=0.0, open_low=True),
            check_integer("max_iter", self.max_iter, low=1),
            KernelOptions.of(self),
        )

    def _store(self, rules: Sequence[Rule]) -> None:
        super()._store(rules)
        self.n_iter_ = np.array([max(1, rule.details["n_iter"]) for rule in rules])
        if not all(rule.details["converged"] for rule in rules):
            warnings.warn(
                "The gradient TSVM is not fully converged: increase max_iter or tol.", ConvergenceWarning, stacklevel=3
            )


@dataclass(frozen=True)
class _AnnealedProblem:
    """Labelled and unlabelled rows along scaled principal axes, where the curvature is nearly diagonal.

    Without unlabelled rows no constraint fixes the intercept: it is then the coefficient of a last column of ones.
    """

    labelled: Array
    signs: Array
    unlabelled: Array
    ridge: Array
    center: Array
    axes: Array
    free_intercept: bool

    @classmethod
    def of(cls, rows: Array, signs: Array) -> _AnnealedProblem:
        known = np.abs(signs) == 1.0
        labelled, unlabelled, y = rows[known], rows[signs == 0.0], signs[known]
        free = not len(unlabelled)
        center = (labelled if free else unlabelled).mean(axis=0)
        used = np.concatenate([labelled, unlabelled])
        covariance = np.cov(used, rowvar=False, bias=True).reshape(used.shape[1], -1)
        scale = float(np.sqrt(np.trace(covariance))) or 1.0
        axes = np.linalg.eigh(covariance)[1] / scale
        labelled, unlabelled = (labelled - center) @ axes, (unlabelled - center) @ axes
        ridge = np.ones(rows.shape[1])
        if free:
            labelled = np.column_stack([labelled, np.ones(len(y))])
            unlabelled, ridge = np.zeros((0, labelled.shape[1])), np.append(ridge, 0.0)
        return cls(labelled, y, unlabelled, ridge, center, axes, free)

    def make_loss(self, costs: Array, C: Array, unlabelled_weight: float) -> MarginLoss:
        """Return the objectives for many choices of labels (rows of ``costs``) and of C."""
        offsets = np.zeros(len(C)) if self.free_intercept else (costs @ self.signs) / costs.sum(axis=1)
        ridges = np.tile(self.ridge, (len(C), 1))
        return MarginLoss(self.labelled, self.signs, self.unlabelled, ridges, costs, unlabelled_weight * C, offsets)

    def express_in_coordinates(self, w: Array, offset: float) -> tuple[Array, float]:
        """Return the coefficients and the intercept of a solution in the coordinates of the rows."""
        inner, intercept = (w[:-1], float(w[-1])) if self.free_intercept else (w, offset)
        coef = self.axes @ inner
        return coef, intercept - float(self.center @ coef)


@dataclass(frozen=True)
class _GradientTSVMLearner:
    costs: tuple[float, ...]
    unlabelled_weight: float
    factors: Array
    tol: float
    max_iter: int
    kernel: KernelOptions

    def represent(
        self, X: NDArray[np.floating[Any]], indices: NDArray[np.intp] | None, rng: np.random.Generator
    ) -> tuple[Map, Array]:
        map_ = self.kernel.fit_map(X, rng)
        return map_, map_(X)

    def separate(self, view: tuple[Map, Array], signs: Array, rng: np.random.Generator) -> Rule:
        map_, rows = view
        problem = _AnnealedProblem.of(rows, signs)
        best, error = self._choose_cost(problem, rng)
        C = self.costs[best]
        loss = problem.make_loss(np.full((1, len(problem.signs)), C), np.array([C]), self.unlabelled_weight)
        found, converged, n_iter = self._solve(loss, self.tol)
        coef, intercept = problem.express_in_coordinates(found[0], float(loss.offsets[0]))
        details = {"converged": bool(converged.all()), "n_iter": n_iter}
        return Rule(map_, coef, intercept, {"C": C}, error, details)

    def _choose_cost(self, problem: _AnnealedProblem, rng: np.random.Generator) -> tuple[int, float]:
        """Return the number of the best C and its cross-validated error."""
        y, n_costs = problem.signs, len(self.costs)
        folds = split_labels(y, rng) if n_costs > 1 else []
        if not folds:
            return 0, np.nan
        kept = np.zeros((len(folds), len(y)))
        for k, (train, _) in enumerate(folds):
            kept[k, train] = 1.0
        C = np.tile(np.array(self.costs), len(folds))
        loss = problem.make_loss(np.repeat(kept, n_costs, axis=0) * C[:, None], C, self.unlabelled_weight)
        found, _, _ = self._solve(loss, max(self.tol, PATH_TOL))
        decisions = (problem.labelled @ found.T + loss.offsets).reshape(len(y), len(folds), n_costs)
        return select_best(n_costs, y, folds, lambda k: decisions[folds[k][1], k])

    def _solve(self, loss: MarginLoss, tol: float) -> tuple[Array, NDArray[np.bool_], int]:
        path_tol = max(tol, PATH_TOL)
        start = np.zeros_like(loss.ridge)
        return anneal(loss, start, self.factors, tol=tol, path_tol=path_tol, max_iter=self.max_iter)
