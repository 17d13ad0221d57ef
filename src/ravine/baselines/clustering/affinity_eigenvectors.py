"""Leading eigenvectors of a normalised affinity matrix, from all of it or from some of its columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, qr
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from ravine._typing import Array

__all__ = ["leading_eigenvectors", "normalise", "nystrom_eigenvectors"]

# Up to this many rows a dense solver is faster.
FEW_ROWS = 1000
# Eigenvalues of the landmarks' block below this fraction of the largest one are noise: their inverses are left out.
CUT = 1e-8
TINY = float(np.finfo(np.float64).tiny)


def normalise(matrix: Array) -> Array:
    """D^-1/2 A D^-1/2 in place, D the row sums; returns the row sums."""
    degrees = np.asarray(matrix.sum(axis=1))
    root = 1.0 / np.sqrt(np.maximum(degrees, TINY))
    matrix *= root[:, None]
    matrix *= root
    return degrees


def leading_eigenvectors(matrix: Array, k: int) -> tuple[Array, Array]:
    """The k largest eigenvalues, decreasing, of a symmetric matrix, which is overwritten, and their eigenvectors."""
    n = len(matrix)
    if n > max(FEW_ROWS, 3 * k):
        try:
            start = np.random.default_rng(0).standard_normal(n)  # any fixed vector: the result is that of the matrix
            values, vectors = eigsh(matrix, k=k, which="LA", v0=start, ncv=min(n, max(4 * k, 40)))
            order = np.argsort(values)[::-1]
            return values[order], fix_signs(vectors[:, order])
        except ArpackNoConvergence:
            pass
    values, vectors = eigh(matrix, subset_by_index=[n - k, n - 1], overwrite_a=True, check_finite=False)
    return values[::-1], fix_signs(vectors[:, ::-1])


def fix_signs(vectors: Array) -> Array:
    """The same eigenvectors, each with its largest component positive."""
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return np.asarray(vectors * np.where(largest < 0.0, -1.0, 1.0))


def nystrom_eigenvectors(columns: Array, landmarks: NDArray[np.intp], k: int) -> tuple[Array, Array, Array]:
    """Largest eigenvalues and eigenvectors of D^-1/2 A D^-1/2 from the columns of A that belong to the landmarks.

    Parameters
    ----------
    columns : ndarray of shape (n, m)
        Affinities of all rows to the landmarks; overwritten.
    landmarks : ndarray of shape (m,), int
    k : int

    Returns
    -------
    values, vectors, degrees
        The k largest eigenvalues, orthonormal eigenvectors as columns, and the degrees of all rows.
    """
    degrees = nystrom_degrees(columns, landmarks)
    root = 1.0 / np.sqrt(degrees)
    columns *= root[:, None]
    columns *= root[landmarks]
    inner, basis = eigh(columns[landmarks])
    if inner[0] >= -CUT * abs(inner[-1]):
        values, vectors = one_shot(columns, landmarks, inner, basis, k)
    else:
        values, vectors = two_step(columns, inner, basis, k)
    return values, fix_signs(vectors), degrees


def nystrom_degrees(columns: Array, landmarks: NDArray[np.intp]) -> Array:
    """Row sums of the completed matrix [A B; B' B'A⁺B].

    The part that is completed is a sum of affinities, so it is not allowed to be negative.
    """
    inner, basis = eigh(columns[landmarks])
    others = columns.sum(axis=0) - columns[landmarks].sum(axis=0)  # B e
    completed = columns @ (basis @ (_pseudo_inverse(inner) * (basis.T @ others)))
    completed[landmarks] = others[: len(landmarks)]
    return np.asarray(np.maximum(columns.sum(axis=1) + np.maximum(completed, 0.0), TINY))


def one_shot(columns: Array, landmarks: NDArray[np.intp], inner: Array, basis: Array, k: int) -> tuple[Array, Array]:
    """S = A + A^-1/2 B B' A^-1/2 = U L U', V = [A; B'] A^-1/2 U L^-1/2: for a block A without negative eigenvalues."""
    root = (basis * np.sqrt(_pseudo_inverse(np.maximum(inner, 0.0)))) @ basis.T
    # A^-1/2 (A² + B B') A^-1/2 is S, and A² + B B' the product of the columns with themselves.
    values, vectors = eigh(root @ (columns.T @ columns) @ root)
    values, vectors = values[: -k - 1 : -1], vectors[:, : -k - 1 : -1]
    return values, np.asarray(columns @ (root @ vectors) * np.sqrt(_pseudo_inverse(np.maximum(values, 0.0))))


def two_step(columns: Array, inner: Array, basis: Array, k: int) -> tuple[Array, Array]:
    """Eigenvectors of Ū L Ū' with Ū = [U; B' U L^-1], for a block A = U L U' of any sign.

    Fowlkes et al. take the square root of L; with negative eigenvalues that is imaginary. The triangular factor of
    Ū = Q R gives the same eigenvectors, Q times those of R L R', with real numbers only.
    """
    kept = np.abs(inner) > CUT * np.abs(inner).max()
    extended = columns @ (basis[:, kept] / inner[kept])
    orthonormal, triangle = qr(extended, mode="economic", overwrite_a=True, check_finite=False)
    values, vectors = eigh((triangle * inner[kept]) @ triangle.T)
    return values[: -k - 1 : -1], np.asarray(orthonormal @ vectors[:, : -k - 1 : -1])


def _pseudo_inverse(values: Array) -> Array:
    """Reciprocals; zero for eigenvalues that are only noise."""
    kept = np.abs(values) > CUT * np.abs(values).max(initial=TINY)
    return np.asarray(np.divide(1.0, values, out=np.zeros_like(values), where=kept))
