"""Gradient sampling on the sphere, for functions with kinks.

Gradients at random points within a radius approximate the Clarke gradient of that radius; the shortest vector of their
convex hull is a direction of descent or, if it is short, shows that there is none. Tangent vectors are compared after
parallel transport to the same point.
"""

from __future__ import annotations

import math

import numpy as np

from ravine._typing import Array
from ravine.optimise.line_search import weak_wolfe
from ravine.optimise.min_norm import min_norm_weights
from ravine.optimise.objective import Asking, SphereObjective
from ravine.optimise.sphere import FIRST_ANGLE, Memory, SphereResult, transported

__all__ = ["minimise_by_adaptive_sampling", "minimise_by_sampling", "points_near", "transported_to"]

# The radius, and the length below which a hull is called stationary for it, shrink by this.
SHRINK = 0.1
SMALLEST_RADIUS = 1e-10


def points_near(v: Array, radius: float, n: int, rng: np.random.Generator) -> Array:
    """Unit vectors (rows) drawn uniformly from a ball of the tangent space at v and laid on the sphere."""
    along = rng.standard_normal((n, len(v)))
    along -= np.multiply.outer(along @ v, v)
    along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), np.finfo(float).tiny)
    angles = radius * rng.random((n, 1)) ** (1.0 / max(len(v) - 1, 1))
    points = np.cos(angles) * v + np.sin(angles) * along
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))


def transported_to(v: Array, point: Array, gradient: Array) -> Array:
    """A gradient at another point, made tangent there and carried to v along the great circle between them."""
    tangent = gradient - (gradient @ point) * point
    towards = v - (v @ point) * point
    length = float(np.linalg.norm(towards))
    if length == 0.0:
        return np.asarray(tangent)
    return transported(tangent, point, towards / length, math.atan2(length, float(v @ point)))


class _State:
    """Where the search is, and what it has spent."""

    def __init__(self, objective: SphereObjective, v: Array) -> None:
        self.objective, self.v = objective, v
        self.n_trials = self.n_samples = 0
        self.last_angle = FIRST_ANGLE
        self.away = False  # whether the objective was left at a sample

    def begin(self) -> Asking[None]:
        self.value, gradient = yield from self.objective.begin(self.v)
        self.gradient = gradient - (gradient @ self.v) * self.v

    def sample(self, point: Array) -> Asking[Array]:
        """The gradient at a point, transported."""
        _, gradient = yield from self.objective.begin(point)
        self.n_samples, self.away = self.n_samples + 1, True
        return transported_to(self.v, point, gradient)

    def back(self) -> Asking[None]:
        if self.away:
            yield from self.objective.begin(self.v)
            self.n_samples, self.away = self.n_samples + 1, False

    def search(self, u: Array, slope: float, first: float, resolution: float) -> Asking[float]:
        """The angle of a line search along u; 0, and nothing has moved, if it found no decrease."""
        yield from self.back()
        yield from self.objective.line(u)
        step = yield from weak_wolfe(self.objective, self.value, slope, first, resolution)
        self.n_trials += step.n_trials
        if step.angle > 0.0:
            moved = math.cos(step.angle) * self.v + math.sin(step.angle) * u
            moved /= np.linalg.norm(moved)
            gradient = yield from self.objective.accept(step.angle, moved)
            self.v, self.value, self.last_angle = moved, step.value, step.angle
            self.gradient = gradient - (gradient @ moved) * moved
        return step.angle

    def result(self, n_iter: int, converged: bool, stalled: bool) -> Asking[SphereResult]:
        yield from self.back()
        return SphereResult(
            self.v, self.value, self.gradient, n_iter, self.n_trials, converged, stalled, self.n_samples
        )


def minimise_by_sampling(
    objective: SphereObjective,
    v: Array,
    *,
    max_iter: int,
    tolerance: float = 1e-9,
    memory: Memory | None = None,
    resolution: float = 1e-14,
    radius: float = 0.1,
    n_samples: int | None = None,
    seed: int = 0,
) -> Asking[SphereResult]:
    """Gradient sampling (Burke, Lewis & Overton 2005) with a weak Wolfe line search.

    Parameters
    ----------
    objective, v, max_iter, resolution
        As for `minimise_on_sphere`.
    tolerance : float
        Stop when the radius times the length that counts as short, the decrease still in sight, is no larger.
    memory : ignored
    radius : float
        Of the first samples, as an angle.
    n_samples : int, optional
        Gradients per iteration; twice the dimension of the sphere by default.
    seed : int
        Of the samples, so that a result can be repeated.
    """
    rng, state = np.random.default_rng(seed), _State(objective, v)
    count = max(2 * (len(v) - 1), 1) if n_samples is None else n_samples
    yield from state.begin()
    enough = SHRINK * float(np.linalg.norm(state.gradient))
    for n_iter in range(max_iter + 1):
        if len(v) == 1 or not state.gradient.any():
            return (yield from state.result(n_iter, True, False))
        if n_iter == max_iter:
            break
        hull = np.empty((count + 1, len(v)))
        hull[0] = state.gradient
        for k, point in enumerate(points_near(state.v, radius, count, rng)):
            hull[k + 1] = yield from state.sample(point)
        shortest = min_norm_weights(hull) @ hull
        length = float(np.linalg.norm(shortest))
        if length <= enough or length <= 1e-12 * float(np.linalg.norm(hull, axis=1).max()):
            if radius * enough <= tolerance or radius < SMALLEST_RADIUS:
                return (yield from state.result(n_iter, True, False))
            radius, enough = SHRINK * radius, SHRINK * enough
            continue
        u = _unit_tangent(-shortest, state.v)
        if (yield from state.search(u, -length, 2.0 * state.last_angle, resolution)) == 0.0:
            radius *= SHRINK
            if radius < SMALLEST_RADIUS:
                return (yield from state.result(n_iter, False, True))
    return (yield from state.result(max_iter, False, False))


