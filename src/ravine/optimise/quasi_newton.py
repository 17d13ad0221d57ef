"""L-BFGS in a vector space, with a preconditioner and convergence beyond the resolution of the values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ravine._kernels import CURVATURE, SUFFICIENT_DECREASE
from ravine._typing import Array
from ravine.optimise.objective import Questions

# Differences of values below this fraction are rounding: then the slope alone decides.
RESOLUTION = 1e-9
# Decreases below this fraction are negligible.
NEGLIGIBLE = 1e-5
MOST_TRIALS = 20
# Longest first step, as a fraction of the length of the start: the minimum nearby is sought.
FIRST_STEP = 0.5

Evaluate = Callable[[Array], Questions[tuple[float, Array]]]
Solve = Callable[[Array], Array]


@dataclass
class CurvaturePairs:
    """Last steps and changes of the gradient; they may be passed on to a similar problem.

    Attributes
    ----------
    most : int
        Largest number of pairs.
    has_scale : bool
        Whether the preconditioner has the scale of the inverse Hessian; otherwise the last pair sets it.
    """

    most: int = 20
    has_scale: bool = False
    _pairs: list[tuple[Array, Array, float]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self._pairs)

    def clear(self) -> None:
        """Remove all pairs."""
        self._pairs.clear()

    def push(self, step: Array, change: Array) -> None:
        """Add a pair if its curvature is positive."""
        curvature = float(step @ change)
        if curvature > 1e-10 * math.sqrt(float(step @ step) * float(change @ change)):
            self._pairs.append((step, change, curvature))
            del self._pairs[: -self.most]

    def descend(self, gradient: Array, solve: Solve) -> Array:
        """Return minus the approximate inverse Hessian times the gradient (two-loop recursion)."""
        direction, factors = -gradient, []
        for step, change, curvature in reversed(self._pairs):
            factors.append(float(step @ direction) / curvature)
            direction = direction - factors[-1] * change
        direction = solve(direction)
        if self._pairs and not self.has_scale:
            _, change, curvature = self._pairs[-1]
            direction = direction * (curvature / float(change @ solve(change)))
        for (step, change, curvature), factor in zip(self._pairs, reversed(factors), strict=True):
            direction = direction + (factor - float(change @ direction) / curvature) * step
        return direction


@dataclass(frozen=True)
class VectorResult:
    """Result of an optimisation: the vector, the value there, the number of iterations, and whether it converged.

    It has converged if the expected further decrease is negligible, even if the steps are not yet as short as asked.
    """

    u: Array
    value: float
    n_iter: int
    converged: bool


def minimise_by_lbfgs(
    evaluate: Evaluate, u: Array, solve: Solve, *, max_iter: int, tolerance: float, pairs: CurvaturePairs
) -> Questions[VectorResult]:
    """Minimise a smooth function from u; a generator that yields the questions of the function.

    Parameters
    ----------
    evaluate : callable
        Returns value and gradient.
    u : ndarray of shape (k,)
        Start.
    solve : callable
        Preconditioner: an approximate inverse Hessian times a vector.
    tolerance : float
        Stop when the next step is shorter than this fraction of u.
    pairs : CurvaturePairs
        Curvature from an earlier, similar problem; updated in place.
    """
    value, gradient = yield from evaluate(u)
    longest = math.inf if pairs or pairs.has_scale else FIRST_STEP * float(np.linalg.norm(u))
    for n_iter in range(max_iter):
        direction = pairs.descend(gradient, solve)
        slope = float(gradient @ direction)
        if not slope < 0.0 and pairs:
            pairs.clear()
            continue
        length = float(np.linalg.norm(direction))
        if not length > tolerance * float(np.linalg.norm(u)):
            return VectorResult(u, value, n_iter, True)
        t, low, high = min(1.0, longest / length), 0.0, math.inf
        for _ in range(MOST_TRIALS):
            new_u = u + t * direction
            new_value, new_gradient = yield from evaluate(new_u)
            new_slope = float(new_gradient @ direction)
            is_rounding = abs(new_value - value) <= RESOLUTION * (1.0 + abs(value))
            if is_rounding and abs(new_slope) <= CURVATURE * abs(slope):
                break
            decreases = is_rounding or new_value <= value + SUFFICIENT_DECREASE * t * slope
            if not decreases or new_slope > -CURVATURE * slope:
                high = t
            elif new_slope < CURVATURE * slope:
                low = t
            else:
                break
            t = 0.5 * (low + high) if high < math.inf else 2.0 * t
        else:
            if not pairs:
                return VectorResult(u, value, n_iter, -slope <= NEGLIGIBLE * (1.0 + abs(value)))
            pairs.clear()
            continue
        pairs.push(new_u - u, new_gradient - gradient)
        u, value, gradient, longest = new_u, new_value, new_gradient, math.inf
    decrease = -float(gradient @ pairs.descend(gradient, solve))
    return VectorResult(u, value, max_iter, decrease <= NEGLIGIBLE * (1.0 + abs(value)))
