"""SSSL: least squares on the eigenfunctions of a kernel (Ji et al.)."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from ravine_paper._typing import Array
from ravine_paper.baselines.semi_supervised.coordinates import KernelOptions, LinearMap, Map
from ravine_paper.baselines.semi_supervised.cross_validation import check_sizes, select_best, split_labels
from ravine_paper.baselines.semi_supervised.transductive import Rule, TransductiveClassifier, check_intercept

__all__ = ["SSSL"]

DEFAULT_COMPONENTS = 2
# Singular values below this part of the largest are rounding.
SMALLEST_VALUE = 1e-10
# Smaller coordinates are those of equal rows near zero; their inverses overflow.
NEGLIGIBLE = 1e-290
# Eigenfunctions that are linearly dependent at the labels, up to this part, get the coefficients of least norm.
DEPENDENT = 1e-10


class SSSL(TransductiveClassifier):
    """Simple semi-supervised learning: regress the labels on the first eigenfunctions of a kernel.

    The eigenfunctions φ_1, φ_2, ... of the kernel's integral operator are estimated from all rows, labelled or not;
    then Σ_{j ≤ s} c_j φ_j(x) is fitted to the labels -1 and +1 by least squares without a penalty.

    With the inner-product kernel the eigenfunctions are the projections on the singular vectors of X, so this is
    **principal-component regression, uncentred and without an intercept**: features should be centred (a warning is
    raised if the mean of the rows is farther from 0 than they spread around it), and classes that differ only in
    directions of small variance are not found with few labels. With ``kernel="rbf"`` the eigenfunctions follow clusters
    instead; ``fit_intercept=True`` gives the usual principal-component regression.

    Parameters
    ----------
    n_components : int, sequence of int or None, default=None
        s. One of several values is chosen by cross-validation on the labels. None stands for all values from 1 to the
        number of labels less two. s is at most the rank of the kernel matrix and the number of labels less one (of a
        fold, in cross-validation).
    fit_intercept : "auto" or bool, default="auto"
        Whether coordinates are centred and an intercept is fitted. The original, which is for two classes only, does
        neither: its function is zero at the origin. ``"auto"`` is False with two classes and True with more, since two
        classes out of several need not lie on both sides of the origin, not even with ``multi_class="gated"`` if X is
        centred as a whole. False is costly there: on standardised iris with ten labels per class the median error is
        20.8 % without and 7.1 % with an intercept.
    kernel : {"linear", "rbf"}, default="linear"
    kernel_gamma : "scale" or float, default="scale"
        Parameter of the kernel exp(-gamma ‖x - x'‖²). ``"scale"`` is 1 / (n_features · mean variance).
    n_landmarks : int, default=500
        With ``kernel="rbf"`` and more rows than this, the Nyström method approximates the kernel from this many random
        rows.
    multi_class : {"ovo", "gated"}, default="ovo"
        With more than two classes there is a function for each pair, and they vote. With ``"ovo"`` all share the
        eigenfunctions of all rows; with ``"gated"`` a pair uses only rows that a linear SVM on the labels assigns to
        one of the two.
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
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Defined only if X has feature names that are all strings.

    Notes
    -----
    The number of eigenfunctions is chosen with the labels of a pair alone: by leaving out one label at a time for up to
    10, else by five stratified folds. Ties go to the number nearest 2, which is also used where a class has a single
    label. Probabilities are not available from least squares.

    References
    ----------
    M. Ji, T. Yang, B. Lin, R. Jin, J. Han. A simple algorithm for semi-supervised learning with improved generalization
    error bound. International Conference on Machine Learning (2012).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from ravine_paper.baselines import SSSL
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

    def _make_learner(self, n_rows: int, n_features: int, n_classes: int) -> _SSSLLearner:
        return _SSSLLearner(
            check_sizes("n_components", self.n_components),
            check_intercept(self.fit_intercept, n_classes),
            KernelOptions.of(self),
        )

    def _store(self, rules: Sequence[Rule]) -> None:
        super()._store(rules)
        if any(rule.details["off_centre"] for rule in rules):
            warnings.warn(
                "The mean of the rows is farther from 0 than they spread around it, and SSSL without an intercept "
                "separates them at 0: centre the features of X (e.g. with StandardScaler), or use fit_intercept=True.",
                UserWarning,
                stacklevel=3,
            )


@dataclass(frozen=True)
class _EigenfunctionView:
    """Values of the eigenfunctions (columns) at all rows."""

    map: Map
    values: Array
    axes: Array
    center: Array
    off_centre: bool  # whether the mean, which is not subtracted, is larger than the spread


@dataclass(frozen=True)
class _SSSLLearner:
    components: tuple[int, ...] | None
    intercept: bool
    kernel: KernelOptions

    def represent(
        self, X: NDArray[np.floating[Any]], indices: NDArray[np.intp] | None, rng: np.random.Generator
    ) -> _EigenfunctionView:
        map_ = self.kernel.fit_map(X, rng, centred=self.intercept)
        rows = map_(X)
        center = rows.mean(axis=0) if self.intercept else np.zeros(rows.shape[1])
        # With rows Z such that K = Z Z', sqrt(s_j) v_ij = (Z a_j)_i for the right singular vectors a_j of Z.
        _, s, axes = np.linalg.svd(rows - center, full_matrices=False)
        kept = s > max(SMALLEST_VALUE * s.max(initial=0.0), NEGLIGIBLE)
        mean, spread = rows.mean(axis=0) - center, float(rows.var(axis=0).sum())
        off_centre = isinstance(map_, LinearMap) and float(mean @ mean) > spread > 0.0
        return _EigenfunctionView(map_, (rows - center) @ axes[kept].T, axes[kept].T, center, off_centre)

    def separate(self, view: _EigenfunctionView, signs: Array, rng: np.random.Generator) -> Rule:
        labelled = np.flatnonzero(np.abs(signs) == 1.0)
        y, values = signs[labelled], view.values[labelled]
        details = {"off_centre": view.off_centre}
        if not values.shape[1]:  # all rows are equal: the class with more labels
            return Rule(view.map, np.zeros(len(view.axes)), float(y.mean()), {"n_components": 0}, np.nan, details)
        sizes = self._list_sizes(values.shape[1], len(y))
        folds = split_labels(y, rng) if len(sizes) > 1 else []
        if folds:
            fewest = min(len(train) for train, _ in folds) - 1 - self.intercept
            sizes = _sort_sizes(min(s, max(1, fewest)) for s in sizes)
        design = np.column_stack([np.ones(len(y)), values]) if self.intercept else values
        columns = np.array(sizes) - 1 + self.intercept

        def decide(k: int) -> Array:
            train, test = folds[k]
            width = int(columns.max()) + 1
            return np.asarray(design[test, :width] @ _fit_nested(design[train, :width], y[train])[:, columns])

        best, error = select_best(len(sizes), y, folds, decide)
        width = int(columns[best]) + 1
        fitted = np.linalg.lstsq(design[:, :width], y, rcond=None)[0]
        coef = view.axes[:, : sizes[best]] @ fitted[self.intercept :]
        intercept = float(fitted[0]) if self.intercept else 0.0
        offset = intercept - float(view.center @ coef)
        return Rule(view.map, coef, offset, {"n_components": sizes[best]}, error, details)

    def _list_sizes(self, rank: int, n_labels: int) -> list[int]:
        """List the numbers of eigenfunctions to choose from, those near the default first."""
        most = max(1, min(rank, n_labels - 1 - self.intercept))
        grid = range(1, max(2, min(most, n_labels - 2) + 1)) if self.components is None else self.components
        return _sort_sizes(min(s, most) for s in grid)


def _sort_sizes(sizes: Iterable[int]) -> list[int]:
    return sorted(set(sizes), key=lambda s: (abs(s - DEFAULT_COMPONENTS), s))


def _fit_nested(design: Array, y: Array) -> Array:
    """Fit least squares on the first column, the first two, ...; the coefficients are columns of the result."""
    n, k = design.shape
    if n >= k:
        q, r = np.linalg.qr(design)
        if np.abs(np.diag(r)).min() > DEPENDENT * np.linalg.norm(design, axis=0).max():
            # Column j of R^-1 times q_j'y is the contribution of column j to the fit.
            return np.asarray(np.cumsum(solve_triangular(r, np.eye(k)) * (q.T @ y), axis=1))
    fits = np.zeros((k, k))
    for j in range(k):
        fits[: j + 1, j] = np.linalg.lstsq(design[:, : j + 1], y, rcond=None)[0]
    return fits
