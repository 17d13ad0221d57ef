"""Sampling of unit vectors near another one, and transport of gradients to it."""

from __future__ import annotations

import math

import numpy as np

from ravine.optimise import project_to_tangent, transport
from ravine_paper._typing import Array

__all__ = ["sample_near", "transport_to"]


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
