"""Total weight and covariance of rows: `StoredMoments` with the matrix, `ProductMoments` with its products only."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from ravine._typing import Array

# Iterations of conjugate gradients.
MOST_STEPS = 50
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


class Moments(ABC):
    """First and second moments of rows, in working units.

    The covariance Σ is divided by the total weight: the population convention, so that an integer weight equals
    repetition.

    Attributes
    ----------
    total : float
        Sum of the weights: n in the paper.
    is_stored : bool
        Whether Σ is stored as a matrix, which makes products with it cheap.
    """

    total: float
    n_features: int
    is_stored: bool

    @property
    @abstractmethod
    def covariance(self) -> Array:
        """The matrix Σ; a TypeError if it is not stored."""

    @property
    @abstractmethod
    def trace(self) -> float:
        """Sum of the variances of the features."""

    @abstractmethod
    def times(self, v: Array) -> Array:
        """Return Σ·v."""

    def variance_along(self, v: Array) -> float:
        """Return the variance v·Σ·v of the projections on v."""
        return max(float(v @ self.times(v)), 0.0)

    @abstractmethod
    def principal_axes(self, n: int) -> tuple[Array, Array]:
        """Return eigenvalues of Σ, decreasing, and eigenvectors (rows), without those of no variance.

        These are at least the ``n`` leading ones; all, if Σ is stored.
        """

    @abstractmethod
    def leading_axis(self) -> tuple[float, Array]:
        """Return the largest eigenvalue of Σ and its eigenvector."""

    @abstractmethod
    def across(self, v: Array) -> Moments:
        """Return the moments of the rows without their components along the unit vector v."""

    @abstractmethod
    def solve_ridge(self, ridge: float, vector: Array) -> Array:
        """Return (Σ + ridge·I)⁻¹ times a vector, up to a tolerance if Σ is not stored."""


class StoredMoments(Moments):
    """Moments with the covariance as a matrix.

    Parameters
    ----------
    covariance : ndarray of shape (d, d)
    """

    is_stored = True

    def __init__(self, total: float, covariance: Array) -> None:
        self.total, self._covariance = total, covariance
        self.n_features = len(covariance)

    @property
    def covariance(self) -> Array:
        """The matrix Σ."""
        return self._covariance

    @property
    def trace(self) -> float:
        """Sum of the variances of the features."""
        return float(np.trace(self._covariance))

    def times(self, v: Array) -> Array:
        """Return Σ·v."""
        return np.asarray(self._covariance @ v)

    def principal_axes(self, n: int) -> tuple[Array, Array]:
        """Return all eigenvalues of Σ, decreasing, and eigenvectors (rows), without those of no variance."""
        values, vectors = np.linalg.eigh(self._covariance)
        kept = values > values[-1] * len(values) * np.finfo(float).eps
        return values[kept][::-1], np.ascontiguousarray(vectors[:, kept].T[::-1])

    def leading_axis(self) -> tuple[float, Array]:
        """Return the largest eigenvalue of Σ and its eigenvector."""
        from scipy.linalg import eigh  # here, so that the package loads without it

        last = self.n_features - 1
        values, vectors = eigh(self._covariance, subset_by_index=[last, last])
        return max(float(values[0]), 0.0), vectors[:, 0]

    def across(self, v: Array) -> StoredMoments:
        """Return the moments of the rows without their components along the unit vector v."""
        off = np.eye(len(v)) - np.outer(v, v)
        return StoredMoments(self.total, off @ self._covariance @ off)

    def solve_ridge(self, ridge: float, vector: Array) -> Array:
        """Return (Σ + ridge·I)⁻¹ times a vector."""
        return np.asarray(np.linalg.solve(self._covariance + ridge * np.eye(len(vector)), vector))


class ProductMoments(Moments):
    """Moments of rows with too many features to store the covariance.

    Parameters
    ----------
    product : callable
        Computes Σ·v.
    """

    is_stored = False

    def __init__(self, total: float, product: Callable[[Array], Array], trace: float, n_features: int) -> None:
        self.total, self._product, self._trace, self.n_features = total, product, trace, n_features

    @property
    def covariance(self) -> Array:
        """A TypeError: Σ is not stored."""
        raise TypeError(f"the covariance of {self.n_features} features is not stored.")

    @property
    def trace(self) -> float:
        """Sum of the variances of the features."""
        return self._trace

    def times(self, v: Array) -> Array:
        """Return Σ·v."""
        return self._product(v)

    def principal_axes(self, n: int) -> tuple[Array, Array]:
        """Return the n leading eigenvalues of Σ, decreasing, and eigenvectors (rows), without those of no variance."""
        values, directions = find_leading_eigenvectors(self._product, self.n_features, min(n, self.n_features))
        kept = values > values[0] * self.n_features * np.finfo(float).eps
        kept[0] = True
        return values[kept], np.ascontiguousarray(directions[kept])

    def leading_axis(self) -> tuple[float, Array]:
        """Return the largest eigenvalue of Σ and its eigenvector."""
        (value, *_), vectors = find_leading_eigenvectors(self._product, self.n_features, 1)
        return max(float(value), 0.0), vectors[0]

    def across(self, v: Array) -> ProductMoments:
        """Return the moments of the rows without their components along the unit vector v."""

        def product(u: Array) -> Array:
            left = self._product(u - (u @ v) * v)
            return np.asarray(left - (left @ v) * v)

        return ProductMoments(self.total, product, self.trace - self.variance_along(v), self.n_features)

    def solve_ridge(self, ridge: float, vector: Array) -> Array:
        """Return (Σ + ridge·I)⁻¹ times a vector by conjugate gradients, in at most 50 steps."""
        from scipy.sparse.linalg import LinearOperator, cg  # here, so that the package loads without it

        d = self.n_features
        matrix = LinearOperator((d, d), matvec=lambda v: self._product(v) + ridge * v, dtype=np.float64)
        return np.asarray(cg(matrix, vector, rtol=1e-10, maxiter=MOST_STEPS)[0])


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
    basis: list[Array] = [_normalise(rng.standard_normal(d))]
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
            w, length = _normalise(_orthogonalise(_orthogonalise(rng.standard_normal(d), basis), basis)), 0.0
            basis.append(w)
        else:
            basis.append(w / length)
        off_diagonal.append(length)
    directions = vectors[:, ::-1][:, :n].T @ np.array(basis)
    return values[::-1][:n].copy(), np.stack([_normalise(direction) for direction in directions])


def _orthogonalise(w: Array, basis: list[Array]) -> Array:
    for b in basis:
        w = w - (w @ b) * b
    return w


def _normalise(w: Array) -> Array:
    return np.asarray(w / math.sqrt(float(w @ w)))
