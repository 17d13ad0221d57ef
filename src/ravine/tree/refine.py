"""Refinement of a tree with a given number of clusters, by all of its clusters at once.

A tree is grown from the root, where the projections of many clusters overlap, and no split is ever undone. Other
partitions into the same number of clusters compete with the finished tree: Gaussian mixtures with a common covariance
matrix and with one for each component, full or diagonal, which start from its clusters, and k-means. A second tree
separates their components by hyperplanes, the widest gap first. It is kept if its normalised cut of the nearest
neighbours is smaller, so that clusters of other shapes keep the first tree, or if the first tree has too few clusters,
for lack of valleys.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.density import ProjectedDensity
from ravine.hyperplane import Hyperplane
from ravine.rows import Rows, center_and_scale
from ravine.search import BandwidthRule, resolve_bandwidth
from ravine.tree import constants
from ravine.tree.neighbours import NeighbourGraph
from ravine.tree.nodes import Tree
from ravine.tree.separators import separate_by_logistic_regression

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Components:
    """Components of a partition, with a common covariance matrix.

    Attributes
    ----------
    of_row : ndarray of shape (m,), int
        Component of each row.
    means : ndarray of shape (k, d)
        Means in coordinates in which the common covariance is the identity.
    """

    of_row: Indices
    means: Array

    def halve(self, chosen: Indices) -> tuple[Indices, Indices]:
        """Divide some components in two where the gap between their means is widest, along a line through two means."""
        means = self.means[chosen]
        i, j = np.triu_indices(len(chosen), 1)
        lines = means[i] - means[j]
        lines /= np.maximum(np.linalg.norm(lines, axis=1, keepdims=True), 1e-300)
        projections = lines @ means.T
        order = np.argsort(projections, axis=1)
        gaps = np.diff(np.take_along_axis(projections, order, axis=1), axis=1)
        line, at = np.unravel_index(int(gaps.argmax()), gaps.shape)
        return chosen[order[line, : at + 1]], chosen[order[line, at + 1 :]]


@dataclass
class _Part:
    """Leaf of the second tree while it grows, and the hyperplane that would split it."""

    members: Indices
    components: Indices
    plane: Hyperplane | None = None
    cut: float = math.inf
    sides: tuple[_Part, ...] = ()


def refine_tree(
    tree: Tree,
    leaf_of_row: Indices,
    rows: Rows,
    graph: NeighbourGraph,
    sizes: tuple[float, float],
    bandwidth: BandwidthRule,
    n_clusters: int,
) -> tuple[Tree, Indices]:
    """Return the refined tree and the leaf of each row; those given if the refined tree is not better.

    A tree with fewer than ``n_clusters`` leaves, because no valley separates more, is replaced by a complete one.

    Parameters
    ----------
    leaf_of_row : ndarray of shape (n,), int
    sizes : tuple of float
        Smallest and largest number of rows of a leaf, or of their weights.
    bandwidth : "silverman", float or callable
        Rule for the density on the hyperplanes.
    n_clusters : int
        Number of leaves of the refined tree.
    """
    too_few = len(graph.indices) < max(constants.ROWS_PER_FEATURE * rows.shape[1], n_clusters)
    if not 2 <= n_clusters <= constants.MOST_REFINED_LEAVES or graph.rows.is_sparse or too_few:
        return tree, leaf_of_row
    sample = np.asarray(graph.rows.to_array(), dtype=np.float64)
    if not np.ptp(sample, axis=0).any():  # as with weights of which one is far larger than all others
        return tree, leaf_of_row
    means = _fit_means(sample, n_clusters)
    if tree.n_leaves == n_clusters:
        leaves = leaf_of_row[graph.indices]
        smallest = graph.sum_cut(leaves)
    elif means is None:
        return tree, leaf_of_row
    else:
        leaves, smallest = means.of_row, math.inf
    best = tree, leaf_of_row
    for components in (means, *(_fit_mixture(sample, leaves, kind) for kind in ("tied", "full", "diag"))):
        if components is None:
            continue
        planes, clusters = _separate_components(sample, components, graph)
        cut = graph.sum_cut(clusters)
        if len(planes) == n_clusters - 1 and cut < smallest:
            other = _build_tree(tree.prune(0), planes, rows, graph, sizes, bandwidth)
            best, smallest = (best, smallest) if other is None else (other, cut)
    return best


def _fit_mixture(sample: Array, leaves: Indices, kind: str) -> Components | None:
    """Fit a mixture that starts from the leaves; return None if it collapses, or if a leaf has too few rows.

    Parameters
    ----------
    sample : ndarray of shape (m, d)
    leaves : ndarray of shape (m,), int
    kind : {"tied", "full", "diag"}
        One covariance matrix for all components, or one for each, full or diagonal.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    groups, sizes = np.unique(leaves, return_inverse=True, return_counts=True)[1:]
    if kind == "full" and sizes.min() < constants.ROWS_PER_COVARIANCE * sample.shape[1]:
        return None
    x = center_and_scale(sample)[0]
    means, precision, ridge = _average_components(x, groups)
    mixture = GaussianMixture(
        len(sizes),
        covariance_type=kind,
        reg_covar=ridge,
        weights_init=sizes / len(x),
        means_init=means,
        precisions_init=precision if kind == "tied" else _invert_covariances(x, groups, ridge, kind),
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the cut decides whether the result is good
            of_row = mixture.fit_predict(x)
    except (ValueError, np.linalg.LinAlgError):
        return None
    if len(np.unique(of_row)) < len(sizes):
        return None
    if kind == "tied":
        return Components(of_row, mixture.means_ @ mixture.precisions_cholesky_)
    means, precision, _ = _average_components(x, of_row)
    return Components(of_row, means @ np.linalg.cholesky(precision))


def _invert_covariances(x: Array, of_row: Indices, ridge: float, kind: str) -> Array:
    """Return the inverses of the covariance matrices of all components, or of their diagonals."""
    groups = [x[of_row == k] for k in range(of_row.max() + 1)]
    if kind == "diag":
        return np.asarray(1.0 / (np.array([rows.var(axis=0) for rows in groups]) + ridge))
    covariances = [np.cov(rows, rowvar=False, bias=True) + ridge * np.eye(x.shape[1]) for rows in groups]
    return np.asarray(np.linalg.inv(np.array(covariances)))


def _fit_means(sample: Array, k: int) -> Components | None:
    """Return the clusters of k-means; None if there are fewer than k."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    x = center_and_scale(sample)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer than k distinct rows
        of_row = KMeans(k, n_init=3, random_state=0).fit_predict(x)
    if len(np.unique(of_row)) < k:
        return None
    means, precision, _ = _average_components(x, of_row)
    return Components(of_row, means @ np.linalg.cholesky(precision))


def _average_components(x: Array, of_row: Indices) -> tuple[Array, Array, float]:
    """Return the means of components, the inverse of their common covariance matrix, and its ridge."""
    means = np.array([x[of_row == j].mean(axis=0) for j in range(of_row.max() + 1)])
    within = x - means[of_row]
    ridge = constants.RIDGE * float(x.var(axis=0).mean())
    return means, np.linalg.inv(within.T @ within / len(x) + ridge * np.eye(x.shape[1])), ridge


def _separate_components(
    sample: Array, components: Components, graph: NeighbourGraph
) -> tuple[list[tuple[int, Hyperplane]], Indices]:
    """Separate all components by hyperplanes; return the node that each splits, in order, and the leaf of each row.

    The smallest increase of the normalised cut comes first. Nodes are numbered as by `Tree.split`.
    """
    parts = {0: _Part(np.arange(len(sample)), np.arange(len(components.means)))}
    planes: list[tuple[int, Hyperplane]] = []
    _evaluate_part(parts[0], sample, components, graph)
    while (plane := parts[node := min(parts, key=lambda k: parts[k].cut)].plane) is not None:
        part = parts.pop(node)
        for side in part.sides:
            _evaluate_part(side, sample, components, graph)
        parts[2 * len(planes) + 1], parts[2 * len(planes) + 2] = part.sides
        planes.append((node, plane))
    leaves = np.zeros(len(sample), dtype=np.intp)
    for node, part in parts.items():
        leaves[part.members] = node
    return planes, leaves


def _evaluate_part(part: _Part, sample: Array, components: Components, graph: NeighbourGraph) -> None:
    """Find the hyperplane between two groups of the components of a leaf; none if it has only one."""
    if len(part.components) < 2:
        return
    left, right = components.halve(part.components)
    goes_left, goes_right = (np.isin(components.of_row[part.members], side) for side in (left, right))
    known = goes_left | goes_right
    if not (goes_left.any() and goes_right.any()):
        return
    part.plane = separate_by_logistic_regression(sample[part.members][known], goes_right[known])
    if part.plane is None:
        return
    beyond = part.plane.distance(sample[part.members]) > 0.0
    if beyond.all() or not beyond.any():
        part.plane = None
        return
    part.cut = graph.measure_cut(graph.indices[part.members], part.plane)
    part.sides = _Part(part.members[~beyond], left), _Part(part.members[beyond], right)


def _build_tree(
    stump: Tree,
    planes: list[tuple[int, Hyperplane]],
    rows: Rows,
    graph: NeighbourGraph,
    sizes: tuple[float, float],
    bandwidth: BandwidthRule,
) -> tuple[Tree, Indices] | None:
    """Split all rows by the hyperplanes; return the tree and the leaf of each row, or None if a size is not allowed."""
    tree, leaf_of_row = stump, np.zeros(rows.shape[0], dtype=np.intp)
    for node, plane in planes:
        here = np.flatnonzero(leaf_of_row == node)
        distances = plane.distance(rows, here)
        right = distances > 0.0
        w = None if graph.weights is None else graph.weights[here]
        if min(right.sum(), (~right).sum()) < 1 or min(_sum_sides(right, w)) < sizes[0]:
            return None
        n = len(here) if w is None else float(w.sum())
        h = resolve_bandwidth(bandwidth, n, find_largest_deviation(graph.rows.take(graph.find_members(here))))
        tree = tree.split(node, describe_plane(plane, distances, h, w), (int((~right).sum()), int(right.sum())))
        leaf_of_row[here] = np.where(right, tree.right[node], tree.left[node])
    largest = np.bincount(leaf_of_row, graph.weights).max()
    return None if largest > sizes[1] else (tree, leaf_of_row)


def _sum_sides(right: NDArray[np.bool_], weights: Array | None) -> tuple[float, float]:
    """Return the sizes of both sides of a split, as sums of weights."""
    w = np.ones(len(right)) if weights is None else weights
    return float(w[~right].sum()), float(w[right].sum())


def find_largest_deviation(rows: NDArray[np.floating[Any]]) -> float:
    """Return the standard deviation of rows along their first principal component."""
    x, _, scale = center_and_scale(rows.astype(np.float64))
    return scale * math.sqrt(max(float(np.linalg.eigvalsh(x.T @ x / len(x))[-1]), 0.0))


def describe_plane(plane: Hyperplane, distances: Array, h: float, weights: Array | None = None) -> Hyperplane:
    """Return a hyperplane with the density of rows on it and its relative depth, from their distances to it."""
    density = ProjectedDensity(distances, h, weights)
    return replace(plane, density=float(density(0.0)), relative_depth=density.relative_depth(0.0), bandwidth=h)
