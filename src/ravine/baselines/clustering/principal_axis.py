"""The first principal component of some rows, without a matrix of d x d where d is large."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from ravine._typing import Array
from ravine.hyperplane import Hyperplane
from ravine.rows import DenseSample
from ravine.rows.moments import round_to_power_of_two

__all__ = ["PrincipalAxis", "towards_smaller_side"]

# Up to this many rows or columns the eigenvalue problem is solved directly, beyond it by the Lanczos method.
LARGEST_GRAM = 1500
# A spread below this many roundings of the data's magnitude is no spread.
ROUNDING = 4.0 * np.finfo(float).eps


@dataclass(frozen=True)
class PrincipalAxis:
    """The first principal component of some rows.

    Attributes
    ----------
    mean : ndarray of shape (d,)
    direction : ndarray of shape (d,)
        Unit vector; of its two signs the one that makes the entry of largest size positive.
    scatter : float
        Sum of the squared distances of the rows to their mean.
    """

    mean: Array
    direction: Array
    scatter: float

    @classmethod
    def of(cls, X: NDArray[np.floating[Any]], rows: NDArray[np.intp]) -> PrincipalAxis | None:
        """The axis of some rows of X; None if they are all equal (to rounding)."""
        if X.shape[1] <= min(len(rows), LARGEST_GRAM):
            sample = DenseSample(X, rows=None if len(rows) == len(X) else rows)
            mean, unit, covariance = sample.origin, sample.unit, sample.moments().matrix
            total = len(rows) * float(np.trace(covariance))
            direction = _top(covariance)
        else:
            first = X[rows[0]].astype(np.float64)
            centred = X[rows] - first
            shift = centred.mean(axis=0)
            centred -= shift
            mean, unit = first + shift, round_to_power_of_two(float(np.max(np.abs(centred))))
            centred /= unit
            total = float(np.einsum("ij,ij->", centred, centred))
            direction = _leading_right_vector(centred) if total > 0.0 else np.eye(1, X.shape[1])[0]
        spread = math.sqrt(max(total, 0.0) / len(rows)) * unit
        if spread <= ROUNDING * float(np.max(np.abs(mean), initial=0.0)):
            return None
        direction = direction / np.linalg.norm(direction)
        if direction[np.argmax(np.abs(direction))] < 0.0:
            direction = -direction
        return cls(mean, direction, total * unit**2)


def towards_smaller_side(plane: Hyperplane, distance: Array) -> tuple[Hyperplane, Array]:
    """The hyperplane, and the distances to it, with the normal to the smaller side; of equal ones, the longer tail."""
    balance = int((distance > 0.0).sum()) - int((distance <= 0.0).sum())
    if balance > 0 or (balance == 0 and float(((distance / np.max(np.abs(distance))) ** 3).sum()) < 0.0):
        return plane.reversed(), -distance
    return plane, distance


def _top(matrix: Array) -> Array:
    """Eigenvector of the largest eigenvalue."""
    last = len(matrix) - 1
    return np.asarray(eigh(matrix, subset_by_index=[last, last])[1][:, 0])


def _leading_right_vector(centred: Array) -> Array:
    """First right singular vector, through the smaller of the two Gram matrices or, if that is large, implicitly."""
    wide = centred.shape[0] < centred.shape[1]
    smaller = centred.T if wide else centred  # columns: the smaller of the two dimensions
    size = smaller.shape[1]
    if size <= LARGEST_GRAM:
        vector = _top(smaller.T @ smaller)
    else:
        gram = LinearOperator((size, size), matvec=lambda x: smaller.T @ (smaller @ x), dtype=np.float64)
        start = np.random.default_rng(0).standard_normal(size)  # fixed, so that the result is the same every time
        try:
            vector = eigsh(gram, k=1, v0=start, tol=0.0)[1][:, 0]
        except ArpackError:  # no gap between the first eigenvalues
            vector = _top(smaller.T @ smaller)
    return np.asarray(smaller @ vector if wide else vector)
