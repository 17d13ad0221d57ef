"""Riemannian L-BFGS on the unit sphere. Knows nothing of densities."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ravine._typing import Array
from ravine.optimise.line_search import weak_wolfe
from ravine.optimise.objective import Asking, SphereObjective

__all__ = ["Memory", "SphereResult", "minimise_on_sphere"]

# The first step, with nothing known of the curvature: small, so that a start stays in its own basin.
FIRST_ANGLE = 0.1


class Memory:
    """The last few steps and changes of gradient, carried along by parallel transport."""

    def __init__(self, size: int = 20) -> None:
        self.size = size
        self.steps: list[Array] = []
        self.changes: list[Array] = []
        self.inverse_curvatures: list[float] = []

    def __len__(self) -> int:
        return len(self.steps)

    def copy(self) -> Memory:
        """Return a memory of the same pairs that does not change with this one."""
        other = Memory(self.size)
        other.steps, other.changes = self.steps.copy(), self.changes.copy()
        other.inverse_curvatures = self.inverse_curvatures.copy()
        return other

    def clear(self) -> None:
        """Forget everything."""
        self.steps.clear()
        self.changes.clear()
        self.inverse_curvatures.clear()

    def push(self, step: Array, change: Array) -> None:
        """Remember a pair unless it has no positive curvature."""
        curvature = float(step @ change)
        if not curvature > 1e-10 * math.sqrt(float(step @ step) * float(change @ change)):
            return
        self.steps.append(step)
        self.changes.append(change)
        self.inverse_curvatures.append(1.0 / curvature)
        if len(self) > self.size:
            for kept in (self.steps, self.changes, self.inverse_curvatures):
                del kept[0]

    def descend(self, gradient: Array) -> Array:
        """Minus the approximate inverse Hessian times the gradient (two-loop recursion)."""
        q = -gradient
        weights = []
        for s, y, r in zip(
            reversed(self.steps), reversed(self.changes), reversed(self.inverse_curvatures), strict=True
        ):
            a = r * float(s @ q)
            q = q - a * y
            weights.append(a)
        if self.steps:
            y = self.changes[-1]
            q = q / (self.inverse_curvatures[-1] * float(y @ y))
        for s, y, r, a in zip(self.steps, self.changes, self.inverse_curvatures, reversed(weights), strict=True):
            q = q + (a - r * float(y @ q)) * s
        return q

    def transport(self, v: Array, u: Array, t: float) -> None:
        """Move all pairs along the circle by the angle t."""
        if self.steps:
            both = transported(np.array(self.steps + self.changes), v, u, t)
            self.steps, self.changes = list(both[: len(self)]), list(both[len(self) :])


def transported(x: Array, v: Array, u: Array, t: float) -> Array:
    """Tangent vectors at v (rows of x) carried along cos t·v + sin t·u: an isometry, so inner products stay."""
    return x + np.multiply.outer(x @ u, (math.cos(t) - 1.0) * u - math.sin(t) * v)


@dataclass(frozen=True)
class SphereResult:
    """Where the optimiser stopped.

    Attributes
    ----------
    v : ndarray of shape (d,)
    value : float
    gradient : ndarray of shape (d,)
        Tangent at v.
    n_iter, n_trials : int
    converged : bool
        The decrease still to be expected is at most the tolerance.
    stalled : bool
        The line search found no decrease: a kink, or the resolution of the values.
    """

    v: Array
    value: float
    gradient: Array
    n_iter: int
    n_trials: int
    converged: bool
    stalled: bool


def minimise_on_sphere(
    objective: SphereObjective,
    v: Array,
    *,
    max_iter: int,
    tolerance: float = 1e-9,
    memory: Memory | None = None,
    resolution: float = 1e-14,
) -> Asking[SphereResult]:
    """Minimise a function on the sphere; a generator that yields the objective's questions.

    Parameters
    ----------
    objective : SphereObjective
    v : ndarray of shape (d,)
        Unit vector to start from.
    max_iter : int
    tolerance : float
        Stop when the quadratic model expects no larger decrease than this.
    memory : Memory, optional
        Curvature known from an earlier, similar problem at the same v; updated in place.
    resolution : float
        Smallest difference of values that means anything.
    """
    memory = Memory() if memory is None else memory
    value, gradient = yield from objective.begin(v)
    gradient = gradient - (gradient @ v) * v
    n_trials = 0
    for n_iter in range(max_iter + 1):
        step = None
        while step is None:
            direction = memory.descend(gradient)
            length = math.sqrt(float(direction @ direction))
            slope = float(gradient @ direction) / length if length > 0.0 else 0.0
            first = length if memory else FIRST_ANGLE
            if -0.5 * slope * first <= tolerance and slope <= 0.0:
                return SphereResult(v, value, gradient, n_iter, n_trials, True, False)
            if n_iter == max_iter:
                return SphereResult(v, value, gradient, n_iter, n_trials, False, False)
            if slope < -1e-6 * math.sqrt(float(gradient @ gradient)):
                u = direction / length
                u = u - (u @ v) * v
                u /= math.sqrt(float(u @ u))
                yield from objective.line(u)
                step = yield from weak_wolfe(objective, value, slope, first, resolution)
                n_trials += step.n_trials
                if step.angle > 0.0:
                    break
            # No descent, or no decrease: once more along the gradient before giving up.
            step = None
            if not memory:
                return SphereResult(v, value, gradient, n_iter, n_trials, False, True)
            memory.clear()
        t = step.angle
        moved = math.cos(t) * v + math.sin(t) * u
        moved /= math.sqrt(float(moved @ moved))
        fresh = yield from objective.accept(t, moved)
        fresh = fresh - (fresh @ moved) * moved
        memory.transport(v, u, t)
        memory.push(t * (math.cos(t) * u - math.sin(t) * v), fresh - transported(gradient, v, u, t))
        v, value, gradient = moved, step.value, fresh
    raise AssertionError("unreachable: the last pass of the loop returns")
