"""Row space: the same geometry in as many coordinates as there are rows, for fewer rows than features."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.rows.array import DenseSample
from ravine.rows.units import round_to_power_of_two

__all__ = ["RowSpace"]


class RowSpace:
    """Coordinates of the rows in an orthonormal basis of the space that they span about their mean.

    A component of the normal outside this space only reduces the spread of the projections, so the minimum density
    hyperplane has none. No matrix of d x d is formed.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32 or float64
    weights : ndarray of shape (n,), float64, optional
    pool : ThreadPoolExecutor, optional

    Attributes
    ----------
    sample : DenseSample
        The coordinates: one column for each dimension of the row space.
    basis : ndarray of shape (d, r)
        Orthonormal columns; a normal ``w`` in the row space is ``basis @ w`` in the space of X.
    origin : ndarray of shape (d,)
        Origin of the working units of the sample, in the units of X.
    unit : float
        Unit of the working units of the sample, in the units of X.
    """

    def __init__(
        self,
        X: NDArray[np.floating[Any]],
        weights: Array | None = None,
        *,
        pool: ThreadPoolExecutor | None = None,
    ) -> None:
        first = X[0].astype(np.float64)
        rows = X - first
        mean = rows.mean(axis=0) if weights is None else (weights / weights.sum()) @ rows
        rows -= mean
        unit = round_to_power_of_two(float(np.max(np.abs(rows))))
        rows /= unit
        values, vectors = np.linalg.eigh(rows @ rows.T)
        kept = values > values[-1] * len(values) * np.finfo(float).eps
        kept[-1] = True  # at least one direction, so that equal rows still have coordinates
        lengths = np.sqrt(np.maximum(values[kept], np.finfo(float).tiny))[::-1]
        directions = vectors[:, kept][:, ::-1]
        # Orthonormalise again by a QR decomposition: the Gram matrix squares the condition number.
        self.basis: Array = np.linalg.qr(rows.T @ (directions / lengths))[0]
        self.sample = DenseSample(rows @ self.basis, weights, pool=pool)
        self.origin: Array = first + mean + unit * (self.basis @ self.sample.origin)
        self.unit: float = unit * self.sample.unit
