"""Maximum margin clustering by alternation: fit a regression to labels, then relabel by the best cut of its values."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from ravine_paper._typing import Array

__all__ = ["LabelRegressor", "MarginSolution", "compute_smallest_side", "find_best_cut", "maximise_margin"]

# Values that differ by less than this part of their range are equal: those of equal rows may be rounded differently.
ROUNDING = 1e-10
# Labels are -1 and 1: a regression whose values differ by less than this does not separate the rows.
CONSTANT = 1e-3


class LabelRegressor(Protocol):
    """Regression with the Laplacian loss on fixed rows."""

    def regress(self, targets: Array) -> tuple[Array, float, Any]:
        """Return the values w·φ(xᵢ) without intercept, ‖w‖², and the solution in the regressor's own terms."""

    def contrast(self, targets: Array) -> Array:
        """Project the rows on the difference between the means of the two classes."""


@dataclass(frozen=True)
class MarginSolution:
    """Cut with the lowest objective.

    Attributes
    ----------
    solution : object
        Of the regressor.
    cut : float
        Rows with larger values are on the upper side.
    objective : float
        ½‖w‖² + C Σ|1 - |w·φ(xᵢ) - cut||.
    n_iter : int
        Number of regressions.
    converged : bool
        Whether labels were repeated or the objective stopped changing.
    """

    solution: Any
    cut: float
    objective: float
    n_iter: int
    converged: bool


def compute_smallest_side(n_rows: int, balance: float) -> int:
    """Compute the fewest rows on a side for which the sizes of the sides differ by at most a part of all rows."""
    return max(1, min(n_rows // 2, math.ceil((1.0 - balance) * n_rows / 2.0 - 1e-9)))


def maximise_margin(
    regressor: LabelRegressor, targets: Array, *, C: float, fewest: int, max_iter: int, tol: float
) -> MarginSolution | None:
    """Alternate from given labels (-1 and 1) until they are repeated; None if all values are equal.

    Where the first labels cut off only a few rows, the best regression may be constant and not separate the others.
    The start is then the same cut, moved along the line through the two means until the sides are balanced.
    """
    best: MarginSolution | None = None
    seen: set[bytes] = {_make_key(targets)}
    before = math.inf
    for n_iter in range(1, max_iter + 1):
        values, square, solution = regressor.regress(targets)
        if n_iter == 1 and np.ptp(values) < CONSTANT:
            targets = _balance(regressor.contrast(targets), targets, fewest)
            values, square, solution = regressor.regress(targets)
        found = find_best_cut(values, fewest)
        if found is None:
            return best
        objective = 0.5 * square + C * found[1]
        targets = np.where(values > found[0], 1.0, -1.0)
        key = _make_key(targets)
        # Labels may also return to earlier ones than the last: a cycle.
        converged = abs(before - objective) <= tol * objective or key in seen
        if best is None or objective < best.objective:
            best = MarginSolution(solution, found[0], objective, n_iter, converged)
        if converged:
            break
        seen.add(key)
        before = objective
    return None if best is None else replace(best, n_iter=n_iter, converged=converged)


def _balance(values: Array, targets: Array, fewest: int) -> Array:
    """Label by the order of some values, with sides as near in size to those of the targets as is allowed."""
    n_upper = min(max(int((targets > 0.0).sum()), fewest), len(targets) - fewest)
    balanced = np.full(len(targets), -1.0)
    balanced[np.argsort(values, kind="stable")[len(targets) - n_upper :]] = 1.0
    return balanced


def _make_key(targets: Array) -> bytes:
    """Return the same key for labels and their negatives, which are the same problem."""
    return np.packbits(targets == targets[0]).tobytes()


def find_best_cut(values: Array, fewest: int) -> tuple[float, float] | None:
    """Find the cut c with the smallest Σ|1 - |fᵢ - c||, among the midpoints between neighbouring values: O(n log n).

    Parameters
    ----------
    values : ndarray of shape (n,)
    fewest : int
        Number of values required on each side. If ties prevent every cut from having them, the most balanced cut is
        taken.

    Returns
    -------
    cut, loss : float
        Values above the cut are on the upper side. None instead of both if the values are all equal.
    """
    ordered = np.sort(values)
    s = ordered - ordered[len(ordered) // 2]  # prefix sums of small numbers lose fewer digits
    n, below = len(s), np.arange(1, len(s))
    smaller = np.minimum(below, n - below)
    apart = np.diff(ordered) > ROUNDING * np.ptp(ordered)
    if not apart.any():
        return None
    allowed = np.flatnonzero(apart & (smaller >= min(fewest, int(smaller[apart].max()))))
    losses = _sum_losses(s, 0.5 * (s[:-1] + s[1:])[allowed])
    k = int(np.argmin(losses))
    lower, upper = ordered[allowed[k] : allowed[k] + 2].tolist()
    middle = 0.5 * lower + 0.5 * upper
    return middle if lower <= middle < upper else lower, float(losses[k])  # the middle may round to the upper value


def _sum_losses(ordered: Array, cuts: Array) -> Array:
    """Compute Σ|1 - |fᵢ - c|| over ordered values for each cut c, from prefix sums."""
    n, m = len(ordered), len(cuts)
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    # |1 - |t|| has four pieces, with ends at t = -1, 0 and 1: 1 + t inside, -1 - t outside, and the mirror images.
    edges = np.searchsorted(ordered, np.stack([cuts - 1.0, cuts, cuts + 1.0]), side="right")
    counts = np.diff(np.concatenate([np.zeros((1, m), dtype=np.intp), edges, np.full((1, m), n)]), axis=0)
    pieces = np.diff(np.concatenate([np.zeros((1, m)), sums[edges], np.full((1, m), sums[-1])]), axis=0)
    shifted = pieces - counts * cuts  # Σ(f - c) over each piece
    return np.asarray(
        (-counts[0] - shifted[0]) + (counts[1] + shifted[1]) + (counts[2] - shifted[2]) + (shifted[3] - counts[3])
    )
