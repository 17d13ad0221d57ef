"""Display of the cells of a tree in two dimensions: which are joined, and where clusters meet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree

from ravine._typing import Array
from ravine.checks import check_flag, check_integer
from ravine.explain import (
    describe_groups,
    find_boundaries,
    format_evidence,
    format_plural,
    name_features,
    open_pipeline,
)
from ravine.plotting import style
from ravine.plotting.subject import check_tree, find_tree
from ravine.rows import Rows
from ravine.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Margin around the rows, as a share of their range.
MARGIN = 0.06
# Clusters that the legend lists.
MAX_NAMES = 10
# Largest ratio of the sides of a picture in which both axes have the same scale.
MAX_RATIO = 3.0
# Points on a boundary that are considered as places for its text, and the least distance of two texts, as a share of
# the picture.
N_PLACES, LEAST_DISTANCE = 40, 0.09
# Distance from the rows at which a text does not hide them, and the weight of that in comparison with closeness.
ROOM, WEIGHT_OF_ROOM = 0.05, 4.0
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


@dataclass(eq=False, repr=False, kw_only=True)
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

    points: Array
    labels: NDArray[np.intp]
    polygons: dict[int, Array]
    edges: list[CellEdge]
    cluster: NDArray[np.intp]
    evidence: dict[tuple[int, int], float]
    n_rows: int
    feature_names: list[str]

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: ArrayLike | None, *, feature_names: ArrayLike | None = None, **options: Any
    ) -> CellDisplay:
        """Draw the cells of a fitted tree.

        Parameters
        ----------
        estimator : MinimumDensityTree or Pipeline
            Fitted to two features.
        X : array-like, sparse matrix, blocks of rows or Dask collection of shape (n_samples, 2)
            The rows of the fit, or others.
        feature_names : sequence of two str, optional
            Names of the features; by default those seen in the fit, or x0 and x1.
        **options
            Options of :meth:`from_tree` and :meth:`plot`.
        """
        opened = open_pipeline(estimator, X, feature_names)
        tree, rows = find_tree(opened.estimator, opened.X)
        names = name_features(opened.feature_names, rows.shape[1], opened.estimator)
        return cls.from_tree(tree, rows, feature_names=names, **options)

    @classmethod
    def from_tree(
        cls,
        tree: Tree,
        X: ArrayLike | Rows,
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
        """
        most = check_integer("max_rows", max_rows, low=1)
        rows = check_tree(tree, X)
        n, d = rows.shape
        if d != 2:
            raise ValueError(
                f"cells can be drawn for two features only, but the tree has {d}: use TreeDisplay for the tree, "
                "BoundaryDisplay for a boundary between two clusters, or fit the tree to two features."
            )
        names = name_features(tree.feature_names if feature_names is None else feature_names, 2)
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
        """
        from matplotlib.collections import LineCollection
        from matplotlib.patches import Polygon

        check_flag("legend", legend)
        corners = np.concatenate(list(self.polygons.values()))
        low, high = corners.min(axis=0), corners.max(axis=0)
        ratio = float((high[1] - low[1]) / (high[0] - low[0]))
        is_equal = 1.0 / MAX_RATIO <= ratio <= MAX_RATIO
        height = min(max(5.6 * ratio, 2.2), 5.8) if is_equal else 4.0
        width = min(max(height / ratio, 3.4), 5.6) if is_equal else 5.6
        self.figure_, ax_ = style.find_axes(ax, (width + 0.8, height + 1.3))
        self.ax_ = ax_
        if ax is None:  # the layout leaves too little room for the title of axes with a fixed aspect
            self.figure_.get_layout_engine().set(h_pad=0.1)
        size = style.choose_text_size(ax_)
        self.cells_ = {}
        for leaf, polygon in self.polygons.items():
            colour = style.choose_mark(int(self.cluster[leaf]))[0]
            patch = Polygon(polygon, closed=True, facecolor=colour, alpha=0.13, edgecolor="none", zorder=1)
            self.cells_[leaf] = ax_.add_patch(patch)
        is_join = [self.cluster[edge.first] == self.cluster[edge.second] for edge in self.edges]
        kinds = [[edge.ends for edge, inside in zip(self.edges, is_join, strict=True) if inside == kind]
                 for kind in (True, False)]  # fmt: skip
        self.joins_ = LineCollection(kinds[0], colors=style.GREY, linewidths=1.0, zorder=2)
        self.boundaries_ = LineCollection(kinds[1], colors=style.INK, linewidths=2.2, capstyle="round", zorder=4)
        for lines in (self.joins_, self.boundaries_):
            ax_.add_collection(lines)
        self.points_ = self._draw_points(ax_, scatter_kw)
        self.texts_ = self._write_evidence(ax_, low, high, size)
        ax_.set_xlim(low[0], high[0])
        ax_.set_ylim(low[1], high[1])
        if is_equal:
            ax_.set_aspect("equal")
        style.tidy_axes(ax_, size, hidden=("top", "right", "left", "bottom"))
        ax_.locator_params(nbins=6)
        for set_label, name in zip((ax_.set_xlabel, ax_.set_ylabel), self.feature_names, strict=True):
            set_label(style.shorten_name(name, 40), fontsize=size)
        n_clusters, n_cells = len(set(self.cluster[self.cluster >= 0].tolist())), int((self.cluster >= 0).sum())
        text = f"{describe_groups(n_clusters, self.n_rows)} in {format_plural(n_cells, 'cell')}"
        style.set_title(ax_, title, text, size)
        if legend:
            self._draw_legend(ax_, size, has_joins=bool(kinds[0]), has_boundaries=bool(kinds[1]))
        return self

    def _draw_points(self, ax: Any, scatter_kw: Mapping[str, Any] | None) -> list[Any]:
        """Draw the rows of each cluster with its colour and marker."""
        area = float(np.clip(9000.0 / max(len(self.points), 1), 4.0, 26.0))
        found = []
        for k in sorted(set(self.labels.tolist())):
            colour, marker, _ = style.choose_mark(k)
            options = {
                "s": area, "color": colour, "marker": marker, "linewidths": 0.3, "edgecolors": "white", "zorder": 3,
                "label": f"cluster {k}", **(scatter_kw or {}),
            }  # fmt: skip
            found.append(ax.scatter(*self.points[self.labels == k].T, **options))
        return found

    def _write_evidence(self, ax: Any, low: Array, high: Array, size: float) -> dict[tuple[int, int], Any]:
        """Write the evidence of each boundary where the two clusters are close to each other."""
        unit = high - low
        scaled = (self.points - low) / unit
        taken: list[Array] = []
        texts = {}
        for (first, second), evidence in sorted(self.evidence.items()):
            groups = [scaled[self.labels == k] for k in (first, second)]
            if not all(map(len, groups)):
                continue
            edges = [
                (edge.ends - low) / unit
                for edge in self.edges
                if {int(self.cluster[edge.first]), int(self.cluster[edge.second])} == {first, second}
            ]
            place = _choose_place(edges, groups, taken)
            taken.append(place)
            texts[first, second] = ax.text(
                *(low + unit * place), format_evidence(evidence), ha="center", va="center", fontsize=size - 0.5,
                color=style.INK, zorder=6,
                bbox={"boxstyle": "round,pad=0.25", "fc": "white", "ec": style.INK, "lw": 0.8, "alpha": 0.94},
            )  # fmt: skip
        return texts

    def _draw_legend(self, ax: Any, size: float, *, has_joins: bool, has_boundaries: bool) -> None:
        """Explain the colours of the clusters, if they are few, and the two kinds of lines, below the picture."""
        from matplotlib.lines import Line2D

        handles = list(self.points_) if len(self.points_) <= MAX_NAMES else []
        if has_joins:
            handles.append(Line2D([], [], color=style.GREY, lw=1.0, label="joined cells"))
        if has_boundaries:
            handles.append(
                Line2D([], [], color=style.INK, lw=2.2, label="boundary, z for a valley" if self.texts_ else "boundary")
            )
        style.draw_legend_below(
            ax, handles, 3.4 * size, size, loc="upper center", bbox_to_anchor=(0.5, 0.0), handletextpad=0.4,
            ncols=3 if len(handles) > 4 else max(len(handles), 1), columnspacing=1.2,
        )  # fmt: skip


def _find_evidence(tree: Tree, rows: Rows) -> dict[tuple[int, int], float]:
    """Return the evidence for each boundary between clusters; nothing if it cannot be measured on these rows."""
    if tree.n_clusters == 1:
        return {}
    try:
        found = find_boundaries(tree, rows)
    except ValueError:  # too few rows, or too many repeated values
        return {}
    return {(boundary.first, boundary.second): boundary.evidence for boundary in found}


def _choose_place(edges: list[Array], groups: list[Array], taken: list[Array]) -> Array:
    """Return a point of the boundary near both groups, with room for a text; between the groups if they do not meet."""
    trees = [cKDTree(group) for group in groups]
    if not edges:
        distances, nearest = trees[1].query(groups[0])
        closest = int(distances.argmin())
        return np.asarray(0.5 * (groups[0][closest] + groups[1][nearest[closest]]))
    steps = (np.arange(N_PLACES)[:, None] + 0.5) / N_PLACES
    places = np.concatenate([ends[0] + steps * (ends[1] - ends[0]) for ends in edges])
    inside = np.all((places > 0.06) & (places < 0.94), axis=1)
    places = places[inside] if inside.any() else places
    distances = np.stack([tree.query(places)[0] for tree in trees])
    farther, nearer = distances.max(axis=0), distances.min(axis=0)
    # Both groups are close, but no rows are under the text if that can be avoided.
    value = -farther - WEIGHT_OF_ROOM * np.maximum(ROOM - nearer, 0.0)
    for other in taken:
        value -= (np.linalg.norm(places - other, axis=1) < LEAST_DISTANCE) * 1.0
    return np.asarray(places[int(value.argmax())])


# ----------------------------------------------------------------------------------------------- polygons


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
