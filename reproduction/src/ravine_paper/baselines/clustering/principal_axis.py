"""The first principal component of some rows, without a d x d matrix where d is large."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from ravine.rows import as_rows, is_rounding, round_to_power_of_two
from ravine_paper._typing import Array
from ravine_paper.baselines._shared.eigenvectors import fix_signs, iterate_eigenvectors, solve_eigenvectors

__all__ = ["PrincipalAxis"]

# Up to this many rows or features the eigenvalue problem is solved directly, beyond it by the Lanczos method.
LARGEST_GRAM = 1500


@dataclass(frozen=True)
class PrincipalAxis:
    """First principal component of some rows.

    Attributes
    ----------
    mean : ndarray of shape (d,)
    direction : ndarray of shape (d,)
        Unit vector whose entry of largest magnitude is positive.
    scatter : float
        Sum of the squared distances of the rows to their mean.
    """

    mean: Array
    direction: Array
    scatter: float

    @classmethod
    def of(cls, X: NDArray[np.floating[Any]], indices: NDArray[np.intp]) -> PrincipalAxis | None:
        """Compute the axis of some rows of X; None if they are all equal up to rounding."""
        if X.shape[1] <= min(len(indices), LARGEST_GRAM):
            sample = as_rows(X).sample(indices=None if len(indices) == len(X) else indices)
            mean, unit, covariance = sample.origin, sample.unit, sample.moments().covariance
            total = len(indices) * float(np.trace(covariance))
            direction = _find_leading_vector(covariance)
        else:
            mean, unit, centred = _centre(X[indices])
            total = float(np.einsum("ij,ij->", centred, centred))
            direction = _find_right_singular_vector(centred) if total > 0.0 else np.eye(1, X.shape[1])[0]
        if is_rounding(math.sqrt(max(total, 0.0) / len(indices)) * unit, mean):
            return None
        direction = fix_signs((direction / np.linalg.norm(direction))[:, None])[:, 0]
        return cls(mean, direction, total * unit**2)


def _centre(rows: NDArray[np.floating[Any]]) -> tuple[Array, float, Array]:
    """Return the mean, a unit of the size of the deviations, and the deviations in this unit."""
    first = rows[0].astype(np.float64)
    centred = rows - first  # the mean then loses no digits to an offset
    shift = centred.mean(axis=0)
    centred -= shift
    unit = round_to_power_of_two(float(np.max(np.abs(centred))))
    centred /= unit
    return first + shift, unit, centred


def _find_leading_vector(matrix: Array) -> Array:
    return solve_eigenvectors(matrix, 1)[1][:, 0]


def _find_right_singular_vector(centred: Array) -> Array:
    """Find the first one through the smaller of the two Gram matrices, which is not formed if it is large."""
    wide = centred.shape[0] < centred.shape[1]
    smaller = centred.T if wide else centred  # columns: the smaller of the two dimensions
    size, found = smaller.shape[1], None
    if size > LARGEST_GRAM:
        gram = LinearOperator((size, size), matvec=lambda x: smaller.T @ (smaller @ x), dtype=np.float64)
        found = iterate_eigenvectors(gram, 1)
    # Without a gap between the first eigenvalues the Lanczos method may not converge.
    vector = _find_leading_vector(smaller.T @ smaller) if found is None else found[1][:, 0]
    return np.asarray(smaller @ vector if wide else vector)
