"""Display of a cluster tree with the projected density of every split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ravine._typing import Array
from ravine.density import ProjectedDensity
from ravine.estimators import MinimumDensityTree
from ravine.explain import check_estimator, place_points
from ravine.plotting.subject import check_rows
from ravine.plotting.tree_drawing import draw_tree
from ravine.rows import Rows
from ravine.tree import Tree, descend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["TreeDisplay"]


class TreeDisplay:
    """Tree of hyperplanes, with the projected density in every inner node and the clusters as leaves.

    The box of a node shows the density of its rows projected on its normal, scaled to its own peak. The vertical line
    is the hyperplane: rows to the left of it go to the left child. Above the box are the number of rows and the
    relative depth. Leaves have the colour and the hatch of their cluster, and their height shows their number of rows.
    Without X the boxes are empty.

    Parameters
    ----------
    tree : Tree
    points, densities : dict from int to ndarray
        For inner nodes, the points at which the density is evaluated, relative to the hyperplane, and the density.
        Empty without X.
    sizes : ndarray of shape (n_nodes,), int
        Number of rows in each node: rows of X if it is given, otherwise rows of the fit.
    place : ndarray of shape (n_nodes,)
        Horizontal position of each node, in leaves from the left; an inner node is in the middle of its leaves.
    names : list of str
        Names of the clusters.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
    density_lines_ : dict from int to matplotlib Line2D
        Lines of the inner nodes, if X was given.
    leaf_bars_ : dict from int to matplotlib Rectangle
    texts_ : list of matplotlib Text

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ravine import MinimumDensityTree
    >>> from ravine.plotting import TreeDisplay
    >>> X, y = make_blobs([60, 50, 40], centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> mdt = MinimumDensityTree(n_clusters=3, random_state=0).fit(X)
    >>> display = TreeDisplay.from_estimator(mdt, X)
    >>> sorted(display.densities)[0]
    0
    >>> len(display.leaf_bars_)
    3
    """

    figure_: Any
    ax_: Any
    density_lines_: dict[int, Any]
    leaf_bars_: dict[int, Any]
    texts_: list[Any]

    def __init__(
        self,
        *,
        tree: Tree,
        points: Mapping[int, Array],
        densities: Mapping[int, Array],
        sizes: NDArray[np.intp],
        place: Array,
        names: Sequence[str],
    ) -> None:
        self.tree = tree
        self.points = dict(points)
        self.densities = dict(densities)
        self.sizes = sizes
        self.place = place
        self.names = list(names)

    @classmethod
    def from_estimator(cls, estimator: Any, X: ArrayLike | None = None, **options: Any) -> TreeDisplay:
        """Draw a fitted tree.

        Parameters
        ----------
        estimator : MinimumDensityTree
        X : array-like, sparse matrix, blocks of rows or Dask collection of shape (n_samples, n_features), optional
            The rows of the fit, or others, for the densities and sizes. Without X, sizes are those of the fit, and
            there are no densities, since the estimator does not keep the rows of its fit.
        **options
            Options of :meth:`from_tree` and :meth:`plot`.

        Returns
        -------
        TreeDisplay
        """
        if not isinstance(estimator, MinimumDensityTree):
            raise TypeError(f"estimator must be a fitted MinimumDensityTree, got {type(estimator).__name__}.")
        check_estimator(estimator)
        rows: Any = None if X is None else check_rows(X, estimator)
        return cls.from_tree(estimator.tree_, rows, **options)

    @classmethod
    def from_tree(
        cls, tree: Tree, X: ArrayLike | None = None, *, cluster_names: ArrayLike | None = None, **plot_options: Any
    ) -> TreeDisplay:
        """Draw a tree, for example a cut or edited one.

        Parameters
        ----------
        tree : Tree
        X : array-like, sparse matrix, blocks of rows or Dask collection of shape (n_samples, n_features), optional
        cluster_names : sequence of str, optional
            Names of the clusters instead of their numbers.
        **plot_options
            Options of :meth:`plot`.

        Returns
        -------
        TreeDisplay
        """
        if not isinstance(tree, Tree):
            raise TypeError(f"tree must be a Tree, got {type(tree).__name__}.")
        names = [str(k) for k in range(tree.n_clusters)]
        if cluster_names is not None:
            names = [str(name) for name in np.asarray(cluster_names, dtype=object).ravel()]
            if len(names) != tree.n_clusters:
                raise ValueError(f"cluster_names must be {tree.n_clusters} names, got {len(names)}.")
        points: dict[int, Array] = {}
        densities: dict[int, Array] = {}
        sizes = tree.size
        if X is not None:
            rows = check_rows(X)
            with rows.session():
                points, densities, sizes = _compute_densities(tree, rows)
        return cls(
            tree=tree, points=points, densities=densities, sizes=sizes, place=_place_nodes(tree), names=names
        ).plot(**plot_options)  # fmt: skip

    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> TreeDisplay:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw into; by default those of a new figure, as wide as the leaves need.
        title : str, optional
            Title; by default the numbers of clusters and rows, "" for none.

        Returns
        -------
        self
        """
        draw_tree(self, ax, title)
        return self


def _place_nodes(tree: Tree) -> Array:
    """Place leaves side by side and inner nodes in the middle of their leaves, so that boxes cannot overlap."""
    number = {leaf: k for k, leaf in enumerate(tree.leaves())}
    place = np.empty(len(tree))
    first, last = np.empty(len(tree)), np.empty(len(tree))
    for k in reversed(range(len(tree))):  # children come after their parents
        if tree.left[k] < 0:
            first[k] = last[k] = number[k]
        else:
            first[k], last[k] = first[tree.left[k]], last[tree.right[k]]
        place[k] = 0.5 * (first[k] + last[k])
    return place


def _compute_densities(tree: Tree, rows: Rows) -> tuple[dict[int, Array], dict[int, Array], NDArray[np.intp]]:
    """Return points and densities of the inner nodes, relative to their hyperplanes, and the size of each node."""
    if rows.shape[1] != tree.normal.shape[1]:
        raise ValueError(f"X must have {tree.normal.shape[1]} features, got {rows.shape[1]}.")
    points: dict[int, Array] = {}
    densities: dict[int, Array] = {}
    sizes = np.zeros(len(tree), dtype=np.intp)
    for visit in descend(tree, rows):
        k, distances = visit.node, visit.distances
        sizes[k] = len(visit.indices)
        h = np.nan if visit.hyperplane is None else visit.hyperplane.bandwidth
        if distances is None or not len(distances) or not np.isfinite(h):
            continue
        points[k] = place_points(float(distances.min()), float(distances.max()), h, include=[0.0])
        densities[k] = ProjectedDensity(distances, h)(points[k])
    return points, densities, sizes
