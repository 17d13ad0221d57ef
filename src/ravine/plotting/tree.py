"""TreeDisplay: the cluster tree with the projected density of every split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ravine._typing import Array
from ravine.density import ProjectedDensity
from ravine.estimators import MinimumDensityTree
from ravine.plotting.boxes import draw_tree
from ravine.plotting.projection import density_curve
from ravine.plotting.rows import plain_rows, rows_for
from ravine.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["TreeDisplay"]


class TreeDisplay:
    """A tree of hyperplanes: the projected density in every inner node, clusters as its leaves.

    A node's box shows the density of its rows projected on its normal, scaled to its own peak, with its hyperplane as
    a vertical line: rows to the left of it go to the left. Above it are the number of rows, below it the relative
    depth. Leaves have the colour and the hatch of their cluster, and their height shows their number of rows. Without
    X there are boxes without densities.

    Parameters
    ----------
    tree : Tree
    points, densities : dict from int to ndarray
        For inner nodes, where the density was evaluated, relative to the hyperplane, and the density. Empty without X.
    sizes : ndarray of shape (n_nodes,), int
        Rows in each node: of X if it was given, else of the fit.
    place : ndarray of shape (n_nodes,)
        Horizontal place of each node, in leaves from the left; an inner node is in the middle of its leaves.
    names : list of str
        Of the clusters.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
    density_lines_ : dict from int to matplotlib Line2D
        For inner nodes, if X was given.
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
            The rows of the fit, or others, for the densities and sizes. Without them sizes are those of the fit, and
            there are no densities: estimators do not keep rows.
        **options
            For :meth:`from_tree` and :meth:`plot`.

        Returns
        -------
        TreeDisplay
        """
        if not isinstance(estimator, MinimumDensityTree):
            raise TypeError(f"estimator must be a fitted MinimumDensityTree, got {type(estimator).__name__}.")
        check_is_fitted(estimator)
        rows: Any = None if X is None else rows_for(estimator, X)
        return cls.from_tree(estimator.tree_, rows, **options)

    @classmethod
    def from_tree(
        cls, tree: Tree, X: ArrayLike | None = None, *, cluster_names: ArrayLike | None = None, **plot_options: Any
    ) -> TreeDisplay:
        """Draw a tree, for example one that was cut or edited.

        Parameters
        ----------
        tree : Tree
        X : array-like, sparse matrix, blocks of rows or Dask collection of shape (n_samples, n_features), optional
        cluster_names : sequence of str, optional
            Names of the clusters instead of their numbers.
        **plot_options
            For :meth:`plot`.

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
            rows = plain_rows(X)
            with rows.session():
                points, densities, sizes = _densities(tree, rows)
        return cls(
            tree=tree, points=points, densities=densities, sizes=sizes, place=_places(tree), names=names
        ).plot(**plot_options)  # fmt: skip

    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> TreeDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where; by default in a new figure as wide as the number of leaves asks for.
        title : str, optional
            By default the number of clusters and rows; "" for none.

        Returns
        -------
        self
        """
        draw_tree(self, ax, title)
        return self


def _places(tree: Tree) -> Array:
    """Leaves side by side; an inner node in the middle of its leaves, so that boxes in a row cannot overlap."""
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


def _densities(tree: Tree, X: Any) -> tuple[dict[int, Array], dict[int, Array], NDArray[np.intp]]:
    """Density of the rows of each inner node along its normal, about its hyperplane, and the rows in each node."""
    if X.shape[1] != tree.normal.shape[1]:
        raise ValueError(f"X must have {tree.normal.shape[1]} columns, got {X.shape[1]}.")
    points: dict[int, Array] = {}
    densities: dict[int, Array] = {}
    sizes = np.zeros(len(tree), dtype=np.intp)
    waiting: list[tuple[int, NDArray[np.intp] | None]] = [(0, None)]
    while waiting:
        k, rows = waiting.pop()
        sizes[k] = X.shape[0] if rows is None else len(rows)
        plane = tree.hyperplane(k)
        if plane is None:
            continue
        distance = plane.distance(X, rows)
        if len(distance) and np.isfinite(plane.bandwidth):
            density = ProjectedDensity(distance, plane.bandwidth)
            curve = density_curve(density, float(distance.min()), float(distance.max()), extra=[0.0])
            points[k], densities[k] = curve.points, curve.density
        rows = np.arange(X.shape[0]) if rows is None else rows
        beyond = distance > 0.0
        waiting += [(int(tree.left[k]), rows[~beyond]), (int(tree.right[k]), rows[beyond])]
    return points, densities, sizes
