"""Display of a cluster tree with the projected density of every split."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ravine._typing import Array
from ravine.density import ProjectedDensity
from ravine.explain import describe_groups, format_count, format_plural, open_pipeline, place_points
from ravine.plotting import style
from ravine.plotting.subject import check_tree, find_tree
from ravine.rows import Rows
from ravine.tree import Tree, descend, describe_test, find_shown_splits

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Heights of the box of a node and of the largest leaf, in levels of the tree.
BOX, LEAF = 0.56, 0.5
# Heights of the text above a box, and of one more line.
TEXT, LINE = 0.16, 0.12
# Width of a leaf; 1 is the distance of two leaves.
LEAF_WIDTH = 0.8
# Characters of a line of the title of a single cluster.
MAX_TITLE = 56
# Text sizes in points.
MIN_TEXT, MAX_TEXT = 6.0, 9.0


@dataclass(eq=False, repr=False, kw_only=True)
class TreeDisplay:
    """Tree of hyperplanes, with the projected density in every inner node and the clusters as leaves.

    The box of a node shows the density of its rows projected on its normal, scaled to its own peak. The vertical line
    is the hyperplane: rows to the left of it go to the left child. Above the box are the number of rows, the relative
    depth and the P-value of the split; the box is dashed if the split is only suggested. Leaves have the colour and the
    hatch of their cluster, and their height shows their number of rows.
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
    is_shown_ : ndarray of bool of shape (n_nodes,)
        Whether each node is a split that the test shows.
    lead_ : float
        Height of the text above a box.

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

    tree: Tree
    points: dict[int, Array]
    densities: dict[int, Array]
    sizes: NDArray[np.intp]
    place: Array
    names: list[str]

    @classmethod
    def from_estimator(cls, estimator: Any, X: ArrayLike | None = None, **options: Any) -> TreeDisplay:
        """Draw a fitted tree.

        Parameters
        ----------
        estimator : MinimumDensityTree or Pipeline
        X : array-like, sparse matrix, blocks of rows or Dask collection of shape (n_samples, n_features), optional
            The rows of the fit, or others, for the densities and sizes. Without X, sizes are those of the fit, and
            there are no densities, since the estimator does not keep the rows of its fit.
        **options
            Options of :meth:`from_tree` and :meth:`plot`.
        """
        opened = open_pipeline(estimator, X)
        tree, rows = find_tree(opened.estimator, opened.X, optional=True)
        return cls.from_tree(tree, rows, **options)

    @classmethod
    def from_tree(
        cls, tree: Tree, X: ArrayLike | Rows | None = None, *, cluster_names: ArrayLike | None = None, **options: Any
    ) -> TreeDisplay:
        """Draw a tree, for example a cut or edited one.

        Parameters
        ----------
        tree : Tree
        X : array-like, sparse matrix, blocks of rows or Dask collection of shape (n_samples, n_features), optional
        cluster_names : sequence of str, optional
            Names of the clusters instead of their numbers.
        **options
            Options of :meth:`plot`.
        """
        rows = check_tree(tree, X, optional=True)
        names = [str(k) for k in range(tree.n_clusters)]
        if cluster_names is not None:
            names = [str(name) for name in np.asarray(cluster_names, dtype=object).ravel()]
            if len(names) != tree.n_clusters:
                raise ValueError(f"cluster_names must be {tree.n_clusters} names, got {len(names)}.")
        points: dict[int, Array] = {}
        densities: dict[int, Array] = {}
        sizes = tree.size
        if rows is not None:
            with rows.session():
                points, densities, sizes = _compute_densities(tree, rows)
        place = _place_nodes(tree)
        display = cls(tree=tree, points=points, densities=densities, sizes=sizes, place=place, names=names)
        return display.plot(**options)

    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> TreeDisplay:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw into; by default those of a new figure, as wide as the leaves need.
        title : str, optional
            Title; by default the numbers of clusters and rows, "" for none.
        """
        depth = self.tree.depth
        n_leaves, levels = self.tree.n_leaves, int(depth.max()) + 1
        # At most the width of a page for few leaves; for many, the width that their names and sizes need.
        width = max(min(max(1.15 * n_leaves, 4.0), 14.0), min(0.6 * n_leaves, 40.0))
        self.lead_ = TEXT if np.isnan(self.tree.level) else TEXT + LINE
        height = min(max((1.25 if np.isnan(self.tree.level) else 1.4) * levels + 0.6, 2.6), 11.0)
        self.figure_, ax_ = style.find_axes(ax, (width, height))
        self.ax_ = ax_
        self.density_lines_: dict[int, Any] = {}
        self.leaf_bars_: dict[int, Any] = {}
        self.texts_: list[Any] = []
        self.is_shown_ = find_shown_splits(self.tree)
        ax_.set_xlim(-0.6, n_leaves - 0.4)
        ax_.set_ylim(self._find_bottom(), 0.5 * BOX + self.lead_ + 0.04)
        ax_.set_axis_off()
        points_per_leaf = 72.0 * style.measure_width(ax_) / (n_leaves + 0.2)
        points_per_level = 72.0 * ax_.get_position().height * self.figure_.get_figheight() / (levels + 0.16)
        size = float(min(max(MIN_TEXT, min(0.2 * points_per_leaf, 0.13 * points_per_level)), MAX_TEXT))
        for k in range(len(self.tree)):
            if self.tree.left[k] < 0:
                self._draw_leaf(k, -float(depth[k]), size, points_per_leaf)
            else:
                self._draw_node(k, -float(depth[k]), size, n_leaves, points_per_leaf)
        text = describe_groups(self.tree.n_clusters, int(self.sizes[0]))
        if self.tree.n_clusters < n_leaves:
            text += f"; leaves of one colour are {'merged' if self.tree.joins is None else 'joined'}"
        tested = "" if np.isnan(self.tree.level) else f"; level {self.tree.level:g}"
        if n_leaves == 1:
            tested = "".join(f"\n{line}" for line in wrap(describe_test(self.tree, 0), MAX_TITLE))
        text += tested
        if not self.densities and n_leaves > 1:
            text += " (pass X to draw the densities)"
        style.set_title(ax_, title, text, style.choose_text_size(ax_))
        return self

    def _draw_node(self, k: int, y: float, size: float, n_leaves: int, points_per_leaf: float) -> None:
        tree, ax, x = self.tree, self.ax_, self.place[k]
        span = len(tree.leaves(k))
        width = min(0.86 * span, max(1.72, n_leaves / 5.0))
        bottom, left = y - 0.5 * BOX, x - 0.5 * width
        for child in (int(tree.left[k]), int(tree.right[k])):
            under = self.place[child]
            quarter = left + (0.25 if child == tree.left[k] else 0.75) * width
            # Go straight down where the child is below the box.
            side = under if (under - x) * (quarter - x) > 0.0 and abs(under - x) < 0.5 * width else quarter
            elbow, top = bottom - 0.14, y - 1.0 + 0.5 * BOX
            lead = self.lead_ if tree.left[child] >= 0 else 0.0
            ax.plot(
                [side, side, under, under], [bottom, elbow, elbow, top + lead],
                color=style.GREY, lw=1.0, zorder=1, solid_joinstyle="round",
            )  # fmt: skip
        tested = describe_test(tree, k, self.is_shown_[k])
        box = _make_rectangle(
            left, bottom, width, BOX, facecolor="white", edgecolor=style.GREY, linewidth=0.8, zorder=2
        )
        ax.add_patch(box).set_linestyle("--" if tested.endswith("suggested") else "-")
        zero = x
        if k in self.densities:
            b, f = self.points[k], self.densities[k]
            at = left + width * (b - b[0]) / (b[-1] - b[0])
            zero = left + width * (0.0 - b[0]) / (b[-1] - b[0])
            heights = bottom + 0.86 * BOX * f / f.max()
            for side, child in ((b <= 0.0, int(tree.left[k])), (b >= 0.0, int(tree.right[k]))):
                is_leaf = tree.left[child] < 0
                colour, _, hatch = style.choose_mark(int(tree.cluster[child])) if is_leaf else (style.GREY, "", "")
                ax.fill_between(
                    at[side], bottom, heights[side], facecolor=colour, alpha=0.55 if is_leaf else 0.3, hatch=hatch,
                    edgecolor=style.choose_hatch_colour(colour), lw=0.0, zorder=3,
                )  # fmt: skip
            (self.density_lines_[k],) = ax.plot(at, heights, color=style.INK, lw=1.1 if size > 5.5 else 0.7, zorder=4)
        ax.plot([zero, zero], [bottom, bottom + BOX], color=style.INK, lw=1.2 if size > 5.5 else 0.8, zorder=5)
        depth = float(tree.relative_depth[k])
        text = _describe_node(int(self.sizes[k]), depth, tested, points_per_leaf * width / size)
        self.texts_.append(
            ax.text(
                x, bottom + BOX + 0.02, text, ha="center", va="bottom", fontsize=size, color=style.INK, zorder=6,
                linespacing=0.95, bbox={"fc": "white", "ec": "none", "pad": 0.4},
            )
        )  # fmt: skip

    def _draw_leaf(self, k: int, y: float, size: float, points_per_leaf: float) -> None:
        tree, ax, x = self.tree, self.ax_, self.place[k]
        cluster = int(tree.cluster[k])
        colour, _, hatch = style.choose_mark(cluster)
        height, top = self._measure_leaf(k), y + 0.5 * BOX
        bar = _make_rectangle(
            x - 0.5 * LEAF_WIDTH, top - height, LEAF_WIDTH, height, facecolor=colour,
            edgecolor=style.choose_hatch_colour(colour), linewidth=0.0, hatch=hatch, zorder=3,
        )  # fmt: skip
        self.leaf_bars_[k] = ax.add_patch(bar)
        name = style.shorten_name(self.names[cluster], int(max(4, points_per_leaf / (0.55 * size))))
        n_rows = int(self.sizes[k])
        rows = format_plural(n_rows, "row") if points_per_leaf > 6.0 * size else format_count(n_rows)
        self.texts_.append(
            ax.text(
                x, top - height - 0.03, f"{name}\n{rows}", ha="center", va="top", fontsize=size, color=style.INK,
                zorder=6, linespacing=1.05,
            )
        )  # fmt: skip

    def _measure_leaf(self, k: int) -> float:
        """Return the height of a leaf: its area shows the number of rows, and the smallest cluster stays visible."""
        largest = max(int(self.sizes[leaf]) for leaf in self.tree.leaves())
        return max(LEAF * float(self.sizes[k]) / max(largest, 1), 0.06)

    def _find_bottom(self) -> float:
        """Return the lower end of the picture, with room for the text below the lowest leaf."""
        depth = self.tree.depth
        return min(0.5 * BOX - float(depth[k]) - self._measure_leaf(k) for k in self.tree.leaves()) - 0.46


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


def _describe_node(n_rows: int, depth: float, tested: str, room: float) -> str:
    """Return rows, relative depth and test of a split; ``room`` is the width of the box over the size of the text."""
    rows, text = format_count(n_rows), f"↓{style.format_number(depth)}"
    if room > 5.5:  # about ten characters
        rows, text = format_plural(n_rows, "row"), f"depth {style.format_number(depth)}"
    first = [rows, text] if np.isfinite(depth) else [rows]
    one_line = ", ".join(first)
    if tested:
        one_line = one_line if 0.56 * len(one_line) <= 1.2 * room else f"{format_count(n_rows)}, ↓{depth:.2g}"
        return f"{one_line}\n{tested if 0.56 * len(tested) <= 1.3 * room else tested.partition(',')[0]}"
    return one_line if 0.56 * len(one_line) <= room else "\n".join(first)


def _make_rectangle(x: float, y: float, width: float, height: float, **options: Any) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x, y), width, height, **options)
