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
    """The last few steps and changes of gradient, carried along by parallel transport.

    Transport is an isometry, so the inner products that the compact form needs are computed once, when a pair comes in.
    """

    def __init__(self, size: int = 20) -> None:
        self.size = size
        self._count = 0
        self._pairs: Array | None = None  # (2, size, d): steps and changes, oldest first
        self._upper: Array = np.zeros((size, size), order="F")  # steps · changes, on and above the diagonal
        self._changes: Array = np.zeros((size, size))  # changes · changes

    def __len__(self) -> int:
        return self._count

    @property
    def steps(self) -> Array:
        """Steps, oldest first, as rows."""
        return np.empty((0, 0)) if self._pairs is None else self._pairs[0, : self._count]

    @property
    def changes(self) -> Array:
        """Changes of the gradient that belong to the steps."""
        return np.empty((0, 0)) if self._pairs is None else self._pairs[1, : self._count]

    def copy(self) -> Memory:
        """Return a memory of the same pairs that does not change with this one."""
        other = Memory(self.size)
        other._count = self._count
        if self._pairs is not None:
            other._pairs = np.empty_like(self._pairs)
            other._pairs[:, : self._count] = self._pairs[:, : self._count]
        other._upper, other._changes = self._upper.copy(order="F"), self._changes.copy()
        return other

    def clear(self) -> None:
        """Forget everything."""
        self._count = 0

    def rescale(self, factor: float) -> None:
        """Multiply all changes of the gradient, for a function whose curvature has grown by a factor."""
        if self._pairs is not None:
            self._pairs[1] *= factor
            self._upper *= factor
            self._changes *= factor * factor

    def push(self, step: Array, change: Array) -> None:
        """Remember a pair unless it has no positive curvature."""
        curvature = float(step @ change)
        if not curvature > 1e-10 * math.sqrt(float(step @ step) * float(change @ change)):
            return
        if self._pairs is None:
            self._pairs = np.empty((2, self.size, len(step)))
        if self._count == self.size:
            self._pairs[:, :-1] = self._pairs[:, 1:].copy()
            self._upper[:-1, :-1] = self._upper[1:, 1:].copy()
            self._changes[:-1, :-1] = self._changes[1:, 1:].copy()
            self._count -= 1
        k = self._count
        self._pairs[0, k], self._pairs[1, k] = step, change
        self._count = k + 1
        self._upper[: k + 1, k] = self._pairs[0, : k + 1] @ change
        self._changes[: k + 1, k] = self._changes[k, : k + 1] = self._pairs[1, : k + 1] @ change

    def descend(self, gradient: Array) -> Array:
        """Minus the approximate inverse Hessian times the gradient (compact form: Byrd, Nocedal & Schnabel 1994)."""
        m = self._count
        if m == 0 or self._pairs is None:
            return -gradient
        steps, changes = self._pairs[:, :m]
        upper, products = self._upper[:m, :m], self._changes[:m, :m]
        diagonal = upper.diagonal()
        scale = float(diagonal[-1] / products[-1, -1])
        a = _solve_upper(upper, steps @ gradient)
        b = _solve_upper(upper, diagonal * a + scale * (products @ a - changes @ gradient), trans=1)
        return np.asarray(scale * (a @ changes - gradient) - b @ steps)

    def transport(self, v: Array, u: Array, t: float) -> None:
        """Move all pairs along the circle by the angle t."""
        if self._count and self._pairs is not None:
            pairs = self._pairs[:, : self._count]
            pairs += np.multiply.outer(pairs @ u, (math.cos(t) - 1.0) * u - math.sin(t) * v)


def _solve_upper(matrix: Array, right: Array, trans: int = 0) -> Array:
    from scipy.linalg.lapack import dtrtrs  # here, so that the domain objects load without SciPy

    solution, info = dtrtrs(matrix, right, trans=trans)
    return np.asarray(solution) if info == 0 else np.zeros_like(right)


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
    n_samples : int
        Points at which a gradient was asked for beside the line searches.
    """

    v: Array
    value: float
    gradient: Array
    n_iter: int
    n_trials: int
    converged: bool
    stalled: bool
    n_samples: int = 0

    @property
    def n_evaluations(self) -> int:
        """Evaluations of the function: the start, the trials of line searches and the samples."""
        return 1 + self.n_trials + self.n_samples


def minimise_on_sphere(
    objective: SphereObjective,
    v: Array,
    *,
    max_iter: int,
    tolerance: float = 1e-9,
    memory: Memory | None = None,
    resolution: float = 1e-14,
    first_angle: float | None = None,
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
    first_angle : float, optional
        First trial where nothing is known of the curvature. If given, the last angle takes its place as soon as there
        is one: for functions so steep that the usual first trial is far too long.
    """
    carried = first_angle
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
            first = length if memory else FIRST_ANGLE if carried is None else carried
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
        carried = None if first_angle is None else t
        moved = math.cos(t) * v + math.sin(t) * u
        moved /= math.sqrt(float(moved @ moved))
        fresh = yield from objective.accept(t, moved)
        fresh = fresh - (fresh @ moved) * moved
        memory.transport(v, u, t)
        memory.push(t * (math.cos(t) * u - math.sin(t) * v), fresh - transported(gradient, v, u, t))
        v, value, gradient = moved, step.value, fresh
    raise AssertionError("unreachable: the last pass of the loop returns")
