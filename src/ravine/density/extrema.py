"""Local minima and modes of a one-dimensional density between nodes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array

__all__ = ["compute_relative_log_depth", "find_extrema"]

# Newton stops after a step shorter than this (in h): near a flat extremum convergence is only linear.
LAST_STEP = 1e-9
# Cells are not halved any more once there are this many nodes.
MAX_NODES = 1_000_000

# Returns the log-density and its first two derivatives at the points as rows.
LogEvaluate = Callable[[Array], Array]


def find_extrema(evaluate: LogEvaluate, nodes: Array, bandwidth: float) -> tuple[Array, Array]:
    """Find the sign changes of the slope between ``nodes``: return (minima, modes), both increasing."""
    nodes, rising, change = _find_sign_changes(evaluate, nodes, bandwidth)
    upward = rising[change + 1]
    roots = _find_roots(evaluate, nodes[change], nodes[change + 1], upward, bandwidth)
    return roots[upward], roots[~upward]


def compute_relative_log_depth(evaluate: LogEvaluate, nodes: Array, bandwidth: float, b: float) -> float:
    """Compute the log ratio of the density at the lower of the two modes adjacent to b to the density at b.

    The relative depth of eq. (30) is ``expm1`` of it. It is -inf if there is no mode on one of the sides.
    """
    nodes, rising, change = _find_sign_changes(evaluate, nodes, bandwidth)
    change = change[~rising[change + 1]]  # from rising to falling: a mode
    above = int(np.searchsorted(nodes[change], b))
    candidates = change[max(above - 2, 0) : above + 1]  # the mode in the cell of b may lie on either side of b
    if len(candidates) < 2:
        return -np.inf
    modes = _find_roots(
        evaluate, nodes[candidates], nodes[candidates + 1], np.zeros(len(candidates), dtype=bool), bandwidth
    )
    left, right = modes[modes < b], modes[modes > b]
    if not len(left) or not len(right):
        return -np.inf
    at = evaluate(np.array([left[-1], right[0], b]))[0]
    return float(min(at[0], at[1]) - at[2])


def _find_sign_changes(
    evaluate: LogEvaluate, nodes: Array, bandwidth: float
) -> tuple[Array, NDArray[np.bool_], NDArray[np.intp]]:
    """Return the nodes, whether the density rises at each, and the cells in which that changes.

    Between two nodes the slope may cross zero more often than its signs at the ends suggest. It does so only if the
    cubic through the end slopes and curvatures does, which requires that its Bernstein coefficients change sign more
    than once; such cells are halved until no doubt remains.
    """
    for _ in range(20):
        _, slope, curvature = evaluate(nodes)
        w = np.diff(nodes) / bandwidth
        inner = slope[:-1] + curvature[:-1] * w / 3.0, slope[1:] - curvature[1:] * w / 3.0
        signs = np.sign([slope[:-1], *inner, slope[1:]])
        doubtful = (np.count_nonzero(signs[1:] != signs[:-1], axis=0) > 1) & (w > 1e-5)
        if not doubtful.any() or len(nodes) > MAX_NODES:
            break
        nodes = np.sort(np.concatenate([nodes, 0.5 * (nodes[:-1] + nodes[1:])[doubtful]]))
    else:
        slope = evaluate(nodes)[1]
    rising = slope > 0
    return nodes, rising, np.flatnonzero(rising[1:] != rising[:-1])


def _find_roots(evaluate: LogEvaluate, left: Array, right: Array, upward: NDArray[np.bool_], bandwidth: float) -> Array:
    """Find the roots of the slope in brackets with a safeguarded Newton method on all of them at once."""
    if not len(left):
        return left
    slopes = evaluate(np.concatenate([left, right]))[1].reshape(2, -1)
    rise = slopes[1] - slopes[0]
    x = left - slopes[0] / np.where(rise == 0.0, 1.0, rise) * (right - left)  # secant: the slopes differ in sign
    x = np.where((x > left) & (x < right), x, 0.5 * (left + right))
    for _ in range(60):
        _, slope, curvature = evaluate(x)
        before = (slope <= 0) == upward  # the root lies to the right of x
        left, right = np.where(before, x, left), np.where(before, right, x)
        newton = x - slope / np.where(curvature == 0.0, np.inf, curvature) * bandwidth
        safe = (newton > left) & (newton < right)
        following = np.where(safe, newton, 0.5 * (left + right))
        largest_step = np.abs(following - x).max()
        x = following
        if largest_step <= LAST_STEP * bandwidth:
            break
    return x
