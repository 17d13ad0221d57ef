"""Nearest-neighbour graphs and their Laplacians."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import laplacian as graph_laplacian
from sklearn.neighbors import NearestNeighbors

from ravine.checks import check_choice, check_integer

__all__ = ["check_graph", "compute_laplacian", "neighbour_graph"]


def neighbour_graph(X: ArrayLike, n_neighbors: int = 6, *, weights: str = "binary") -> scipy.sparse.csr_array:
    """Build the symmetric graph that joins each row with its nearest neighbours.

    Two rows are joined if one is among the nearest neighbours of the other.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    n_neighbors : int, default=6
        Number of neighbours of each row, not counting itself; at most n_samples - 1 are used.
    weights : {"binary", "heat"}, default="binary"
        Weight of an edge of length d: 1, or exp(-d² / 4t), where t is the square of the mean length.

    Returns
    -------
    scipy.sparse.csr_array of shape (n_samples, n_samples)

    Examples
    --------
    >>> from ravine_paper.baselines import neighbour_graph
    >>> neighbour_graph([[0.0], [1.0], [3.0]], n_neighbors=1).toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    rows = np.asarray(X)
    if rows.ndim != 2:
        raise ValueError(f"X must have two dimensions, got shape {rows.shape}.")
    k = min(check_integer("n_neighbors", n_neighbors, low=1), len(rows) - 1)
    heat = check_choice("weights", weights, ("binary", "heat")) == "heat"
    search = NearestNeighbors(n_neighbors=max(k, 1)).fit(_scale_to_one(rows))  # validates the rows, also a single one
    if k == 0:
        return scipy.sparse.csr_array((len(rows), len(rows)))
    lengths, neighbours = search.kneighbors()
    values = np.ones(lengths.size)
    if heat:
        unit = 2.0 * float(lengths.mean()) or 1.0  # sqrt(4 t)
        values = np.exp(-((lengths.ravel() / unit) ** 2))
    places = (np.repeat(np.arange(len(rows)), k), neighbours.ravel())
    graph = scipy.sparse.csr_array((values, places), shape=(len(rows), len(rows)))
    return scipy.sparse.csr_array(graph.maximum(graph.T))


def _scale_to_one(rows: NDArray[Any]) -> NDArray[Any]:
    """Divide numbers by a power of two near the largest, so that no squared distance overflows."""
    if rows.dtype.kind != "f":
        return rows  # validated by scikit-learn
    if not np.isfinite(rows).all():
        raise ValueError("X contains NaN or infinity: drop or impute such values first.")
    return np.asarray(np.ldexp(rows, -np.frexp(np.abs(rows).max(initial=0.0))[1]))


def compute_laplacian(graph: Any, *, normalised: bool) -> scipy.sparse.csr_array:
    """Compute D - W, or D^(-1/2) (D - W) D^(-1/2), of a symmetric graph."""
    return scipy.sparse.csr_array(graph_laplacian(graph, normed=normalised))


def check_graph(graph: Any, n_rows: int) -> scipy.sparse.csr_array | None:
    """Validate a symmetric non-negative matrix with one row for each row of X; None stands for ``"knn"``."""
    if isinstance(graph, str):
        check_choice("graph", graph, ("knn",))
        return None
    if graph is None:
        raise ValueError("graph must be 'knn' or a symmetric matrix of weights, got None.")
    matrix = scipy.sparse.csr_array(graph).astype(np.float64)
    if matrix.shape != (n_rows, n_rows):
        raise ValueError(f"graph must have one row and column for each of the {n_rows} rows of X, got {matrix.shape}.")
    if not np.isfinite(matrix.data).all() or (matrix.data < 0.0).any():
        raise ValueError("graph must have finite weights that are not negative.")
    if abs(matrix - matrix.T).max() > 1e-12 * max(1.0, abs(matrix).max()):
        raise ValueError("graph must be symmetric: use, for example, graph.maximum(graph.T).")
    return matrix
