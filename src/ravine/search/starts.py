"""Directions to start from: principal, unusual and random ones."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ravine._typing import Array
from ravine.rows import Moments, Sample

__all__ = ["PrincipalAxes", "choose_starts", "draw_random_starts", "find_unusual_starts"]

# With fewer rows per whitened axis than this, the fourth moments show the noise of the whitening.
ROWS_PER_WHITE_AXIS = 20
# More axes than this would cost more than the search.
MOST_WHITE_AXES = 200


@dataclass(frozen=True)
class PrincipalAxes:
    """Eigenvectors of the covariance with positive variance, by decreasing variance.

    Attributes
    ----------
    variances : ndarray of shape (r,)
    directions : ndarray of shape (r, d)
        As rows.
    """

    variances: Array
    directions: Array

    @classmethod
    def of(cls, moments: Moments, n_axes: int = 0) -> PrincipalAxes:
        """Compute the principal axes: all if the covariance is stored, otherwise the ``n_axes`` leading ones."""
        return cls(*moments.principal_axes(n_axes))


def draw_random_starts(axes: PrincipalAxes, n: int, rng: np.random.Generator) -> Array:
    """Draw directions uniformly in the principal basis, so that a rotation of the data rotates them with it."""
    return _unit_rows(rng.standard_normal((n, len(axes.variances))) @ axes.directions)


def find_unusual_starts(axes: PrincipalAxes, sample: Sample) -> Array:
    """Return directions in which the data look least normal, alternating between lowest and highest kurtosis.

    They are the eigenvectors of the fourth-moment scatter of the whitened rows (invariant coordinate selection: Tyler,
    Critchley, Dümbgen & Oja 2009). Two groups of similar size show up at the low end, a small group at the high end,
    also in directions of small variance. The number of whitened axes is limited by the number of rows.
    """
    n_axes = min(len(axes.variances), MOST_WHITE_AXES, max(2, int(sample.total) // ROWS_PER_WHITE_AXIS))
    whitening = axes.directions[:n_axes] / np.sqrt(axes.variances[:n_axes])[:, None]
    _, vectors = np.linalg.eigh(sample.fourth_moments(whitening))
    order = [k // 2 if k % 2 == 0 else n_axes - 1 - k // 2 for k in range(n_axes)]
    return _unit_rows(vectors.T[order] @ whitening)


def choose_starts(init: str, n: int, axes: PrincipalAxes, sample: Sample, rng: np.random.Generator) -> Array:
    """Return at most n unit vectors (rows) to start from.

    ``"pca"`` takes the leading principal directions, ``"random"`` draws them, and ``"auto"`` takes principal directions
    for two thirds and the most unusual directions for the rest. Axes and starts are signed by the skewness of the
    projections, a rule that does not depend on the coordinates.
    """
    if init == "random":
        signs = sample.skewness_signs(axes.directions)[:, None]
        return draw_random_starts(replace(axes, directions=axes.directions * signs), n, rng)
    if init == "pca" or n < 3 or len(axes.variances) == 1:
        starts = axes.directions[:n]
    else:
        n_unusual = n // 3
        starts = np.concatenate([axes.directions[: n - n_unusual], find_unusual_starts(axes, sample)[:n_unusual]])
    return starts * sample.skewness_signs(starts)[:, None]


def _unit_rows(directions: Array) -> Array:
    return np.ascontiguousarray(directions / np.linalg.norm(directions, axis=1, keepdims=True))
