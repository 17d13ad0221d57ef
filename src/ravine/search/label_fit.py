"""Labels of two classes: directions to start from, and the linear classifier of the labelled rows alone."""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ravine._properties import lazy_property
from ravine._typing import Array
from ravine.index import LabelledRows
from ravine.rows import Moments, as_rows, round_to_power_of_two
from ravine.search.starts import PrincipalAxes

NAMED_STARTS = ("svm", "lda", "means")
# Smaller coordinates, in standard deviations, count as 0: liblinear never ends if squares of its gradient underflow.
SMALLEST_COORDINATE = 1e-100
# Fraction of the mean variance that is added to the covariance for "lda".
RIDGE = 0.01
# Largest number of labels that suggest a start; more cost time without improving it.
MOST_LABELS = 10_000
# Largest C times the total weight; larger values only slow down the solver.
MOST_WEIGHT = 1e13
# Values of C among which the labels choose; the usual one is kept unless another is clearly better.
GRID = (0.01, 0.1, 1.0, 10.0)
USUAL = 1.0
# Level of the one-sided paired t-test by which another C has to be better.
LEVEL = 0.05
# Lower bound on 1 - leverage in the leave-one-out formula that chooses C.
SMALLEST_REST = 1e-3
# Largest number of Newton steps.
MOST_STEPS = 100
# Prior of the log-odds per unit of the decision function: its logarithm is normal about log 2 with this width, cut off
# after MOST_WIDTHS. With the squared hinge, the decision function of many labels tends to 2 P(+1) - 1.
USUAL_ODDS = 2.0
ODDS_WIDTH = 0.5
MOST_WIDTHS = 8.0


def parse_component(name: str) -> int | None:
    """Return the k of "pc<k>"; None for other names."""
    match = re.fullmatch(r"pc([1-9]\d*)", name)
    return int(match[1]) if match else None


def suggest_starts(
    names: tuple[str, ...],
    labelled: LabelledRows,
    moments: Moments,
    axes: PrincipalAxes,
    *,
    n_features: int,
    C: float,
    rng: np.random.Generator,
) -> Array:
    """Return the unit vectors (rows) with these names, signed to agree with the labels.

    A direction that does not exist is left out.

    Parameters
    ----------
    names : tuple of str
        ``"svm"``: weights of a linear SVM, the rows scaled to a mean variance of 1 for each feature. ``"lda"``: the
        inverse of the covariance of all rows, with a ridge, times the difference of the class means.
        ``"means"``: that difference. ``"pc1"``, ``"pc2"``, ...: principal directions.
    moments : Moments
        Moments of all rows.
    n_features : int
        Number of features of X, which may exceed the number of working coordinates.
    C : float
        Regularisation of the SVM.
    rng : numpy.random.Generator
        Draws a subset if there are very many labels.
    """
    positive = labelled.signs > 0.0
    means = [np.average(labelled.rows[side], axis=0, weights=labelled.weights[side]) for side in (positive, ~positive)]
    difference = means[0] - means[1]
    found = []
    for name in names:
        number = parse_component(name)
        if number is not None:
            direction = axes.directions[number - 1] if number <= len(axes.directions) else None
        elif name == "svm":
            direction = _fit_svm_weights(labelled, math.sqrt(moments.trace / n_features), C, rng)
        elif name == "lda":
            direction = moments.solve_ridge(RIDGE * moments.trace / n_features, difference)
        else:
            direction = difference
        length = 0.0 if direction is None else float(np.linalg.norm(direction))
        if direction is not None and length > 0.0:
            agrees = float(direction @ difference) >= 0.0 or name in ("svm", "lda")
            found.append(direction / (length if agrees else -length))
    # Two classes with the same mean suggest no direction: take any direction of the data.
    return np.ascontiguousarray(found if found else axes.directions[:1])


