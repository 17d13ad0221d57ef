"""Leading eigenvectors of a normalised affinity matrix, from all of it or from some of its columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, qr

from ravine_paper._typing import Array
from ravine_paper.baselines._shared.eigenvectors import fix_signs, iterate_eigenvectors, solve_eigenvectors

__all__ = ["find_exact_eigenvectors", "find_nystrom_eigenvectors", "normalise"]

# Up to this many rows a dense solver is faster.
FEW_ROWS = 1000
# Eigenvalues of the landmarks' block below this fraction of the largest one are noise: their inverses are left out.
CUT = 1e-8
TINY = float(np.finfo(np.float64).tiny)


def normalise(matrix: Array) -> None:
    """Replace a matrix A by D^-1/2 A D^-1/2, where D holds its row sums."""
    root = 1.0 / np.sqrt(np.maximum(matrix.sum(axis=1), TINY))
    matrix *= root[:, None]
    matrix *= root


def find_exact_eigenvectors(matrix: Array, k: int) -> tuple[Array, Array]:
    """Find the k largest eigenvalues, decreasing, and eigenvectors of a symmetric matrix, which is overwritten."""
    found = iterate_eigenvectors(matrix, k) if len(matrix) > max(FEW_ROWS, 3 * k) else None
    return solve_eigenvectors(matrix, k) if found is None else found


def find_nystrom_eigenvectors(columns: Array, landmarks: NDArray[np.intp], k: int) -> tuple[Array, Array]:
    """Find the leading eigenvectors of D^-1/2 A D^-1/2 from the columns of A that belong to the landmarks.

    Parameters
    ----------
    columns : ndarray of shape (n, m)
        Affinities of all rows to the landmarks; overwritten.
    landmarks : ndarray of shape (m,), int
    k : int

    Returns
    -------
    values, vectors
        The k largest eigenvalues, and orthonormal eigenvectors as columns.
    """
    root = 1.0 / np.sqrt(compute_nystrom_degrees(columns, landmarks))
    columns *= root[:, None]
    columns *= root[landmarks]
    inner, basis = eigh(columns[landmarks])
    if inner[0] >= -CUT * abs(inner[-1]):
        values, vectors = extend_in_one_shot(columns, inner, basis, k)
    else:
        values, vectors = extend_in_two_steps(columns, inner, basis, k)
    return values, fix_signs(vectors)


def compute_nystrom_degrees(columns: Array, landmarks: NDArray[np.intp]) -> Array:
    """Compute the row sums of the completed matrix [A B; B' B'A⁺B].

    The completed block is a sum of affinities, so negative sums are set to zero.
    """
    inner, basis = eigh(columns[landmarks])
    others = columns.sum(axis=0) - columns[landmarks].sum(axis=0)  # B e
    completed = columns @ (basis @ (_invert(inner) * (basis.T @ others)))
    completed[landmarks] = others[: len(landmarks)]
    return np.asarray(np.maximum(columns.sum(axis=1) + np.maximum(completed, 0.0), TINY))


def extend_in_one_shot(columns: Array, inner: Array, basis: Array, k: int) -> tuple[Array, Array]:
    """Extend the eigenvectors of a block A without negative eigenvalues to all rows.

    With S = A + A^-1/2 B B' A^-1/2 = U L U' they are V = [A; B'] A^-1/2 U L^-1/2.
    """
    root = (basis * np.sqrt(_invert(np.maximum(inner, 0.0)))) @ basis.T
    # A^-1/2 (A² + B B') A^-1/2 is S, and A² + B B' the product of the columns with themselves.
    values, vectors = eigh(root @ (columns.T @ columns) @ root)
    values, vectors = values[: -k - 1 : -1], vectors[:, : -k - 1 : -1]
    return values, np.asarray(columns @ (root @ vectors) * np.sqrt(_invert(np.maximum(values, 0.0))))


def extend_in_two_steps(columns: Array, inner: Array, basis: Array, k: int) -> tuple[Array, Array]:
    """Extend the eigenvectors of any block A = U L U' to those of Ū L Ū' with Ū = [U; B' U L^-1].

    Fowlkes et al. take the square root of L, which is imaginary for negative eigenvalues. The triangular factor of
    Ū = Q R gives the same eigenvectors, Q times those of R L R', in real arithmetic.
    """
    kept = np.abs(inner) > CUT * np.abs(inner).max()
    extended = columns @ (basis[:, kept] / inner[kept])
    orthonormal, triangle = qr(extended, mode="economic", overwrite_a=True, check_finite=False)
    values, vectors = eigh((triangle * inner[kept]) @ triangle.T)
    return values[: -k - 1 : -1], np.asarray(orthonormal @ vectors[:, : -k - 1 : -1])


def _invert(values: Array) -> Array:
    """Compute reciprocals; zero for eigenvalues that are only noise."""
    kept = np.abs(values) > CUT * np.abs(values).max(initial=TINY)
    return np.asarray(np.divide(1.0, values, out=np.zeros_like(values), where=kept))
