"""Hard margins: the hyperplane farthest from two sets of points, with its offset kept in an interval.

The interval is that of the paper, |b - μ·v| <= α σ(v) with σ(v)² = v'Σv: reverse-convex in (v, b). Without it, or where
it does not bind, the problem is the shortest vector between two convex hulls, which is found exactly. Where it binds
there is no such dual, and local solutions are found by sequential quadratic programming.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.optimise.min_norm import find_hull_gap

__all__ = ["Margin", "bounded_margin", "free_margin"]

# Rows that the first bounded problem looks at; those it violates are added.
FIRST_ROWS = 50
MOST_ROUNDS = 30


@dataclass(frozen=True, eq=False)
class Margin:
    """A hyperplane {x : normal·x = offset} between two sets of points.

    Attributes
    ----------
    normal : ndarray of shape (d,)
        Unit vector that points to the positive side.
    offset : float
    margin : float
        Signed distance of the nearest point; negative if one lies on the wrong side.
    bound : bool
        Whether the interval of offsets holds it.
    """

    normal: Array
    offset: float
    margin: float
    bound: bool = False


def free_margin(points: Array, positive: NDArray[np.bool_]) -> Margin | None:
    """The hyperplane of largest margin between two sets of points; None if no hyperplane separates them."""
    gap = find_hull_gap(points[positive], points[~positive])
    if not gap.distance > 1e-13 * float(np.abs(points - points.mean(axis=0)).max()):
        return None
    v = gap.vector / gap.distance
    ours, theirs = float((points[positive] @ v).min()), float((points[~positive] @ v).max())
    return Margin(v, 0.5 * (ours + theirs), 0.5 * (ours - theirs)) if ours > theirs else None


def bounded_margin(
    points: Array,
    positive: NDArray[np.bool_],
    covariance: Array,
    alpha: float,
    starts: Sequence[tuple[Array, float]],
    free: Margin,
) -> Margin | None:
    """The largest margin with |b| <= α σ(v), among local solutions from several starts; None if there is none.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Their mean is the origin.
    positive : ndarray of shape (n,), bool
    covariance : ndarray of shape (d, d)
    alpha : float
    starts : sequence of (ndarray of shape (d,), float)
        Normals and offsets.
    free : Margin
        What `free_margin` found: the answer if it lies in the interval, else an upper bound.
    """
    if abs(free.offset) <= alpha * _sigma(covariance, free.normal):
        return free
    # Nothing inside the interval can have the margin of a free solution outside, so an end of the interval binds.
    signs = np.where(positive, 1.0, -1.0)
    found = [_from(points, signs, covariance, alpha, v, b) for v, b in [(free.normal, free.offset), *starts]]
    return max((m for m in found if m is not None), key=lambda m: m.margin, default=None)


def _sigma(covariance: Array, v: Array) -> float:
    return math.sqrt(max(float(v @ covariance @ v), np.finfo(float).tiny))


def _from(points: Array, signs: Array, covariance: Array, alpha: float, v: Array, b: float) -> Margin | None:
    """A local solution: on the rows that matter, found by adding those that a solution violates."""
    half = alpha * _sigma(covariance, v)
    b = min(max(b, -half), half)
    near = np.argsort(signs * (points @ v - b), kind="stable")[:FIRST_ROWS]
    for _ in range(MOST_ROUNDS):
        solution = _solve(points[near], signs[near], covariance, alpha, v, b)
        if solution is None:
            return None
        v, b = solution
        distance = signs * (points @ v - b)
        margin = float(distance.min())
        inside = float(distance[near].min())
        if margin >= inside - 1e-12 * float(np.abs(points).max()):
            return Margin(v, b, margin, bound=True) if margin > 0.0 else None
        near = np.union1d(near, np.argsort(distance, kind="stable")[:FIRST_ROWS])
    return None


def _solve(
    points: Array, signs: Array, covariance: Array, alpha: float, v: Array, b: float
) -> tuple[Array, float] | None:
    """Maximise m subject to s_i (v·x_i - b) >= m, |b| <= α σ(v), |v| = 1; a local solution in (v, b, m)."""
    from scipy.optimize import minimize  # here, so that the domain objects load without it

    d = len(v)
    scale = max(float(np.abs(points).max()), np.finfo(float).tiny)
    rows = np.column_stack([signs[:, None] * points / scale, -signs, np.full(len(points), -1.0)])
    spread = covariance / scale**2

    def interval(x: Array) -> Array:
        half = alpha * _sigma(spread, x[:d])
        return np.array([half - x[d], half + x[d]])

    def interval_slopes(x: Array) -> Array:
        wider = alpha / _sigma(spread, x[:d]) * (spread @ x[:d])
        return np.array([[*wider, -1.0, 0.0], [*wider, 1.0, 0.0]])

    first = np.append(v, b / scale)
    result = minimize(
        lambda x: -x[-1],
        np.append(first, float((rows[:, :-1] @ first).min())),
        jac=lambda x: np.append(np.zeros(d + 1), -1.0),
        method="SLSQP",
        constraints=[
            {"type": "eq", "fun": lambda x: x[:d] @ x[:d] - 1.0, "jac": lambda x: np.append(2.0 * x[:d], [0.0, 0.0])},
            {"type": "ineq", "fun": lambda x: rows @ x, "jac": lambda x: rows},
            {"type": "ineq", "fun": interval, "jac": interval_slopes},
        ],
        options={"maxiter": 300, "ftol": 1e-15},
    )
    x = result.x
    length = float(np.linalg.norm(x[:d]))
    if not np.isfinite(x).all() or length == 0.0:
        return None
    v, b = x[:d] / length, float(x[d]) / length
    half = alpha * _sigma(spread, v)
    return v, min(max(b, -half), half) * scale