def minimise_by_adaptive_sampling(
    objective: SphereObjective,
    v: Array,
    *,
    max_iter: int,
    tolerance: float = 1e-9,
    memory: Memory | None = None,
    resolution: float = 1e-14,
    radius: float = 0.1,
    n_samples: int | None = None,
    seed: int = 0,
) -> Asking[SphereResult]:
    """Adaptive gradient sampling (Curtis & Que 2013): few new samples in each iteration, earlier ones used again.

    Samples that are still within the radius stay in the hull, whose shortest vector is sought in the metric of an
    L-BFGS approximation of the Hessian.

    Parameters
    ----------
    objective, v, max_iter, tolerance, resolution, radius, seed
        As for `minimise_by_sampling`.
    memory : Memory, optional
        Curvature known from an earlier, similar problem at the same v; updated in place.
    n_samples : int, optional
        New gradients per iteration; a tenth of the dimension, at least one, by default.
    """
    rng, state = np.random.default_rng(seed), _State(objective, v)
    memory = Memory() if memory is None else memory
    few, full = max(1, len(v) // 10) if n_samples is None else n_samples, max(2 * (len(v) - 1), 1)
    yield from state.begin()
    enough = SHRINK * float(np.linalg.norm(state.gradient))
    points, hull = np.empty((0, len(v))), np.empty((0, len(v)))
    for n_iter in range(max_iter + 1):
        if len(v) == 1 or not state.gradient.any():
            return (yield from state.result(n_iter, True, False))
        if n_iter == max_iter:
            break
        near = points @ state.v >= math.cos(radius)
        points, hull = points[near][-full:], hull[near][-full:]
        for point in points_near(state.v, radius, few, rng):
            hull = np.vstack([hull, (yield from state.sample(point))])
            points = np.vstack([points, point])
        gradients = np.vstack([state.gradient, hull])
        shortest = _shortest_in_metric(gradients, memory) @ gradients
        length = float(np.linalg.norm(shortest))
        if length <= enough or length <= 1e-12 * float(np.linalg.norm(gradients, axis=1).max()):
            if radius * enough <= tolerance or radius < SMALLEST_RADIUS:
                return (yield from state.result(n_iter, True, False))
            radius, enough = SHRINK * radius, SHRINK * enough
            continue
        direction = memory.descend(shortest)
        reach = float(np.linalg.norm(direction))
        u = _unit_tangent(direction, state.v)
        before, gradient = state.v, state.gradient
        first = reach if memory else 2.0 * state.last_angle
        angle = yield from state.search(u, float(shortest @ direction) / reach, first, resolution)
        if angle > 0.0:
            memory.transport(before, u, angle)
            step = angle * (math.cos(angle) * u - math.sin(angle) * before)
            memory.push(step, state.gradient - transported(gradient, before, u, angle))
            hull = transported(hull, before, u, angle)
        elif len(hull) >= full:
            # The hull is as rich as it gets: the kink is narrower than the radius.
            radius *= SHRINK
            memory.clear()
            if radius < SMALLEST_RADIUS:
                return (yield from state.result(n_iter, False, True))
    return (yield from state.result(max_iter, False, False))


def _shortest_in_metric(gradients: Array, memory: Memory) -> Array:
    """Weights on the gradients that minimise g'Hg, H the approximate inverse Hessian."""
    if not memory:
        return min_norm_weights(gradients)
    bent = np.array([-memory.descend(g) for g in gradients])
    products = bent @ gradients.T
    values, vectors = np.linalg.eigh(0.5 * (products + products.T))
    return min_norm_weights(vectors * np.sqrt(np.maximum(values, 0.0)))


def _unit_tangent(direction: Array, v: Array) -> Array:
    u = direction / np.linalg.norm(direction)
    u = u - (u @ v) * v
    return np.asarray(u / np.linalg.norm(u))
