"""Support vector regression with the Laplacian loss: least absolute deviations with a ridge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ravine_paper._typing import Array

__all__ = ["LaplacianRegression", "Regression"]

# The loss is quadratic between -δ and δ. For targets of -1 and 1, δ starts here and shrinks until the gap is closed.
FIRST_DELTA, NEXT_DELTA, LAST_DELTA = 1.0, 0.1, 1e-9
# From a solution for almost the same targets the first stages are not needed.
WARM_DELTA = 1e-2
NEWTON_STEPS = 100
BISECTIONS = 40
# After a step shorter than this part of the Newton step, the Hessian includes rows somewhat farther from the fit.
SHORT_STEP, WIDER = 0.1, 3.0


@dataclass(frozen=True)
class Regression:
    """Solution of one problem.

    Attributes
    ----------
    weights : ndarray of shape (m,)
    intercept : float
    gap : float
        Upper bound on the relative error of the objective: primal minus dual value, divided by the former.
    """

    weights: Array
    intercept: float
    gap: float


class LaplacianRegression:
    """Solver of min ½‖w‖² + C Σ|yᵢ - w·zᵢ - b| by Newton's method on smoothed losses.

    The loss is replaced by a quadratic between -δ and δ (Huber's function). Newton's method with a line search solves
    the smoothed problem in a few steps, since its objective is piecewise quadratic; the Hessian needs only the rows
    with residuals below δ. As δ shrinks these become few, and the solution tends to that of the original problem: this
    is the finite smoothing algorithm of Madsen and Nielsen (SIAM J. Optim. 3, 1993) with a ridge. The dual variables of
    the smoothed problem are feasible for the original one, so the duality gap bounds the error of the solution.

    Parameters
    ----------
    features : ndarray of shape (n, m)
    C : float
    tol : float
        Relative duality gap to reach.
    """

    def __init__(self, features: Array, C: float, tol: float) -> None:
        self.features = features
        self.C = C
        self.tol = tol

    def solve(self, targets: Array, start: Regression | None = None) -> Regression:
        """Solve for targets of about -1 and 1."""
        n_features = self.features.shape[1]
        w, b = (np.zeros(n_features), 0.0) if start is None else (start.weights, start.intercept)
        delta = FIRST_DELTA if start is None else WARM_DELTA
        reach = delta
        best = Regression(w, b, np.inf)
        while True:
            w, b, residuals = self._minimise_smoothed(targets, w, b, delta, reach)
            gap = self._compute_gap(targets, w, b, residuals, delta)
            if gap < best.gap:
                best = Regression(w, b, gap)
            if best.gap <= self.tol or delta <= LAST_DELTA:
                return best
            # Residuals below δ shrink with it: the same rows will be near the fit, so they give the first Hessian.
            reach, delta = delta, delta * NEXT_DELTA

    def _minimise_smoothed(
        self, targets: Array, w: Array, b: float, delta: float, reach: float
    ) -> tuple[Array, float, Array]:
        """Minimise the smoothed objective; rows with residuals up to ``reach`` give the first Hessian."""
        Z, C = self.features, self.C
        residuals = targets - Z @ w - b
        last = np.inf
        for _ in range(NEWTON_STEPS):
            forces = C * np.clip(residuals / delta, -1.0, 1.0)
            gradient = np.append(w - Z.T @ forces, -forces.sum())
            size = float(np.abs(gradient).max())
            if size <= 1e-10 * C * len(Z) or (size >= last and size <= 1e-7 * C * len(Z)):  # zero up to rounding
                break
            last = size
            step = -self._solve_hessian(np.abs(residuals) <= reach, delta, gradient)
            change = Z @ step[:-1] + step[-1]
            t = self._search_line(w, step[:-1], residuals, change, delta)
            if t == 0.0 and reach > 1e3 * delta:
                break
            reach = delta if t >= SHORT_STEP else max(delta, WIDER * reach)
            w, b, residuals = w + t * step[:-1], b + t * float(step[-1]), residuals - t * change
        return w, b, residuals

    def _solve_hessian(self, near: NDArray[np.bool_], delta: float, gradient: Array) -> Array:
        """Solve for the Newton step; the Hessian is I + C/δ Σ z zᵀ over the rows near the fit, bordered for b."""
        Z, m, scale = self.features[near], self.features.shape[1], self.C / delta
        hessian = np.empty((m + 1, m + 1))
        hessian[:m, :m] = scale * (Z.T @ Z)
        hessian[:m, :m].flat[:: m + 1] += 1.0
        hessian[m, :m] = hessian[:m, m] = scale * Z.sum(axis=0)
        hessian[m, m] = scale * max(len(Z), 1)
        diagonal = hessian.diagonal().copy()
        for jitter in (1e-14, 1e-11, 1e-8, 1e-5):  # no row may determine the intercept, or several may
            hessian.flat[:: m + 2] = diagonal * (1.0 + jitter)
            try:
                return np.asarray(cho_solve(cho_factor(hessian, lower=True), gradient))
            except LinAlgError:
                continue
        return gradient / diagonal

    def _search_line(self, w: Array, step: Array, residuals: Array, change: Array, delta: float) -> float:
        """Find the zero of the slope of the smoothed objective, which is increasing; prefer the full step."""
        linear, square = float(w @ step), float(step @ step)

        def slope(t: float) -> float:
            forces = self.C * np.clip((residuals - t * change) / delta, -1.0, 1.0)
            return linear + t * square - float(forces @ change)

        start, lo, hi = slope(0.0), 0.0, 1.0
        if start >= 0.0:
            return 0.0
        at = slope(1.0)
        if abs(at) <= 0.1 * abs(start):
            return 1.0
        while at < 0.0 and hi < 1e6:
            lo, hi = hi, 2.0 * hi
            at = slope(hi)
        for _ in range(BISECTIONS):
            middle = 0.5 * (lo + hi)
            at = slope(middle)
            if abs(at) <= 0.01 * abs(start):
                return middle
            lo, hi = (lo, middle) if at > 0.0 else (middle, hi)
        return lo

    def _compute_gap(self, targets: Array, w: Array, b: float, residuals: Array, delta: float) -> float:
        """Compute the relative duality gap of the original problem."""
        forces = self.C * np.clip(residuals / delta, -1.0, 1.0)
        pulled = self.features.T @ forces
        primal = 0.5 * float(w @ w) + self.C * float(np.abs(residuals).sum())
        dual = float(targets @ forces) - 0.5 * float(pulled @ pulled)
        # The dual value is a bound only if the forces balance: the imbalance counts as error.
        error = primal - dual + abs(b * float(forces.sum()))
        return 0.0 if error <= 1e-12 * self.C * len(targets) else error / primal  # a perfect fit has no error
