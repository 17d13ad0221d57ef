"""Map of the rows: the two directions in which the groups are farthest apart, in units of their spread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from ravine._typing import Array
from ravine.rows import center_and_scale

# Rows from which the directions are computed, and features above which these are sought in the leading components.
MOST_ROWS, MOST_FEATURES = 5000, 200
# Features that are named for an axis: those with at least this share of the largest correlation.
MOST_NAMED, LEAST_CORRELATION = 3, 0.5
# A smaller part of the spread is rounding.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Map:
    """Two directions; the coordinates of rows X are ``((X - center) / scale) @ axes.T``.

    Attributes
    ----------
    center : ndarray of shape (d,)
    scale : float
    axes : ndarray of shape (2, d)
        The second is zero if the rows lie on a line.
    named : list of two lists of (int, float)
        Features with the largest correlations with each axis, and these.
    n_separating : int
        Number of axes that separate groups; the others are principal components.
    """

    center: Array
    scale: float
    axes: Array
    named: list[list[tuple[int, float]]]
    n_separating: int

    def place(self, X: NDArray[Any]) -> Array:
        """Return the coordinates of rows, of shape (n, 2)."""
        return np.asarray((X.astype(np.float64) - self.center) / self.scale @ self.axes.T)


def find_map(X: NDArray[Any], part_of_row: NDArray[np.intp], group_of_part: NDArray[np.intp]) -> Map:
    """Find the two directions in which groups are farthest apart; for two features, these features.

    Each group is a union of parts. The directions are linear discriminants with the pairwise weights of Loog, Duin and
    Haeb-Umbach (2001), so that distant pairs do not outweigh those that nearly touch: they maximise the differences
    between parts of different groups, relative to the spread within parts. Principal components replace directions that
    separate nothing.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    part_of_row : ndarray of shape (n,)
    group_of_part : ndarray of shape (p,)
    """
    rng = np.random.default_rng(0)
    rows = np.arange(len(X)) if len(X) <= MOST_ROWS else np.sort(rng.choice(len(X), MOST_ROWS, replace=False))
    x, center, scale = center_and_scale(X[rows])
    if x.shape[1] <= 2:
        named: list[list[tuple[int, float]]] = [[(j, 1.0)] if j < x.shape[1] else [] for j in range(2)]
        return Map(center, scale, np.eye(2)[:, : x.shape[1]], named, 0)
    basis = _find_components(x, rng) if x.shape[1] > MOST_FEATURES else np.eye(x.shape[1])
    discriminants = _find_discriminants(x @ basis, part_of_row[rows], group_of_part) @ basis.T
    axes = _complete(x, discriminants)
    at = x @ axes.T
    named = [_name_axis(x, at[:, k]) for k in range(2)]
    signs = np.array([1.0 if not names or names[0][1] > 0.0 else -1.0 for names in named])
    named = [[(j, float(sign * r)) for j, r in names] for sign, names in zip(signs, named, strict=True)]
    return Map(center, scale, axes * signs[:, None], named, len(discriminants))


def _find_components(x: Array, rng: np.random.Generator) -> Array:
    """Return the leading principal components of centred rows, of shape (d, k)."""
    from sklearn.utils.extmath import randomized_svd

    seed = int(rng.integers(2**31))
    return np.asarray(randomized_svd(x, min(MOST_FEATURES, len(x)), random_state=seed)[2]).T


def _find_discriminants(x: Array, part_of_row: NDArray[np.intp], group_of_part: NDArray[np.intp]) -> Array:
    """Return at most two directions that separate parts of different groups, of shape (k, d)."""
    from sklearn.covariance import ledoit_wolf

    numbers, part = np.unique(part_of_row, return_inverse=True)
    group = group_of_part[numbers]
    if len(np.unique(group)) < 2:
        return np.zeros((0, x.shape[1]))
    size = np.bincount(part)
    means = np.stack([np.bincount(part, weights=column) for column in x.T], axis=1) / size[:, None]
    values, vectors = np.linalg.eigh(ledoit_wolf(x - means[part], assume_centered=True)[0])
    whiten = vectors / np.sqrt(np.maximum(values, max(ROUNDING * float(values[-1]), ROUNDING**2)))
    centers = means @ whiten
    distance = np.sqrt(np.maximum(((centers[:, None] - centers) ** 2).sum(axis=2), ROUNDING))
    # Loog, Duin and Haeb-Umbach (2001), eq. (6): approximate accuracy of each pair.
    weight = np.outer(size, size) * erf(distance / np.sqrt(8.0)) / distance**2 * (group[:, None] != group)
    between = centers.T @ (np.diag(weight.sum(axis=1)) - weight) @ centers
    values, vectors = np.linalg.eigh(between)
    leading = np.flatnonzero(values > ROUNDING * max(float(values[-1]), ROUNDING))[::-1][:2]
    return np.asarray((whiten @ vectors[:, leading]).T)


def _complete(x: Array, axes: Array) -> Array:
    """Add principal components of what regression on the given axes leaves, until there are two axes."""
    while len(axes) < 2:
        slopes = np.linalg.lstsq(x @ axes.T, x, rcond=None)[0] if len(axes) else np.zeros((0, x.shape[1]))
        rest = x - x @ axes.T @ slopes
        is_rounding = float(np.abs(rest).max()) <= ROUNDING
        component = np.zeros(x.shape[1]) if is_rounding else np.linalg.svd(rest, full_matrices=False)[2][0]
        axes = np.concatenate([axes, [component - component @ slopes.T @ axes]])
    return axes


def _name_axis(x: Array, at: Array) -> list[tuple[int, float]]:
    """Return the features that are most correlated with a coordinate."""
    spread = np.sqrt((x**2).sum(axis=0) * float((at**2).sum()))
    correlation = np.divide(at @ x, spread, out=np.zeros(x.shape[1]), where=spread > 0.0)
    order = np.argsort(-np.abs(correlation), kind="stable")[:MOST_NAMED]
    least = max(LEAST_CORRELATION * float(np.abs(correlation[order[0]])), ROUNDING)
    return [(j, float(correlation[j])) for j in order.tolist() if abs(correlation[j]) >= least]
