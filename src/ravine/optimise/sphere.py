"""Riemannian L-BFGS on the unit sphere."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass

import numpy as np

from ravine._kernels import FIRST_ANGLE, LARGEST_ANGLE
from ravine._typing import Array
from ravine.optimise.line_search import Step, search_weak_wolfe
from ravine.optimise.objective import Questions, SphereObjective


class Memory:
    """Last steps and changes of the gradient of L-BFGS, kept up to date by parallel transport.

    Transport is an isometry, so the inner products of the compact form are computed once, when a pair is added.
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
        """Steps as rows, oldest first."""
        return np.empty((0, 0)) if self._pairs is None else self._pairs[0, : self._count]

    @property
    def changes(self) -> Array:
        """Changes of the gradient along the steps, as rows."""
        return np.empty((0, 0)) if self._pairs is None else self._pairs[1, : self._count]

    def copy(self) -> Memory:
        """Return an independent copy."""
        other = copy(self)
        if self._pairs is not None:
            other._pairs = np.empty_like(self._pairs)
            other._pairs[:, : self._count] = self._pairs[:, : self._count]
        other._upper, other._changes = self._upper.copy(order="F"), self._changes.copy()
        return other

    def clear(self) -> None:
        """Remove all pairs."""
        self._count = 0

    def buffers(self, n_features: int) -> tuple[Array, Array, Array]:
        """Return the arrays as flat views, for a compiled optimiser that changes them; see `resize`."""
        if self._pairs is None:
            self._pairs = np.empty((2, self.size, n_features))
        return self._pairs.ravel(), self._upper.T.ravel(), self._changes.ravel()

    def resize(self, count: int) -> None:
        """Set the number of pairs, after `buffers` were changed."""
        self._count = count

    def rescale(self, factor: float) -> None:
        """Multiply all changes of the gradient by a factor, as for a function whose curvature grew by it."""
        if self._pairs is not None:
            self._pairs[1, : self._count] *= factor  # the others are not set
            self._upper *= factor
            self._changes *= factor * factor

    def push(self, step: Array, change: Array) -> None:
        """Add a pair if its curvature is positive."""
        curvature = _dot(step, change)
        if not curvature > 1e-10 * math.sqrt(_dot(step, step) * _dot(change, change)):
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
        """Return minus the approximate inverse Hessian times the gradient (Byrd, Nocedal & Schnabel 1994)."""
        m = self._count
        if m == 0 or self._pairs is None:
            return -gradient
        steps, changes = self._pairs[:, :m]
        upper, products = self._upper[:m, :m], self._changes[:m, :m]
        diagonal = upper.diagonal()
        scale = float(diagonal[-1] / products[-1, -1])
        with np.errstate(over="ignore", invalid="ignore"):  # a direction that is not finite is not used
            a = _solve_upper(upper, steps @ gradient)
            b = _solve_upper(upper, diagonal * a + scale * (products @ a - changes @ gradient), trans=1)
            return np.asarray(scale * (a @ changes - gradient) - b @ steps)

    def transport(self, v: Array, u: Array, t: float) -> None:
        """Transport all pairs along the great circle cos t·v + sin t·u."""
        if self._count and self._pairs is not None:
            pairs = self._pairs[:, : self._count]
            pairs[:] = transport(pairs, v, u, t)


