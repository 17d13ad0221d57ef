"""XNV: correlated Nyström views (McWilliams, Balduzzi, Buhmann)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine.checks import check_choice, check_integer
from ravine_paper._typing import Array
from ravine_paper.baselines._shared.eigenvectors import compute_inverse_root
from ravine_paper.baselines.semi_supervised.coordinates import (
    LinearMap,
    Map,
    check_gamma,
    fit_linear_map,
    fit_nystrom_map,
)
from ravine_paper.baselines.semi_supervised.cross_validation import (
    check_grid,
    select_best,
    sort_by_nearness,
    split_labels,
)
from ravine_paper.baselines.semi_supervised.transductive import Rule, TransductiveClassifier, check_intercept

__all__ = ["XNV"]

DEFAULT_PENALTY = 0.1
# Directions whose eigenvalue is below this part of the largest are dropped.
SMALLEST_EIGENVALUE = 1e-8
SMALLEST_CORRELATION = 1e-6


class XNV(TransductiveClassifier):
    """Correlated Nyström views: ridge regression that favours directions on which two random views agree.

    Two disjoint random sets of rows give two views (Nyström features) of all rows. Canonical correlation analysis of
    the views, on labelled and unlabelled rows, gives coordinates of the first view with correlations λ_j. Labels -1 and
    +1 are then regressed on these coordinates with the penalty Σ_j ((1 - λ_j) / λ_j + penalty) β_j².

    With the inner-product kernel and at least as many landmarks as the rank of X **both views are rotations of the same
    space: every λ_j is 1 and the method is ridge regression on whitened features**, in which directions of small
    variance have the same weight as others. This is the case with the default settings. Views that differ need
    ``n_landmarks`` below the number of features, ``views="features"`` or ``kernel="rbf"``.

    Parameters
    ----------
    penalty : float or sequence of float, default=(1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)
        Ridge penalty. One of several values is chosen by cross-validation on the labels.
    n_landmarks : int, default=200
        Number of rows for each view, at most half of all.
    fit_intercept : "auto" or bool, default="auto"
        Whether an intercept is fitted to the labels. The original, which is for two classes only, has none: its
        function is zero at the mean of all rows. With two classes this is a good guess for very few labels, less so for
        many; for two classes out of several it is not, since the others move the mean. ``"auto"`` is False with two
        classes and True with more. False is costly there: on standardised iris with ten labels per class the median
        error is 18.3 % without and 5.4 % with an intercept. (With ``multi_class="gated"`` a pair has a mean of its own,
        and the intercept matters little.)
    views : {"points", "features"}, default="points"
        Whether the views differ in their landmarks, or use two random halves of the features.
    kernel : {"linear", "rbf"}, default="linear"
    kernel_gamma : "scale" or float, default="scale"
        Parameter of the kernel exp(-gamma ‖x - x'‖²). ``"scale"`` is 1 / (n_features · mean variance).
    multi_class : {"ovo", "gated"}, default="ovo"
        With more than two classes there is a function for each pair, and they vote. With ``"ovo"`` all share the views
        of all rows; with ``"gated"`` a pair uses only rows that a linear SVM on the labels assigns to one of the two.
        Whitening then amplifies features that hardly vary among these few rows: on scikit-learn's digits with ten
        labels per class the median error is 54 %, and 21 % with ``"ovo"``.
    random_state : int, RandomState, Generator or None, default=None
        Determines the views and the folds.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n_samples,)
        Given labels, and the predicted ones of unlabelled rows.
    correlations_ : list of ndarray
        The canonical correlations λ for each pair of classes (the same for all with ``multi_class="ovo"``).
    chosen_ : list of dict
        Parameters used for each pair of classes.
    cv_errors_ : ndarray
        Their cross-validated error on the labels of the pair; NaN if it was not used for a choice.
    coef_ : ndarray of shape (n_pairs, n_features)
        Defined only with the linear kernel, as is `intercept_`.
    intercept_ : ndarray of shape (n_pairs,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Defined only if X has feature names that are all strings.

    Notes
    -----
    The penalty is chosen with the labels of a pair alone: by leaving out one label at a time for up to 10, else by five
    stratified folds. Ties go to the value nearest 0.1, which is also used where a class has a single label.
    Probabilities are not available from least squares.

    References
    ----------
    B. McWilliams, D. Balduzzi, J. M. Buhmann. Correlated random features for fast semi-supervised learning. Advances in
    Neural Information Processing Systems 26 (2013).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from ravine_paper.baselines import XNV
    >>> X, truth = make_blobs([100, 100], centers=[[0, 0], [5, 5]], random_state=0)
    >>> y = np.where(np.arange(200) < 20, truth, -1)
    >>> xnv = XNV(random_state=0).fit(X, y)
    >>> bool((xnv.transduction_ == truth).all())
    True
    >>> xnv.correlations_[0].round(6)
    array([1., 1.])
    """

    def __init__(
        self,
        *,
        penalty: float | Sequence[float] = (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0),
        n_landmarks: int = 200,
        fit_intercept: bool | str = "auto",
        views: str = "points",
        kernel: str = "linear",
        kernel_gamma: float | str = "scale",
        multi_class: str = "ovo",
        random_state: Any = None,
    ) -> None:
        self.penalty = penalty
        self.n_landmarks = n_landmarks
        self.fit_intercept = fit_intercept
        self.views = views
        self.kernel = kernel
        self.kernel_gamma = kernel_gamma
        self.multi_class = multi_class
        self.random_state = random_state

    def _make_learner(self, n_rows: int, n_features: int, n_classes: int) -> _XNVLearner:
        halves = check_choice("views", self.views, ("points", "features")) == "features"
        if halves and n_features < 2:
            raise ValueError("views='features' needs at least 2 features in X: use views='points'.")
        return _XNVLearner(
            sort_by_nearness(check_grid("penalty", self.penalty), DEFAULT_PENALTY),
            check_integer("n_landmarks", self.n_landmarks, low=1),
            check_intercept(self.fit_intercept, n_classes),
            halves,
            check_choice("kernel", self.kernel, ("linear", "rbf")) == "rbf",
            check_gamma(self.kernel_gamma),
        )

    def _store(self, rules: Sequence[Rule]) -> None:
        super()._store(rules)
        self.correlations_ = [rule.details["correlations"] for rule in rules]


@dataclass(frozen=True)
class _CanonicalView:
    """Canonical coordinates of all rows."""

    map: Map
    rows: Array
    axes: Array
    center: Array
    correlations: Array


@dataclass(frozen=True)
class _XNVLearner:
    penalties: tuple[float, ...]
    n_landmarks: int
    intercept: bool
    halves: bool
    rbf: bool
    gamma: float | None

    def represent(
        self, X: NDArray[np.floating[Any]], indices: NDArray[np.intp] | None, rng: np.random.Generator
    ) -> _CanonicalView:
        scaling = fit_linear_map(X)
        drawn = rng.permutation(len(X))
        m = max(1, min(self.n_landmarks, len(X) // 2))
        scalings = _halve_features(scaling, X.shape[1], rng) if self.halves else (scaling, scaling)
        first, second = (
            self._fit_view(X, own, np.sort(landmarks))
            for own, landmarks in zip(scalings, (drawn[:m], drawn[m : 2 * m]), strict=True)
        )
        rows = first(X)
        center = rows.mean(axis=0)
        axes, correlations = find_canonical_axes(rows, second(X))
        return _CanonicalView(first, (rows - center) @ axes, axes, center, correlations)

    def _fit_view(self, X: NDArray[np.floating[Any]], scaling: LinearMap, landmarks: NDArray[np.intp]) -> Map:
        """Fit the features D^(-1/2) V' [k(x, landmark)] of one view."""
        if self.rbf:
            width = X.shape[1] if scaling.basis is None or not self.halves else scaling.basis.shape[1]
            return fit_nystrom_map(X, self.gamma, landmarks, scaling, width)
        # With landmarks A = U S W' the features are W'x.
        _, s, wt = np.linalg.svd(scaling(X[landmarks]), full_matrices=False)
        basis = wt[s**2 > SMALLEST_EIGENVALUE * s[0] ** 2].T
        return LinearMap(scaling.center, scaling.scale, basis if scaling.basis is None else scaling.basis @ basis)

    def _regress(self, rows: Array, y: Array, penalties: Array) -> tuple[Array, float]:
        if not self.intercept:
            return _solve_ridge(rows, y, penalties), 0.0
        beta = _solve_ridge(rows - rows.mean(axis=0), y - y.mean(), penalties)
        return beta, float(y.mean() - rows.mean(axis=0) @ beta)

    def separate(self, view: _CanonicalView, signs: Array, rng: np.random.Generator) -> Rule:
        labelled = np.flatnonzero(np.abs(signs) == 1.0)
        y, rows = signs[labelled], view.rows[labelled]
        distrust = (1.0 - view.correlations) / view.correlations
        folds = split_labels(y, rng) if len(self.penalties) > 1 else []

        def decide(k: int) -> Array:
            train, test = folds[k]
            fits = [self._regress(rows[train], y[train], distrust + g) for g in self.penalties]
            return np.stack([rows[test] @ beta + offset for beta, offset in fits], axis=1)

        best, error = select_best(len(self.penalties), y, folds, decide)
        beta, offset = self._regress(rows, y, distrust + self.penalties[best])
        coef = view.axes @ beta
        # All rows equal: the class with more labels.
        intercept = offset - float(view.center @ coef) if rows.shape[1] else float(y.mean())
        chosen = {"penalty": self.penalties[best]}
        return Rule(view.map, coef, intercept, chosen, error, {"correlations": view.correlations})


def find_canonical_axes(first: Array, second: Array) -> tuple[Array, Array]:
    """Find the canonical directions of the first view, with unit variance, and their decreasing correlations.

    Parameters
    ----------
    first, second : ndarray of shape (n, r1), (n, r2)
        Two views of the same rows.

    Returns
    -------
    axes : ndarray of shape (r1, k)
    correlations : ndarray of shape (k,)
    """
    first, second = first - first.mean(axis=0), second - second.mean(axis=0)
    own, other = (compute_inverse_root(view.T @ view / len(view), SMALLEST_EIGENVALUE) for view in (first, second))
    u, s, _ = np.linalg.svd(own.T @ (first.T @ second / len(first)) @ other, full_matrices=False)
    return own @ u, np.clip(s, SMALLEST_CORRELATION, 1.0)


def _solve_ridge(rows: Array, y: Array, penalties: Array) -> Array:
    """Minimise the mean of (y - rows·β)² + Σ penalties β²."""
    n, k = rows.shape
    if k <= n:
        return np.linalg.solve(rows.T @ rows / n + np.diag(penalties), rows.T @ y / n)
    shrunk = rows / penalties
    return np.asarray(shrunk.T @ np.linalg.solve(shrunk @ rows.T + n * np.eye(n), y))


def _halve_features(scaling: LinearMap, n_features: int, rng: np.random.Generator) -> tuple[LinearMap, LinearMap]:
    """Restrict a scaling to each of two random halves of the features."""
    order, eye = rng.permutation(n_features), np.eye(n_features)
    parts = np.sort(order[: (n_features + 1) // 2]), np.sort(order[(n_features + 1) // 2 :])
    first, second = (LinearMap(scaling.center, scaling.scale, eye[:, part]) for part in parts)
    return first, second
