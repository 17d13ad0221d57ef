"""Hyperplanes between given groups of rows, and between two halves of rows."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.hyperplane import Hyperplane
from ravine.rows import Rows, center_and_scale, draw_indices
from ravine.tree import constants

Indices = NDArray[np.intp]


def find_margin(x: Array, on_right: NDArray[np.bool_]) -> Array | None:
    """Return the unit normal, towards the right, of the hyperplane with the least squared hinge loss.

    None if the rows are equal or on one side.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    z, _, _ = center_and_scale(x)  # squares neither overflow nor underflow
    scale = float(np.sqrt(np.mean(z * z)))
    if on_right.all() or not on_right.any() or not scale > 0.0:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LinearSVC(dual=False, max_iter=constants.MARGIN_ITERATIONS).fit(z / scale, on_right)
    length = float(np.linalg.norm(model.coef_[0]))
    return model.coef_[0] / length if length > 0.0 else None


def list_separators(rows: Rows, indices: Indices, labels: Indices) -> list[Hyperplane]:
    """List hyperplanes between rows with different labels, those with the least mixture of labels on their sides first.

    They are the margins between each of the largest labels and all others, and the best one across a feature.
    """
    x = np.asarray(rows.take(indices), dtype=np.float64)
    center, planes = center_and_scale(x)[1], []
    for k in np.argsort(-np.bincount(labels), kind="stable")[: constants.MOST_SEPARATED_LABELS].tolist():
        normal = find_margin(x, labels == k)
        if normal is not None:
            planes.append(_make_plane(normal, center, _find_cut((x - center) @ normal, labels)[1]))
    of_feature = [_find_cut(column, labels) for column in x.T]
    j = min(range(len(of_feature)), key=of_feature.__getitem__)
    planes.append(_make_plane(np.eye(1, x.shape[1], j)[0], np.zeros(x.shape[1]), of_feature[j][1]))
    mixtures = [_measure_mixture(plane.on_positive_side(rows, indices), labels) for plane in planes]
    return [planes[k] for k in np.argsort(mixtures, kind="stable") if np.isfinite(mixtures[k])]


def _make_plane(normal: Array, center: Array, threshold: float) -> Hyperplane:
    """Return the hyperplane at a distance from a centre."""
    point = center + threshold * normal
    return Hyperplane(normal, float(normal @ point), point=point)


def _measure_mixture(goes_right: NDArray[np.bool_], labels: Indices) -> float:
    """Return the Gini impurity of both sides, times their numbers of rows; infinity if a side is empty."""
    counts = np.stack([np.bincount(labels[side], minlength=labels.max() + 1) for side in (goes_right, ~goes_right)])
    sizes = counts.sum(axis=1)
    return float((sizes - (counts**2).sum(axis=1) / sizes).sum()) if sizes.all() else np.inf


def _find_cut(values: Array, labels: Indices) -> tuple[float, float]:
    """Return the least mixture of labels on the sides of a threshold, and the threshold."""
    order = np.argsort(values, kind="stable")
    left = np.cumsum(np.eye(int(labels.max()) + 1)[labels[order]], axis=0)
    n_left = np.arange(1, len(values))
    pure = (left[:-1] ** 2).sum(axis=1) / n_left + ((left[-1] - left[:-1]) ** 2).sum(axis=1) / n_left[::-1]
    return _find_gap(values[order], len(values) - pure)


def _find_gap(values: Array, costs: Array) -> tuple[float, float]:
    """Return the least cost of a gap between sorted values and the middle of this gap; infinity if there is none."""
    costs = np.where(values[1:] > values[:-1], costs, np.inf)
    k = int(costs.argmin())
    middle = values[k] + 0.5 * (values[k + 1] - values[k])
    return float(costs[k]), float(middle if middle < values[k + 1] else values[k])


def halve_rows(rows: Rows, indices: Indices, weights: Array, rng: np.random.Generator) -> Hyperplane | None:
    """Return the hyperplane across the first principal component with half of the weight on each side.

    None if all rows are equal.
    """
    indices, weights = indices[weights > 0.0], weights[weights > 0.0]
    some = draw_indices(np.arange(len(indices)), constants.MOST_HALVED_ROWS, rng)
    w = weights[some]
    z, center, _ = center_and_scale(np.asarray(rows.take(indices[some]), dtype=np.float64), w)
    z *= np.sqrt(w / w.max())[:, None]
    normal = np.linalg.svd(z, full_matrices=False)[2][0]
    projections = rows.project(center, normal, indices)
    order = np.argsort(projections, kind="stable")
    total = np.cumsum(weights[order])
    cost, threshold = _find_gap(projections[order], np.abs(total[:-1] - 0.5 * total[-1]))
    return _make_plane(normal, center, threshold) if np.isfinite(cost) else None
