"""Refinement of a tree with a given number of clusters, by all of its clusters at once.

A tree is grown from the root, where the projections of many clusters overlap, and no split is ever undone. A
Gaussian mixture with a common covariance matrix, whose components have linear boundaries, starts from the clusters of
the finished tree, and a second tree separates its components, the widest gap first. The second tree is kept
if the normalised cut of the nearest neighbours is smaller, so that data that are not Gaussian keep their first tree.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.density import ProjectedDensity
from ravine.hyperplane import Hyperplane
from ravine.rows import Rows
from ravine.search import BandwidthRule, PrincipalAxes, resolve_bandwidth
from ravine.tree.neighbours import NeighbourGraph
from ravine.tree.nodes import Tree

__all__ = ["refine_tree"]

# Ridge of the common covariance matrix, as a share of the mean variance of the features.
RIDGE = 1e-3
# Fewest rows of the graph for each feature.
ROWS_PER_FEATURE = 2

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Components:
    """Components of a Gaussian mixture with a common covariance matrix.

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
    tree: Tree, leaf_of_row: Indices, rows: Rows, graph: NeighbourGraph, min_size: int, bandwidth: BandwidthRule
) -> tuple[Tree, Indices]:
    """Return the refined tree and the leaf of each row; those given if the refined tree is not better.

    Parameters
    ----------
    tree : Tree
    leaf_of_row : ndarray of shape (n,), int
    rows : Rows
    graph : NeighbourGraph
    min_size : int
        Smallest number of rows of a leaf.
    bandwidth : "silverman", float or callable
        Rule for the density on the hyperplanes.
    """
    if tree.n_leaves < 2 or graph.rows.is_sparse or len(graph.indices) < ROWS_PER_FEATURE * rows.shape[1]:
        return tree, leaf_of_row
    sample = np.asarray(graph.rows.to_array(), dtype=np.float64)
    leaves = leaf_of_row[graph.indices]
    components = _fit_components(sample, leaves)
    if components is None:
        return tree, leaf_of_row
    planes, clusters = _separate_components(sample, components, graph)
    if len(planes) < tree.n_leaves - 1 or not graph.sum_cut(clusters) < graph.sum_cut(leaves):
        return tree, leaf_of_row
    return _build_tree(tree.prune(0), planes, rows, min_size, bandwidth) or (tree, leaf_of_row)


def _fit_components(sample: Array, leaves: Indices) -> Components | None:
    """Fit a mixture that starts from the leaves; return None if it collapses."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    groups, sizes = np.unique(leaves, return_inverse=True, return_counts=True)[1:]
    x = sample - sample.mean(axis=0)
    x /= float(np.abs(x).max()) or 1.0  # squares of large values overflow
    means = np.array([x[groups == k].mean(axis=0) for k in range(len(sizes))])
    within = x - means[groups]
    ridge = RIDGE * float(x.var(axis=0).mean())
    mixture = GaussianMixture(
        len(sizes),
        covariance_type="tied",
        reg_covar=ridge,
        weights_init=sizes / len(x),
        means_init=means,
        precisions_init=np.linalg.inv(within.T @ within / len(x) + ridge * np.eye(x.shape[1])),
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the cut decides whether the result is good
            of_row = mixture.fit_predict(x)
    except (ValueError, np.linalg.LinAlgError):
        return None
    if len(np.unique(of_row)) < len(sizes):
        return None
    return Components(of_row, mixture.means_ @ mixture.precisions_cholesky_)


def _separate_components(
    sample: Array, components: Components, graph: NeighbourGraph
) -> tuple[list[tuple[int, Hyperplane]], Indices]:
    """Separate all components by hyperplanes; return the node that each splits, in order, and the leaf of each row.

    The smallest increase of the normalised cut comes first. Nodes are numbered as by `Tree.split`.
    """
    parts = {0: _Part(np.arange(len(sample)), np.arange(len(components.means)))}
    planes: list[tuple[int, Hyperplane]] = []
    _evaluate_part(parts[0], sample, components, graph)
    while (node := min(parts, key=lambda k: parts[k].cut)) >= 0 and parts[node].plane is not None:
        part = parts.pop(node)
        assert part.plane is not None
        for side in part.sides:
            _evaluate_part(side, sample, components, graph)
        parts[2 * len(planes) + 1], parts[2 * len(planes) + 2] = part.sides
        planes.append((node, part.plane))
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
    part.plane = _separate_sides(sample[part.members][known], goes_right[known])
    beyond = part.plane.distance(sample[part.members]) > 0.0
    if beyond.all() or not beyond.any():
        part.plane = None
        return
    part.cut = graph.measure_cut(graph.indices[part.members], part.plane)
    part.sides = _Part(part.members[~beyond], left), _Part(part.members[beyond], right)


def _separate_sides(x: Array, on_right: NDArray[np.bool_]) -> Hyperplane:
    """Return the hyperplane between two sides by logistic regression."""
    from sklearn.linear_model import LogisticRegression

    center = x.mean(axis=0)
    centred = x - center
    scale = float(np.abs(centred).max())
    centred /= scale
    unit = float(centred.std(axis=0).max())
    model = LogisticRegression().fit(centred / unit, on_right)
    length = float(np.linalg.norm(model.coef_[0]))
    normal = model.coef_[0] / length
    point = center - (scale * unit * float(model.intercept_[0]) / length) * normal
    return Hyperplane(normal, float(normal @ point), point=point)


def _build_tree(
    stump: Tree, planes: list[tuple[int, Hyperplane]], rows: Rows, min_size: int, bandwidth: BandwidthRule
) -> tuple[Tree, Indices] | None:
    """Split all rows by the hyperplanes; return the tree and the leaf of each row, or None if a leaf is too small."""
    tree, leaf_of_row = stump, np.zeros(rows.shape[0], dtype=np.intp)
    for node, plane in planes:
        here = np.flatnonzero(leaf_of_row == node)
        right = plane.on_positive_side(rows, here)
        sizes = int((~right).sum()), int(right.sum())
        if min(sizes) < min_size:
            return None
        tree = tree.split(node, _describe(plane, rows, here, bandwidth), sizes)
        leaf_of_row[here] = np.where(right, tree.right[node], tree.left[node])
    return tree, leaf_of_row


def _describe(plane: Hyperplane, rows: Rows, indices: Indices, rule: BandwidthRule) -> Hyperplane:
    """Return a hyperplane with the density of some rows on it and its relative depth."""
    sample = rows.subset(indices).sample()
    variance = float(PrincipalAxes.of(sample.moments()).variances[0])
    h = resolve_bandwidth(rule, len(indices), math.sqrt(variance) * sample.unit)
    density = ProjectedDensity(plane.distance(rows, indices), h)
    return replace(plane, density=float(density(0.0)), relative_depth=density.relative_depth(0.0), bandwidth=h)
