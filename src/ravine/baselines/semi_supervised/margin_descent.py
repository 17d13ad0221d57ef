"""Objectives of margins for many settings side by side, and their minimisation by annealing.

Cross-validation asks for the same fit with some labels left out and with other weights. Solved together, a step of all
of them is one product of matrices.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array

__all__ = ["MarginLoss", "anneal"]

MEMORY = 10
# Weak Wolfe conditions.
SUFFICIENT_DECREASE, SLOPE_KEPT = 1e-4, 0.9
MOST_TRIALS = 12
# exp(-3 f²) curves by at most this much.
LARGEST_CURVATURE = 12.0 * math.exp(-1.5)


@dataclass(frozen=True)
class MarginLoss:
    """½ w'Rw + Σ_labelled cost h(1 - y f) + unlabelled_cost Σ_unlabelled exp(-3 f²), f = w·z + b, for p problems.

    h(m) is zero for m < 0, m² up to the bend and goes on straight from there.

    Attributes
    ----------
    labelled : ndarray of shape (l, d)
    signs : ndarray of shape (l,)
    unlabelled : ndarray of shape (u, d)
    ridge : ndarray of shape (p, d)
        Diagonals of R.
    costs : ndarray of shape (p, l)
        Of each label in each problem; zero leaves it out.
    unlabelled_costs : ndarray of shape (p,)
    offsets : ndarray of shape (p,)
        b, which is fixed.
    bend : float
        Infinite for the squared hinge; with the cost C / (2 bend) the hinge times C is approached as it shrinks.
    """

    labelled: Array
    signs: Array
    unlabelled: Array
    ridge: Array
    costs: Array
    unlabelled_costs: Array
    offsets: Array
    bend: float = math.inf

    def slopes(self, W: Array) -> tuple[Array, Array]:
        """w·z for labelled and unlabelled rows, one row for each problem."""
        return W @ self.labelled.T, W @ self.unlabelled.T

    def parts(self, which: NDArray[np.intp], outputs: tuple[Array, Array]) -> tuple[Array, Array, Array]:
        """Loss of the rows, and its derivative in each f, labelled and unlabelled, for some of the problems."""
        b = self.offsets[which, None]
        gaps = np.maximum(0.0, 1.0 - self.signs * (outputs[0] + b))
        costs, unlabelled_costs = self.costs[which], self.unlabelled_costs[which]
        f = outputs[1] + b
        bumps = np.exp(-3.0 * f * f)
        bent = np.minimum(gaps, self.bend)
        loss = _dots(costs, bent * (2.0 * gaps - bent)) + unlabelled_costs * bumps.sum(axis=1)
        bumps *= f
        bumps *= -6.0 * unlabelled_costs[:, None]
        return loss, -2.0 * costs * bent * self.signs, bumps

    def value_and_gradient(self, W: Array) -> tuple[Array, Array]:
        """Objectives and gradients, for any W of shape (p, d)."""
        every = np.arange(len(W))
        return self.finish(every, W, self.parts(every, self.slopes(W)))

    def curvature(self) -> Array:
        """A rough mean of the second derivative along each coordinate, of shape (p, d)."""
        of_labelled = self.costs @ self.labelled**2
        of_unlabelled = self.unlabelled_costs[:, None] * (self.unlabelled**2).sum(axis=0)
        return np.asarray(self.ridge + 2.0 * of_labelled + of_unlabelled) + np.finfo(float).tiny

    def finish(self, which: NDArray[np.intp], W: Array, parts: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        """Objectives and gradients from the parts."""
        loss, of_labelled, of_unlabelled = parts
        pull = self.ridge[which] * W
        gradient = pull + of_labelled @ self.labelled + of_unlabelled @ self.unlabelled
        return loss + 0.5 * _dots(W, pull), gradient


def anneal(
    problem: MarginLoss, W: Array, factors: Array, *, tol: float, path_tol: float, max_iter: int
) -> tuple[Array, NDArray[np.bool_], int]:
    """Minimise while the unlabelled cost grows to its full value, each time from the last solution.

    Parameters
    ----------
    problem : MarginLoss
    W : ndarray of shape (p, d)
        Where to start.
    factors : ndarray
        Of the unlabelled cost, increasing to 1.
    tol, path_tol : float
        Largest gradient entry at the end and before it, relative to the sum of the costs.
    max_iter : int
        Iterations for each factor.

    Returns
    -------
    W : ndarray of shape (p, d)
    converged : ndarray of shape (p,)
    n_iter : int
        Iterations for all factors.
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
    """L-BFGS for all problems in lock-step; what it knows at first is the mean curvature along each coordinate."""
    W, tolerances = W.copy(), tolerances.copy()
    outputs = problem.slopes(W)
    every = np.arange(len(W))
    value, gradient = problem.finish(every, W, problem.parts(every, outputs))
    metric = 1.0 / problem.curvature()
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
        slope = _dots(direction, g)
        wrong = ~(slope < 0.0)
        direction[wrong] = -metric[live][wrong] * g[wrong]
        slope[wrong] = _dots(direction[wrong], g[wrong])
        along = problem.slopes(direction)
        here = outputs[0][live], outputs[1][live]
        t, parts = _line_search(problem, live, w, direction, here, along, value[live], slope)
        moved = w + t[:, None] * direction
        new_value, new_gradient = problem.finish(live, moved, parts)
        tolerances[live[~(new_value < value[live])]] = math.inf  # no further descent but rounding
        s, change = np.zeros_like(W), np.zeros_like(W)
        s[live], change[live] = moved - w, new_gradient - g
        product, length = _dots(s, change), _dots(change, metric * change)
        good = product > 1e-12 * np.sqrt(_dots(s, s) * _dots(change, change))
        scale[good] = product[good] / length[good]
        inverse = np.zeros(len(W))
        inverse[good] = 1.0 / product[good]
        steps = [*steps[-(MEMORY - 1) :], (s, change, inverse)]
        W[live], value[live], gradient[live] = moved, new_value, new_gradient
        for out, start, step in zip(outputs, here, along, strict=True):
            out[live] = start + t[:, None] * step
    return W, np.abs(gradient).max(axis=1) <= tolerances, n_iter


