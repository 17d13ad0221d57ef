"""Drawing of a `CellDisplay`: cells, their edges, rows and the evidence on the boundaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial import cKDTree

from ravine._typing import Array
from ravine.checks import check_flag
from ravine.explain import format_evidence, format_plural
from ravine.plotting import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ravine.plotting.cells import CellDisplay

__all__ = ["draw_cells"]

# Clusters that the legend lists.
MAX_NAMES = 10
# Largest ratio of the sides of a picture in which both axes have the same scale.
MAX_RATIO = 3.0
# Points on a boundary that are considered as places for its text, and the least distance of two texts, as a share of
# the picture.
N_PLACES, LEAST_DISTANCE = 40, 0.09
# Distance from the rows at which a text does not hide them, and the weight of that in comparison with closeness.
ROOM, WEIGHT_OF_ROOM = 0.05, 4.0


def draw_cells(
    display: CellDisplay, ax: Axes | None, title: str | None, legend: bool, scatter_kw: Mapping[str, Any] | None
) -> None:
    """Draw into ``ax`` and keep the artists on the display."""
    from matplotlib.collections import LineCollection
    from matplotlib.patches import Polygon

    check_flag("legend", legend)
    corners = np.concatenate(list(display.polygons.values()))
    low, high = corners.min(axis=0), corners.max(axis=0)
    ratio = float((high[1] - low[1]) / (high[0] - low[0]))
    is_equal = 1.0 / MAX_RATIO <= ratio <= MAX_RATIO
    height = min(max(5.6 * ratio, 2.2), 5.8) if is_equal else 4.0
    width = min(max(height / ratio, 3.4), 5.6) if is_equal else 5.6
    display.figure_, display.ax_ = style.find_axes(ax, (width + 0.8, height + 1.3))
    ax_: Any = display.ax_
    if ax is None:  # the layout leaves too little room for the title of axes with a fixed aspect
        display.figure_.get_layout_engine().set(h_pad=0.1)
    size = style.choose_text_size(ax_)
    display.cells_ = {}
    for leaf, polygon in display.polygons.items():
        colour = style.choose_mark(int(display.cluster[leaf]))[0]
        patch = Polygon(polygon, closed=True, facecolor=colour, alpha=0.13, edgecolor="none", zorder=1)
        display.cells_[leaf] = ax_.add_patch(patch)
    is_join = [display.cluster[edge.first] == display.cluster[edge.second] for edge in display.edges]
    kinds = [[edge.ends for edge, inside in zip(display.edges, is_join, strict=True) if inside == kind]
             for kind in (True, False)]  # fmt: skip
    display.joins_ = LineCollection(kinds[0], colors=style.GREY, linewidths=1.0, zorder=2)
    display.boundaries_ = LineCollection(kinds[1], colors=style.INK, linewidths=2.2, capstyle="round", zorder=4)
    for lines in (display.joins_, display.boundaries_):
        ax_.add_collection(lines)
    display.points_ = _draw_points(display, ax_, scatter_kw)
    display.texts_ = _write_evidence(display, ax_, low, high, size)
    ax_.set_xlim(low[0], high[0])
    ax_.set_ylim(low[1], high[1])
    if is_equal:
        ax_.set_aspect("equal")
    style.tidy_axes(ax_, size, hidden=("top", "right", "left", "bottom"))
    ax_.locator_params(nbins=6)
    for set_label, name in zip((ax_.set_xlabel, ax_.set_ylabel), display.feature_names, strict=True):
        set_label(style.shorten_name(name, 40), fontsize=size)
    n_clusters, n_cells = len(set(display.cluster[display.cluster >= 0].tolist())), int((display.cluster >= 0).sum())
    counts = format_plural(n_clusters, "cluster"), format_plural(n_cells, "cell"), format_plural(display.n_rows, "row")
    text = "{} in {}, {}".format(*counts)
    ax_.set_title(text if title is None else title, loc="left", fontsize=size + 1.0, color=style.INK)
    if legend:
        _draw_legend(display, ax_, size, has_joins=bool(kinds[0]), has_boundaries=bool(kinds[1]))


def _draw_points(display: CellDisplay, ax: Any, scatter_kw: Mapping[str, Any] | None) -> list[Any]:
    """Draw the rows of each cluster with its colour and marker."""
    area = float(np.clip(9000.0 / max(len(display.points), 1), 4.0, 26.0))
    found = []
    for k in sorted(set(display.labels.tolist())):
        colour, marker, _ = style.choose_mark(k)
        mine = display.points[display.labels == k]
        options = {"s": area, "color": colour, "marker": marker, "linewidths": 0.3, "edgecolors": "white", "zorder": 3}
        label = f"cluster {k}"
        found.append(ax.scatter(mine[:, 0], mine[:, 1], label=label, **style.merge_options(options, scatter_kw)))
    return found


def _write_evidence(display: CellDisplay, ax: Any, low: Array, high: Array, size: float) -> dict[tuple[int, int], Any]:
    """Write the evidence of each boundary where the two clusters are close to each other."""
    unit = high - low
    scaled = (display.points - low) / unit
    taken: list[Array] = []
    texts = {}
    for (first, second), evidence in sorted(display.evidence.items()):
        groups = [scaled[display.labels == k] for k in (first, second)]
        if not all(map(len, groups)):
            continue
        edges = [
            (edge.ends - low) / unit
            for edge in display.edges
            if {int(display.cluster[edge.first]), int(display.cluster[edge.second])} == {first, second}
        ]
        place = _choose_place(edges, groups, taken)
        taken.append(place)
        texts[first, second] = ax.text(
            *(low + unit * place), format_evidence(evidence), ha="center", va="center", fontsize=size - 0.5,
            color=style.INK, zorder=6,
            bbox={"boxstyle": "round,pad=0.25", "fc": "white", "ec": style.INK, "lw": 0.8, "alpha": 0.94},
        )  # fmt: skip
    return texts


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


def _draw_legend(display: CellDisplay, ax: Any, size: float, *, has_joins: bool, has_boundaries: bool) -> None:
    """Explain the colours of the clusters, if they are few, and the two kinds of lines, below the picture."""
    from matplotlib.lines import Line2D
    from matplotlib.transforms import ScaledTranslation

    handles = list(display.points_) if len(display.points_) <= MAX_NAMES else []
    if has_joins:
        handles.append(Line2D([], [], color=style.GREY, lw=1.0, label="joined cells"))
    if has_boundaries:
        handles.append(
            Line2D([], [], color=style.INK, lw=2.2, label="boundary, z for a valley" if display.texts_ else "boundary")
        )
    below = ScaledTranslation(0.0, -3.4 * size / 72.0, ax.get_figure().dpi_scale_trans)  # the label of the axis
    ax.legend(
        handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), bbox_transform=ax.transAxes + below,
        ncols=3 if len(handles) > 4 else max(len(handles), 1), frameon=False, fontsize=size - 1.0, handletextpad=0.4,
        columnspacing=1.2, borderaxespad=0.0,
    )  # fmt: skip
