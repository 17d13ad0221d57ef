"""Where a pursuit may start: principal directions, random directions, directions given by the user."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ravine._typing import Array
from ravine.sample import Aim, DenseSample, Moments

__all__ = ["PrincipalAxes", "choose_starts", "principal_axes", "random_starts", "unusual_starts"]

# Fewer rows for each whitened axis than this, and the fourth moments show the noise of the whitening.
ROWS_PER_WHITE_AXIS = 20


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


def principal_axes(sample: DenseSample, moments: Moments) -> PrincipalAxes:
    """Principal axes of the moments, signed by the skewness of the sample's projections."""
    values, vectors = np.linalg.eigh(moments.covariance)
    kept = values > values[-1] * len(values) * np.finfo(float).eps
    directions = np.ascontiguousarray(vectors[:, kept].T[::-1])
    return PrincipalAxes(values[kept][::-1], directions * _signs(sample, directions)[:, None])


def _signs(sample: DenseSample, directions: Array) -> Array:
    track = sample.track()
    signs = np.empty(len(directions))
    weights = sample.weights
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


def unusual_starts(axes: PrincipalAxes, sample: DenseSample) -> Array:
    """Directions in which the data look least normal, whatever their variance: lowest and highest kurtosis in turn.

    They are the eigenvectors of the fourth-moment scatter of the whitened rows (invariant coordinate selection: Tyler,
    Critchley, Dümbgen & Oja 2009). Two groups of similar size show up at the low end, a small group at the high end,
    also where they hide in directions of small variance. Only as many leading axes are whitened as the rows can bear.
    """
    n_axes = min(len(axes.variances), max(2, sample.n_rows // ROWS_PER_WHITE_AXIS))
    whitening = axes.directions[:n_axes] / np.sqrt(axes.variances[:n_axes])[:, None]
    tracks = [sample.track() for _ in range(n_axes)]
    sample.answer([[Aim(track, v) for track, v in zip(tracks, whitening, strict=True)]])
    white = np.array([track.p for track in tracks])
    lengths = np.einsum("ij,ij->j", white, white)
    if sample.weights is not None:
        lengths = lengths * sample.weights
    _, vectors = np.linalg.eigh((white * lengths) @ white.T)
    order = [k // 2 if k % 2 == 0 else n_axes - 1 - k // 2 for k in range(n_axes)]
    directions = vectors.T[order] @ whitening
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return np.ascontiguousarray(directions)


def choose_starts(init: str, n: int, axes: PrincipalAxes, sample: DenseSample, rng: np.random.Generator) -> Array:
    """At most n unit vectors (rows) to start from.

    ``"pca"`` takes the leading principal directions, ``"random"`` draws them, and ``"auto"`` takes principal directions
    for two thirds and the most unusual directions for the rest.
    """
    if init == "random":
        return random_starts(axes, n, rng)
    if init == "pca" or n < 3 or len(axes.variances) == 1:
        return axes.directions[:n]
    n_unusual = n // 3
    return np.concatenate([axes.directions[: n - n_unusual], unusual_starts(axes, sample)[:n_unusual]])