def _dot(a: Array, b: Array) -> float:
    """Return an inner product, infinite (without a warning) for gradients above 1e154 in the deepest valleys."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(a @ b)


def _solve_upper(matrix: Array, right: Array, trans: int = 0) -> Array:
    """Solve an upper triangular system, or its transpose; return zeros if it is singular."""
    from scipy.linalg.lapack import dtrtrs  # imported late: domain objects load without SciPy

    solution, info = dtrtrs(matrix, right, trans=trans)
    return np.asarray(solution) if info == 0 else np.zeros_like(right)


@dataclass(frozen=True)
class SphereResult:
    """Result of an optimisation on the sphere.

    Attributes
    ----------
    v : ndarray of shape (d,)
        Final unit vector.
    value : float
        Value of the function at v.
    gradient : ndarray of shape (d,)
        Gradient at v, tangent to the sphere.
    n_iter, n_trials : int
        Numbers of iterations and of line search trials.
    converged : bool
        Whether the expected further decrease is at most the tolerance.
    stalled : bool
        Whether the line search found no decrease, because of a kink or the resolution of the values.
    n_samples : int
        Number of points, apart from the line searches, at which a gradient was computed.
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
        """Number of evaluations of the function: the start, the trials of line searches and the samples."""
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
    largest_angle: float = math.pi,
) -> Questions[SphereResult]:
    """Minimise a function on the sphere by L-BFGS; a generator that yields the questions of the objective.

    Parameters
    ----------
    objective : SphereObjective
        Function to minimise.
    v : ndarray of shape (d,)
        Unit vector to start from.
    max_iter : int
        Largest number of iterations.
    tolerance : float
        Stop when the quadratic model predicts a decrease of at most this.
    memory : Memory, optional
        Curvature from an earlier, similar problem at the same v; updated in place.
    resolution : float
        Smallest significant difference of values.
    first_angle : float, optional
        First trial without curvature information. If given, the angle of the last step replaces it after the first
        iteration: for functions so steep that the usual first trial is far too long.
    largest_angle : float
        Largest angle of one step; farther than this from the start no other step is made.
    """
    usual_angle, start = first_angle, v
    largest, smallest_cosine = min(largest_angle, LARGEST_ANGLE), math.cos(largest_angle) - 1e-9
    memory = Memory() if memory is None else memory
    value, gradient = yield from objective.begin(v)
    gradient = project_to_tangent(gradient, v)
    n_trials = 0
    for n_iter in range(max_iter + 1):
        step: Step | None = None
        while step is None:
            direction = memory.descend(gradient)
            length = math.sqrt(_dot(direction, direction))
            slope = _dot(gradient, direction) / length if length > 0.0 else 0.0
            first = length if memory else FIRST_ANGLE if usual_angle is None else usual_angle
            if -0.5 * slope * first <= tolerance and slope <= 0.0:
                return SphereResult(v, value, gradient, n_iter, n_trials, True, False)
            if n_iter == max_iter or float(v @ start) < smallest_cosine:
                return SphereResult(v, value, gradient, n_iter, n_trials, False, False)
            if slope < -1e-6 * math.sqrt(_dot(gradient, gradient)):
                u = make_unit_tangent(direction, v)
                yield from objective.set_tangent(u)
                step = yield from search_weak_wolfe(objective, value, slope, first, resolution, largest)
                n_trials += step.n_trials
                if step.angle > 0.0:
                    break
            # No descent or no decrease: try once more along the gradient before giving up.
            step = None
            if not memory:
                return SphereResult(v, value, gradient, n_iter, n_trials, False, True)
            memory.clear()
        t = step.angle
        usual_angle = None if first_angle is None else t
        new_v = move_on_circle(v, u, t)
        new_gradient = project_to_tangent((yield from objective.accept(t, new_v)), new_v)
        memory.transport(v, u, t)
        memory.push(t * (math.cos(t) * u - math.sin(t) * v), new_gradient - transport(gradient, v, u, t))
        v, value, gradient = new_v, step.value, new_gradient
    raise AssertionError("unreachable: the last pass of the loop returns")


def normalise(x: Array) -> Array:
    """Scale a vector to unit length."""
    return np.asarray(x / math.sqrt(float(x @ x)))


def project_to_tangent(x: Array, v: Array) -> Array:
    """Remove the component of x along the unit vector v."""
    with np.errstate(invalid="ignore"):  # a gradient that overflowed ends the descent
        return np.asarray(x - (x @ v) * v)


def make_unit_tangent(direction: Array, v: Array) -> Array:
    """Make a direction a unit tangent at v, orthogonal to v up to rounding."""
    return normalise(project_to_tangent(normalise(direction), v))


def move_on_circle(v: Array, u: Array, t: float) -> Array:
    """Return the unit vector cos t·v + sin t·u of the great circle through v with the unit tangent u."""
    return normalise(math.cos(t) * v + math.sin(t) * u)


def measure_angle(a: Array, c: Array) -> float:
    """Return the angle between two unit vectors, accurate for tiny angles, too."""
    return 2.0 * math.atan2(float(np.linalg.norm(a - c)), float(np.linalg.norm(a + c)))


def transport(x: Array, v: Array, u: Array, t: float) -> Array:
    """Transport tangent vectors at v (rows of x) along cos t·v + sin t·u.

    Parallel transport is an isometry: it preserves inner products.
    """
    return np.asarray(x + np.multiply.outer(x @ u, (math.cos(t) - 1.0) * u - math.sin(t) * v))