def _line_search(
    problem: MarginLoss,
    live: NDArray[np.intp],
    w: Array,
    direction: Array,
    here: tuple[Array, Array],
    along: tuple[Array, Array],
    value: Array,
    slope: Array,
) -> tuple[Array, tuple[Array, Array, Array]]:
    """Steps that satisfy the weak Wolfe conditions, and the parts of the objective there; no products of matrices."""
    ridge = problem.ridge[live]
    quadratic = _dots(direction, ridge * direction)
    linear = _dots(w, ridge * direction)
    constant = 0.5 * _dots(w, ridge * w)
    bound = quadratic + 2.0 * _dots(problem.costs[live], along[0] ** 2)
    bound += LARGEST_CURVATURE * problem.unlabelled_costs[live] * _dots(along[1], along[1])
    # The second derivative along the line is at most the bound, so this step always descends.
    safe = -slope / np.maximum(bound, np.finfo(float).tiny)
    t, low, high = np.maximum(safe, 1.0), np.zeros(len(live)), np.full(len(live), np.inf)
    pending = np.arange(len(live))
    for attempt in range(MOST_TRIALS):
        tp, steps = t[pending], (along if attempt == 0 else (along[0][pending], along[1][pending]))
        starts = here if attempt == 0 else (here[0][pending], here[1][pending])
        parts = problem.parts(live[pending], (starts[0] + tp[:, None] * steps[0], starts[1] + tp[:, None] * steps[1]))
        reached = parts[0] + constant[pending] + tp * (linear[pending] + 0.5 * tp * quadratic[pending])
        tangent = linear[pending] + tp * quadratic[pending] + _dots(parts[1], steps[0]) + _dots(parts[2], steps[1])
        if attempt == 0:
            loss, of_labelled, of_unlabelled = parts
        else:
            loss[pending], of_labelled[pending], of_unlabelled[pending] = parts
        far = ~(reached <= value[pending] + SUFFICIENT_DECREASE * tp * slope[pending])
        near = ~far & (tangent < SLOPE_KEPT * slope[pending])
        high[pending[far]], low[pending[near]] = tp[far], tp[near]
        pending = pending[far | near]
        if not len(pending) or attempt == MOST_TRIALS - 1:
            break  # the parts are those of the steps as they are
        lo, hi = low[pending], high[pending]
        with np.errstate(invalid="ignore"):
            middle = np.where(lo > 0.0, 0.5 * (lo + hi), np.maximum(0.25 * hi, np.minimum(safe[pending], 0.5 * hi)))
        last = np.where(lo > 0.0, lo, np.minimum(safe[pending], hi))
        t[pending] = last if attempt == MOST_TRIALS - 2 else np.where(np.isinf(hi), 4.0 * lo, middle)
    return t, (loss, of_labelled, of_unlabelled)


def _dots(first: Array, second: Array) -> Array:
    return np.asarray(np.einsum("pd,pd->p", first, second))


def _apply_inverse_hessian(
    steps: list[tuple[Array, Array, Array]], live: NDArray[np.intp], metric: Array, gradient: Array
) -> Array:
    """The two loops of L-BFGS; a step with the inverse curvature 0 is passed over."""
    q, weights = gradient.copy(), []
    memory = [(s[live], y[live], inverse[live]) for s, y, inverse in steps]
    for s, y, inverse in reversed(memory):
        a = inverse * _dots(s, q)
        weights.append(a)
        q -= a[:, None] * y
    q *= metric
    for (s, y, inverse), a in zip(memory, reversed(weights), strict=True):
        q += (a - inverse * _dots(y, q))[:, None] * s
    return q
