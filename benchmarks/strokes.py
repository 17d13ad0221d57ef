"""Simulated strokes of a pen: many clusters in many dimensions, each near a curved surface.

Seeds 100 to 111 chose rules of MinimumDensityTree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["KINDS", "simulate_strokes"]

Array = NDArray[np.float64]

KINDS = ("pixels", "points")
# Places along a stroke, and standard deviations of its coefficients between strokes and within one, for the constant
# and for cosines of increasing frequency.
PLACES = np.linspace(0.0, 1.0, 24)
BETWEEN = np.array([0.1, 1.0, 0.7, 0.4])
WITHIN = np.array([0.05, 0.12, 0.12, 0.08])
# Standard deviations of the angle, of the logarithms of the two scales and of the shear of a copy.
ANGLE, LOG_SCALE, SHEAR = 0.2, 0.12, 0.15
# Pixels along each side of an image, half of its width, squared width of the pen and the largest value of a pixel.
N_PIXELS, HALF_WIDTH, PEN, INK = 8, 1.1, 0.05, 16.0
# Number of points, and the largest value of their coordinates.
N_POINTS, LARGEST = 8, 100.0


def simulate_strokes(seed: int) -> tuple[Array, NDArray[np.intp]]:
    """Simulate standardised rows and their strokes: 6 to 15 random curves, drawn 1000 to 3000 times with distortions.

    A curve is a sum of three cosines in each coordinate. Every copy has other coefficients, and is rotated, scaled and
    sheared. The remainder of the seed by 2 chooses one of `KINDS`: 8 x 8 pixels with 17 levels of grey, or the
    coordinates of 8 points along the curve, rounded, in a box that touches it.
    """
    rng = np.random.default_rng([77, seed])
    k, n = int(rng.integers(6, 16)), int(rng.integers(1000, 3001))
    y = rng.integers(0, k, n)
    basis = np.cos(np.pi * np.arange(len(BETWEEN))[:, None] * PLACES)
    strokes = rng.standard_normal((k, 2, len(BETWEEN))) * BETWEEN
    strokes /= np.abs(strokes @ basis).max(axis=(1, 2), keepdims=True)
    noise = rng.standard_normal((n, 2 * len(WITHIN) + 4))
    coefficients = strokes[y] + noise[:, :-4].reshape(n, 2, -1) * WITHIN
    curves = make_distortions(*noise[:, -4:].T) @ coefficients @ basis
    X = np.round(paint_pixels(curves) if KINDS[seed % len(KINDS)] == "pixels" else list_points(curves))
    X = X[:, X.std(axis=0) > 0.0]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def make_distortions(angle: Array, first: Array, second: Array, shear: Array) -> Array:
    """Return matrices that scale, shear and rotate, from standard normal numbers."""
    cosine, sine = np.cos(ANGLE * angle), np.sin(ANGLE * angle)
    rotations = np.array([[cosine, -sine], [sine, cosine]])
    stretches = np.array(
        [[np.exp(LOG_SCALE * first), SHEAR * shear], [np.zeros_like(shear), np.exp(LOG_SCALE * second)]]
    )
    return np.einsum("abn,bcn->nac", rotations, stretches)


def paint_pixels(curves: Array) -> Array:
    """Return the ink at each pixel: it decreases with the distance from the nearest place of the curve."""
    grid = np.linspace(-HALF_WIDTH, HALF_WIDTH, N_PIXELS)
    across, along = ((curves[:, i, :, None] - grid) ** 2 for i in range(2))
    ink = np.exp(-(across[..., :, None] + along[..., None, :]) / PEN)
    return np.asarray(INK * ink.max(axis=1)).reshape(len(curves), -1)


def list_points(curves: Array) -> Array:
    """Return the coordinates of points along each curve; its longer side extends from 0 to the largest value."""
    low, high = curves.min(axis=2, keepdims=True), curves.max(axis=2, keepdims=True)
    inside = (curves - low) / (high - low).max(axis=1, keepdims=True)
    points = inside[:, :, :: len(PLACES) // N_POINTS]
    return np.asarray(LARGEST * points.transpose(0, 2, 1)).reshape(len(curves), -1)
