"""Leading eigenvectors of a covariance that is known only by its products with vectors."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ravine._typing import Array

__all__ = ["leading_eigenvectors"]

# Residual, relative to the largest eigenvalue, at which an eigenvector counts as found.
ACCURACY = 1e-11
# With more columns than this, products after which directions that are not found yet are taken as they are: any
# direction may be a start.
WIDE = 1000
ENOUGH_PRODUCTS = 16
# But the first eigenvalue sets the bandwidth: its error is the square of this residual, over the gap to the others.
FIRST_ACCURACY = 1e-3
MOST_PRODUCTS = 300


def leading_eigenvectors(product: Callable[[Array], Array], d: int, n: int) -> tuple[Array, Array]:
    """At most n leading eigenvalues, decreasing, and eigenvectors (rows), by Lanczos with full reorthogonalisation.

    They are iterated to convergence where they stand out. In a flat spectrum, where that would take hundreds of
    products, they are as good as a few products make them, but the first eigenvalue is always found.

    Parameters
    ----------
    product : callable
        Product of a positive semi-definite matrix with a vector.
    d : int
        Its size.
    n : int
        Eigenvectors wanted.
    """
    rng = np.random.default_rng(0)  # any direction will do, if it is always the same
    basis: list[Array] = [_unit(rng.standard_normal(d))]
    enough = ENOUGH_PRODUCTS if d > WIDE else MOST_PRODUCTS
    diagonal: list[float] = []
    beside: list[float] = []
    while True:
        w = product(basis[-1])
        diagonal.append(float(w @ basis[-1]))
        w = _without(_without(w, basis), basis)  # twice is enough (Parlett)
        length = math.sqrt(float(w @ w))
        values, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1))
        largest = max(float(values[-1]), 0.0)
        residuals = length * np.abs(vectors[-1, ::-1][:n])
        found = residuals <= ACCURACY * largest
        good_enough = residuals[0] <= FIRST_ACCURACY * largest
        m = len(basis)
        if m >= d or (m >= n and found.all()) or (m >= max(n, enough) and good_enough) or m >= MOST_PRODUCTS:
            break
        if length <= np.finfo(float).eps * largest * math.sqrt(d):  # an invariant space: go on outside it
            w, length = _unit(_without(_without(rng.standard_normal(d), basis), basis)), 0.0
            basis.append(w)
        else:
            basis.append(w / length)
        beside.append(length)
    directions = vectors[:, ::-1][:, :n].T @ np.array(basis)
    return values[::-1][:n].copy(), np.stack([_unit(direction) for direction in directions])


def _without(w: Array, basis: list[Array]) -> Array:
    for b in basis:
        w = w - (w @ b) * b
    return w


def _unit(w: Array) -> Array:
    return np.asarray(w / math.sqrt(float(w @ w)))
