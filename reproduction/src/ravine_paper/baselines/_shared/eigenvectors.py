"""Leading eigenvectors of symmetric matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackError, eigsh

from ravine_paper._typing import Array

__all__ = ["compute_inverse_root", "fix_signs", "iterate_eigenvectors", "solve_eigenvectors"]


def solve_eigenvectors(matrix: Array, k: int) -> tuple[Array, Array]:
    """Compute the k largest eigenvalues, decreasing, and eigenvectors of a dense matrix, which is overwritten."""
    n = len(matrix)
    values, vectors = eigh(matrix, subset_by_index=[n - k, n - 1], overwrite_a=True, check_finite=False)
    return values[::-1], fix_signs(vectors[:, ::-1])


def iterate_eigenvectors(matrix: Any, k: int) -> tuple[Array, Array] | None:
    """Compute the same by the Lanczos method for a matrix or LinearOperator; None without convergence."""
    n = matrix.shape[0]
    start = np.random.default_rng(0).standard_normal(n)  # fixed, so that the result is reproducible
    try:
        values, vectors = eigsh(matrix, k=k, which="LA", v0=start, ncv=min(n, max(4 * k, 40)))
    except ArpackError:
        return None
    order = np.argsort(values)[::-1]
    return values[order], fix_signs(vectors[:, order])


def fix_signs(vectors: Array) -> Array:
    """Choose the sign of each column so that its entry of largest magnitude is positive."""
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return np.asarray(vectors * np.where(largest < 0.0, -1.0, 1.0))


def compute_inverse_root(matrix: Array, smallest: float) -> Array:
    """Compute V D^(-1/2) of a positive semi-definite matrix V D V'.

    Eigenvalues below the part ``smallest`` of the largest are rounding: they and their columns are left out.
    """
    values, vectors = np.linalg.eigh(matrix)
    kept = values > smallest * values.max(initial=0.0)
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))
