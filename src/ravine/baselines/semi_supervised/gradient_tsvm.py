"""Transductive support vector machine trained by gradient descent (Chapelle and Zien)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ravine._typing import Array
from ravine.baselines.semi_supervised.coordinates import KernelOptions, Map
from ravine.baselines.semi_supervised.cross_validation import check_grid, label_folds, nearest_first, select
from ravine.baselines.semi_supervised.margin_descent import MarginLoss, anneal
from ravine.baselines.semi_supervised.transductive import Rule, TransductiveClassifier
from ravine.checks import check_integer, check_number

__all__ = ["GradientTSVM"]

DEFAULT_C = 1.0
# Where the unlabelled cost starts, as a part of where it ends.
FIRST_FACTOR = 0.01
# How exactly the solutions before the last, and those of the search for C, are found.
PATH_TOL = 1e-3


class GradientTSVM(TransductiveClassifier):
    """∇TSVM: a linear function that keeps labelled rows on their sides and unlabelled rows away from zero.

    For two classes it minimises over f(x) = w·φ(x) + b

        ½ ‖w‖² + C Σ_labelled max(0, 1 - y f(x))² + C* Σ_unlabelled exp(-3 f(x)²)

    subject to a mean of f over the unlabelled rows that equals the mean of the labels. C* takes ``n_stages`` values
    from C/100 to C, each with the same ratio to the one before and solved from its solution, since the objective has
    many local minima.

    With the inner-product kernel the boundary is a hyperplane in a gap of the rows, much as a minimum density
    hyperplane of a fixed bandwidth; it does not degenerate. ``kernel="rbf"`` works on the coordinates of kernel PCA.

    Parameters
    ----------
    C : float or sequence of float, default=(0.1, 1.0, 10.0, 100.0)
        In units of 1 / total variance of the rows (or of their coordinates), so it does not depend on units. One number
        is used as it is; of several, one is chosen by cross-validation on the labels.
    unlabelled_weight : float, default=1.0
        C* / C at the end. Zero ignores unlabelled rows but for the constraint.
    n_stages : int, default=11
        Values of C*.
    tol : float, default=1e-7
        Largest entry of the gradient, relative to the sum of all costs, at which the last solution is accepted.
    max_iter : int, default=500
        Most iterations for each value of C*.
    kernel : {"linear", "rbf"}, default="linear"
    kernel_gamma : "scale" or float, default="scale"
        Of exp(-gamma ‖x - x'‖²). ``"scale"`` is 1 / (n_features · mean variance).
    n_landmarks : int, default=500
        With ``kernel="rbf"`` and more rows than this, the kernel is Nyström's from so many random rows.
    multi_class : {"ovo", "gated"}, default="gated"
        With more than two classes there is a function for each pair, and they vote. With ``"gated"`` a pair sees only
        rows that a linear SVM on the labels gives to one of the two; with ``"ovo"`` it must keep away from unlabelled
        rows of every class.
    random_state : int, RandomState, Generator or None, default=None
        Shuffles the folds and draws landmarks.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n_samples,)
        Given labels, and predicted ones for unlabelled rows.
    chosen_ : list of dict
        Parameters used for each pair of classes.
    cv_errors_ : ndarray
        Their cross-validated error on the labels of the pair; NaN if nothing was chosen by it.
    coef_ : ndarray of shape (n_pairs, n_features)
        Only with the linear kernel, as `intercept_`.
    intercept_ : ndarray of shape (n_pairs,)
    n_iter_ : ndarray of shape (n_pairs,)
        Iterations of the final fits, all values of C* together.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if the columns of X have names that are all strings.

    Notes
    -----
    C is chosen with the labels of a pair alone: each left out once for up to 10, else five stratified folds. Ties go to
    the value nearest 1, which is also used where a class has a single label. Where no row is unlabelled there is
    no constraint: b is free, and this is a linear SVM with squared hinges. There are no probabilities: margins of so
    few labels cannot be calibrated.

    C/100 as the first value, eleven stages and squared hinges are those of the program that Chapelle and Zien released
    (their text has plain hinges). Here the ratio of two values is 100^(1/10), so that the eleven include both ends;
    there it is 100^(1/11). The first is solved from w = 0.

    References
    ----------
    O. Chapelle, A. Zien. Semi-supervised classification by low density separation. International Workshop on
    Artificial Intelligence and Statistics (2005). The graph distances of that paper are not part of this.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from ravine.baselines import GradientTSVM
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

    def _learner(self, n_rows: int, n_features: int, n_classes: int) -> _Learner:
        n_stages = check_integer("n_stages", self.n_stages, low=1)
        return _Learner(
            tuple(nearest_first(check_grid("C", self.C), DEFAULT_C)),
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
class _Learner:
    costs: tuple[float, ...]
    unlabelled_weight: float
    factors: Array
    tol: float
    max_iter: int
    kernel: KernelOptions

    def represent(
        self, X: NDArray[np.floating[Any]], which: NDArray[np.intp] | None, rng: np.random.Generator
    ) -> tuple[Map, Array]:
        map_ = self.kernel.map(X, rng)
        return map_, map_(X)

    def separate(self, view: tuple[Map, Array], signs: Array, rng: np.random.Generator) -> Rule:
        map_, rows = view
        labelled, unlabelled = rows[np.abs(signs) == 1.0], rows[signs == 0.0]
        y = signs[np.abs(signs) == 1.0]
        free = not len(unlabelled)  # nothing to constrain b
        center = (labelled if free else unlabelled).mean(axis=0)
        used = np.concatenate([labelled, unlabelled])
        covariance = np.cov(used, rowvar=False, bias=True).reshape(used.shape[1], -1)
        scale = float(np.sqrt(np.trace(covariance))) or 1.0
        # Along principal axes the curvature is nearly diagonal.
        axes = np.linalg.eigh(covariance)[1] / scale
        labelled, unlabelled = (labelled - center) @ axes, (unlabelled - center) @ axes
        ridge = np.ones(rows.shape[1])
        if free:
            labelled = np.column_stack([labelled, np.ones(len(y))])
            unlabelled, ridge = np.zeros((0, labelled.shape[1])), np.append(ridge, 0.0)

        def solve(costs: Array, C: Array, tol: float) -> tuple[Array, Array, dict[str, Any]]:
            """Solutions and offsets for many choices of labels and of C, and how they were found."""
            offsets = np.zeros(len(C)) if free else (costs @ y) / costs.sum(axis=1)
            ridges = np.tile(ridge, (len(C), 1))
            problem = MarginLoss(labelled, y, unlabelled, ridges, costs, self.unlabelled_weight * C, offsets)
            start = np.zeros((len(C), labelled.shape[1]))
            found, converged, n_iter = anneal(
                problem, start, self.factors, tol=tol, path_tol=max(tol, PATH_TOL), max_iter=self.max_iter
            )
            return found, offsets, {"converged": bool(converged.all()), "n_iter": n_iter}

        grid = np.array(self.costs)
        folds = label_folds(y, rng) if len(grid) > 1 else []
        best, error = 0, np.nan
        if folds:
            kept = np.zeros((len(folds), len(y)))
            for k, (train, _) in enumerate(folds):
                kept[k, train] = 1.0
            C = np.tile(grid, len(folds))
            found, offsets, _ = solve(np.repeat(kept, len(grid), axis=0) * C[:, None], C, max(self.tol, PATH_TOL))
            every = (labelled @ found.T + offsets).reshape(len(y), len(folds), len(grid))
            best, error = select(len(grid), y, folds, lambda k: every[folds[k][1], k])
        found, offsets, details = solve(np.full((1, len(y)), grid[best]), grid[[best]], self.tol)
        coef, intercept = (found[0, :-1], float(found[0, -1])) if free else (found[0], float(offsets[0]))
        coef = axes @ coef
        chosen = {"C": float(grid[best])}
        return Rule(map_, coef, intercept - float(center @ coef), chosen, error, details)
