"""Margin losses for many settings side by side, and their minimisation by annealing.

Cross-validation repeats a fit with some labels left out and with other weights. When these fits are solved together, a
step of all of them is one matrix product.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ravine_paper._typing import Array

__all__ = ["MarginLoss", "anneal"]

# Steps that L-BFGS remembers.
MEMORY = 10
# Of the weak Wolfe conditions.
SUFFICIENT_DECREASE, SLOPE_KEPT = 1e-4, 0.9
MOST_TRIALS = 12
# Largest second derivative of exp(-3 f²).
LARGEST_CURVATURE = 12.0 * math.exp(-1.5)

# Losses, and their derivatives in f of labelled and of unlabelled rows.
LossTerms = tuple[Array, Array, Array]


@dataclass(frozen=True)
class MarginLoss:
    """Objectives of p problems, which differ in their costs, ridges and offsets.

    With f = w·z + b they are ½ w'Rw + Σ_labelled cost h(1 - y f) + unlabelled_cost Σ_unlabelled exp(-3 f²). The loss
    h(m) is zero for m < 0, m² up to the bend, and linear beyond.

    Attributes
    ----------
    labelled : ndarray of shape (l, d)
    signs : ndarray of shape (l,)
    unlabelled : ndarray of shape (u, d)
    ridge : ndarray of shape (p, d)
        Diagonals of R.
    costs : ndarray of shape (p, l)
        Cost of each label in each problem; zero leaves the label out.
    unlabelled_costs : ndarray of shape (p,)
    offsets : ndarray of shape (p,)
        b, which is fixed.
    bend : float
        Infinite for the squared hinge. As it shrinks, the loss with the cost C / (2 bend) tends to C times the hinge.
    """

    labelled: Array
    signs: Array
    unlabelled: Array
    ridge: Array
    costs: Array
    unlabelled_costs: Array
    offsets: Array
    bend: float = math.inf

    def project(self, W: Array) -> tuple[Array, Array]:
        """Compute w·z of labelled and unlabelled rows, one row for each problem."""
        return W @ self.labelled.T, W @ self.unlabelled.T

    def evaluate_loss(self, problems: NDArray[np.intp], outputs: tuple[Array, Array]) -> LossTerms:
        """Compute the losses of some problems, and their derivatives in f of labelled and unlabelled rows."""
        b = self.offsets[problems, None]
        gaps = np.maximum(0.0, 1.0 - self.signs * (outputs[0] + b))
        costs, unlabelled_costs = self.costs[problems], self.unlabelled_costs[problems]
        f = outputs[1] + b
        bumps = np.exp(-3.0 * f * f)
        bent = np.minimum(gaps, self.bend)
        loss = _dot_rows(costs, bent * (2.0 * gaps - bent)) + unlabelled_costs * bumps.sum(axis=1)
        bumps *= f
        bumps *= -6.0 * unlabelled_costs[:, None]
        return loss, -2.0 * costs * bent * self.signs, bumps

    def evaluate(self, W: Array) -> tuple[Array, Array]:
        """Compute the objectives and gradients for any W of shape (p, d)."""
        every = np.arange(len(W))
        return self.add_ridge(every, W, self.evaluate_loss(every, self.project(W)))

    def estimate_curvature(self) -> Array:
        """Estimate the mean second derivative along each coordinate, of shape (p, d)."""
        of_labelled = self.costs @ self.labelled**2
        of_unlabelled = self.unlabelled_costs[:, None] * (self.unlabelled**2).sum(axis=0)
        return np.asarray(self.ridge + 2.0 * of_labelled + of_unlabelled) + np.finfo(float).tiny

    def add_ridge(self, problems: NDArray[np.intp], W: Array, terms: LossTerms) -> tuple[Array, Array]:
        """Compute the objectives and gradients of some problems from the terms of their losses."""
        loss, of_labelled, of_unlabelled = terms
        pull = self.ridge[problems] * W
        gradient = pull + of_labelled @ self.labelled + of_unlabelled @ self.unlabelled
        return loss + 0.5 * _dot_rows(W, pull), gradient


def anneal(
    problem: MarginLoss, W: Array, factors: Array, *, tol: float, path_tol: float, max_iter: int
) -> tuple[Array, NDArray[np.bool_], int]:
    """Minimise while the unlabelled cost increases to its full value, each time from the last solution.

    Parameters
    ----------
    problem : MarginLoss
    W : ndarray of shape (p, d)
        Start.
    factors : ndarray
        Factors of the unlabelled cost, increasing to 1.
    tol, path_tol : float
        Largest gradient entry at the last factor and at those before it, relative to the sum of the costs.
    max_iter : int
        Maximum number of iterations for each factor.

    Returns
    -------
    W : ndarray of shape (p, d)
    converged : ndarray of shape (p,)
    n_iter : int
        Number of iterations for all factors.
    """
    full = problem.unlabelled_costs
    converged, total = np.ones(len(W), dtype=bool), 0
    for factor in factors if len(problem.unlabelled) else factors[-1:]:
        stage = replace(problem, unlabelled_costs=factor * full)
        sums = stage.costs.sum(axis=1) * min(1.0, 2.0 * stage.bend) + stage.unlabelled_costs * len(stage.unlabelled)
        W, converged, n_iter = _minimise(stage, W, (tol if factor == factors[-1] else path_tol) * sums, max_iter)
        total += n_iter
    return W, converged, total


def _minimise(problem: MarginLoss, W: Array, tolerances: Array, max_iter: int) -> tuple[Array, NDArray[np.bool_], int]:
    """Run L-BFGS for all problems in lock-step, scaled by the estimated curvature along each coordinate."""
    W, tolerances = W.copy(), tolerances.copy()
    outputs = problem.project(W)
    every = np.arange(len(W))
    value, gradient = problem.add_ridge(every, W, problem.evaluate_loss(every, outputs))
    metric = 1.0 / problem.estimate_curvature()
    steps: list[tuple[Array, Array, Array]] = []
    scale = np.ones(len(W))
    n_iter = 0
    while n_iter < max_iter:
        live = np.flatnonzero(np.abs(gradient).max(axis=1) > tolerances)
        if not len(live):
            break
        n_iter += 1
        w, g = W[live], gradient[live]
        direction = -_apply_inverse_hessian(steps, live, metric[live] * scale[live, None], g)
        slope = _dot_rows(direction, g)
        wrong = ~(slope < 0.0)
        direction[wrong] = -metric[live][wrong] * g[wrong]
        slope[wrong] = _dot_rows(direction[wrong], g[wrong])
        along = problem.project(direction)
        here = outputs[0][live], outputs[1][live]
        t, terms = _search_line(problem, live, w, direction, here, along, value[live], slope)
        moved = w + t[:, None] * direction
        new_value, new_gradient = problem.add_ridge(live, moved, terms)
        tolerances[live[~(new_value < value[live])]] = math.inf  # no descent beyond rounding
        s, change = np.zeros_like(W), np.zeros_like(W)
        s[live], change[live] = moved - w, new_gradient - g
        product, length = _dot_rows(s, change), _dot_rows(change, metric * change)
        good = product > 1e-12 * np.sqrt(_dot_rows(s, s) * _dot_rows(change, change))
        scale[good] = product[good] / length[good]
        inverse = np.zeros(len(W))
        inverse[good] = 1.0 / product[good]
        steps = [*steps[-(MEMORY - 1) :], (s, change, inverse)]
        W[live], value[live], gradient[live] = moved, new_value, new_gradient
        for out, start, step in zip(outputs, here, along, strict=True):
            out[live] = start + t[:, None] * step
    return W, np.abs(gradient).max(axis=1) <= tolerances, n_iter


def _search_line(
    problem: MarginLoss,
    live: NDArray[np.intp],
    w: Array,
    direction: Array,
    here: tuple[Array, Array],
    along: tuple[Array, Array],
    value: Array,
    slope: Array,
) -> tuple[Array, LossTerms]:
    """Find steps that satisfy the weak Wolfe conditions, and the losses there, without any matrix product."""
    ridge = problem.ridge[live]
    quadratic = _dot_rows(direction, ridge * direction)
    linear = _dot_rows(w, ridge * direction)
    constant = 0.5 * _dot_rows(w, ridge * w)
    bound = quadratic + 2.0 * _dot_rows(problem.costs[live], along[0] ** 2)
    bound += LARGEST_CURVATURE * problem.unlabelled_costs[live] * _dot_rows(along[1], along[1])
    # The second derivative along the line is at most the bound, so this step always descends.
    safe = -slope / np.maximum(bound, np.finfo(float).tiny)
    t, low, high = np.maximum(safe, 1.0), np.zeros(len(live)), np.full(len(live), np.inf)
    pending = np.arange(len(live))
    for attempt in range(MOST_TRIALS):
        tp, steps = t[pending], (along if attempt == 0 else (along[0][pending], along[1][pending]))
        starts = here if attempt == 0 else (here[0][pending], here[1][pending])
        outputs = starts[0] + tp[:, None] * steps[0], starts[1] + tp[:, None] * steps[1]
        terms = problem.evaluate_loss(live[pending], outputs)
        reached = terms[0] + constant[pending] + tp * (linear[pending] + 0.5 * tp * quadratic[pending])
        tangent = (
            linear[pending] + tp * quadratic[pending] + _dot_rows(terms[1], steps[0]) + _dot_rows(terms[2], steps[1])
        )
        if attempt == 0:
            loss, of_labelled, of_unlabelled = terms
        else:
            loss[pending], of_labelled[pending], of_unlabelled[pending] = terms
        far = ~(reached <= value[pending] + SUFFICIENT_DECREASE * tp * slope[pending])
        near = ~far & (tangent < SLOPE_KEPT * slope[pending])
        high[pending[far]], low[pending[near]] = tp[far], tp[near]
        pending = pending[far | near]
        if not len(pending) or attempt == MOST_TRIALS - 1:
            break  # the losses are those of the current steps
        lo, hi = low[pending], high[pending]
        with np.errstate(invalid="ignore"):
            middle = np.where(lo > 0.0, 0.5 * (lo + hi), np.maximum(0.25 * hi, np.minimum(safe[pending], 0.5 * hi)))
        last = np.where(lo > 0.0, lo, np.minimum(safe[pending], hi))
        t[pending] = last if attempt == MOST_TRIALS - 2 else np.where(np.isinf(hi), 4.0 * lo, middle)
    return t, (loss, of_labelled, of_unlabelled)


def _dot_rows(first: Array, second: Array) -> Array:
    return np.asarray(np.einsum("pd,pd->p", first, second))


def _apply_inverse_hessian(
    steps: list[tuple[Array, Array, Array]], live: NDArray[np.intp], metric: Array, gradient: Array
) -> Array:
    """Run the two loops of L-BFGS; a step with the inverse curvature 0 has no effect."""
    q, weights = gradient.copy(), []
    memory = [(s[live], y[live], inverse[live]) for s, y, inverse in steps]
    for s, y, inverse in reversed(memory):
        a = inverse * _dot_rows(s, q)
        weights.append(a)
        q -= a[:, None] * y
    q *= metric
    for (s, y, inverse), a in zip(memory, reversed(weights), strict=True):
        q += (a - inverse * _dot_rows(y, q))[:, None] * s
    return q
