"""Display of the cells of a tree in two dimensions: which are joined, and where clusters meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ravine._typing import Array
from ravine.checks import check_integer
from ravine.estimators import MinimumDensityTree
from ravine.explain import check_estimator, find_boundaries, name_features
from ravine.plotting.cell_drawing import draw_cells
from ravine.plotting.cell_edges import CellEdge, cut_polygons, find_edges
from ravine.plotting.subject import check_rows
from ravine.rows import Rows
from ravine.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CellDisplay"]

# Margin around the rows, as a share of their range.
MARGIN = 0.06


class CellDisplay:
    """Cells of a tree for rows of two features, with the joins and boundaries between them.

    A cell is a leaf of the tree: a convex polygon between hyperplanes, which are lines here. Cells of one cluster have
    its colour. A thin line separates two cells of one cluster, which are joined; a thick line separates two clusters.
    The z-score of each boundary between two clusters is written on it: the evidence for a valley there.

    Parameters
    ----------
    points : ndarray of shape (m, 2)
        Rows that are drawn.
    labels : ndarray of shape (m,), int
        Their clusters.
    polygons : dict from int to ndarray of shape (k, 2)
        Vertices of the cell of each leaf, inside the frame.
    edges : list of CellEdge
        Edges at which two leaves meet.
    cluster : ndarray of shape (n_nodes,), int
        Cluster of each leaf; -1 for inner nodes.
    evidence : dict from (int, int) to float
        z-score of the boundary between two clusters.
    n_rows : int
        Number of rows, of which at most some are drawn.
    feature_names : list of two str

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
    cells_ : dict from int to matplotlib Polygon
        Cells by the number of their leaf.
    joins_, boundaries_ : matplotlib LineCollection
        Edges inside clusters and between them.
    points_ : list of matplotlib PathCollection
        Rows of each cluster.
    texts_ : dict from (int, int) to matplotlib Text
        z-scores of the boundaries.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from ravine import MinimumDensityTree
    >>> from ravine.plotting import CellDisplay
    >>> X, y = make_moons(400, noise=0.1, random_state=1)
    >>> mdt = MinimumDensityTree(n_clusters=2, random_state=0).fit(X)
    >>> display = CellDisplay.from_estimator(mdt, X)
    >>> len(display.cells_) == mdt.tree_.n_leaves
    True
    >>> sorted(display.texts_)
    [(0, 1)]
    """

    figure_: Any
    ax_: Any
    cells_: dict[int, Any]
    joins_: Any
    boundaries_: Any
    points_: list[Any]
    texts_: dict[tuple[int, int], Any]

    def __init__(
        self,
        *,
        points: Array,
        labels: NDArray[np.intp],
        polygons: Mapping[int, Array],
        edges: Sequence[CellEdge],
        cluster: NDArray[np.intp],
        evidence: Mapping[tuple[int, int], float],
        n_rows: int,
        feature_names: Sequence[str],
    ) -> None:
        self.points = points
        self.labels = labels
        self.polygons = dict(polygons)
        self.edges = list(edges)
        self.cluster = cluster
        self.evidence = dict(evidence)
        self.n_rows = n_rows
        self.feature_names = list(feature_names)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: ArrayLike | None, *, feature_names: ArrayLike | None = None, **options: Any
    ) -> CellDisplay:
        """Draw the cells of a fitted tree.

        Parameters
        ----------
        estimator : MinimumDensityTree
            Fitted to two features.
        X : array-like, sparse matrix, blocks of rows or Dask collection of shape (n_samples, 2)
            The rows of the fit, or others.
        feature_names : sequence of two str, optional
            Names of the features; by default those seen in the fit, or x0 and x1.
        **options
            Options of :meth:`from_tree` and :meth:`plot`.

        Returns
        -------
        CellDisplay
        """
        if not isinstance(estimator, MinimumDensityTree):
            raise TypeError(f"estimator must be a fitted MinimumDensityTree, got {type(estimator).__name__}.")
        check_estimator(estimator)
        rows: Any = check_rows(X, estimator)
        names = name_features(feature_names, rows.shape[1], estimator)
        return cls.from_tree(estimator.tree_, rows, feature_names=names, **options)

    @classmethod
    def from_tree(
        cls,
        tree: Tree,
        X: ArrayLike,
        *,
        feature_names: ArrayLike | None = None,
        max_rows: int = 5000,
        **plot_options: Any,
    ) -> CellDisplay:
        """Draw the cells of a tree, for example of a cut or edited one.

        Parameters
        ----------
        tree : Tree
        X : array-like, sparse matrix, blocks of rows or Dask collection of shape (n_samples, 2)
        feature_names : sequence of two str, optional
        max_rows : int, default=5000
            Largest number of rows that are drawn.
        **plot_options
            Options of :meth:`plot`.

        Returns
        -------
        CellDisplay
        """
        if not isinstance(tree, Tree):
            raise TypeError(f"tree must be a Tree, got {type(tree).__name__}.")
        most = check_integer("max_rows", max_rows, low=1)
        rows = check_rows(X)
        n, d = rows.shape
        if tree.normal.shape[1] != 2 or d != 2:
            raise ValueError(
                f"cells can be drawn for two features only, but the tree has {tree.normal.shape[1]} and X has {d}: use "
                "TreeDisplay for the tree, BoundaryDisplay for a boundary between two clusters, or fit the tree to two "
                "features."
            )
        names = name_features(feature_names, 2)
        with rows.session():
            shown = np.arange(n) if n <= most else np.sort(np.random.default_rng(0).choice(n, most, replace=False))
            points = np.asarray(rows.take(shown), dtype=np.float64)
            evidence = _find_evidence(tree, rows)
        low, high = points.min(axis=0), points.max(axis=0)
        margin = MARGIN * np.where(high > low, high - low, max(float(np.ptp(points)), 1.0))
        polygons = cut_polygons(tree, low - margin, high + margin)
        return cls(
            points=points,
            labels=np.asarray(tree.predict(points)),
            polygons={leaf: polygons[leaf] for leaf in tree.leaves() if len(polygons[leaf]) > 2},
            edges=find_edges(tree, polygons),
            cluster=tree.cluster,
            evidence=evidence,
            n_rows=n,
            feature_names=names,
        ).plot(**plot_options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        title: str | None = None,
        legend: bool = True,
        scatter_kw: Mapping[str, Any] | None = None,
    ) -> CellDisplay:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw into; by default those of a new figure.
        title : str, optional
            Title; by default the numbers of clusters, cells and rows, "" for none.
        legend : bool, default=True
            Whether to explain colours and lines.
        scatter_kw : dict, optional
            Options of matplotlib's ``scatter``.

        Returns
        -------
        self
        """
        draw_cells(self, ax, title, legend, scatter_kw)
        return self


def _find_evidence(tree: Tree, rows: Rows) -> dict[tuple[int, int], float]:
    """Return the evidence for each boundary between clusters; nothing if it cannot be measured on these rows."""
    if tree.n_clusters == 1:
        return {}
    try:
        found = find_boundaries(tree, rows)
    except ValueError:  # too few rows, or too many repeated values
        return {}
    return {(boundary.first, boundary.second): boundary.evidence for boundary in found}
