"""Coordinates along the axes in which rows vary: they depend neither on units, rotations nor constant features.

The dimension is that of the rows, not the number of features. Beside the space of the axes, rows are measured by their
distance from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.checks import require
from ravine.rows import center_and_scale

# Largest number of axes, and rows of each axis at least; the other directions count by the length of the rest.
MOST_AXES, ROWS_PER_AXIS = 100, 2
# Smallest spread along an axis, relative to that of the widest, and to the rounding of a value.
SMALLEST_SPREAD, ROUNDING = 1e-10, 32.0 * float(np.finfo(np.float64).eps)
# Rows beyond this multiple of the median length are moved there before the axes are found.
FAR = 10.0
# Steps to the spatial median.
N_STEPS = 20
# Least variance of the rest along each direction, in squared median lengths.
LEAST_REST = 1e-8


@dataclass(frozen=True)
class Coordinates:
    """Axes along which rows vary, with unit variance along each.

    Attributes
    ----------
    origin : ndarray of shape (d,)
    unit : float
        Power of two by which rows are divided, so that squares do not overflow.
    axes : ndarray of shape (d, q)
        Orthonormal columns.
    deviations : ndarray of shape (q,)
        Standard deviations along them, in the unit.
    rest_precision : float
        Inverse variance of the rest along each direction that is not spanned by the axes.
    """

    origin: Array
    unit: float
    axes: Array
    deviations: Array
    rest_precision: float

    def validate(self) -> None:
        """Raise an error if the arrays differ in shape."""
        require(self.axes.shape == (*self.origin.shape, *self.deviations.shape) and self.origin.ndim == 1, "shapes")

    @classmethod
    def of(cls, rows: NDArray[np.floating[Any]]) -> Coordinates:
        """Find the axes of some rows."""
        z, mean, unit = center_and_scale(rows)
        middle = find_spatial_median(z)
        z -= middle
        typical, n = clip_lengths(z), len(z)
        shift = z.mean(axis=0)
        z -= shift
        _, spreads, vectors = np.linalg.svd(z, full_matrices=False)
        origin = mean + unit * (middle + shift)
        smallest = ROUNDING * float(np.abs(origin).max()) / unit * np.sqrt(n)
        variances = spreads[spreads > max(SMALLEST_SPREAD * float(spreads[0]), smallest)] ** 2 / n
        q = min(len(variances), MOST_AXES, n // ROWS_PER_AXIS)
        rest = variances[q:]
        # Effective number of directions of the rest: that of equal variances with this mean and these squares.
        variance = float((rest**2).sum() / rest.sum()) if len(rest) else 0.0
        return cls(
            origin,
            unit,
            np.ascontiguousarray(vectors[:q].T),
            np.sqrt(variances[:q]),
            1.0 / max(variance, LEAST_REST * typical**2),
        )

    def locate(self, X: NDArray[np.floating[Any]]) -> tuple[Array, Array]:
        """Return the coordinates of rows, and the squared length of their rest in standard deviations."""
        z = X - self.origin
        z /= self.unit
        located = z @ (self.axes / self.deviations)
        if len(self.deviations) == len(self.origin):  # nothing is left
            return located, np.zeros(len(z))
        rest = np.einsum("ij,ij->i", z, z) - np.einsum("ij,j->i", located**2, self.deviations**2)
        return located, self.rest_precision * np.maximum(rest, 0.0)


def find_spatial_median(z: Array) -> Array:
    """Return the point with the least sum of distances from rows, which turns with them (Weiszfeld's steps)."""
    center = np.asarray(z.mean(axis=0))
    for _ in range(N_STEPS):
        lengths = np.linalg.norm(z - center, axis=1)
        weights = 1.0 / np.maximum(lengths, 1e-12 * float(lengths.max()) or 1.0)
        center = weights @ z / weights.sum()
    return center


def clip_lengths(z: Array) -> float:
    """Move far rows towards the origin, and return the median length of those that are not there; 1 if all are."""
    lengths = np.linalg.norm(z, axis=1)
    typical = float(np.median(lengths[lengths > 0.0])) if lengths.any() else 1.0
    z *= np.minimum(1.0, FAR * typical / np.maximum(lengths, typical))[:, None]
    return typical
