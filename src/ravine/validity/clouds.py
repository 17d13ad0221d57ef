"""Rows that choose directions: an array, or a sparse matrix of many features that is never stored with its zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.rows import Rows

__all__ = ["Cloud", "SparseCloud", "as_cloud", "solve_shrunk"]

# With more features than this, fewer rows estimate the covariance, and sparse rows stay sparse.
MANY_FEATURES, FEW_ROWS = 1000, 1000


class Cloud:
    """Rows in an array.

    Parameters
    ----------
    values : ndarray of shape (n, d), float64
    """

    def __init__(self, values: Any) -> None:
        self.values = values

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def take(self, indices: Any) -> Cloud:
        """Return some rows."""
        return type(self)(self.values[indices])

    def mean(self, members: NDArray[np.bool_] | None = None) -> Array:
        """Return the mean of all or some rows."""
        some = self.values if members is None else self.values[members]
        return np.asarray(some.mean(axis=0)).ravel()

    def project(self, center: Array, normal: Array) -> Array:
        """Return the projections of the rows."""
        return np.asarray((self.values - center) @ normal)

    def discriminate(self, on_right: NDArray[np.bool_], means: tuple[Array, Array]) -> Array:
        """Return S⁻¹(m1 - m0) for the means m0 and m1 of two sides and the shrunk covariance S within them."""
        within = np.where(on_right[:, None], self.values - means[1], self.values - means[0])
        if self.values.shape[1] > MANY_FEATURES:
            within = within[:: max(1, len(within) // FEW_ROWS)]
        return solve_shrunk(within, means[1] - means[0])


class SparseCloud(Cloud):
    """Rows of a sparse matrix with more features than rows are used for a covariance."""

    def project(self, center: Array, normal: Array) -> Array:
        """Return the projections of the rows."""
        return np.asarray(self.values @ normal) - float(center @ normal)

    def discriminate(self, on_right: NDArray[np.bool_], means: tuple[Array, Array]) -> Array:
        """Return S⁻¹(m1 - m0), from the products of the rows with each other only."""
        step = max(1, len(self) // FEW_ROWS)
        X, side = self.values[::step], on_right[::step].astype(np.intp)
        both, difference = np.array(means), means[1] - means[0]
        n, d = X.shape
        scale = float(max(abs(X).max(), np.abs(both).max())) or 1.0  # squares of large values overflow
        X, both = X / scale, both / scale
        products = np.asarray((X @ X.T).toarray())
        with_means = np.asarray(X @ both.T)
        products -= with_means[:, side] + with_means[:, side].T - (both @ both.T)[np.ix_(side, side)]
        share, ridge = _shrink(products / n, np.diagonal(products), d)
        if not ridge > 0.0:
            return difference
        inner = np.linalg.solve(
            ridge * np.eye(n) + (1.0 - share) * products / n,
            np.asarray(X @ difference) - (both @ difference)[side],
        )
        back = np.asarray(X.T @ inner) - both.T @ np.bincount(side, weights=inner, minlength=2)
        return np.asarray((difference - (1.0 - share) / n * back) / ridge)


def as_cloud(rows: Rows, indices: NDArray[np.intp] | None = None) -> Cloud:
    """Return all or some rows as a cloud: sparse if they are sparse and have many features."""
    if rows.is_sparse and rows.shape[1] > MANY_FEATURES:
        some = rows if indices is None else rows.subset(indices)
        return SparseCloud(some.data.astype(np.float64))
    return Cloud(np.asarray(rows.to_array() if indices is None else rows.take(indices), dtype=np.float64))


def solve_shrunk(within: Array, difference: Array) -> Array:
    """Solve S v = difference for the covariance S of centred rows, shrunk towards a multiple of the identity.

    The shrinkage is that of Ledoit and Wolf (2004).
    """
    n, d = within.shape
    scale = float(np.abs(within).max()) or 1.0  # squares of large values overflow
    z = within / scale
    gram = z.T @ z / n if d <= n else z @ z.T / n
    share, ridge = _shrink(gram, np.einsum("ij,ij->i", z, z), d)
    if not ridge > 0.0:
        return difference
    if d <= n:
        return np.asarray(np.linalg.solve((1.0 - share) * gram + ridge * np.eye(d), difference))
    inner = np.linalg.solve(ridge * np.eye(n) + (1.0 - share) * gram, z @ difference)
    return np.asarray((difference - (1.0 - share) / n * (z.T @ inner)) / ridge)


def _shrink(gram: Array, squared_lengths: Array, d: int) -> tuple[float, float]:
    """Return the share of the identity in the shrunk covariance, and its multiple of the identity."""
    n = len(squared_lengths)
    mean = float(np.trace(gram)) / d
    squares = float((gram**2).sum())
    spread = squares / d - mean**2
    noise = (float((squared_lengths**2).sum()) / n - squares) / (n * d)
    share = 1.0 if spread <= 0.0 else min(max(noise / spread, 0.0), 1.0)
    return share, max(share * mean, 1e-10 * mean)
