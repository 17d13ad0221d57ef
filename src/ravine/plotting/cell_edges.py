"""Cells of a tree in two dimensions as polygons, and the edges at which two of them meet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ravine._typing import Array
from ravine.tree import Tree

__all__ = ["CellEdge", "cut_polygons", "find_edges"]

# Lengths below this share of the picture are rounding errors.
ROUNDING = 1e-9


@dataclass(frozen=True)
class CellEdge:
    """Edge at which two cells meet.

    Attributes
    ----------
    first, second : int
        Numbers of the two leaves.
    ends : ndarray of shape (2, 2)
        The two end points.
    """

    first: int
    second: int
    ends: Array


def cut_polygons(tree: Tree, low: Array, high: Array) -> list[Array]:
    """Return the part of a rectangle that belongs to each node, as the vertices of a convex polygon.

    Parameters
    ----------
    tree : Tree
    low, high : ndarray of shape (2,)
        Corners of the rectangle.

    Returns
    -------
    list of ndarray of shape (k, 2)
        One for each node; without vertices if the node is outside the rectangle.
    """
    corners = np.array([[low[0], low[1]], [high[0], low[1]], [high[0], high[1]], [low[0], high[1]]])
    polygons = [corners] + [np.zeros((0, 2))] * (len(tree) - 1)
    for k in range(len(tree)):  # parents precede their children
        if tree.left[k] < 0:
            continue
        distances = (polygons[k] - tree.point[k]) @ tree.normal[k]
        polygons[int(tree.left[k])] = _clip(polygons[k], -distances)
        polygons[int(tree.right[k])] = _clip(polygons[k], distances)
    return polygons


def _clip(polygon: Array, heights: Array) -> Array:
    """Return the part of a convex polygon where a linear function, with these values at the vertices, is positive."""
    kept = []
    for i in range(len(polygon)):
        j = (i + 1) % len(polygon)
        if heights[i] >= 0.0:
            kept.append(polygon[i])
        if (heights[i] > 0.0) != (heights[j] > 0.0) and heights[i] != 0.0 != heights[j]:
            share = heights[i] / (heights[i] - heights[j])
            kept.append(polygon[i] + share * (polygon[j] - polygon[i]))
    return np.array(kept).reshape(-1, 2)


def find_edges(tree: Tree, polygons: list[Array]) -> list[CellEdge]:
    """Return all edges at which two leaves meet, from the polygons of `cut_polygons`."""
    rounding = ROUNDING * float(np.ptp(polygons[0], axis=0).max())
    edges = []
    for k in range(len(tree)):
        if tree.left[k] < 0:
            continue
        along = np.array([-tree.normal[k, 1], tree.normal[k, 0]])
        sides = [
            [(leaf, *_measure_contact(polygons[leaf], tree.point[k], tree.normal[k], along, rounding))
             for leaf in tree.leaves(int(child[k]))]
            for child in (tree.left, tree.right)
        ]  # fmt: skip
        for first, low, high in sides[0]:
            for second, other_low, other_high in sides[1]:
                start, end = max(low, other_low), min(high, other_high)
                if end - start > rounding:
                    ends = tree.point[k] + np.array([[start], [end]]) * along
                    edges.append(CellEdge(first, second, ends))
    return edges


def _measure_contact(polygon: Array, point: Array, normal: Array, along: Array, rounding: float) -> tuple[float, float]:
    """Return the interval in which a polygon touches a line; an empty one, from infinity down, if it does not."""
    on_line = np.abs((polygon - point) @ normal) <= 10.0 * rounding if len(polygon) else np.zeros(0, dtype=bool)
    if not on_line.any():
        return np.inf, -np.inf
    places = (polygon[on_line] - point) @ along
    return float(places.min()), float(places.max())
