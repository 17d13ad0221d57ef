"""How groups of rows differ from the rest, feature by feature."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ravine._typing import Array

__all__ = ["Contrast", "Parts", "adjusted_rand_index", "contrast"]

# Bytes of X that are looked at together.
BLOCK_BYTES = 1 << 22
# A spread below this part of the difference of means is rounding: inside both groups the feature is constant.
NO_SPREAD = 1e-12


@dataclass(frozen=True)
class Parts:
    """The smallest groups of rows (leaves or classes); all larger ones are unions of them.

    Attributes
    ----------
    size : ndarray of shape (p,), int
    mean : ndarray of shape (p, d)
        Means less ``origin``; 0 where there are no rows.
    scatter : ndarray of shape (p, d)
        Sums of squared differences from the mean.
    origin : ndarray of shape (d,)
        The mean of all rows.
    """

    size: NDArray[np.intp]
    mean: Array
    scatter: Array
    origin: Array

    @classmethod
    def of(cls, X: NDArray[np.floating[Any]], codes: NDArray[np.intp], n_parts: int) -> Parts:
        """Two passes over X: means about the first row, then squares about the means."""
        size = np.bincount(codes, minlength=n_parts)
        first = X[0].astype(np.float64)
        total, scatter = np.zeros((n_parts, X.shape[1])), np.zeros((n_parts, X.shape[1]))
        for rows, of_part in _blocks(X, codes, n_parts):
            total += of_part @ (X[rows] - first)
        mean = total / np.maximum(size, 1)[:, None]
        for rows, of_part in _blocks(X, codes, n_parts):
            z = X[rows] - first
            z -= mean[codes[rows]]
            scatter += of_part @ np.square(z, out=z)
        centre = size @ mean / len(X)
        return cls(size, np.where(size[:, None] > 0, mean - centre, 0.0), scatter, first + centre)

    @property
    def spread(self) -> Array:
        """Standard deviation of each feature over all rows."""
        n = max(int(self.size.sum()), 1)
        return np.asarray(np.sqrt((self.scatter.sum(axis=0) + self.size @ self.mean**2) / n))


def _blocks(X: NDArray[Any], codes: NDArray[np.intp], n_parts: int) -> Iterator[tuple[slice, Any]]:
    """Blocks of rows, each with the sparse matrix that sums its rows for every part."""
    step = max(64, BLOCK_BYTES // (8 * X.shape[1]))
    for start in range(0, len(X), step):
        part = codes[start : start + step]
        indicator = csr_array((np.ones(len(part)), part, np.arange(len(part) + 1)), shape=(len(part), n_parts))
        yield slice(start, start + step), indicator.T


@dataclass(frozen=True)
class Contrast:
    """Each group against all other rows; arrays of shape (g, d), about the origin of the parts.

    Attributes
    ----------
    effect : ndarray
        Difference of the means in pooled standard deviations; infinite if the feature is constant in both, NaN if there
        are no other rows.
    inside, outside : ndarray
        The two means.
    pooled : ndarray
        The pooled standard deviation.
    """

    effect: Array
    inside: Array
    outside: Array
    pooled: Array


def contrast(parts: Parts, members: NDArray[np.bool_]) -> Contrast:
    """How groups differ from the rest.

    Parameters
    ----------
    parts : Parts
    members : ndarray of bool of shape (g, p)
        The parts of each group.
    """
    n = int(parts.size.sum())
    inside, scatter_inside, n_inside = _united(parts, members)
    outside, scatter_outside, n_outside = _united(parts, ~members)
    pooled = np.sqrt((scatter_inside + scatter_outside) / max(n - 2, 1))
    difference = inside - outside
    with np.errstate(divide="ignore", invalid="ignore"):
        effect = np.where(pooled > NO_SPREAD * np.abs(difference), difference / pooled, np.copysign(np.inf, difference))
    # A difference that is only the rounding of the means is none.
    scale = np.maximum(np.abs(parts.origin), parts.spread)
    effect[np.abs(difference) <= 8.0 * np.finfo(float).eps * scale] = 0.0
    effect[(n_inside == 0) | (n_outside == 0)] = np.nan
    return Contrast(effect, inside, outside, pooled)


def _united(parts: Parts, members: NDArray[np.bool_]) -> tuple[Array, Array, NDArray[np.intp]]:
    """Means, sums of squares and sizes of unions of parts."""
    weights = members * parts.size
    size = weights.sum(axis=1)
    mean = weights @ parts.mean / np.maximum(size, 1)[:, None]
    between = weights @ parts.mean**2 - size[:, None] * mean**2
    return mean, members @ parts.scatter + np.maximum(between, 0.0), size


def adjusted_rand_index(table: NDArray[Any]) -> float:
    """Agreement of two partitions from the counts of their common rows: 1 if equal, about 0 by chance.

    Parameters
    ----------
    table : ndarray of shape (k, l)
    """

    def pairs(counts: NDArray[Any]) -> float:
        x = np.asarray(counts, dtype=np.float64)
        return float((x * (x - 1.0)).sum()) / 2.0

    both, rows, columns = pairs(table), pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    everything = pairs(np.array([table.sum()]))
    if everything == 0.0:
        return 1.0
    expected, most = rows * columns / everything, 0.5 * (rows + columns)
    return 1.0 if most == expected else (both - expected) / (most - expected)
