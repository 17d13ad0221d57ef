"""Rows about their mean and in units of their spread, so that neither an offset nor a scale costs digits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.rows import RowSpace, Sample, as_rows

__all__ = ["WorkingRows", "is_rounding"]

# A spread of less than this many units of rounding of the data's magnitude does not count.
ROUNDING = 4.0 * np.finfo(float).eps


def is_rounding(spread: float, center: Array) -> bool:
    """Return whether a spread is no more than the rounding of values of the magnitude of the centre."""
    return bool(spread <= ROUNDING * np.max(np.abs(center), initial=0.0))


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
    """

    coordinates: Array
    covariance: Array
    origin: Array
    unit: float
    basis: Array | None

    @classmethod
    def of(cls, X: NDArray[np.floating[Any]]) -> WorkingRows:
        """Compute the coordinates of the rows of a dense array."""
        if as_rows(X).needs_row_space:
            space = RowSpace(X)
            return cls._of_sample(space.sample, space.origin, space.unit, space.basis)
        sample = as_rows(X).sample()
        return cls._of_sample(sample, sample.origin, sample.unit, None)

    @classmethod
    def _of_sample(cls, sample: Sample, origin: Array, unit: float, basis: Array | None) -> WorkingRows:
        return cls(sample.fetch(np.arange(sample.n_rows)), sample.moments().covariance, origin, unit, basis)

    @property
    def all_equal(self) -> bool:
        """Whether the rows differ by no more than the rounding of their magnitude."""
        spread = math.sqrt(max(float(np.trace(self.covariance)), 0.0)) * self.unit
        return is_rounding(spread, self.origin)

    def to_original(self, directions: Array) -> Array:
        """Express directions (columns, or one vector) of the working space in the features of X."""
        return directions if self.basis is None else self.basis @ directions
