"""Where a pursuit may start: principal directions, random directions, directions given by the user."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ravine._typing import Array
from ravine.sample import Aim, Moments, Sample

__all__ = ["PrincipalAxes", "choose_starts", "principal_axes", "random_starts"]


@dataclass(frozen=True)
class PrincipalAxes:
    """Eigenvectors of the covariance by decreasing variance, those of no variance left out.

    Attributes
    ----------
    variances : ndarray of shape (r,)
    directions : ndarray of shape (r, d)
        Rows, signed so that the projections' third moment is positive: a rule that does not depend on the axes.
    """

    variances: Array
    directions: Array


def principal_axes(sample: Sample, moments: Moments) -> PrincipalAxes:
    """Principal axes of the moments, signed by the skewness of the sample's projections."""
    values, vectors = np.linalg.eigh(moments.covariance)
    kept = values > values[-1] * len(values) * np.finfo(float).eps
    directions = np.ascontiguousarray(vectors[:, kept].T[::-1])
    return PrincipalAxes(values[kept][::-1], directions * _signs(sample, directions)[:, None])


def _signs(sample: Sample, directions: Array) -> Array:
    track = sample.track()
    signs = np.empty(len(directions))
    weights = getattr(sample, "weights", None)
    for k, v in enumerate(directions):
        sample.answer([[Aim(track, v)]])
        cubes = track.p**3
        skewness = float(cubes.sum() if weights is None else weights @ cubes)
        signs[k] = -1.0 if skewness < 0.0 else 1.0
    return signs


def random_starts(axes: PrincipalAxes, n: int, rng: np.random.Generator) -> Array:
    """Directions drawn uniformly in the principal basis, so that a rotation of the data rotates them with it."""
    draws = rng.standard_normal((n, len(axes.variances)))
    directions = draws @ axes.directions
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return np.ascontiguousarray(directions)


def choose_starts(init: str, n: int, axes: PrincipalAxes, sample: Sample, rng: np.random.Generator) -> Array:
    """At most n unit vectors (rows) to start from.

    ``"pca"`` takes the leading principal directions; ``"random"`` draws them.
    """
    if init == "random":
        return random_starts(axes, n, rng)
    return axes.directions[:n]
