"""Gradient sampling on the sphere, for functions with kinks.

Gradients at random points within a radius approximate the Clarke gradient of that radius. The shortest vector of their
convex hull is a descent direction or, if it is short, shows that there is none. Tangent vectors are compared after
parallel transport to the same point.
"""

from __future__ import annotations

import math

import numpy as np

from ravine.optimise import (
    FIRST_ANGLE,
    Memory,
    Questions,
    SphereObjective,
    SphereResult,
    make_unit_tangent,
    move_on_circle,
    project_to_tangent,
    search_weak_wolfe,
    transport,
)
from ravine_paper._typing import Array
from ravine_paper.optimise.geometry import sample_near, transport_to
from ravine_paper.optimise.min_norm import find_min_norm_weights

__all__ = ["minimise_by_adaptive_sampling", "minimise_by_sampling"]

# Factor by which the radius, and the length below which the shortest vector counts as zero, decrease.
SHRINK = 0.1
SMALLEST_RADIUS = 1e-10


class _Search:
    """State of a gradient sampling search, and the number of evaluations so far."""

    def __init__(
        self, objective: SphereObjective, v: Array, radius: float, tolerance: float, resolution: float, seed: int
    ) -> None:
        self.objective, self.v, self.radius = objective, v, radius
        self.tolerance, self.resolution = tolerance, resolution
        self.n_trials = self.n_samples = 0
        self.last_angle = FIRST_ANGLE
        self._rng = np.random.default_rng(seed)
        self._is_away = False  # whether the objective is at a sample instead of at v

    def begin(self) -> Questions[None]:
        self.value, gradient = yield from self.objective.begin(self.v)
        self.gradient = project_to_tangent(gradient, self.v)
        self._short = SHRINK * float(np.linalg.norm(self.gradient))

    @property
    def is_stationary(self) -> bool:
        """Whether the gradient at v is zero."""
        return len(self.v) == 1 or not self.gradient.any()

    def sample(self, count: int) -> Questions[tuple[Array, Array]]:
        """Return random points within the radius, and the gradients there transported to v."""
        points = sample_near(self.v, self.radius, count, self._rng)
        gradients = np.empty_like(points)
        for k, point in enumerate(points):
            _, gradient = yield from self.objective.begin(point)
            self.n_samples, self._is_away = self.n_samples + 1, True
            gradients[k] = transport_to(self.v, point, gradient)
        return points, gradients

    def is_short(self, vector: Array, hull: Array) -> bool:
        """Whether the shortest vector of a hull counts as zero for the current radius."""
        length = float(np.linalg.norm(vector))
        return length <= self._short or length <= 1e-12 * float(np.linalg.norm(hull, axis=1).max())

    def tighten(self) -> bool:
        """Decrease the radius and the length that counts as zero; return False if both are at their final values."""
        if self.radius * self._short <= self.tolerance or self.radius < SMALLEST_RADIUS:
            return False
        self.radius, self._short = SHRINK * self.radius, SHRINK * self._short
        return True

    def shrink_radius(self) -> bool:
        """Decrease the radius; return False if it is too small to continue."""
        self.radius *= SHRINK
        return self.radius >= SMALLEST_RADIUS

    def search_along(self, u: Array, slope: float, first: float) -> Questions[float]:
        """Search along the tangent u and move; return the angle, 0 if there was no decrease."""
        yield from self._return_to_v()
        yield from self.objective.set_tangent(u)
        step = yield from search_weak_wolfe(self.objective, self.value, slope, first, self.resolution)
        self.n_trials += step.n_trials
        if step.angle > 0.0:
            self.v, self.value, self.last_angle = move_on_circle(self.v, u, step.angle), step.value, step.angle
            self.gradient = project_to_tangent((yield from self.objective.accept(step.angle, self.v)), self.v)
        return step.angle

    def _return_to_v(self) -> Questions[None]:
        if self._is_away:
            yield from self.objective.begin(self.v)
            self.n_samples, self._is_away = self.n_samples + 1, False

    def finish(self, n_iter: int, converged: bool = False, stalled: bool = False) -> Questions[SphereResult]:
        """Move the objective back to v and return the result."""
        yield from self._return_to_v()
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
) -> Questions[SphereResult]:
    """Minimise by gradient sampling (Burke, Lewis & Overton 2005) with a weak Wolfe line search.

    Parameters
    ----------
    objective, v, max_iter, resolution
        As for `minimise_on_sphere`.
    tolerance : float
        Stop when the radius times the length that counts as zero, a bound of the possible decrease, is at most this.
    memory : ignored
    radius : float
        Radius of the first samples, as an angle.
    n_samples : int, optional
        Gradients per iteration; by default twice the dimension of the sphere.
    seed : int
        Seed of the samples.
    """
    search = _Search(objective, v, radius, tolerance, resolution, seed)
    count = max(2 * (len(v) - 1), 1) if n_samples is None else n_samples
    yield from search.begin()
    for n_iter in range(max_iter):
        if search.is_stationary:
            return (yield from search.finish(n_iter, converged=True))
        _, gradients = yield from search.sample(count)
        hull = np.vstack([search.gradient, gradients])
        shortest = find_min_norm_weights(hull) @ hull
        if search.is_short(shortest, hull):
            if not search.tighten():
                return (yield from search.finish(n_iter, converged=True))
            continue
        u, slope = make_unit_tangent(-shortest, search.v), -float(np.linalg.norm(shortest))
        angle = yield from search.search_along(u, slope, 2.0 * search.last_angle)
        if angle == 0.0 and not search.shrink_radius():
            return (yield from search.finish(n_iter, stalled=True))
    return (yield from search.finish(max_iter, converged=search.is_stationary))


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
) -> Questions[SphereResult]:
    """Minimise by adaptive gradient sampling (Curtis & Que 2013): few new samples per iteration, earlier ones reused.

    Samples that are still within the radius stay in the hull. Its shortest vector is found in the metric of an L-BFGS
    approximation of the Hessian.

    Parameters
    ----------
    objective, v, max_iter, tolerance, resolution, radius, seed
        As for `minimise_by_sampling`.
    memory : Memory, optional
        Curvature from an earlier, similar problem at the same v; updated in place.
    n_samples : int, optional
        New gradients per iteration; by default a tenth of the dimension, at least one.
    """
    search = _Search(objective, v, radius, tolerance, resolution, seed)
    memory = Memory() if memory is None else memory
    few, full = max(1, len(v) // 10) if n_samples is None else n_samples, max(2 * (len(v) - 1), 1)
    yield from search.begin()
    points, hull = np.empty((0, len(v))), np.empty((0, len(v)))
    for n_iter in range(max_iter):
        if search.is_stationary:
            return (yield from search.finish(n_iter, converged=True))
        near = points @ search.v >= math.cos(search.radius)
        new_points, new_gradients = yield from search.sample(few)
        points = np.vstack([points[near][-full:], new_points])
        hull = np.vstack([hull[near][-full:], new_gradients])
        gradients = np.vstack([search.gradient, hull])
        shortest = _find_weights_in_metric(gradients, memory) @ gradients
        if search.is_short(shortest, gradients):
            if not search.tighten():
                return (yield from search.finish(n_iter, converged=True))
            continue
        v, gradient = search.v, search.gradient
        direction = memory.descend(shortest)
        length = float(np.linalg.norm(direction))
        u, slope = make_unit_tangent(direction, v), float(shortest @ direction) / length
        angle = yield from search.search_along(u, slope, length if memory else 2.0 * search.last_angle)
        if angle > 0.0:
            memory.transport(v, u, angle)
            step = angle * (math.cos(angle) * u - math.sin(angle) * v)
            memory.push(step, search.gradient - transport(gradient, v, u, angle))
            hull = transport(hull, v, u, angle)
        elif len(hull) >= full:
            # More samples would not help: the kink is narrower than the radius.
            memory.clear()
            if not search.shrink_radius():
                return (yield from search.finish(n_iter, stalled=True))
    return (yield from search.finish(max_iter, converged=search.is_stationary))


def _find_weights_in_metric(gradients: Array, memory: Memory) -> Array:
    """Find the weights on the gradients that minimise g'Hg, H the approximate inverse Hessian."""
    if not memory:
        return find_min_norm_weights(gradients)
    products = np.array([-memory.descend(g) for g in gradients]) @ gradients.T
    values, vectors = np.linalg.eigh(0.5 * (products + products.T))
    return find_min_norm_weights(vectors * np.sqrt(np.maximum(values, 0.0)))
