"""Rows about their mean and in units of their spread, so that neither an offset nor a scale costs digits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine.rows import as_rows
from ravine.search import WorkingSpace
from ravine_paper._typing import Array

__all__ = ["WorkingRows"]


@dataclass(frozen=True)
class WorkingRows:
    """Coordinates z of the rows x = origin + unit · basis z; with fewer rows than features, in the row space.

    Attributes
    ----------
    coordinates : ndarray of shape (n, r)
        With mean 0.
    covariance : ndarray of shape (r, r)
        Of the coordinates.
    origin : ndarray of shape (d,)
        Mean of the rows.
    unit : float
    basis : ndarray of shape (d, r) or None
        Orthonormal basis of the row space; None stands for the identity.
    all_equal : bool
        Whether the rows differ by no more than the rounding of their magnitude.
    """

    coordinates: Array
    covariance: Array
    origin: Array
    unit: float
    basis: Array | None
    all_equal: bool

    @classmethod
    def of(cls, X: NDArray[np.floating[Any]]) -> WorkingRows:
        """Compute the coordinates of the rows of a dense array."""
        space = WorkingSpace.of(as_rows(X))
        coordinates, covariance = space.sample.fetch(np.arange(len(X))), space.sample.moments().covariance
        return cls(coordinates, covariance, space.origin, space.unit, space.basis, space.has_no_spread)

    def to_original(self, directions: Array) -> Array:
        """Express directions (columns, or one vector) of the working space in the features of X."""
        return directions if self.basis is None else self.basis @ directions
