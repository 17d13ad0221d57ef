"""Descent of rows through a tree of hyperplanes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.hyperplane import Hyperplane
from ravine.rows import as_rows

if TYPE_CHECKING:
    from ravine.tree.nodes import Tree

__all__ = ["Visit", "descend"]


@dataclass(frozen=True)
class Visit:
    """Rows that reach a node.

    Attributes
    ----------
    node : int
    indices : ndarray of shape (m,), int
        Indices of the rows.
    hyperplane : Hyperplane or None
        None for a leaf.
    distances : ndarray of shape (m,) or None
        Signed distances of the rows from the hyperplane; None for a leaf.
    """

    node: int
    indices: NDArray[np.intp]
    hyperplane: Hyperplane | None
    distances: Array | None


def descend(tree: Tree, X: Any) -> Iterator[Visit]:
    """Send all rows down a tree and yield the rows that reach each node, parents before their children.

    Parameters
    ----------
    tree : Tree
    X : array, sparse matrix or Rows of shape (n, d)

    Yields
    ------
    Visit
    """
    rows = as_rows(X)
    everything = np.arange(rows.shape[0])
    waiting: list[tuple[int, NDArray[np.intp]]] = [(0, everything)]
    while waiting:
        k, indices = waiting.pop()
        plane = tree.hyperplane(k)
        if plane is None:
            yield Visit(k, indices, None, None)
            continue
        # All rows are faster to project without indices.
        distances = plane.distance(rows, None if indices is everything else indices)
        yield Visit(k, indices, plane, distances)
        positive = distances > 0.0
        waiting += [(int(tree.left[k]), indices[~positive]), (int(tree.right[k]), indices[positive])]
