"""Drawing of a `HyperplaneDisplay`: the density above the points, or both in one panel as in the paper."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ravine.checks import check_choice, check_flag
from ravine.explain import format_count
from ravine.plotting import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ravine.plotting.hyperplane import HyperplaneDisplay

__all__ = ["draw_panels"]

LAYOUTS = ("stacked", "overlaid")
# Labels that the legend lists, and labels that are written among the points.
MAX_NAMES, MAX_NAMES_INSIDE = 10, 20
# Smallest markers of a few labelled rows among many others, in square points.
MIN_LABELLED_AREA = 30.0


def draw_panels(
    display: HyperplaneDisplay,
    ax: Axes | None,
    layout: str,
    title: str | None,
    legend: bool,
    line_kw: Mapping[str, Any] | None,
    scatter_kw: Mapping[str, Any] | None,
) -> None:
    """Draw into ``ax`` and keep the artists on the display."""
    check_choice("layout", layout, LAYOUTS)
    check_flag("legend", legend)
    display.figure_, host = style.find_axes(ax, (6.4, 5.4) if layout == "stacked" else (6.0, 4.4))
    size = style.choose_text_size(host)
    upper, lower = _divide(host) if layout == "stacked" else (host, host.twinx())
    display.ax_density_, display.ax_points_ = upper, lower
    stacked = layout == "stacked"
    if not stacked:  # draw the density in front of the points
        upper.set_zorder(lower.get_zorder() + 1)
        upper.patch.set_visible(False)
    _draw_interval(display, [upper, lower] if stacked else [lower])
    _draw_curves(display, upper, line_kw, shaded=stacked)
    _draw_points(display, lower, scatter_kw)
    _draw_names(display, lower, lower if stacked else upper, size)
    display.hyperplane_lines_ = []
    if math.isfinite(display.offset):
        display.hyperplane_lines_ = [
            panel.axvline(display.offset, color=style.INK, lw=1.6, zorder=4, label="hyperplane")
            for panel in ([upper, lower] if stacked else [upper])
        ]
    _label_axes(display, upper, lower, size, stacked)
    _draw_note(display, lower, size, stacked)
    upper.set_title(
        _describe_depth(display) if title is None else title, loc="left", fontsize=size + 1, color=style.INK
    )
    if legend:
        _draw_legends(display, lower if stacked else upper, size)


def _divide(host: Axes) -> tuple[Any, Any]:
    """Return two axes, one above the other, in the place of ``host``, which is hidden."""
    figure: Any = host.get_figure()
    host.set_axis_off()
    spec = host.get_subplotspec()
    if spec is not None:
        grid = spec.subgridspec(2, 1, height_ratios=(2, 3), hspace=0.06)
        lower = figure.add_subplot(grid[1])
        return figure.add_subplot(grid[0], sharex=lower), lower
    box = host.get_position()
    lower = figure.add_axes((box.x0, box.y0, box.width, 0.58 * box.height))
    return figure.add_axes((box.x0, box.y0 + 0.62 * box.height, box.width, 0.38 * box.height), sharex=lower), lower


def _draw_interval(display: HyperplaneDisplay, panels: list[Any]) -> None:
    display.interval_ = []
    if display.interval is None:
        return
    low, high = display.interval
    for panel in panels:
        display.interval_.append(panel.axvspan(low, high, color=style.PALE, alpha=0.45, lw=0, zorder=0.5))
        for end in (low, high):
            display.interval_.append(panel.axvline(end, color=style.GREY, lw=0.8, ls=(0, (5, 3)), zorder=0.6))


def _draw_curves(display: HyperplaneDisplay, ax: Any, line_kw: Mapping[str, Any] | None, *, shaded: bool) -> None:
    top = float(display.density.max())
    options = style.merge_options({"color": style.INK, "lw": 1.8, "zorder": 3, "label": "density"}, line_kw)
    (display.density_line_,) = ax.plot(display.points, display.density, **options)
    display.index_line_ = None
    if display.index is not None:
        # The index soon leaves the picture; drawing it far above would only cost time.
        shown = np.minimum(display.index, 3.0 * top)
        (display.index_line_,) = ax.plot(
            display.points, shown, color=style.ACCENT, lw=1.8, ls=(0, (1, 1.3)), zorder=3.5, label="penalised density"
        )
    if shaded:
        ax.fill_between(display.points, display.density, color=style.INK, alpha=0.08, lw=0, zorder=1)
    ax.set_ylim(0.0, 1.22 * top)


def _draw_points(display: HyperplaneDisplay, ax: Any, scatter_kw: Mapping[str, Any] | None) -> None:
    n = len(display.along)
    area = min(max(9000.0 / max(n, 1), 5.0), 26.0) * min(max(style.measure_width(ax) / 5.0, 0.45), 1.4)
    opacity = 0.9 if n <= 300 else 0.7 if n <= 2000 else 0.5
    display.points_ = []
    for code in range(-1, len(display.names)):
        mine = display.codes == code
        if not mine.any():
            continue
        unlabelled = code < 0
        colour, marker, _ = (style.GREY, "o", "") if unlabelled else style.choose_mark(code)
        labelled_few = not unlabelled and (display.codes < 0).any() and mine.sum() <= 300
        ours = {
            "s": 0.5 * area if unlabelled else max(2.2 * area, MIN_LABELLED_AREA) if labelled_few else area,
            "c": colour,
            "marker": marker,
            "alpha": 0.45 if unlabelled else 1.0 if labelled_few else opacity,
            "linewidths": 0.6 if labelled_few else 0.0,
            "edgecolors": "white" if labelled_few else "none",
            "zorder": 1.5 if unlabelled else 2.5 if labelled_few else 2.0,
            "rasterized": n > 2000,
            "label": _name_code(display, code),
        }
        options = style.merge_options(ours, scatter_kw)
        display.points_.append(ax.scatter(display.along[mine], display.across[mine], **options))


def _draw_names(display: HyperplaneDisplay, ax: Any, front: Any, size: float) -> None:
    """Write three or more labels among their rows too, since that many marks are hard to distinguish in grey."""
    from matplotlib.patheffects import withStroke

    display.name_texts_ = []
    if not 3 <= len(display.names) <= MAX_NAMES_INSIDE:
        return
    halo = withStroke(linewidth=2.5, foreground="white")
    for x, y, up, name in _place_names(display, ax, size):
        text = front.annotate(
            name, (x, y), xycoords=ax.transData, xytext=(0.0, up), textcoords="offset points", ha="center", va="center",
            fontsize=size, weight="bold", color=style.INK, zorder=5, path_effects=[halo],
        )  # fmt: skip
        display.name_texts_.append(text)


def _place_names(display: HyperplaneDisplay, ax: Any, size: float) -> list[tuple[float, float, float, str]]:
    """Return the median of the rows of each label, by how many points its name is moved up, and the name.

    A name that would cover another one is moved up. The layout is not final yet, so the distances are approximate.
    """
    box, figure = ax.get_position(), ax.get_figure()
    wide = 72.0 * box.width * figure.get_figwidth() / max(float(np.ptp(display.points)), 1e-300)
    high = 72.0 * box.height * figure.get_figheight() / max(1.1 * float(np.ptp(display.across)), 1e-300)
    written: list[tuple[float, float, int]] = []
    found = []
    for code in range(len(display.names)):
        mine = display.codes == code
        if not mine.any():
            continue
        name = style.shorten_name(display.names[code], 14)
        x, y = float(np.median(display.along[mine])), float(np.median(display.across[mine]))
        up = 0.0
        while any(
            abs(wide * x - a) < 0.35 * size * (len(name) + n) and abs(high * y + up - b) < 1.05 * size
            for a, b, n in written
        ):
            up += 0.35 * size
        written.append((wide * x, high * y + up, len(name)))
        found.append((x, y, up, name))
    return found


def _name_code(display: HyperplaneDisplay, code: int) -> str:
    name = "unlabelled" if code < 0 else style.shorten_name(display.names[code], 28)
    return f"{name} ({format_count(int(display.sizes[code]))})"


def _describe_depth(display: HyperplaneDisplay) -> str:
    at = "" if display.alpha is None else f",  α = {display.alpha:.3g}"
    if not math.isfinite(display.offset):
        return "no split" + at
    if display.relative_depth == 0.0:
        return "relative depth 0 (not between two modes)" + at
    return f"relative depth {style.format_number(display.relative_depth)}" + at


def _label_axes(display: HyperplaneDisplay, upper: Any, lower: Any, size: float, stacked: bool) -> None:
    border = 0.02 * (display.points[-1] - display.points[0])
    lower.set_xlim(display.points[0] - border, display.points[-1] + border)
    style.tidy_axes(upper, size, hidden=("top", "right"))
    style.tidy_axes(lower, size, hidden=("top", "right") if stacked else ("top", "left", "bottom"))
    bottom = lower if stacked else upper
    bottom.set_xlabel("projection on the normal v", fontsize=size, color=style.INK)
    upper.set_ylabel("density", fontsize=size, color=style.INK)
    upper.locator_params(axis="y", nbins=4)
    lower.locator_params(axis="y", nbins=5)
    bottom.locator_params(axis="x", nbins=7)
    if stacked:
        upper.tick_params(labelbottom=False)
    if display.across_direction is None:
        lower.set_yticks([])
        lower.set_ylim(-2.0, 2.0)
        lower.set_ylabel("random height", fontsize=size, color=style.INK)
    else:
        lower.set_ylabel("projection across v", fontsize=size, color=style.INK)


def _draw_note(display: HyperplaneDisplay, ax: Any, size: float, stacked: bool) -> None:
    """Say how many of the rows are shown, unless all are."""
    display.note_ = None
    n_shown = len(display.along)
    if n_shown == display.n_rows:
        return
    has_all_labels = (display.codes < 0).any() and (display.codes >= 0).sum() == display.sizes[:-1].sum()
    more = ", with all labels" if has_all_labels else ""
    display.note_ = ax.text(
        0.995, 0.02 if stacked else 0.985,
        f"{format_count(n_shown)} of {format_count(display.n_rows)} rows shown{more}",
        transform=ax.transAxes, ha="right", va="bottom" if stacked else "top", fontsize=max(size - 2.0, 6.0),
        color=style.INK, zorder=6, bbox={"fc": "white", "ec": "none", "alpha": 0.8, "pad": 1.5},
    )  # fmt: skip


def _draw_legends(display: HyperplaneDisplay, bottom: Any, size: float) -> None:
    """Draw two rows below the picture, where they cover nothing: the lines, if it is wide enough, and the labels."""
    from matplotlib.patches import Patch

    inches = style.measure_width(bottom)
    down = 14.0 + 2.6 * size  # below the ticks, their labels and the label of the axis
    if inches >= 4.0:
        handles = [display.density_line_, *([display.index_line_] if display.index_line_ else [])]
        if display.interval is not None:
            handles.append(Patch(fc=style.PALE, ec=style.GREY, ls="--", lw=0.8, label="F(v)"))
        handles += display.hyperplane_lines_[:1]
        _draw_legend(bottom, handles, down, size, ncols=4, handlelength=1.8)
        down += 1.9 * size
    if len(display.names) < 2 and not (display.codes < 0).any():
        return
    drawn = display.points_[:MAX_NAMES]
    longest = max(len(points.get_label()) for points in drawn)
    ncols = int(min(len(drawn), max(1, inches * 72.0 // (0.55 * size * (longest + 5)))))
    hidden = len(display.points_) - len(drawn)
    title = f"{hidden} more labels drawn" if hidden else None
    made = _draw_legend(bottom, drawn, down, size, ncols=ncols, handlelength=1.0, title=title)
    for handle in made.legend_handles:
        handle.set_alpha(1.0)
        handle.set_sizes([24.0])


def _draw_legend(ax: Any, handles: list[Any], down: float, size: float, **options: Any) -> Any:
    """Draw a legend ``down`` points below the axes, whatever their height, and keep those that are there."""
    from matplotlib.transforms import ScaledTranslation

    below = ScaledTranslation(0.0, -down / 72.0, ax.get_figure().dpi_scale_trans)
    made = ax.legend(
        handles=handles, loc="upper left", bbox_to_anchor=(0.0, 0.0), bbox_transform=ax.transAxes + below,
        frameon=False, fontsize=size - 1.0, title_fontsize=size - 1.0, labelcolor=style.INK, borderaxespad=0.0,
        borderpad=0.0, columnspacing=1.4, handletextpad=0.5, alignment="left", **options,
    )  # fmt: skip
    ax.legend_ = None  # otherwise the next legend would replace it
    ax.add_artist(made)
    made.set_clip_on(False)  # otherwise a layout engine would not make room for it
    return made