def predict_by_svm(
    X: Any, codes: NDArray[np.intp], weights: Array | None, C: float, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Predict the class of each row by linear SVMs, one against the rest, fitted to the labelled rows alone."""
    which = np.flatnonzero(codes >= 0)
    rows = as_rows(X).take(which).astype(np.float64)
    w = np.ones(len(which)) if weights is None else weights[which]
    center = np.average(rows, axis=0, weights=w)
    rows -= center
    unit = round_to_power_of_two(float(np.abs(rows).max(initial=0.0)))  # squares of large values overflow
    rows /= unit
    scale = math.sqrt(float(np.average(np.mean(rows**2, axis=1), weights=w))) or 1.0
    svm = _fit_linear_svm(rows / scale, codes[which], w, C, rng)
    normals = svm.coef_ / scale
    offsets = unit * svm.intercept_ - normals @ center

    def classes(rows: Any) -> NDArray[np.intp]:
        return np.asarray(svm.classes_[np.argmax(rows @ normals.T + offsets, axis=1)])

    return np.asarray(as_rows(X).apply(classes))


def _fit_svm_weights(labelled: LabelledRows, scale: float, C: float, rng: np.random.Generator) -> Array:
    return np.asarray(_fit_linear_svm(labelled.rows / scale, labelled.signs, labelled.weights, C, rng).coef_[0])


def _fit_linear_svm(
    rows: Array, targets: NDArray[Any], weights: Array | None, C: float, rng: np.random.Generator
) -> Any:
    from sklearn.svm import LinearSVC  # here, because it takes longer to load than the rest of the package

    if len(rows) > MOST_LABELS:
        some = np.sort(rng.choice(len(rows), MOST_LABELS, replace=False))
        if len(np.unique(targets[some])) == len(np.unique(targets)):
            rows, targets, weights = rows[some], targets[some], None if weights is None else weights[some]
    rows = np.where(np.abs(rows) < SMALLEST_COORDINATE, 0.0, rows)
    if weights is not None:
        total = C * float(weights.sum())
        weights = weights * (min(max(total, 1.0 / MOST_WEIGHT), MOST_WEIGHT) / total)
    # The solution lies in the space of the rows: with fewer rows than features, solve it in that many coordinates.
    inside, basis = reduce_to_row_space(rows) if len(rows) < rows.shape[1] else (rows, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a start need not be exact, only reproducible
        svm = LinearSVC(C=C, dual=False, tol=1e-10, max_iter=10_000).fit(inside, targets, sample_weight=weights)
    if basis is not None:
        svm.coef_ = svm.coef_ @ basis
    return svm


def reduce_to_row_space(rows: Array) -> tuple[Array, Array]:
    """Return coordinates with the same inner products as the rows, and their orthonormal basis (rows)."""
    values, vectors = np.linalg.eigh(rows @ rows.T)
    kept = values > values[-1] * len(values) * np.finfo(float).eps
    kept[-1] = True  # at least one, even if all rows are zero
    lengths = np.sqrt(np.maximum(values[kept], np.finfo(float).tiny))
    return vectors[:, kept] * lengths, (vectors[:, kept] / lengths).T @ rows


@dataclass(frozen=True, eq=False)
class LabelLoss:
    """|u|² / 2C + Σ weight · max(0, 1 - sign · u·z)² over rows z, the last feature of which is 1 (for the offset).

    The offset is regularised, too: with very few labels a free one is unstable.

    Attributes
    ----------
    rows : ndarray of shape (l, k)
    signs, weights : ndarray of shape (l,)
    """

    rows: Array
    signs: Array
    weights: Array
    C: float

    def evaluate(self, u: Array) -> tuple[float, Array]:
        """Return value and gradient."""
        excess = np.maximum(1.0 - self.signs * (self.rows @ u), 0.0)
        pull = self.weights * excess
        value = float(u @ u) / (2.0 * self.C) + float(pull @ excess)
        return value, u / self.C - 2.0 * ((self.signs * pull) @ self.rows)

    def count_mistakes(self, u: Array) -> float:
        """Return the weight of the rows that are not on the side of their label."""
        return float(self.weights @ (self.signs * (self.rows @ u) <= 0.0))

    def hessian(self, u: Array) -> Array:
        """Return the (generalised) second derivatives."""
        active = self.rows * np.sqrt(2.0 * self.weights * (self.signs * (self.rows @ u) < 1.0))[:, None]
        return np.asarray(active.T @ active + np.eye(len(u)) / self.C)

    def minimise(self, u: Array) -> Array:
        """Return the minimiser by Newton's method from u, which ends after finitely many steps."""
        value, gradient = self.evaluate(u)
        for _ in range(MOST_STEPS):
            step, t = np.linalg.solve(self.hessian(u), gradient), 1.0
            new_value, new_gradient = self.evaluate(u - step)
            while not new_value <= value - 1e-4 * t * float(gradient @ step) and t > 1e-6:
                t *= 0.5
                new_value, new_gradient = self.evaluate(u - t * step)
            if not new_value < value:
                return u if new_value > value else u - t * step
            u, value, gradient = u - t * step, new_value, new_gradient
        return u

    def leave_one_out(self, u: Array, hessian: Array, smallest_rest: float = SMALLEST_REST) -> Array:
        """Return sign · u·z of each row for the minimiser without it (without one unit of its weight), approximately.

        Parameters
        ----------
        u : ndarray of shape (k,)
            Minimiser of the loss, perhaps plus another function.
        hessian : ndarray of shape (k, k)
            Second derivatives of all that was minimised, at u.
        smallest_rest : float
            Lower bound on 1 - leverage of a row.
        """
        margins = self.signs * (self.rows @ u)
        excess, unit = np.maximum(1.0 - margins, 0.0), np.minimum(self.weights, 1.0)
        leverage = np.einsum("ij,ji->i", self.rows, np.linalg.solve(hessian, self.rows.T))
        rest = np.maximum(1.0 - 2.0 * unit * leverage * (excess > 0.0), smallest_rest)
        return np.asarray(margins - 2.0 * unit * excess * leverage / rest)


@dataclass(frozen=True, eq=False)
class LabelFit:
    """Minimiser of a `LabelLoss`, in the space of all features.

    Attributes
    ----------
    u : ndarray of shape (k,)
    basis : ndarray of shape (r, k) or None
        Orthonormal rows that span the labelled rows, where these are fewer than the features.
    """

    loss: LabelLoss
    u: Array
    basis: Array | None

    @lazy_property
    def _inverse(self) -> Array:
        return np.asarray(np.linalg.inv(self.in_basis().hessian(self.project(self.u))))

    def in_basis(self) -> LabelLoss:
        """Return the loss in the coordinates on the basis."""
        return self.loss if self.basis is None else replace(self.loss, rows=self.loss.rows @ self.basis.T)

    def project(self, u: Array) -> Array:
        """Return coordinates on the basis."""
        return u if self.basis is None else np.asarray(self.basis @ u)

    def solve(self, vector: Array) -> Array:
        """Return the inverse of the Hessian at u times a vector."""
        if self.basis is None:
            return np.asarray(self._inverse @ vector)
        inside = self.basis @ vector
        return np.asarray(self.loss.C * vector + (self._inverse @ inside - self.loss.C * inside) @ self.basis)


def fit_labels(labelled: LabelledRows, scales: Array, C: float | None) -> LabelFit:
    """Fit a linear classifier to the labelled rows.

    Parameters
    ----------
    scales : ndarray of shape (d,)
        Units of the coordinates.
    C : float or None
        Inverse strength of the regularisation. None lets the labels choose: C = 1, unless the losses of labels that are
        left out are smaller for another value by a paired t-test. A class needs two labels for that: without the only
        one nothing is known about it, and those of the other class choose what makes every row theirs.
    """
    if C is None and min(float(labelled.weights[labelled.signs == sign].sum()) for sign in (-1.0, 1.0)) <= 1.0:
        C = USUAL
    rows = np.column_stack([labelled.rows / scales, np.ones(len(labelled.signs))])
    inside, basis = reduce_to_row_space(rows) if len(rows) < rows.shape[1] else (rows, None)
    losses = [LabelLoss(inside, labelled.signs, labelled.weights, value) for value in (GRID if C is None else (C,))]
    solutions = [np.zeros(inside.shape[1])]
    for loss in losses:
        solutions.append(loss.minimise(solutions[-1]))
    solutions.pop(0)
    chosen = _choose(losses, solutions) if C is None else 0
    loss, u = losses[chosen], solutions[chosen]
    whole = LabelLoss(rows, labelled.signs, labelled.weights, loss.C)
    return LabelFit(whole, u if basis is None else u @ basis, basis)


def _choose(losses: list[LabelLoss], solutions: list[Array]) -> int:
    """Return the number of the C that the labels choose."""
    from scipy.special import stdtrit  # imported late: domain objects load without SciPy

    margins = [loss.leave_one_out(u, loss.hessian(u)) for loss, u in zip(losses, solutions, strict=True)]
    left_out = [np.maximum(1.0 - margin, 0.0) ** 2 for margin in margins]
    weights = losses[0].weights
    total, usual = float(weights.sum()), GRID.index(USUAL)
    best = int(np.argmin([float(weights @ values) for values in left_out]))
    gain = left_out[usual] - left_out[best]
    mean = float(weights @ gain) / total
    variance = float(weights @ (gain - mean) ** 2) / (total * (total - 1.0))
    return best if mean > float(stdtrit(total - 1.0, 1.0 - LEVEL)) * math.sqrt(variance) else usual


def calibrate(margins: Array, weights: Array) -> float:
    """Return the log-odds a per unit of the decision function that fit margins of labels that were left out.

    It minimises ``(log a/2)² / 2·0.5² + Σ weight · log(1 + exp(-a margin))``.
    """
    from scipy.optimize import brentq  # imported late: domain objects load without SciPy
    from scipy.special import expit

    def slope(log_ratio: float) -> float:
        scaled = USUAL_ODDS * math.exp(log_ratio) * margins
        return log_ratio / ODDS_WIDTH**2 - float(weights @ (scaled * expit(-scaled)))

    low, high = -MOST_WIDTHS * ODDS_WIDTH, MOST_WIDTHS * ODDS_WIDTH
    if slope(low) >= 0.0:
        return USUAL_ODDS * math.exp(low)
    return USUAL_ODDS * math.exp(high if slope(high) <= 0.0 else float(brentq(slope, low, high, xtol=1e-12)))
