"""How a `TreeDisplay` is drawn: boxes in one coordinate system, so that 64 leaves cost no more than a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ravine.plotting import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ravine.plotting.tree import TreeDisplay

__all__ = ["draw_tree"]

# Heights, in levels of the tree: of a node's box, and of the largest leaf.
BOX, LEAF = 0.56, 0.5
# Widths, in leaves.
LEAF_WIDTH = 0.8
# In points.
SMALLEST_TEXT = 6.0


def draw_tree(display: TreeDisplay, ax: Axes | None, title: str | None) -> None:
    """Draw into ``ax`` and keep the artists on the display."""
    from_above = display.tree.depth
    n_leaves, levels = display.tree.n_leaves, int(from_above.max()) + 1
    # Up to a page for few leaves; for many as wide as their names and sizes need.
    width = max(min(max(1.15 * n_leaves, 4.0), 14.0), min(0.6 * n_leaves, 40.0))
    height = min(max(1.25 * levels + 0.6, 2.6), 11.0)
    display.figure_, display.ax_ = style.figure_and_axes(ax, (width, height))
    ax_: Any = display.ax_
    display.density_lines_, display.leaf_bars_, display.texts_ = {}, {}, []
    ax_.set_xlim(-0.6, n_leaves - 0.4)
    ax_.set_ylim(-(levels - 1) - 0.68, 0.5 * BOX + 0.2)
    ax_.set_axis_off()
    inches = ax_.get_position().width * display.figure_.get_figwidth()
    points_per_leaf = 72.0 * inches / (n_leaves + 0.2)
    points_per_level = 72.0 * ax_.get_position().height * display.figure_.get_figheight() / (levels + 0.16)
    size = float(min(max(SMALLEST_TEXT, min(0.2 * points_per_leaf, 0.13 * points_per_level)), 9.0))
    for k in range(len(display.tree)):
        if display.tree.left[k] < 0:
            _draw_leaf(display, k, -float(from_above[k]), size, points_per_leaf)
        else:
            _draw_node(display, k, -float(from_above[k]), size, n_leaves, points_per_leaf)
    words = f"{display.tree.n_clusters} cluster{'s' if display.tree.n_clusters != 1 else ''}"
    words += f" in {style.count(int(display.sizes[0]))} rows"
    if not display.densities and n_leaves > 1:
        words += " (give X to see the densities)"
    ax_.set_title(words if title is None else title, loc="left", fontsize=style.text_size(ax_) + 1.0, color=style.INK)


def _draw_node(display: TreeDisplay, k: int, y: float, size: float, n_leaves: int, points_per_leaf: float) -> None:
    tree, ax, x = display.tree, display.ax_, display.place[k]
    span = len(tree.leaves(k))
    width = min(0.86 * span, max(1.72, n_leaves / 5.0))
    bottom, left = y - 0.5 * BOX, x - 0.5 * width
    for child in (int(tree.left[k]), int(tree.right[k])):
        under = display.place[child]
        quarter = left + (0.25 if child == tree.left[k] else 0.75) * width
        # Straight down where the child is below the box.
        side = under if (under - x) * (quarter - x) > 0.0 and abs(under - x) < 0.5 * width else quarter
        elbow, top = bottom - 0.14, y - 1.0 + 0.5 * BOX
        lead = 0.16 if tree.left[child] >= 0 else 0.0  # room for the words above a box
        ax.plot(
            [side, side, under, under], [bottom, elbow, elbow, top + lead],
            color=style.GREY, lw=1.0, zorder=1, solid_joinstyle="round",
        )  # fmt: skip
    ax.add_patch(_rectangle(left, bottom, width, BOX, facecolor="white", edgecolor=style.GREY, linewidth=0.8, zorder=2))
    zero = x
    if k in display.densities:
        b, f = display.points[k], display.densities[k]
        at = left + width * (b - b[0]) / (b[-1] - b[0])
        zero = left + width * (0.0 - b[0]) / (b[-1] - b[0])
        heights = bottom + 0.86 * BOX * f / f.max()
        for side, child in ((b <= 0.0, int(tree.left[k])), (b >= 0.0, int(tree.right[k]))):
            is_leaf = tree.left[child] < 0
            colour, _, hatch = style.mark(int(tree.cluster[child])) if is_leaf else (style.GREY, "", "")
            ax.fill_between(
                at[side], bottom, heights[side], facecolor=colour, alpha=0.55 if is_leaf else 0.3, hatch=hatch,
                edgecolor=style.hatch_ink(colour), lw=0.0, zorder=3,
            )  # fmt: skip
        (display.density_lines_[k],) = ax.plot(at, heights, color=style.INK, lw=1.1 if size > 5.5 else 0.7, zorder=4)
    ax.plot([zero, zero], [bottom, bottom + BOX], color=style.INK, lw=1.2 if size > 5.5 else 0.8, zorder=5)
    # Words where there is room for them: twelve characters need about seven times the size of the text.
    room = points_per_leaf * width
    words = [f"{style.count(int(display.sizes[k]))}" + (" rows" if room > 5.5 * size else "")]
    if np.isfinite(tree.relative_depth[k]):
        depth = style.number(float(tree.relative_depth[k]))
        words.append(f"depth {depth}" if room > 12.0 * size else f"↓{depth}")
    text = ", ".join(words) if room > 12.0 * size else "\n".join(words)
    written = ax.text(
        x,
        bottom + BOX + 0.02,
        text,
        ha="center",
        va="bottom",
        fontsize=size,
        color=style.INK,
        zorder=6,
        linespacing=0.95,
        bbox={"fc": "white", "ec": "none", "pad": 0.4},
    )  # fmt: skip
    display.texts_.append(written)


def _draw_leaf(display: TreeDisplay, k: int, y: float, size: float, points_per_leaf: float) -> None:
    tree, ax, x = display.tree, display.ax_, display.place[k]
    cluster = int(tree.cluster[k])
    colour, _, hatch = style.mark(cluster)
    largest = max(int(display.sizes[leaf]) for leaf in tree.leaves())
    # The area shows the rows; even the smallest cluster stays visible.
    height = max(LEAF * float(display.sizes[k]) / max(largest, 1), 0.06)
    top = y + 0.5 * BOX
    bar = _rectangle(
        x - 0.5 * LEAF_WIDTH, top - height, LEAF_WIDTH, height, facecolor=colour, edgecolor=style.hatch_ink(colour),
        linewidth=0.0, hatch=hatch, zorder=3,
    )  # fmt: skip
    display.leaf_bars_[k] = ax.add_patch(bar)
    name = style.shortened(display.names[cluster], int(max(4, points_per_leaf / (0.55 * size))))
    rows = style.count(int(display.sizes[k]))
    roomy = points_per_leaf > 6.0 * size
    written = ax.text(
        x,
        top - height - 0.03,
        f"{name}\n{rows} rows" if roomy else f"{name}\n{rows}",
        ha="center",
        va="top",
        fontsize=size,
        color=style.INK,
        zorder=6,
        linespacing=1.05,
    )  # fmt: skip
    display.texts_.append(written)


def _rectangle(x: float, y: float, width: float, height: float, **options: Any) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x, y), width, height, **options)
