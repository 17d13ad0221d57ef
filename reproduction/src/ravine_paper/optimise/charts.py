"""BFGS in flat coordinates of the sphere: the unnormalised vector, or spherical coordinates.

Both follow Lewis & Overton (2013): a dense inverse Hessian, reset for every problem, and the weak Wolfe conditions. The
paper uses spherical coordinates. Every trial then needs new projections, since a straight line of angles is not a great
circle.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from ravine.optimise import (
    FIRST_ANGLE,
    LineFunction,
    Memory,
    Questions,
    SphereObjective,
    SphereResult,
    make_unit_tangent,
    move_on_circle,
    normalise,
    project_to_tangent,
    search_weak_wolfe,
)
from ravine_paper._typing import Array

__all__ = ["compute_angle_gradient", "compute_angles", "compute_vector", "minimise_spherical", "minimise_unnormalised"]


class Chart(LineFunction, Protocol):
    """Flat coordinates of the sphere."""

    v: Array
    tangent: Array  # gradient on the sphere at v
    n_samples: int

    def begin(self, v: Array) -> Questions[tuple[float, Array]]:
        """Move to v; return the value and the gradient with respect to the coordinates."""

    def set_direction(self, direction: Array) -> Questions[None]:
        """Choose the line through v in a direction of the coordinates."""

    def accept(self, t: float) -> Questions[Array]:
        """Move to the point evaluated last; return the gradient with respect to the coordinates."""

    def finish(self) -> Questions[None]:
        """Move the objective back to v."""


# ----------------------------------------------------------------------------------------------- coordinates


def compute_vector(angles: Array) -> Array:
    """Compute the unit vector with these spherical coordinates (eq. (21))."""
    sines = np.concatenate([[1.0], np.cumprod(np.sin(angles))])
    return np.asarray(sines * np.append(np.cos(angles), 1.0))


def compute_angles(v: Array) -> Array:
    """Compute the spherical coordinates of a unit vector: angles in [0, π], the last one in (-π, π]."""
    if len(v) == 1:
        return np.empty(0)
    rest = np.sqrt(np.cumsum(v[::-1] ** 2)[::-1])
    angles = np.arctan2(rest[1:], v[:-1])
    angles[-1] = math.atan2(v[-1], v[-2])
    return angles


def compute_angle_gradient(angles: Array, gradient: Array) -> Array:
    """Compute the gradient with respect to the angles: the transpose of D_θ v in eq. (26) times the gradient."""
    cosines, sines = np.cos(angles), np.sin(angles)
    before = np.concatenate([[1.0], np.cumprod(sines)])[:-1]
    tail, out = float(gradient[-1]), np.empty(len(angles))
    for k in range(len(angles) - 1, -1, -1):
        out[k] = before[k] * (cosines[k] * tail - sines[k] * gradient[k])
        tail = cosines[k] * gradient[k] + sines[k] * tail
    return out


class _UnnormalisedChart:
    """Coordinates w of f(w / |w|): a straight line of w is part of a great circle, which costs one projection."""

    n_samples = 0

    def __init__(self, objective: SphereObjective) -> None:
        self.objective = objective

    def begin(self, v: Array) -> Questions[tuple[float, Array]]:
        value, gradient = yield from self.objective.begin(v)
        self.v, self._length = v, 1.0
        self.tangent = project_to_tangent(gradient, v)
        return value, self.tangent

    def set_direction(self, direction: Array) -> Questions[None]:
        self._radial = float(direction @ self.v)
        tangent = direction - self._radial * self.v
        self._across = float(np.linalg.norm(tangent))
        self._u = make_unit_tangent(tangent, self.v)
        yield from self.objective.set_tangent(self._u)

    def _to_angle(self, t: float) -> float:
        return math.atan2(t * self._across, self._length + t * self._radial)

    def evaluate(self, t: float) -> Questions[float]:
        return (yield from self.objective.evaluate(self._to_angle(t)))

    def differentiate(self, t: float) -> Questions[float]:
        squared = (t * self._across) ** 2 + (self._length + t * self._radial) ** 2
        slope = yield from self.objective.differentiate(self._to_angle(t))
        return slope * self._across * self._length / squared

    def accept(self, t: float) -> Questions[Array]:
        angle = self._to_angle(t)
        v = move_on_circle(self.v, self._u, angle)
        self._length = math.hypot(t * self._across, self._length + t * self._radial)
        gradient = yield from self.objective.accept(angle, v)
        self.v, self.tangent = v, project_to_tangent(gradient, v)
        return np.asarray(self.tangent / self._length)

    def finish(self) -> Questions[None]:
        return
        yield


class _SphericalChart:
    """Coordinates θ of f(v(θ)), eq. (21): every trial needs a new projection."""

    def __init__(self, objective: SphereObjective) -> None:
        self.objective = objective
        self.n_samples = 0

    def begin(self, v: Array) -> Questions[tuple[float, Array]]:
        value, gradient = yield from self.objective.begin(v)
        self.v, self._angles, self._last = v, compute_angles(v), (v, gradient)
        self.tangent = project_to_tangent(gradient, v)
        return value, compute_angle_gradient(self._angles, gradient)

    def set_direction(self, direction: Array) -> Questions[None]:
        self._direction = direction
        return
        yield

    def evaluate(self, t: float) -> Questions[float]:
        v = normalise(compute_vector(self._angles + t * self._direction))
        value, gradient = yield from self.objective.begin(v)
        self._last = v, gradient
        return value

    def differentiate(self, t: float) -> Questions[float]:
        angles = self._angles + t * self._direction
        return float(compute_angle_gradient(angles, self._last[1]) @ self._direction)
        yield

    def accept(self, t: float) -> Questions[Array]:
        self._angles = self._angles + t * self._direction
        self.v, gradient = self._last
        self.tangent = project_to_tangent(gradient, self.v)
        return compute_angle_gradient(self._angles, gradient)
        yield

    def finish(self) -> Questions[None]:
        if self._last[0] is not self.v:
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
) -> Questions[SphereResult]:
    """Minimise f(w / |w|) by BFGS over vectors w of any length.

    Parameters
    ----------
    objective, v, max_iter, tolerance, resolution
        As for `minimise_on_sphere`.
    memory : ignored
    """
    return (yield from _run_bfgs(_UnnormalisedChart(objective), v, max_iter, tolerance, resolution))


def minimise_spherical(
    objective: SphereObjective,
    v: Array,
    *,
    max_iter: int,
    tolerance: float = 1e-9,
    memory: Memory | None = None,
    resolution: float = 1e-14,
) -> Questions[SphereResult]:
    """Minimise by BFGS in spherical coordinates (eq. (21) and (22)), as in the paper.

    Parameters
    ----------
    objective, v, max_iter, tolerance, resolution
        As for `minimise_on_sphere`.
    memory : ignored
    """
    return (yield from _run_bfgs(_SphericalChart(objective), v, max_iter, tolerance, resolution))


def _run_bfgs(chart: Chart, v: Array, max_iter: int, tolerance: float, resolution: float) -> Questions[SphereResult]:
    value, gradient = yield from chart.begin(v)
    inverse: Array | None = None  # inverse Hessian; None before the first update
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
            yield from chart.set_direction(direction)
            step = yield from search_weak_wolfe(chart, value, slope, first, resolution, math.inf)
            n_trials += step.n_trials
        if step is None or step.angle == 0.0:
            # No descent or no decrease: try once more along the gradient before giving up.
            stalled = inverse is None
            if stalled:
                break
            inverse = None
            continue
        new_gradient = yield from chart.accept(step.angle)
        inverse = _update_inverse(inverse, step.angle * direction, new_gradient - gradient)
        value, gradient, n_iter = step.value, new_gradient, n_iter + 1
    yield from chart.finish()
    return SphereResult(chart.v, value, chart.tangent, n_iter, n_trials, converged, stalled, chart.n_samples)


def _update_inverse(inverse: Array | None, step: Array, change: Array) -> Array | None:
    """Return the BFGS update of the inverse Hessian; without positive curvature it is not updated."""
    curvature = float(step @ change)
    if not curvature > 1e-10 * float(np.linalg.norm(step) * np.linalg.norm(change)):
        return inverse
    if inverse is None:
        inverse = np.eye(len(step)) * (curvature / float(change @ change))
    product = inverse @ change
    return np.asarray(
        inverse
        + np.outer(step, step) * ((curvature + float(change @ product)) / curvature**2)
        - (np.outer(product, step) + np.outer(step, product)) / curvature
    )
