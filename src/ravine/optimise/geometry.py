"""Unit vectors: tangents, great circles and parallel transport on the sphere."""

from __future__ import annotations

import math

import numpy as np

from ravine._typing import Array

__all__ = [
    "make_unit_tangent",
    "measure_angle",
    "move_on_circle",
    "normalise",
    "project_to_tangent",
    "sample_near",
    "transport",
    "transport_to",
]


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


def transport_to(v: Array, point: Array, gradient: Array) -> Array:
    """Transport the tangent part of a gradient at another point to v, along the great circle between them."""
    tangent = project_to_tangent(gradient, point)
    towards = project_to_tangent(v, point)
    length = float(np.linalg.norm(towards))
    if length == 0.0:
        return tangent
    return transport(tangent, point, towards / length, math.atan2(length, float(v @ point)))


def sample_near(v: Array, radius: float, n: int, rng: np.random.Generator) -> Array:
    """Draw n unit vectors (rows) uniformly from a ball of the tangent space at v, mapped to the sphere."""
    tangents = rng.standard_normal((n, len(v)))
    tangents -= np.multiply.outer(tangents @ v, v)
    tangents /= np.maximum(np.linalg.norm(tangents, axis=1, keepdims=True), np.finfo(float).tiny)
    angles = radius * rng.random((n, 1)) ** (1.0 / max(len(v) - 1, 1))
    points = np.cos(angles) * v + np.sin(angles) * tangents
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))
