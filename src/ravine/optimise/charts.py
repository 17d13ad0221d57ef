"""BFGS in a flat space that is wrapped round the sphere: on the unnormalised vector, or in spherical coordinates.

Both follow Lewis & Overton (2013): a dense inverse Hessian, started afresh for every problem, and the weak Wolfe
conditions. The paper uses spherical coordinates; every trial then needs projections of its own, since a straight line
of angles is no great circle.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from ravine._typing import Array
from ravine.optimise.line_search import Line, weak_wolfe
from ravine.optimise.objective import Asking, SphereObjective
from ravine.optimise.sphere import FIRST_ANGLE, Memory, SphereResult

__all__ = ["minimise_spherical", "minimise_unnormalised", "spherical_angles", "spherical_gradient", "spherical_vector"]


class Chart(Line, Protocol):
    """Flat coordinates for the sphere."""

    v: Array
    tangent: Array  # gradient on the sphere at v
    n_samples: int

    def begin(self, v: Array) -> Asking[tuple[float, Array]]:
        """Go to v: value, and gradient by the coordinates."""

    def line(self, direction: Array) -> Asking[None]:
        """Face along a direction of the coordinates."""

    def accept(self, t: float) -> Asking[Array]:
        """Go to the last trial: gradient by the coordinates."""

    def finish(self) -> Asking[None]:
        """Leave the objective at v."""


# ----------------------------------------------------------------------------------------------- coordinates


def spherical_vector(angles: Array) -> Array:
    """The unit vector with these angles (eq. (21))."""
    sines = np.concatenate([[1.0], np.cumprod(np.sin(angles))])
    return np.asarray(sines * np.append(np.cos(angles), 1.0))


def spherical_angles(v: Array) -> Array:
    """Angles of a unit vector: in [0, π], the last in (-π, π]."""
    if len(v) == 1:
        return np.empty(0)
    rest = np.sqrt(np.cumsum(v[::-1] ** 2)[::-1])
    angles = np.arctan2(rest[1:], v[:-1])
    angles[-1] = math.atan2(v[-1], v[-2])
    return angles


def spherical_gradient(angles: Array, gradient: Array) -> Array:
    """Derivative by the angles, for a gradient by the vector: D_θ v of eq. (26), transposed, times the gradient."""
    cosines, sines = np.cos(angles), np.sin(angles)
    before = np.concatenate([[1.0], np.cumprod(sines)])[:-1]
    tail, out = float(gradient[-1]), np.empty(len(angles))
    for k in range(len(angles) - 1, -1, -1):
        out[k] = before[k] * (cosines[k] * tail - sines[k] * gradient[k])
        tail = cosines[k] * gradient[k] + sines[k] * tail
    return out


class _Unnormalised:
    """f(w / |w|): a straight line of w is part of a great circle, which costs one projection."""

    n_samples = 0

    def __init__(self, objective: SphereObjective) -> None:
        self.objective = objective

    def begin(self, v: Array) -> Asking[tuple[float, Array]]:
        value, gradient = yield from self.objective.begin(v)
        self.v, self._length = v, 1.0
        self.tangent = gradient - (gradient @ v) * v
        return value, self.tangent

    def line(self, direction: Array) -> Asking[None]:
        self._inward = float(direction @ self.v)
        across = direction - self._inward * self.v
        self._across = float(np.linalg.norm(across))
        self._u = across / self._across
        self._u -= (self._u @ self.v) * self.v
        self._u /= np.linalg.norm(self._u)
        yield from self.objective.line(self._u)

    def _angle(self, t: float) -> float:
        return math.atan2(t * self._across, self._length + t * self._inward)

    def trial(self, t: float) -> Asking[float]:
        return (yield from self.objective.trial(self._angle(t)))

    def slope(self, t: float) -> Asking[float]:
        squared = (t * self._across) ** 2 + (self._length + t * self._inward) ** 2
        return (yield from self.objective.slope(self._angle(t))) * self._across * self._length / squared

    def accept(self, t: float) -> Asking[Array]:
        angle = self._angle(t)
        moved = math.cos(angle) * self.v + math.sin(angle) * self._u
        moved /= np.linalg.norm(moved)
        self._length = math.hypot(t * self._across, self._length + t * self._inward)
        gradient = yield from self.objective.accept(angle, moved)
        self.v, self.tangent = moved, gradient - (gradient @ moved) * moved
        return np.asarray(self.tangent / self._length)

    def finish(self) -> Asking[None]:
        return
        yield


class _Spherical:
    """f(v(θ)), eq. (21): every trial is a direction of its own."""

    def __init__(self, objective: SphereObjective) -> None:
        self.objective = objective
        self.n_samples = 0

    def begin(self, v: Array) -> Asking[tuple[float, Array]]:
        value, gradient = yield from self.objective.begin(v)
        self.v, self._angles, self._seen = v, spherical_angles(v), (v, gradient)
        self.tangent = gradient - (gradient @ v) * v
        return value, spherical_gradient(self._angles, gradient)

    def line(self, direction: Array) -> Asking[None]:
        self._direction = direction
        return
        yield

    def trial(self, t: float) -> Asking[float]:
        v = spherical_vector(self._angles + t * self._direction)
        v /= np.linalg.norm(v)
        value, gradient = yield from self.objective.begin(v)
        self._seen = v, gradient
        return value

    def slope(self, t: float) -> Asking[float]:
        angles = self._angles + t * self._direction
        return float(spherical_gradient(angles, self._seen[1]) @ self._direction)
        yield

    def accept(self, t: float) -> Asking[Array]:
        self._angles = self._angles + t * self._direction
        self.v, gradient = self._seen
        self.tangent = gradient - (gradient @ self.v) * self.v
        return spherical_gradient(self._angles, gradient)
        yield

    def finish(self) -> Asking[None]:
        if self._seen[0] is not self.v:
            self.n_samples += 1
            yield from self.objective.begin(self.v)


# ----------------------------------------------------------------------------------------------- BFGS


def minimise_unnormalised(
    objective: SphereObjective,
    v: Array,
    *,
    max_iter: int,
    tolerance: float = 1e-9,
    memory: Memory | None = None,
    resolution: float = 1e-14,
) -> Asking[SphereResult]:
    """BFGS on a vector w of any length, for f(w / |w|).

    Parameters
    ----------
    objective, v, max_iter, tolerance, resolution
        As for `minimise_on_sphere`.
    memory : ignored
    """
    return (yield from _bfgs(_Unnormalised(objective), v, max_iter, tolerance, resolution))


def minimise_spherical(
    objective: SphereObjective,
    v: Array,
    *,
    max_iter: int,
    tolerance: float = 1e-9,
    memory: Memory | None = None,
    resolution: float = 1e-14,
) -> Asking[SphereResult]:
    """BFGS in spherical coordinates (eq. (21)), as in the paper.

    Parameters
    ----------
    objective, v, max_iter, tolerance, resolution
        As for `minimise_on_sphere`.
    memory : ignored
    """
    return (yield from _bfgs(_Spherical(objective), v, max_iter, tolerance, resolution))


def _bfgs(chart: Chart, v: Array, max_iter: int, tolerance: float, resolution: float) -> Asking[SphereResult]:
    value, gradient = yield from chart.begin(v)
    inverse: Array | None = None  # of the Hessian; None while nothing is known
    n_iter = n_trials = 0
    converged = stalled = False
    while True:
        steepest = float(np.linalg.norm(gradient))
        direction = -gradient if inverse is None else -(inverse @ gradient)
        slope = float(gradient @ direction)
        first = 1.0 if inverse is not None else FIRST_ANGLE / steepest if steepest > 0.0 else 0.0
        converged = 0.0 <= -0.5 * slope * first <= tolerance
        if converged or n_iter == max_iter:
            break
        step = None
        if slope < -1e-6 * steepest * float(np.linalg.norm(direction)):
            yield from chart.line(direction)
            step = yield from weak_wolfe(chart, value, slope, first, resolution, math.inf)
            n_trials += step.n_trials
        if step is None or step.angle == 0.0:
            # No descent, or no decrease: once more along the gradient before giving up.
            stalled = inverse is None
            if stalled:
                break
            inverse = None
            continue
        fresh = yield from chart.accept(step.angle)
        inverse = _updated(inverse, step.angle * direction, fresh - gradient)
        value, gradient, n_iter = step.value, fresh, n_iter + 1
    yield from chart.finish()
    return SphereResult(chart.v, value, chart.tangent, n_iter, n_trials, converged, stalled, chart.n_samples)


def _updated(inverse: Array | None, step: Array, change: Array) -> Array | None:
    """The BFGS update of the inverse Hessian; none without positive curvature."""
    curvature = float(step @ change)
    if not curvature > 1e-10 * float(np.linalg.norm(step) * np.linalg.norm(change)):
        return inverse
    if inverse is None:
        inverse = np.eye(len(step)) * (curvature / float(change @ change))
    bent = inverse @ change
    return np.asarray(
        inverse
        + np.outer(step, step) * ((curvature + float(change @ bent)) / curvature**2)
        - (np.outer(bent, step) + np.outer(step, bent)) / curvature
    )
