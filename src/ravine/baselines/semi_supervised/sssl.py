"""SSSL: least squares on the eigenfunctions of a kernel (Ji and others)."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from ravine._typing import Array
from ravine.baselines.semi_supervised.coordinates import KernelOptions, LinearMap, Map
from ravine.baselines.semi_supervised.cross_validation import check_sizes, label_folds, select
from ravine.baselines.semi_supervised.transductive import Rule, TransductiveClassifier, check_intercept

__all__ = ["SSSL"]

DEFAULT_COMPONENTS = 2
# Singular values below this part of the largest are rounding.
SMALLEST_VALUE = 1e-10
# Eigenfunctions that depend on each other at the labels, up to this part, get the coefficients of least norm.
DEPENDENT = 1e-10


class SSSL(TransductiveClassifier):
    """Simple semi-supervised learning: regress the labels on the first eigenfunctions of a kernel.

    The eigenfunctions φ_1, φ_2, ... of the kernel's integral operator are estimated from all rows, labelled or not;
    then Σ_{j ≤ s} c_j φ_j(x) is fitted to the labels -1 and +1 by least squares without a penalty.

    With the inner-product kernel the eigenfunctions are the projections on the singular vectors of X, so this is
    **principal-component regression, uncentred and without an intercept**: columns should be centred, and classes that
    differ only across directions of small variance are not found with few labels (there is a warning where the mean of
    the rows is longer than their spread). ``kernel="rbf"`` gives eigenfunctions
    that follow clusters instead, ``fit_intercept=True`` the usual principal-component regression.

    Parameters
    ----------
    n_components : int, sequence of int or None, default=None
        s. One number is used as it is; of several, one is chosen by cross-validation on the labels. None: of all from
        1 to two fewer than there are labels. Always at most the rank of the kernel matrix and one fewer than the
        labels (of a fold, while choosing).
    fit_intercept : "auto" or bool, default="auto"
        Whether coordinates are centred and an intercept is fitted. The original, which knows two classes only, does
        neither: its function is zero at the origin. ``"auto"`` is False with two classes and True with more, since
        nothing says that two classes out of several lie on both sides of the origin, not even with
        ``multi_class="gated"`` where X is centred as a whole. False is costly there: on standardised iris with ten
        labels a class the median error is 20.8 % without and 7.1 % with an intercept.
    kernel : {"linear", "rbf"}, default="linear"
    kernel_gamma : "scale" or float, default="scale"
        Of exp(-gamma ‖x - x'‖²). ``"scale"`` is 1 / (n_features · mean variance).
    n_landmarks : int, default=500
        With ``kernel="rbf"`` and more rows than this, the kernel is Nyström's from so many random rows.
    multi_class : {"ovo", "gated"}, default="ovo"
        With more than two classes there is a function for each pair, and they vote. With ``"ovo"`` all share the
        eigenfunctions of all rows; with ``"gated"`` a pair sees only rows that a linear SVM on the labels gives to one
        of the two.
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
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if the columns of X have names that are all strings.

    Notes
    -----
    The number of eigenfunctions is chosen with the labels of a pair alone: each left out once for up to 10, else five
    stratified folds. Ties go to the number nearest 2, which is also used where a class has a single label. There are no
    probabilities: least squares gives none.

    References
    ----------
    M. Ji, T. Yang, B. Lin, R. Jin, J. Han. A simple algorithm for semi-supervised learning with improved generalization
    error bound. International Conference on Machine Learning (2012).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from ravine.baselines import SSSL
    >>> X, truth = make_blobs([100, 100], centers=[[-3, -3], [3, 3]], random_state=0)
    >>> y = np.where(np.arange(200) < 20, truth, -1)
    >>> sssl = SSSL(random_state=0).fit(X, y)
    >>> bool((sssl.transduction_ == truth).all())
    True
    """

    def __init__(
        self,
        *,
        n_components: int | Sequence[int] | None = None,
        fit_intercept: bool | str = "auto",
        kernel: str = "linear",
        kernel_gamma: float | str = "scale",
        n_landmarks: int = 500,
        multi_class: str = "ovo",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.fit_intercept = fit_intercept
        self.kernel = kernel
        self.kernel_gamma = kernel_gamma
        self.n_landmarks = n_landmarks
        self.multi_class = multi_class
        self.random_state = random_state

    def _learner(self, n_rows: int, n_features: int, n_classes: int) -> _Learner:
        return _Learner(
            check_sizes("n_components", self.n_components),
            check_intercept(self.fit_intercept, n_classes),
            KernelOptions.of(self),
        )

    def _store(self, rules: Sequence[Rule]) -> None:
        super()._store(rules)
        if any(rule.details["off_centre"] for rule in rules):
            warnings.warn(
                "The mean of the rows is further from 0 than they spread around it, and SSSL without an intercept "
                "parts them at 0: centre the columns of X (e.g. with StandardScaler), or use fit_intercept=True.",
                UserWarning,
                stacklevel=3,
            )


@dataclass(frozen=True)
class _View:
    map: Map
    values: Array  # of the eigenfunctions, as columns, at all rows
    axes: Array
    center: Array
    off_centre: bool  # if the mean, which counts as 0 here, dominates


@dataclass(frozen=True)
class _Learner:
    components: tuple[int, ...] | None
    intercept: bool
    kernel: KernelOptions

    def represent(
        self, X: NDArray[np.floating[Any]], which: NDArray[np.intp] | None, rng: np.random.Generator
    ) -> _View:
        map_ = self.kernel.map(X, rng, centred=self.intercept)
        rows = map_(X)
        center = rows.mean(axis=0) if self.intercept else np.zeros(rows.shape[1])
        # With rows Z such that K = Z Z', sqrt(s_j) v_ij = (Z a_j)_i for the right singular vectors a_j of Z.
        _, s, axes = np.linalg.svd(rows - center, full_matrices=False)
        kept = s > SMALLEST_VALUE * s.max(initial=0.0)
        mean, spread = rows.mean(axis=0) - center, float(rows.var(axis=0).sum())
        off_centre = isinstance(map_, LinearMap) and float(mean @ mean) > spread > 0.0
        return _View(map_, (rows - center) @ axes[kept].T, axes[kept].T, center, off_centre)

    def separate(self, view: _View, signs: Array, rng: np.random.Generator) -> Rule:
        labelled = np.flatnonzero(np.abs(signs) == 1.0)
        y, values = signs[labelled], view.values[labelled]
        details = {"off_centre": view.off_centre}
        if not values.shape[1]:  # all rows are equal: the class with more labels
            return Rule(view.map, np.zeros(len(view.axes)), float(y.mean()), {"n_components": 0}, np.nan, details)
        most = max(1, min(values.shape[1], len(y) - 1 - self.intercept))
        grid = range(1, max(2, min(most, len(y) - 2) + 1)) if self.components is None else self.components
        sizes = _nearest_first(min(s, most) for s in grid)
        folds = label_folds(y, rng) if len(sizes) > 1 else []
        if folds:
            fewest = min(len(train) for train, _ in folds) - 1 - self.intercept
            sizes = _nearest_first(min(s, max(1, fewest)) for s in sizes)
        design = np.column_stack([np.ones(len(y)), values]) if self.intercept else values
        columns = np.array(sizes) - 1 + self.intercept

        def scores(k: int) -> Array:
            train, test = folds[k]
            width = int(columns.max()) + 1
            return np.asarray(design[test, :width] @ _nested_fits(design[train, :width], y[train])[:, columns])

        best, error = select(len(sizes), y, folds, scores)
        width = int(columns[best]) + 1
        fitted = np.linalg.lstsq(design[:, :width], y, rcond=None)[0]
        coef = view.axes[:, : sizes[best]] @ fitted[self.intercept :]
        intercept = float(fitted[0]) if self.intercept else 0.0
        offset = intercept - float(view.center @ coef)
        return Rule(view.map, coef, offset, {"n_components": sizes[best]}, error, details)


def _nearest_first(sizes: Iterable[int]) -> list[int]:
    return sorted(set(sizes), key=lambda s: (abs(s - DEFAULT_COMPONENTS), s))


def _nested_fits(design: Array, y: Array) -> Array:
    """Least-squares coefficients for the first column, the first two, ... as columns; all from one factorisation."""
    n, k = design.shape
    if n >= k:
        q, r = np.linalg.qr(design)
        if np.abs(np.diag(r)).min() > DEPENDENT * np.linalg.norm(design, axis=0).max():
            # Column j of R^-1 times q_j'y is what column j adds to the fit.
            return np.asarray(np.cumsum(solve_triangular(r, np.eye(k)) * (q.T @ y), axis=1))
    fits = np.zeros((k, k))
    for j in range(k):
        fits[: j + 1, j] = np.linalg.lstsq(design[:, : j + 1], y, rcond=None)[0]
    return fits
