"""Outlier scores of rows, from robust densities of the leaves of a tree.

Each leaf has a robust centre and covariance. In coordinates in which the covariance is the identity, a few normal
components with independent coordinates follow leaves that are not elliptical, if there are not too many features. A row
is scored by the log-density of its own leaf. Half of the difference between the levels of the leaves is removed: sparse
clusters are not outliers as a whole, and far rows that make up a leaf of their own still are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.rows import Rows, as_rows
from ravine.tree.leaf_densities import LeafDensity, fit_leaf, pool_variances
from ravine.tree.nodes import Tree

__all__ = ["OutlierModel", "choose_outliers"]

Indices = NDArray[np.intp]

# Rows that estimate the density of a leaf, at most; bytes of the rows that are in memory for that; and fewest rows.
ROWS_OF_LEAF, MOST_BYTES, FEWEST_ROWS = 2000, 1 << 26, 50
# Part of the difference between the levels of leaves that is removed from the scores.
PART_OF_LEVEL = 0.5
# Rows beyond the upper quartile by more than this many interquartile ranges are outliers: "far out" in a box plot.
FENCE = 3.0
# Negative log-densities are at most this, and units of features at least that, so that nothing overflows.
LARGEST, LEAST_UNIT = 1e300, 1e-290
# Bytes of a block of rows.
BLOCK_BYTES = 1 << 19


@dataclass(frozen=True)
class OutlierModel:
    """Robust densities of the leaves of a tree.

    Attributes
    ----------
    tree : Tree
    densities : dict of int to LeafDensity
        Density of each leaf, by its number.
    quartiles : ndarray of shape (3,)
        Quartiles of the negative log-density of the rows of the fit.
    """

    tree: Tree
    densities: dict[int, LeafDensity]
    quartiles: Array

    @classmethod
    def of(cls, tree: Tree, samples: Mapping[int, Indices], leaves: Indices, rows: Rows) -> OutlierModel:
        """Estimate the densities of all leaves.

        Parameters
        ----------
        tree : Tree
        samples : mapping of int to ndarray of int
            Indices of rows of each node, by `sample_nodes`.
        leaves : ndarray of shape (n,), int
            Leaf of each row.
        rows : Rows
        """
        most = max(FEWEST_ROWS, MOST_BYTES // (8 * rows.shape[1]))
        members = {k: np.sort(some[: min(ROWS_OF_LEAF, most)]) for k, some in samples.items()}
        some = np.asarray(rows.take(members[0]), dtype=np.float64)
        origin = np.median(some, axis=0)
        unit = _measure_units(some - origin)
        parts = {
            k: (np.asarray(rows.take(members[k]), dtype=np.float64) - origin) / unit
            for k in tree.leaves()
            if len(members[k])
        }
        sizes = {k: int(tree.size[k]) for k in parts}
        pooled = pool_variances(parts, sizes)
        found = {k: fit_leaf(part, sizes[k] / len(leaves), pooled) for k, part in parts.items()}
        levels = {k: float(np.median(found[k].evaluate(part))) for k, part in parts.items()}
        middle = _find_weighted_median(list(levels.values()), [sizes[k] for k in levels])
        found = {k: leaf.shift(PART_OF_LEVEL * (middle - levels[k])).rescale(origin, unit) for k, leaf in found.items()}
        model = cls(tree, found, np.zeros(3))
        chosen = np.sort(samples[0][:most])
        values = model._evaluate(np.asarray(rows.take(chosen)), leaves[chosen])
        return cls(tree, found, np.quantile(values, (0.25, 0.5, 0.75)))

    def score(self, X: Any, leaves: Indices | None = None) -> Array:
        """Return the scores of the rows of an array or sparse matrix: 0.5 for the median row, and at most 1.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        leaves : ndarray of shape (n,), int, optional
            Leaf of each row, if it is known.
        """
        out = np.empty(X.shape[0])
        step = max(1, BLOCK_BYTES // (8 * X.shape[1]))
        for start in range(0, X.shape[0], step):
            block = X[start : start + step]
            reached = self.tree.apply(block) if leaves is None else leaves[start : start + step]
            out[start : start + step] = self._evaluate(as_rows(block).to_array(), reached)
        return self._map(out)

    @property
    def fence(self) -> float:
        """Score above which rows are outliers, if their share is not given."""
        low, _, high = self.quartiles.tolist()
        return float(self._map(np.array([high + FENCE * (high - low)]))[0])

    def _evaluate(self, X: NDArray[np.floating[Any]], leaves: Indices) -> Array:
        """Return the negative log-density of rows in their leaves."""
        out = np.empty(len(X))
        with np.errstate(over="ignore", invalid="ignore"):  # rows far beyond those of the fit
            self._fill(out, X, leaves)
        return np.nan_to_num(out, copy=False, nan=LARGEST, posinf=LARGEST, neginf=-LARGEST)

    def _fill(self, out: Array, X: NDArray[np.floating[Any]], leaves: Indices) -> None:
        for k in np.flatnonzero(np.bincount(leaves)).tolist():
            here = np.flatnonzero(leaves == k)
            out[here] = -self.densities[k].evaluate(X.take(here, axis=0), overwrite=True)

    def _map(self, values: Array) -> Array:
        """Map negative log-densities to [0, 1]: the median to 0.5, the upper quartile to 0.75."""
        _, middle, high = self.quartiles.tolist()
        spread = high - middle
        with np.errstate(over="ignore"):
            u = np.clip((values - middle) / (spread if spread > 0.0 else 1.0), -LARGEST, LARGEST)
        return np.asarray(0.5 + 0.5 * u / (1.0 + np.abs(u)))


def choose_outliers(scores: Array, contamination: float | None, fence: float) -> tuple[NDArray[np.bool_], float]:
    """Return which rows are outliers, and the score above which new rows are.

    Parameters
    ----------
    scores : ndarray of shape (n,)
    contamination : float or None
        Share of the rows that are outliers, the first ones of equal scores; None for those above ``fence``. If all
        scores are equal, as those of equal rows, no row is an outlier.
    fence : float
    """
    if contamination is None:
        return scores > fence, fence
    n = len(scores)
    n_marked = math.floor(contamination * n + 0.5) if scores.min() < scores.max() else 0
    order = np.argsort(-scores, kind="stable")
    marked = np.zeros(n, dtype=bool)
    marked[order[:n_marked]] = True
    below = float(scores[order[n_marked]])  # at least half of the rows are not marked
    return marked, below if n_marked == 0 else 0.5 * (below + float(scores[order[n_marked - 1]]))


def _measure_units(differences: Array) -> Array:
    """Return the spread of each feature; features without a spread have that of the widest one."""
    spread = np.median(np.abs(differences), axis=0)
    largest = np.abs(differences).max(axis=0)
    unit = np.where(spread > 1e-9 * largest, spread, largest)
    return np.maximum(np.where(unit > 0.0, unit, float(unit.max()) or 1.0), LEAST_UNIT)


def _find_weighted_median(values: list[float], weights: list[int]) -> float:
    order = np.argsort(values)
    total = np.cumsum(np.asarray(weights)[order])
    return float(np.asarray(values)[order[int(np.searchsorted(total, 0.5 * total[-1]))]])
