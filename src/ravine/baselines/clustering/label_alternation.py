"""Maximum margin clustering by turns: a regression on the labels, then the labels of the best cut of its values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ravine._typing import Array

__all__ = ["Machine", "Margin", "best_cut", "fewest_on_a_side", "maximise_margin"]

# Values that differ by less than this part of their range are equal: those of equal rows may be rounded differently.
ROUNDING = 1e-10
# Labels are -1 and 1: values of a regression that differ by less than this do not tell rows apart.
CONSTANT = 1e-3


class Machine(Protocol):
    """A regression with the Laplacian loss on rows that it knows."""

    def regress(self, targets: Array) -> tuple[Array, float, Any]:
        """Values w·φ(xᵢ) without intercept, ‖w‖², and the solution in the machine's own terms."""

    def contrast(self, targets: Array) -> Array:
        """Projections of the rows on the difference between the means of the two classes."""


@dataclass(frozen=True)
class Margin:
    """The best separation that was found.

    Attributes
    ----------
    solution : object
        Of the machine.
    cut : float
        Rows with larger values are on the upper side.
    objective : float
        ½‖w‖² + C Σ|1 - |w·φ(xᵢ) - cut||.
    n_iter : int
        Regressions.
    converged : bool
        Whether labels repeated themselves or the objective stood still.
    """

    solution: Any
    cut: float
    objective: float
    n_iter: int
    converged: bool


def fewest_on_a_side(n_rows: int, balance: float) -> int:
    """Rows that each side must have so that the sides differ by at most a part of all rows, as far as possible."""
    return max(1, min(n_rows // 2, math.ceil((1.0 - balance) * n_rows / 2.0 - 1e-9)))


def maximise_margin(
    machine: Machine, targets: Array, *, C: float, fewest: int, max_iter: int, tol: float
) -> Margin | None:
    """Take turns from some labels (-1 and 1) until they repeat; None if all values are equal.

    Where the first labels cut off a few rows only, the best regression may be constant and say nothing of the others.
    Then the start is the same cut, moved along the line through the two means until the sides are balanced.
    """
    best: Margin | None = None
    seen: set[bytes] = {_key(targets)}
    before = math.inf
    for n_iter in range(1, max_iter + 1):
        values, square, solution = machine.regress(targets)
        if n_iter == 1 and np.ptp(values) < CONSTANT:
            targets = _balanced(machine.contrast(targets), targets, fewest)
            values, square, solution = machine.regress(targets)
        found = best_cut(values, fewest)
        if found is None:
            return best
        objective = 0.5 * square + C * found[1]
        targets = np.where(values > found[0], 1.0, -1.0)
        key = _key(targets)
        still = abs(before - objective) <= tol * objective or key in seen  # also the labels before the last: a cycle
        if best is None or objective < best.objective:
            best = Margin(solution, found[0], objective, n_iter, still)
        if still:
            break
        seen.add(key)
        before = objective
    return None if best is None else Margin(best.solution, best.cut, best.objective, n_iter, still)


def _balanced(values: Array, targets: Array, fewest: int) -> Array:
    """Upper and lower labels by the order of some values, in numbers as near to those of the targets as allowed."""
    n_upper = min(max(int((targets > 0.0).sum()), fewest), len(targets) - fewest)
    balanced = np.full(len(targets), -1.0)
    balanced[np.argsort(values, kind="stable")[len(targets) - n_upper :]] = 1.0
    return balanced


def _key(targets: Array) -> bytes:
    """The same for labels and their opposite, which are the same problem."""
    return np.packbits(targets == targets[0]).tobytes()


def best_cut(values: Array, fewest: int) -> tuple[float, float] | None:
    """The cut c with the smallest Σ|1 - |fᵢ - c||, among the middles between neighbouring values: O(n log n).

    Parameters
    ----------
    values : ndarray of shape (n,)
    fewest : int
        Values that must lie on each side. Where equal values do not let any cut do so, the most balanced cut is taken.

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
    allowed = apart & (smaller >= min(fewest, int(smaller[apart].max())))
    c = 0.5 * (s[:-1] + s[1:])[allowed]
    sums = np.concatenate([[0.0], np.cumsum(s)])
    # |1 - |t|| has four pieces, with ends at t = -1, 0 and 1: 1 + t inside, -1 - t outside, and the mirror images.
    edges = np.searchsorted(s, np.stack([c - 1.0, c, c + 1.0]), side="right")
    counts = np.diff(np.concatenate([np.zeros((1, len(c)), dtype=np.intp), edges, np.full((1, len(c)), n)]), axis=0)
    parts = np.diff(np.concatenate([np.zeros((1, len(c))), sums[edges], np.full((1, len(c)), sums[-1])]), axis=0)
    shifted = parts - counts * c  # Σ(f - c) over each piece
    loss = (-counts[0] - shifted[0]) + (counts[1] + shifted[1]) + (counts[2] - shifted[2]) + (shifted[3] - counts[3])
    k = int(np.argmin(loss))
    lower, upper = ordered[np.flatnonzero(allowed)[k] : np.flatnonzero(allowed)[k] + 2].tolist()
    middle = 0.5 * lower + 0.5 * upper
    return middle if lower <= middle < upper else lower, float(loss[k])  # the middle may round to the upper value
