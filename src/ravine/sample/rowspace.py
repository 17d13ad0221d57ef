"""Fewer rows than columns: the same geometry in as many coordinates as there are rows."""

from __future__ import annotations

import numpy as np

from ravine._typing import Array
from ravine.sample.dense import DenseSample

__all__ = ["RowSpace"]


class RowSpace:
    """Coordinates of the rows in an orthonormal basis of the space they span about their mean.

    A normal outside that space only scales the projections' spread down, so the minimum density hyperplane lies in it.

    Attributes
    ----------
    sample : DenseSample
        The coordinates: one column for each dimension of the row space.
    basis : ndarray of shape (d, r)
        Orthonormal columns; a normal ``w`` there is ``basis @ w`` here.
    """

    def __init__(self, full: DenseSample) -> None:
        rows = (full.X.astype(np.float64) - full.origin) / full.unit
        values, vectors = np.linalg.eigh(rows @ rows.T)
        kept = values > values[-1] * len(values) * np.finfo(float).eps
        kept[-1] = True  # at least one direction, so that equal rows still have coordinates
        lengths = np.sqrt(np.maximum(values[kept], np.finfo(float).tiny))[::-1]
        directions = vectors[:, kept][:, ::-1]
        # Once more through the QR decomposition: the Gram matrix squares the condition number.
        self.basis: Array = np.linalg.qr(rows.T @ (directions / lengths))[0]
        self.sample = DenseSample(rows @ self.basis, full.weights)
