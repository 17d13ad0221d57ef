"""Soft memberships of rows in the clusters of a tree.

Near the valley at t = 0, where t is the signed distance from a hyperplane in bandwidths, the density is the sum of the
tails of both sides. For two normal clusters with a common variance v, the log-odds of the right side are 2 s t with
s² = f''(0) / f(0) + 1 / v. This slope is estimated for every split; memberships multiply down the tree.

Products of this kind can be larger for another cluster than for the one that the hyperplanes assign: 0.55 · 0.55 is
less than 0.45. The result is therefore the closest distribution, in least squares, in which the own cluster is the
largest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.checks import require
from ravine.density import compute_silverman_bandwidth
from ravine.hyperplane import Hyperplane
from ravine.rows import Rows

if TYPE_CHECKING:
    from ravine.tree import Tree  # a hyperplane is fitted without a tree

Indices = NDArray[np.intp]

NONE = -1
# Largest number of rows of a node from which the log-odds of its split are estimated.
MOST_ROWS = 10_000
# Distances in bandwidths beyond this are cut off, so that their squares are finite.
LARGEST = 1e100
# The square of the slope is at least this share of 1 / v, also where there is no valley.
LEAST_SHARE = 0.25
# The own cluster is larger than any other by at least this share.
MARGIN = 1e-9
# Rows of a block of memberships, which then stays in the cache.
BLOCK_ROWS = 1 << 14
# Ranks that are drawn at once where few of them are kept, so that they stay in the cache, too.
RANK_ROWS = 1 << 16


@dataclass(frozen=True)
class SplitOdds:
    """Log-odds of the two sides of every split, as multiples of the distance from its hyperplane.

    Attributes
    ----------
    widths : ndarray of shape (m,)
        Units of the distances: bandwidths; NaN for leaves.
    slopes : ndarray of shape (m,)
        Log-odds of the right side at a distance of one unit; NaN for leaves.
    """

    widths: Array
    slopes: Array

    def validate(self) -> None:
        """Raise an error if a width or slope is not positive, or infinite."""
        require(self.widths.ndim == 1 and self.widths.shape == self.slopes.shape, "shapes")
        for name, values in vars(self).items():
            require((np.isnan(values) | ((values > 0.0) & (values < np.inf))).all(), name)

    @classmethod
    def of(cls, tree: Tree, leaves: Indices, rows: Rows, weights: Array | None = None) -> SplitOdds:
        """Estimate the slopes of all splits from rows of their nodes.

        Parameters
        ----------
        tree : Tree
        leaves : ndarray of shape (n,), int
            Leaf of each row.
        rows : Rows
        weights : ndarray of shape (n,), optional
        """
        found = cls.unknown(len(tree))
        inner = np.flatnonzero(tree.left != NONE).tolist()
        samples = sample_nodes(tree, leaves) if inner else {}
        for k in inner:
            found._estimate(k, tree, samples[k], rows, weights)
        return found

    @classmethod
    def of_hyperplane(cls, plane: Hyperplane, rows: Rows, weights: Array | None = None) -> SplitOdds:
        """Estimate the slope of one split of all rows, which is node 0 of three."""
        n = rows.shape[0]
        members = None if n <= MOST_ROWS else _draw_rows(n, MOST_ROWS)
        w = weights if weights is None or members is None else weights[members]
        width, slope = _estimate_split(plane, plane.distance(rows, members), w, n)
        return cls(np.array([width, np.nan, np.nan]), np.array([slope, np.nan, np.nan]))

    @classmethod
    def unknown(cls, n_nodes: int) -> SplitOdds:
        """Return the odds of a tree without splits."""
        return cls(np.full(n_nodes, np.nan), np.full(n_nodes, np.nan))

    def _estimate(self, k: int, tree: Tree, sample: Indices, rows: Rows, weights: Array | None) -> None:
        """Estimate the odds of one node, while the object is made."""
        plane, members = tree.hyperplane(k), np.sort(sample)
        assert plane is not None
        w = None if weights is None else weights[members]
        self.widths[k], self.slopes[k] = _estimate_split(plane, plane.distance(rows, members), w, int(tree.size[k]))

    def extend(self, tree: Tree, leaf: int, leaves: Indices, rows: Rows) -> SplitOdds:
        """Return the odds of a tree in which one leaf is split, with those of the new split."""
        found = SplitOdds.unknown(len(tree))
        found.widths[: len(self.widths)], found.slopes[: len(self.slopes)] = self.widths, self.slopes
        found._estimate(leaf, tree, sample_nodes(tree, leaves)[leaf], rows, None)
        return found

    def renumber(self, new_numbers: Indices, new: Tree) -> SplitOdds:
        """Return the odds of a tree that was pruned; ``new_numbers`` are those of the nodes of the old tree in it."""
        widths, slopes = np.full(len(new), np.nan), np.full(len(new), np.nan)
        for k, number in enumerate(new_numbers):
            if new.left[number] != NONE and np.isnan(slopes[number]):
                widths[number], slopes[number] = self.widths[k], self.slopes[k]
        return SplitOdds(widths, slopes)

    def predict_proba(self, tree: Tree, X: Any) -> Array:
        """Return the memberships of the rows of an array or sparse matrix in all clusters of the tree."""
        out = np.empty((X.shape[0], tree.n_clusters))
        for start in range(0, X.shape[0], BLOCK_ROWS):
            out[start : start + BLOCK_ROWS] = lift_own_cluster(*self._multiply(tree, X[start : start + BLOCK_ROWS])).T
        return out

    def _multiply(self, tree: Tree, X: Any) -> tuple[Array, Indices]:
        """Return the memberships as products down the tree, summed over the leaves of each cluster, and the labels."""
        n = X.shape[0]
        out, labels = np.zeros((tree.n_clusters, n)), np.zeros(n, dtype=np.intp)
        waiting: list[tuple[int, Array | None, NDArray[np.bool_] | None]] = [(0, None, None)]
        while waiting:
            k, share, inside = waiting.pop()
            plane = tree.hyperplane(k)
            if plane is None:
                out[tree.cluster[k]] += 1.0 if share is None else share
                if inside is not None:
                    labels[inside] = tree.cluster[k]
                continue
            distances = plane.distance(X)
            is_right = distances > 0.0
            with np.errstate(over="ignore", under="ignore"):
                ratio = np.exp(-self.slopes[k] * np.abs(distances / self.widths[k]))
                larger = 1.0 / (1.0 + ratio)
            smaller = ratio * larger
            sides = (
                (tree.right[k], is_right, np.where(is_right, larger, smaller)),
                (tree.left[k], ~is_right, np.where(is_right, smaller, larger)),
            )
            for child, here, part in sides:
                within = here if inside is None else inside & here
                waiting.append((int(child), part if share is None else share * part, within))
        return np.minimum(out, 1.0, out=out), labels  # sums over leaves are rounded


@dataclass(frozen=True)
class Memberships:
    """Function from rows to memberships, which can be sent to other processes.

    Attributes
    ----------
    odds : SplitOdds
    tree : Tree
    n_columns : int
        Number of columns, at least that of the clusters of the tree.
    """

    odds: SplitOdds
    tree: Tree
    n_columns: int

    def __call__(self, X: Any) -> Array:
        """Return the memberships of the rows of an array."""
        proba = self.odds.predict_proba(self.tree, X)
        more = self.n_columns - proba.shape[1]
        return np.pad(proba, ((0, 0), (0, more))) if more else proba


def _estimate_split(plane: Hyperplane, distances: Array, weights: Array | None, size: int) -> tuple[float, float]:
    """Return width and slope of a split, from the distances of some of its ``size`` rows."""
    h = plane.bandwidth * (len(distances) / size) ** -0.2
    weights = np.ones(len(distances)) if weights is None or not weights.any() else weights
    distances, weights = distances[weights > 0.0], weights[weights > 0.0]
    width = h if 0.0 < h < np.inf else _choose_bandwidth(distances, weights)
    return width, estimate_slope(distances / width, weights)


def estimate_slope(t: Array, weights: Array) -> float:
    """Return the log-odds at distance 1 of two sides, from the distances in bandwidths of rows on both sides.

    The density and its curvature at 0 are those of a Gaussian kernel density; v is the pooled variance of the sides,
    widened by the kernel.
    """
    t = np.clip(t, -LARGEST, LARGEST)
    squares = t * t
    near = weights * np.exp(-0.5 * (squares - float(squares.min())))
    curvature = float(near @ (squares - 1.0)) / float(near.sum())
    right = t > 0.0
    scatter = sum(_measure_scatter(t[side], weights[side]) for side in (right, ~right))
    precision = 1.0 / (scatter / float(weights.sum()) + 1.0)
    return 2.0 * float(np.sqrt(max(curvature + precision, LEAST_SHARE * precision)))


def _measure_scatter(t: Array, weights: Array) -> float:
    """Return the weighted sum of squared differences from the mean."""
    total = float(weights.sum())
    return float(weights @ (t - float(weights @ t) / total) ** 2) if total > 0.0 else 0.0


def _choose_bandwidth(distances: Array, weights: Array) -> float:
    """Return a bandwidth by the rule of thumb, for splits of which none is known."""
    scale, total = float(np.abs(distances).max()) or 1.0, float(weights.sum())
    spread = math.sqrt(_measure_scatter(distances / scale, weights) / total)
    h = compute_silverman_bandwidth(spread, max(total, 1.0))
    return scale * (h or 1.0) or scale  # the product of the smallest numbers is 0


def lift_own_cluster(proba: Array, labels: Indices) -> Array:
    """Return the closest distributions, in least squares, whose largest probability is that of the label.

    Parameters
    ----------
    proba : ndarray of shape (k, n)
        Non-negative, with columns that sum to 1; changed in place.
    labels : ndarray of shape (n,), int

    Returns
    -------
    ndarray of shape (k, n)
        ``argmax(axis=0)`` returns the labels.
    """
    k, n = proba.shape
    own = proba[labels, np.arange(n)]
    bad = np.flatnonzero((proba >= own * (1.0 - MARGIN)).sum(axis=0) > 1)
    if len(bad):
        column = np.arange(len(bad))
        some, chosen = proba[:, bad], labels[bad]
        some[chosen, column] = -1.0
        others = -np.sort(-some, axis=0)[: k - 1]
        means = (own[bad] + np.cumsum(others, axis=0)) / np.arange(2, k + 1)[:, None]
        # The own cluster shares the mean with the largest others, down to the first that is below it.
        following = np.concatenate([others[1:], np.full((1, len(bad)), -1.0)])
        level = means[np.argmax(means >= following, axis=0), column]
        some = np.minimum(some, level * (1.0 - 2.0 * MARGIN))
        some[chosen, column] = 0.0
        some[chosen, column] = 1.0 - some.sum(axis=0)
        proba[:, bad] = some
    return proba


def sample_nodes(tree: Tree, leaves: Indices, most: int = MOST_ROWS) -> dict[int, Indices]:
    """Return the indices of at most ``most`` random rows of each node, in random order.

    All rows have a fixed random rank, and those of the smallest rank represent a node. The choice depends on the rows
    of the node alone, so that it stays the same if the tree is edited elsewhere.

    Parameters
    ----------
    tree : Tree
    leaves : ndarray of shape (n,), int
        Leaf of each row.
    most : int
    """
    rank = _draw_ranks(np.random.default_rng(0), len(leaves))
    sizes = np.bincount(leaves, minlength=len(tree))
    # Nearly always, all rows that are chosen have such a rank.
    enough = (most + 10.0 * most**0.5) / max(int(sizes[tree.left == NONE].min()), 1)
    low = np.flatnonzero(rank < 2**32 * enough) if enough < 1.0 else np.arange(len(leaves))
    leaf_of_low = leaves[low]
    found: dict[int, Indices] = {}
    for k in reversed(range(len(tree))):  # children have larger numbers than their parents
        if tree.left[k] == NONE:
            members = low[leaf_of_low == k]
            if len(members) < min(most, sizes[k]):
                members = np.flatnonzero(leaves == k)
        else:
            members = np.concatenate([found[int(tree.left[k])], found[int(tree.right[k])]])
        found[k] = _choose_lowest(rank, members, most)
    return found


def _draw_ranks(rng: np.random.Generator, n: int) -> NDArray[np.uint32]:
    """Draw n numbers; blocks of even length are those of one draw."""
    return rng.integers(2**64, size=(n + 1) // 2, dtype=np.uint64).view(np.uint32)[:n]


def _draw_rows(n: int, most: int) -> Indices:
    """Return the sorted indices of the rows that `sample_nodes` chooses for the root of a tree of more rows."""
    rng, parts = np.random.default_rng(0), []
    enough = int(2**32 * (most + 10.0 * most**0.5) / n)  # for ten standard deviations more than are needed
    for start in range(0, n, RANK_ROWS):
        rank = _draw_ranks(rng, min(RANK_ROWS, n - start))
        few = np.flatnonzero(rank < enough)
        parts.append((few + start, rank[few]))
    low, values = map(np.concatenate, zip(*parts, strict=True))
    chosen: Indices = low[values <= np.partition(values, most - 1)[most - 1]][:most]
    return chosen


def _choose_lowest(rank: NDArray[np.uint32], members: Indices, most: int) -> Indices:
    """Return the members of the lowest ranks, at most ``most``, in the order of their ranks."""
    return members[np.lexsort((members, rank[members]))[:most]]
