"""The objective of the gradient TSVM for many settings side by side, and its minimisation by annealing.

Cross-validation asks for the same fit with some labels left out and with other weights. Solved together, a step of all
of them is one product of matrices.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array

__all__ = ["TransductiveLoss", "anneal"]

MEMORY = 10
SUFFICIENT_DECREASE = 1e-4
# exp(-3 f²) curves by at most this much.
LARGEST_CURVATURE = 12.0 * math.exp(-1.5)


@dataclass(frozen=True)
class TransductiveLoss:
    """½ w'Rw + Σ_labelled cost max(0, 1 - y f)² + unlabelled_cost Σ_unlabelled exp(-3 f²), f = w·z + b, for p problems.

    Attributes
    ----------
    labelled : ndarray of shape (l, d)
    signs : ndarray of shape (l,)
    unlabelled : ndarray of shape (u, d)
    ridge : ndarray of shape (d,)
        Diagonal of R.
    costs : ndarray of shape (p, l)
        Of each label in each problem; zero leaves it out.
    unlabelled_costs : ndarray of shape (p,)
    offsets : ndarray of shape (p,)
        b, which is fixed.
    """

    labelled: Array
    signs: Array
    unlabelled: Array
    ridge: Array
    costs: Array
    unlabelled_costs: Array
    offsets: Array

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
        loss = np.einsum("pl,pl->p", costs, gaps * gaps) + unlabelled_costs * bumps.sum(axis=1)
        bumps *= f
        bumps *= -6.0 * unlabelled_costs[:, None]
        return loss, -2.0 * costs * gaps * self.signs, bumps

    def value_and_gradient(self, W: Array) -> tuple[Array, Array]:
        """Objectives and gradients, for any W of shape (p, d)."""
        every = np.arange(len(W))
        return self.finish(W, self.parts(every, self.slopes(W)))

    def finish(self, W: Array, parts: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        """Objectives and gradients from the parts."""
        loss, of_labelled, of_unlabelled = parts
        gradient = self.ridge * W + of_labelled @ self.labelled + of_unlabelled @ self.unlabelled
        return loss + 0.5 * (W * W) @ self.ridge, gradient


def anneal(
    problem: TransductiveLoss, W: Array, factors: Array, *, tol: float, path_tol: float, max_iter: int
) -> tuple[Array, Array]:
    """Minimise while the unlabelled cost grows to its full value, each time from the last solution.

    Parameters
    ----------
    problem : TransductiveLoss
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
    """
    full = problem.unlabelled_costs
    converged = np.ones(len(W), dtype=bool)
    for factor in factors if len(problem.unlabelled) else factors[-1:]:
        stage = replace(problem, unlabelled_costs=factor * full)
        sums = stage.costs.sum(axis=1) + stage.unlabelled_costs * len(stage.unlabelled)
        W, converged = _minimise(stage, W, (tol if factor == factors[-1] else path_tol) * sums, max_iter)
    return W, converged


def _minimise(problem: TransductiveLoss, W: Array, tolerances: Array, max_iter: int) -> tuple[Array, Array]:
    """L-BFGS for all problems in lock-step."""
    W = W.copy()
    outputs = problem.slopes(W)
    every = np.arange(len(W))
    value, gradient = problem.finish(W, problem.parts(every, outputs))
    steps: list[tuple[Array, Array, Array]] = []
    scale = np.ones(len(W))
    for _ in range(max_iter):
        live = np.flatnonzero(np.abs(gradient).max(axis=1) > tolerances)
        if not len(live):
            break
        w, g = W[live], gradient[live]
        direction = -_apply_inverse_hessian(steps, live, scale[live], g)
        slope = np.einsum("pd,pd->p", direction, g)
        wrong = ~(slope < 0.0)
        direction[wrong] = -g[wrong]
        slope[wrong] = -np.einsum("pd,pd->p", g[wrong], g[wrong])
        along = problem.slopes(direction)
        bound = (direction * direction) @ problem.ridge + 2.0 * np.einsum(
            "pl,pl->p", problem.costs[live], along[0] ** 2
        )
        bound += LARGEST_CURVATURE * problem.unlabelled_costs[live] * np.einsum("pu,pu->p", along[1], along[1])
        # Along the line the second derivative is at most the bound, so this step always descends.
        safe = -slope / np.maximum(bound, np.finfo(float).tiny)
        t = np.maximum(safe, 1.0) if steps else safe
        before = value[live]
        for _attempt in range(2):
            moved = w + t[:, None] * direction
            now = tuple(out[live] + t[:, None] * step for out, step in zip(outputs, along, strict=True))
            parts = problem.parts(live, (now[0], now[1]))
            new_value, new_gradient = problem.finish(moved, parts)
            bad = ~(new_value <= before + SUFFICIENT_DECREASE * t * slope)
            if not bad.any():
                break
            t = np.where(bad, safe, t)
        stuck = new_value > before  # by rounding
        tolerances = tolerances.copy()
        tolerances[live[stuck]] = math.inf
        s, change = np.zeros_like(W), np.zeros_like(W)
        s[live], change[live] = moved - w, new_gradient - g
        product = np.einsum("pd,pd->p", s, change)
        length = np.einsum("pd,pd->p", change, change)
        good = product > 1e-10 * np.sqrt(length * np.einsum("pd,pd->p", s, s))
        scale[good] = product[good] / length[good]
        inverse = np.zeros(len(W))
        inverse[good] = 1.0 / product[good]
        steps = [*steps[-(MEMORY - 1) :], (s, change, inverse)]
        W[live], value[live], gradient[live] = moved, new_value, new_gradient
        for out, new in zip(outputs, now, strict=True):
            out[live] = new
    return W, np.abs(gradient).max(axis=1) <= tolerances


def _apply_inverse_hessian(
    steps: list[tuple[Array, Array, Array]], live: NDArray[np.intp], scale: Array, gradient: Array
) -> Array:
    """The two loops of L-BFGS; a step with the inverse curvature 0 is passed over."""
    q, weights = gradient.copy(), []
    memory = [(s[live], y[live], inverse[live]) for s, y, inverse in steps]
    for s, y, inverse in reversed(memory):
        a = inverse * np.einsum("pd,pd->p", s, q)
        weights.append(a)
        q -= a[:, None] * y
    q *= scale[:, None]
    for (s, y, inverse), a in zip(memory, reversed(weights), strict=True):
        q += (a - inverse * np.einsum("pd,pd->p", y, q))[:, None] * s
    return q
