"""Leading eigenvectors of a covariance that is given only by its products with vectors."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ravine._typing import Array

__all__ = ["find_leading_eigenvectors"]

# Residual, relative to the largest eigenvalue, at which an eigenvector has converged.
ACCURACY = 1e-11
# With more features than this, directions that have not converged after ENOUGH_PRODUCTS products are taken all the
# same: any direction may be a start.
WIDE = 1000
ENOUGH_PRODUCTS = 16
# The first eigenvalue sets the bandwidth, so it must be accurate. Its error is the square of this residual over the gap
# to the others.
FIRST_ACCURACY = 1e-3
MOST_PRODUCTS = 300


def find_leading_eigenvectors(product: Callable[[Array], Array], d: int, n: int) -> tuple[Array, Array]:
    """Return at most n leading eigenvalues, decreasing, and eigenvectors (rows).

    Lanczos with full reorthogonalisation iterates to convergence where the eigenvalues stand out. In a flat spectrum
    that would take hundreds of products, so the eigenvectors are approximate, but the first eigenvalue is accurate.

    Parameters
    ----------
    product : callable
        Product of a positive semi-definite matrix with a vector.
    d : int
        Number of rows and columns of the matrix.
    n : int
        Number of eigenvectors.
    """
    rng = np.random.default_rng(0)  # any direction will do, as long as it is always the same
    basis: list[Array] = [_unit(rng.standard_normal(d))]
    enough = ENOUGH_PRODUCTS if d > WIDE else MOST_PRODUCTS
    diagonal: list[float] = []
    off_diagonal: list[float] = []
    while True:
        w = product(basis[-1])
        diagonal.append(float(w @ basis[-1]))
        w = _orthogonalise(_orthogonalise(w, basis), basis)  # twice is enough (Parlett)
        length = math.sqrt(float(w @ w))
        values, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(off_diagonal, 1) + np.diag(off_diagonal, -1))
        largest = max(float(values[-1]), 0.0)
        residuals = length * np.abs(vectors[-1, ::-1][:n])
        converged = residuals <= ACCURACY * largest
        good_enough = residuals[0] <= FIRST_ACCURACY * largest
        m = len(basis)
        if m >= d or (m >= n and converged.all()) or (m >= max(n, enough) and good_enough) or m >= MOST_PRODUCTS:
            break
        if length <= np.finfo(float).eps * largest * math.sqrt(d):  # an invariant space: continue outside it
            w, length = _unit(_orthogonalise(_orthogonalise(rng.standard_normal(d), basis), basis)), 0.0
            basis.append(w)
        else:
            basis.append(w / length)
        off_diagonal.append(length)
    directions = vectors[:, ::-1][:, :n].T @ np.array(basis)
    return values[::-1][:n].copy(), np.stack([_unit(direction) for direction in directions])


def _orthogonalise(w: Array, basis: list[Array]) -> Array:
    for b in basis:
        w = w - (w @ b) * b
    return w


def _unit(w: Array) -> Array:
    return np.asarray(w / math.sqrt(float(w @ w)))
