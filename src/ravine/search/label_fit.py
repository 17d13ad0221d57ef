"""Linear classifier of the labelled rows alone: squared hinge, with the regularisation chosen in closed form."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ravine._properties import lazy_property
from ravine._typing import Array
from ravine.index import LabelledRows
from ravine.search.label_starts import reduce_to_row_space

__all__ = ["GRID", "LabelFit", "LabelLoss", "calibrate", "fit_labels"]

# Values of C among which the labels choose; the usual one is kept unless another is clearly better.
GRID = (0.01, 0.1, 1.0, 10.0)
USUAL = 1.0
# Standard errors of the paired difference by which another C has to be better.
STANDARD_ERRORS = 1.0
# Smallest part of its prediction that a row leaves to the others, when C is chosen: less is not known in closed form.
SMALLEST_REST = 1e-3
MOST_STEPS = 100
# Log-odds per unit of the decision function before labels are left out: for the squared hinge, the decision function of
# many labels is 2 P(+1) - 1. The logarithm has a normal prior of this width, within some widths.
USUAL_ODDS = 2.0
ODDS_WIDTH = 0.5
MOST_WIDTHS = 8.0


@dataclass(frozen=True, eq=False)
class LabelLoss:
    """|u|² / 2C + Σ weight · max(0, 1 - sign · u·z)² over rows z, the last feature of which is 1 (for the offset).

    The offset is regularised, too: with very few labels a free one is unstable.

    Attributes
    ----------
    rows : ndarray of shape (l, k)
    signs, weights : ndarray of shape (l,)
    C : float
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
            Smallest part of its prediction that a row leaves to the others.
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
    loss : LabelLoss
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


def fit_labels(labelled: LabelledRows, scale: float, C: float | None) -> LabelFit:
    """Fit a linear classifier to the labelled rows.

    Parameters
    ----------
    labelled : LabelledRows
    scale : float
        Unit of the rows.
    C : float or None
        Inverse strength of the regularisation. None lets the labels choose: C = 1, unless the losses of labels that are
        left out are smaller for another value by more than one standard error.
    """
    rows = np.column_stack([labelled.rows / scale, np.ones(len(labelled.signs))])
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
    margins = [loss.leave_one_out(u, loss.hessian(u)) for loss, u in zip(losses, solutions, strict=True)]
    left_out = [np.maximum(1.0 - margin, 0.0) ** 2 for margin in margins]
    weights = losses[0].weights
    total, usual = float(weights.sum()), GRID.index(USUAL)
    best = int(np.argmin([float(weights @ values) for values in left_out]))
    gain = left_out[usual] - left_out[best]
    mean = float(weights @ gain) / total
    variance = float(weights @ (gain - mean) ** 2) / (total * max(total - 1.0, 1e-12))
    return best if mean > STANDARD_ERRORS * math.sqrt(variance) else usual


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
