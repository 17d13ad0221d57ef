"""Hard margins: the hyperplane farthest from two sets of points, with its offset bounded to an interval.

The interval is F(v) of eq. (7), |b - μ·v| <= α σ(v) with σ(v)² = v'Σv, which is reverse-convex in (v, b). Without it,
or if it is not active, the problem is the shortest vector between two convex hulls, which is found exactly. If it is
active there is no such dual, and local solutions are found by sequential quadratic programming.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ravine_paper._typing import Array
from ravine_paper.optimise import find_hull_gap

__all__ = ["HardMargin", "maximise_bounded_margin", "maximise_free_margin"]

# Size of the first bounded problem; points that violate its solution are added, at most MAX_ROUNDS times.
FIRST_POINTS = 50
MAX_ROUNDS = 30


@dataclass(frozen=True, eq=False)
class HardMargin:
    """Hyperplane {x : normal·x = offset} between two sets of points, with its margin.

    Attributes
    ----------
    normal : ndarray of shape (d,)
        Unit vector that points to the positive side.
    offset : float
        Value of ``normal·x`` on the hyperplane.
    margin : float
        Signed distance of the nearest point; negative if it lies on the wrong side.
    bound : bool
        Whether the bound on the offset is active.
    """

    normal: Array
    offset: float
    margin: float
    bound: bool = False


def maximise_free_margin(points: Array, positive: NDArray[np.bool_]) -> HardMargin | None:
    """Find the hyperplane of largest margin between two sets of points; return None if they are not separable."""
    gap = find_hull_gap(points[positive], points[~positive])
    if not gap.distance > 1e-13 * float(np.abs(points - points.mean(axis=0)).max()):
        return None
    v = gap.vector / gap.distance
    low, high = float((points[~positive] @ v).max()), float((points[positive] @ v).min())
    return HardMargin(v, 0.5 * (high + low), 0.5 * (high - low)) if high > low else None


def maximise_bounded_margin(
    points: Array,
    positive: NDArray[np.bool_],
    covariance: Array,
    alpha: float,
    starts: Sequence[tuple[Array, float]],
    free: HardMargin,
) -> HardMargin | None:
    """Maximise the margin with |b| <= α σ(v) over local solutions from several starts.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Points with mean 0.
    positive : ndarray of shape (n,), bool
        Which points belong on the positive side.
    covariance : ndarray of shape (d, d)
        Covariance Σ of the data.
    alpha : float
        Half-width of the interval in standard deviations.
    starts : sequence of (ndarray of shape (d,), float)
        Normals and offsets.
    free : HardMargin
        Result of `maximise_free_margin`: the solution if it lies in the interval, else an upper bound.

    Returns
    -------
    HardMargin or None
        None if no local solution was found.
    """
    if abs(free.offset) <= alpha * _compute_sigma(covariance, free.normal):
        return free
    # The free solution lies outside the interval, so an end of the interval is active.
    signs = np.where(positive, 1.0, -1.0)
    found = [_solve_from(points, signs, covariance, alpha, v, b) for v, b in [(free.normal, free.offset), *starts]]
    return max((m for m in found if m is not None), key=lambda m: m.margin, default=None)


def _compute_sigma(covariance: Array, v: Array) -> float:
    """Compute the standard deviation of projections on v."""
    return math.sqrt(max(float(v @ covariance @ v), np.finfo(float).tiny))


def _solve_from(points: Array, signs: Array, covariance: Array, alpha: float, v: Array, b: float) -> HardMargin | None:
    """Find a local solution on a subset of the points, to which points are added until none violates the solution."""
    half = alpha * _compute_sigma(covariance, v)
    b = min(max(b, -half), half)
    near = np.argsort(signs * (points @ v - b), kind="stable")[:FIRST_POINTS]
    for _ in range(MAX_ROUNDS):
        solution = _solve(points[near], signs[near], covariance, alpha, v, b)
        if solution is None:
            return None
        v, b = solution
        distance = signs * (points @ v - b)
        margin = float(distance.min())
        inside = float(distance[near].min())
        if margin >= inside - 1e-12 * float(np.abs(points).max()):
            return HardMargin(v, b, margin, bound=True) if margin > 0.0 else None
        near = np.union1d(near, np.argsort(distance, kind="stable")[:FIRST_POINTS])
    return None


def _solve(
    points: Array, signs: Array, covariance: Array, alpha: float, v: Array, b: float
) -> tuple[Array, float] | None:
    """Find a local maximiser (v, b) of m subject to s_i (v·x_i - b) >= m, |b| <= α σ(v) and |v| = 1."""
    from scipy.optimize import minimize  # imported late: domain objects load without SciPy

    d = len(v)
    scale = max(float(np.abs(points).max()), np.finfo(float).tiny)
    rows = np.column_stack([signs[:, None] * points / scale, -signs, np.full(len(points), -1.0)])
    scaled_covariance = covariance / scale**2

    def evaluate_interval(x: Array) -> Array:
        half = alpha * _compute_sigma(scaled_covariance, x[:d])
        return np.array([half - x[d], half + x[d]])

    def differentiate_interval(x: Array) -> Array:
        slope = alpha / _compute_sigma(scaled_covariance, x[:d]) * (scaled_covariance @ x[:d])
        return np.array([[*slope, -1.0, 0.0], [*slope, 1.0, 0.0]])

    first = np.append(v, b / scale)
    result = minimize(
        lambda x: -x[-1],
        np.append(first, float((rows[:, :-1] @ first).min())),
        jac=lambda x: np.append(np.zeros(d + 1), -1.0),
        method="SLSQP",
        constraints=[
            {"type": "eq", "fun": lambda x: x[:d] @ x[:d] - 1.0, "jac": lambda x: np.append(2.0 * x[:d], [0.0, 0.0])},
            {"type": "ineq", "fun": lambda x: rows @ x, "jac": lambda x: rows},
            {"type": "ineq", "fun": evaluate_interval, "jac": differentiate_interval},
        ],
        options={"maxiter": 300, "ftol": 1e-15},
    )
    x = result.x
    length = float(np.linalg.norm(x[:d]))
    if not np.isfinite(x).all() or length == 0.0:
        return None
    v, b = x[:d] / length, float(x[d]) / length
    half = alpha * _compute_sigma(scaled_covariance, v)
    return v, min(max(b, -half), half) * scale
