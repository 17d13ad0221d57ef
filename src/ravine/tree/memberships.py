"""Soft memberships of rows in the clusters of a tree.

Near the valley at t = 0, where t is the signed distance from a hyperplane in bandwidths, the density is the sum of the
tails of both sides. For two normal clusters with a common variance v, the log-odds of the right side are 2 s t with
s² = f''(0) / f(0) + 1 / v. This slope is estimated for every split; memberships multiply down the tree.

Products of this kind can be larger for another cluster than for the one that the hyperplanes assign: 0.55 · 0.55 is
less than 0.45. The result is therefore the closest distribution, in least squares, in which the own cluster is the
largest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.rows import Rows
from ravine.tree.nodes import NONE, Tree

__all__ = ["SplitOdds", "lift_own_cluster"]

Indices = NDArray[np.intp]

# Distances in bandwidths beyond this are cut off, so that their squares are finite.
LARGEST = 1e100
# The square of the slope is at least this share of 1 / v, also where there is no valley.
LEAST_SHARE = 0.25
# The own cluster is larger than any other by at least this share.
MARGIN = 1e-9
# Rows of a block of memberships, which then stays in the cache.
BLOCK_ROWS = 1 << 14


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

    @classmethod
    def of(cls, tree: Tree, samples: Mapping[int, Indices], rows: Rows, weights: Array | None = None) -> SplitOdds:
        """Estimate the slopes of all splits from rows of their nodes.

        Parameters
        ----------
        tree : Tree
        samples : mapping of int to ndarray of int
            Indices of rows of each node, by `sample_nodes`.
        rows : Rows
        weights : ndarray of shape (n,), optional
        """
        widths, slopes = np.full(len(tree), np.nan), np.full(len(tree), np.nan)
        for k in np.flatnonzero(tree.left != NONE).tolist():
            plane, members = tree.hyperplane(k), np.sort(samples[k])
            assert plane is not None
            distances = plane.distance(rows, members)
            w = np.ones(len(members)) if weights is None else weights[members]
            share = len(members) / int(tree.size[k])
            h = plane.bandwidth * share**-0.2
            widths[k] = h if 0.0 < h < np.inf else _choose_bandwidth(distances)
            slopes[k] = estimate_slope(distances / widths[k], w)
        return cls(widths, slopes)

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
        return out, labels


def estimate_slope(t: Array, weights: Array) -> float:
    """Return the log-odds at distance 1 of two sides, from the distances in bandwidths of rows on both sides.

    The density and its curvature at 0 are those of a Gaussian kernel density; v is the pooled variance of the sides,
    widened by the kernel.
    """
    t = np.clip(t, -LARGEST, LARGEST)
    near = weights * np.exp(-0.5 * (t * t - float(np.min(t * t))))
    curvature = float(near @ (t * t - 1.0)) / float(near.sum())
    right = t > 0.0
    scatter = sum(_measure_scatter(t[side], weights[side]) for side in (right, ~right))
    precision = 1.0 / (scatter / float(weights.sum()) + 1.0)
    return 2.0 * float(np.sqrt(max(curvature + precision, LEAST_SHARE * precision)))


def _measure_scatter(t: Array, weights: Array) -> float:
    """Return the weighted sum of squared differences from the mean."""
    total = float(weights.sum())
    return float(weights @ (t - float(weights @ t) / total) ** 2) if total > 0.0 else 0.0


def _choose_bandwidth(distances: Array) -> float:
    """Return a bandwidth by the rule of thumb, for splits of which none is known."""
    scale = float(np.abs(distances).max()) or 1.0
    h = 0.9 * float((distances / scale).std()) * len(distances) ** -0.2
    return scale * (h or 1.0)


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
