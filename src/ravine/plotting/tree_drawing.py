"""Drawing of a `TreeDisplay`: boxes in one coordinate system, which stays fast with 64 leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ravine.explain import format_count, format_plural
from ravine.plotting import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ravine.plotting.tree import TreeDisplay

__all__ = ["draw_tree"]

# Heights of the box of a node and of the largest leaf, in levels of the tree.
BOX, LEAF = 0.56, 0.5
# Width of a leaf; 1 is the distance of two leaves.
LEAF_WIDTH = 0.8
# Text sizes in points.
MIN_TEXT, MAX_TEXT = 6.0, 9.0


def draw_tree(display: TreeDisplay, ax: Axes | None, title: str | None) -> None:
    """Draw into ``ax`` and keep the artists on the display."""
    depth = display.tree.depth
    n_leaves, levels = display.tree.n_leaves, int(depth.max()) + 1
    # At most the width of a page for few leaves; for many, the width that their names and sizes need.
    width = max(min(max(1.15 * n_leaves, 4.0), 14.0), min(0.6 * n_leaves, 40.0))
    height = min(max(1.25 * levels + 0.6, 2.6), 11.0)
    display.figure_, display.ax_ = style.find_axes(ax, (width, height))
    ax_: Any = display.ax_
    display.density_lines_, display.leaf_bars_, display.texts_ = {}, {}, []
    ax_.set_xlim(-0.6, n_leaves - 0.4)
    ax_.set_ylim(_find_bottom(display), 0.5 * BOX + 0.2)
    ax_.set_axis_off()
    points_per_leaf = 72.0 * style.measure_width(ax_) / (n_leaves + 0.2)
    points_per_level = 72.0 * ax_.get_position().height * display.figure_.get_figheight() / (levels + 0.16)
    size = float(min(max(MIN_TEXT, min(0.2 * points_per_leaf, 0.13 * points_per_level)), MAX_TEXT))
    for k in range(len(display.tree)):
        if display.tree.left[k] < 0:
            _draw_leaf(display, k, -float(depth[k]), size, points_per_leaf)
        else:
            _draw_node(display, k, -float(depth[k]), size, n_leaves, points_per_leaf)
    text = f"{format_plural(display.tree.n_clusters, 'cluster')} in {format_plural(int(display.sizes[0]), 'row')}"
    if display.tree.n_clusters < n_leaves:
        text += f"; leaves of one colour are {'merged' if display.tree.joins is None else 'joined'}"
    if not display.densities and n_leaves > 1:
        text += " (pass X to draw the densities)"
    size = style.choose_text_size(ax_) + 1.0
    ax_.set_title(text if title is None else title, loc="left", fontsize=size, color=style.INK)


def _draw_node(display: TreeDisplay, k: int, y: float, size: float, n_leaves: int, points_per_leaf: float) -> None:
    tree, ax, x = display.tree, display.ax_, display.place[k]
    span = len(tree.leaves(k))
    width = min(0.86 * span, max(1.72, n_leaves / 5.0))
    bottom, left = y - 0.5 * BOX, x - 0.5 * width
    for child in (int(tree.left[k]), int(tree.right[k])):
        under = display.place[child]
        quarter = left + (0.25 if child == tree.left[k] else 0.75) * width
        # Go straight down where the child is below the box.
        side = under if (under - x) * (quarter - x) > 0.0 and abs(under - x) < 0.5 * width else quarter
        elbow, top = bottom - 0.14, y - 1.0 + 0.5 * BOX
        lead = 0.16 if tree.left[child] >= 0 else 0.0  # room for the text above a box
        ax.plot(
            [side, side, under, under], [bottom, elbow, elbow, top + lead],
            color=style.GREY, lw=1.0, zorder=1, solid_joinstyle="round",
        )  # fmt: skip
    ax.add_patch(
        _make_rectangle(left, bottom, width, BOX, facecolor="white", edgecolor=style.GREY, linewidth=0.8, zorder=2)
    )
    zero = x
    if k in display.densities:
        b, f = display.points[k], display.densities[k]
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
        (display.density_lines_[k],) = ax.plot(at, heights, color=style.INK, lw=1.1 if size > 5.5 else 0.7, zorder=4)
    ax.plot([zero, zero], [bottom, bottom + BOX], color=style.INK, lw=1.2 if size > 5.5 else 0.8, zorder=5)
    written = ax.text(
        x,
        bottom + BOX + 0.02,
        _describe_node(int(display.sizes[k]), float(tree.relative_depth[k]), points_per_leaf * width / size),
        ha="center",
        va="bottom",
        fontsize=size,
        color=style.INK,
        zorder=6,
        linespacing=0.95,
        bbox={"fc": "white", "ec": "none", "pad": 0.4},
    )  # fmt: skip
    display.texts_.append(written)


def _describe_node(n_rows: int, depth: float, room: float) -> str:
    """Return number of rows and relative depth; ``room`` is the width of the box over the size of the text."""
    rows, text = format_count(n_rows), f"↓{style.format_number(depth)}"
    if room > 5.5:  # about ten characters
        rows, text = format_plural(n_rows, "row"), f"depth {style.format_number(depth)}"
    if not np.isfinite(depth):
        return rows
    one_line = f"{rows}, {text}"
    return one_line if 0.56 * len(one_line) <= room else f"{rows}\n{text}"


def _draw_leaf(display: TreeDisplay, k: int, y: float, size: float, points_per_leaf: float) -> None:
    tree, ax, x = display.tree, display.ax_, display.place[k]
    cluster = int(tree.cluster[k])
    colour, _, hatch = style.choose_mark(cluster)
    height, top = _measure_leaf(display, k), y + 0.5 * BOX
    bar = _make_rectangle(
        x - 0.5 * LEAF_WIDTH, top - height, LEAF_WIDTH, height, facecolor=colour,
        edgecolor=style.choose_hatch_colour(colour), linewidth=0.0, hatch=hatch, zorder=3,
    )  # fmt: skip
    display.leaf_bars_[k] = ax.add_patch(bar)
    name = style.shorten_name(display.names[cluster], int(max(4, points_per_leaf / (0.55 * size))))
    n_rows = int(display.sizes[k])
    rows = format_plural(n_rows, "row") if points_per_leaf > 6.0 * size else format_count(n_rows)
    written = ax.text(
        x,
        top - height - 0.03,
        f"{name}\n{rows}",
        ha="center",
        va="top",
        fontsize=size,
        color=style.INK,
        zorder=6,
        linespacing=1.05,
    )  # fmt: skip
    display.texts_.append(written)


def _measure_leaf(display: TreeDisplay, k: int) -> float:
    """Return the height of a leaf: its area shows the number of rows, and even the smallest cluster stays visible."""
    largest = max(int(display.sizes[leaf]) for leaf in display.tree.leaves())
    return max(LEAF * float(display.sizes[k]) / max(largest, 1), 0.06)


def _find_bottom(display: TreeDisplay) -> float:
    """Return the lower end of the picture, with room for the text below the lowest leaf."""
    depth = display.tree.depth
    return min(0.5 * BOX - float(depth[k]) - _measure_leaf(display, k) for k in display.tree.leaves()) - 0.46


def _make_rectangle(x: float, y: float, width: float, height: float, **options: Any) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x, y), width, height, **options)
