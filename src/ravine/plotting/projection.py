"""Rows along a direction and across it, as plain arrays."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ravine._typing import Array
from ravine.rows import Indices, Rows, StoredMoments
from ravine.search import WorkingSpace

__all__ = ["ProjectedRows", "check_direction"]

# Below this, the part of a unit vector outside the row space is rounding.
OUTSIDE = 1e-9


def check_direction(direction: ArrayLike, n_features: int, name: str = "normal") -> Array:
    """Check a direction, one number for each feature, and scale it to length 1."""
    try:
        vector = np.array(direction, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be {n_features} numbers, one for each feature of X: {error}") from error
    if vector.shape != (n_features,):
        raise ValueError(f"{name} must be {n_features} numbers, one for each feature of X, got shape {vector.shape}.")
    length = float(np.max(np.abs(vector), initial=0.0))
    if not (math.isfinite(length) and length > 0.0):
        raise ValueError(f"{name} must be finite and not all zeros.")
    vector /= length
    return np.asarray(vector / np.linalg.norm(vector))


@dataclass(frozen=True)
class ProjectedRows:
    """Projections of rows on a direction v, and the direction of largest variance orthogonal to it.

    Attributes
    ----------
    along : ndarray of shape (n,)
        Projections v·x of all rows.
    mean, std : float
        Weighted mean and standard deviation of the projections, which define F(v).
    across_direction : ndarray of shape (d,) or None
        Direction of largest variance orthogonal to v, approximated by a few Lanczos iterations where the covariance is
        not stored; None if there is no variance orthogonal to v.
    pc1_std : float
        Standard deviation along the first principal component.
    origin : ndarray of shape (d,)
        Mean of the rows. Projections are taken about it, so that a far origin costs no digits.
    """

    along: Array
    mean: float
    std: float
    across_direction: Array | None
    pc1_std: float
    origin: Array

    @classmethod
    def of(cls, rows: Rows, normal: Array, weights: Array | None = None) -> ProjectedRows:
        """Project all rows, with one pass for the covariance and one for the projections."""
        space = WorkingSpace.of(rows, weights, None)
        moments, basis, inner = space.sample.moments(), space.basis, normal
        if basis is not None:
            inner = basis.T @ normal
            outer = normal - basis @ inner
            length = float(np.linalg.norm(outer))
            if length > OUTSIDE:  # the direction leaves the row space: add an axis without variance
                basis, inner = np.column_stack([basis, outer / length]), np.append(inner, length)
                moments = StoredMoments(moments.total, np.pad(moments.covariance, (0, 1)))
        variance = moments.variance_along(inner)
        largest, _ = moments.leading_axis()
        value, axis = moments.across(inner).leading_axis()
        across = None
        if value > 1e-20 * largest and value > len(inner) * np.finfo(float).eps * largest:
            across = axis - (axis @ inner) * inner if basis is None else basis @ axis
            across = across - (across @ normal) * normal
            across /= np.linalg.norm(across)
            across *= np.sign(across[np.argmax(np.abs(across))])
        mean = float(normal @ space.origin)
        along = rows.project(space.origin, normal) + mean
        std, pc1_std = math.sqrt(variance) * space.unit, math.sqrt(largest) * space.unit
        return cls(along, mean, std, across, pc1_std, space.origin)

    def project_across(self, rows: Rows, indices: Indices) -> Array | None:
        """Project some rows on the direction of largest variance orthogonal to v; None if there is none."""
        if self.across_direction is None:
            return None
        center = float(self.across_direction @ self.origin)
        return rows.project(self.origin, self.across_direction, indices) + center
