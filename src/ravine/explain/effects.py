"""Effect sizes: the features that set a group of rows apart from all other rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ravine._typing import Array

# Bytes of X in one block.
BLOCK_BYTES = 1 << 22
# A spread below this fraction of the difference of means is rounding: the feature is constant inside both groups.
NO_SPREAD = 1e-12


@dataclass(frozen=True)
class GroupMoments:
    """Sizes, means and scatters of disjoint groups of rows; larger groups are unions of them.

    Attributes
    ----------
    size : ndarray of shape (p,), int
    mean : ndarray of shape (p, d)
        Means minus ``origin``, in units of ``unit``; 0 for empty groups.
    scatter : ndarray of shape (p, d)
        Sums of squared differences from the mean, in squares of ``unit``.
    origin : ndarray of shape (d,)
        The mean of all rows.
    unit : ndarray of shape (d,)
        Powers of two near the range of each feature, so that no square overflows or underflows.
    """

    size: NDArray[np.intp]
    mean: Array
    scatter: Array
    origin: Array
    unit: Array

    @classmethod
    def of(cls, X: NDArray[np.floating[Any]], codes: NDArray[np.intp], n_groups: int) -> GroupMoments:
        """Compute the moments in two passes over X: means about the first row, then squares about the means.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        codes : ndarray of shape (n,)
            The group of each row, from 0.
        """
        size = np.bincount(codes, minlength=n_groups)
        first = X[0].astype(np.float64)
        exponent = np.frexp(np.maximum(X.max(axis=0) - first, first - X.min(axis=0)))[1] - 1
        total, scatter = np.zeros((n_groups, X.shape[1])), np.zeros((n_groups, X.shape[1]))
        for block, indicator in _blocks(X, codes, n_groups):
            total += indicator @ np.ldexp(X[block] - first, -exponent)
        mean = total / np.maximum(size, 1)[:, None]
        for block, indicator in _blocks(X, codes, n_groups):
            z = np.ldexp(X[block] - first, -exponent)
            z -= mean[codes[block]]
            scatter += indicator @ np.square(z, out=z)
        center = size @ mean / len(X)
        unit = np.ldexp(1.0, exponent)
        return cls(size, np.where(size[:, None] > 0, mean - center, 0.0), scatter, first + unit * center, unit)

    @property
    def std(self) -> Array:
        """Standard deviation of each feature over all rows."""
        n = max(int(self.size.sum()), 1)
        return np.asarray(self.unit * np.sqrt((self.scatter.sum(axis=0) + self.size @ self.mean**2) / n))

    def unite(self, members: NDArray[np.bool_]) -> tuple[Array, Array, NDArray[np.intp]]:
        """Return means and sums of squares, in ``unit``, and sizes of unions of groups, a row of ``members`` each."""
        weights = members * self.size
        size = weights.sum(axis=1)
        mean = weights @ self.mean / np.maximum(size, 1)[:, None]
        squares = weights @ self.mean**2
        between = squares - size[:, None] * mean**2
        # Below the rounding error of the difference the means are equal.
        between[between <= 8.0 * np.finfo(float).eps * squares] = 0.0
        return mean, members @ self.scatter + between, size


def _blocks(X: NDArray[Any], codes: NDArray[np.intp], n_groups: int) -> Iterator[tuple[slice, Any]]:
    """Yield blocks of rows, each with the sparse matrix that sums its rows by group."""
    step = max(64, BLOCK_BYTES // (8 * X.shape[1]))
    for start in range(0, len(X), step):
        some = codes[start : start + step]
        indicator = csr_array((np.ones(len(some)), some, np.arange(len(some) + 1)), shape=(len(some), n_groups))
        yield slice(start, start + step), indicator.T


@dataclass(frozen=True)
class EffectSizes:
    """Each group compared with all other rows, feature by feature; arrays of shape (g, d).

    Attributes
    ----------
    effect : ndarray
        Difference of the means in pooled standard deviations (see `compare_with_rest`). Infinite if the feature is
        constant inside the group and outside, with different values; NaN if there are no other rows.
    inside, outside : ndarray
        The two means, minus the mean of all rows.
    pooled : ndarray
        The pooled standard deviation.
    """

    effect: Array
    inside: Array
    outside: Array
    pooled: Array

    def rank_features(self, group: int, most: int) -> list[int]:
        """Return the indices of the features that differ, by decreasing absolute effect, at most ``most``."""
        size = np.abs(np.nan_to_num(self.effect[group], nan=0.0, posinf=np.inf, neginf=-np.inf))
        order = np.argsort(-size, kind="stable")[:most]
        return [j for j in order.tolist() if size[j] > 0.0]


def compare_with_rest(groups: GroupMoments, members: NDArray[np.bool_] | None = None) -> EffectSizes:
    """Compare each group with all other rows.

    The effect size of a feature is Cohen's d of the group against the rest,
    ``(mean inside - mean outside) / sqrt((SS inside + SS outside) / (n - 2))``. The difference from the mean of all
    rows in standard deviations of all rows would be simpler, but it understates exactly the features that separate
    best: both the mean and the standard deviation of all rows contain the difference itself, so that the value cannot
    exceed ``sqrt(1 / p - 1)`` for a group with a share p of the rows. Report and command line both use this function.

    Parameters
    ----------
    members : ndarray of bool of shape (g, p), optional
        The groups whose union is compared, one row for each comparison; by default each group by itself.

    Returns
    -------
    EffectSizes
    """
    members = np.eye(len(groups.size), dtype=bool) if members is None else members
    n = int(groups.size.sum())
    inside, scatter_inside, n_inside = groups.unite(members)
    outside, scatter_outside, n_outside = groups.unite(~members)
    pooled = np.sqrt((scatter_inside + scatter_outside) / max(n - 2, 1))
    difference = inside - outside
    with np.errstate(divide="ignore", invalid="ignore"):
        effect = np.where(pooled > NO_SPREAD * np.abs(difference), difference / pooled, np.copysign(np.inf, difference))
    # Differences within the rounding of the means are zero.
    scale = np.maximum(np.abs(groups.origin), groups.std)
    effect[groups.unit * np.abs(difference) <= 8.0 * np.finfo(float).eps * scale] = 0.0
    effect[(n_inside == 0) | (n_outside == 0)] = np.nan
    return EffectSizes(effect, groups.unit * inside, groups.unit * outside, groups.unit * pooled)
