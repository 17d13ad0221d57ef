"""Figure of the bandwidth path: hyperplanes over the rows, margins and angles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ravine import Hyperplane
from ravine_paper._typing import Array
from ravine_paper.studies.engine.drawing import HIGHLIGHT, INK, MEAN, create_figure, save_figure, style_axes
from ravine_paper.studies.margin.tasks import Convergence

__all__ = ["draw_convergence"]

# Steps of the path whose hyperplanes are drawn.
DRAWN = (0, 1, 2, 4, 6)


def draw_convergence(found: Convergence, path: Path) -> Path:
    """Draw hyperplanes of decreasing bandwidth, their margins and their angles to the maximum margin."""
    from matplotlib import colormaps

    figure = create_figure(figsize=(13.0, 4.9))
    panels = figure.subplot_mosaic(
        [["whole", "near", "margin"], ["whole", "near", "degrees"]], width_ratios=[1.0, 1.0, 1.05]
    )
    drawn = [k for k in DRAWN if k < len(found.path.steps)]
    colours = {k: colormaps["plasma_r"](0.12 + 0.8 * i / max(len(drawn) - 1, 1)) for i, k in enumerate(drawn)}
    _draw_hyperplanes(panels["whole"], found, colours, np.zeros(2), 4.0, detail=False)
    support = found.X[found.limit.support_]
    _draw_hyperplanes(panels["near"], found, colours, support.mean(axis=0), 1.15, detail=True)
    panels["whole"].set_title("Minimum density hyperplanes, wide to narrow", loc="left", fontsize=10, color=INK)
    panels["near"].set_title("Close-up of the gap", loc="left", fontsize=10, color=INK)
    handles, labels = panels["whole"].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(handles), frameon=False, fontsize=8.5)
    h = found.path.bandwidths
    _draw_curve(panels["margin"], h, found.path.margins, colours)
    panels["margin"].axhline(found.limit.margin_, color=INK, lw=1.0, ls="--")
    panels["margin"].set_ylabel("margin")
    panels["margin"].set_ylim(0.0, 1.15 * found.limit.margin_)
    panels["margin"].tick_params(labelbottom=False)
    _draw_curve(panels["degrees"], h, np.maximum(found.degrees, 1e-12), colours)
    panels["degrees"].set(yscale="log", ylabel="angle (°)", xlabel="bandwidth h")
    panels["margin"].set_title("Margin, and angle to the maximum margin", loc="left", fontsize=10, color=INK)
    return save_figure(figure, path)


def _draw_hyperplanes(
    axes: Any, found: Convergence, colours: dict[int, Any], center: Array, reach: float, detail: bool
) -> None:
    plane = found.limit.hyperplane_
    side = plane.side(found.X) == 1
    for rows, colour, marker in ((found.X[side], HIGHLIGHT, "o"), (found.X[~side], MEAN, "^")):
        axes.scatter(*rows.T, s=26 if detail else 9, color=colour, alpha=0.55, lw=0, marker=marker, zorder=2)
    length = 4.0 * reach
    ends = _find_line(plane, center, length)
    band = plane.normal[:, None] * found.limit.margin_
    corners = np.concatenate([(ends + band).T, (ends - band).T[::-1]])
    axes.fill(*corners.T, color="#dddddd", alpha=0.7, lw=0, zorder=1)
    for k, colour in colours.items():
        step = found.path.steps[k]
        axes.plot(
            *_find_line(step.hyperplane, center, length),
            color=colour,
            lw=1.8,
            zorder=3,
            label=f"h = {step.bandwidth:.2g}",
        )
    axes.plot(*ends, color=INK, lw=1.6, ls=(0, (5, 3)), zorder=4, label="maximum margin")
    support = found.X[found.limit.support_]
    axes.scatter(*support.T, s=150 if detail else 60, facecolor="none", edgecolor=INK, lw=1.3, zorder=5,
                 label=f"{len(support)} support points")  # fmt: skip
    axes.set(xlim=center[0] + np.array([-reach, reach]), ylim=center[1] + np.array([-reach, reach]), aspect="equal")
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_color("#bbbbbb")


def _find_line(plane: Hyperplane, center: Array, length: float) -> Array:
    """Return two points of a line, as columns, on both sides of a center."""
    foot = center - (float(plane.normal @ center) - plane.offset) * plane.normal
    along = np.array([-plane.normal[1], plane.normal[0]])
    return np.asarray(foot[:, None] + along[:, None] * np.array([-length, length]))


def _draw_curve(axes: Any, h: Array, values: Array, colours: dict[int, Any]) -> None:
    axes.plot(h, values, color="#9a9a9a", lw=1.2, marker=".", ms=5, zorder=2)
    for k, colour in colours.items():
        axes.plot(h[k], values[k], "o", color=colour, ms=7.5, mec="white", mew=0.7, zorder=3)
    axes.set_xscale("log")
    axes.invert_xaxis()
    style_axes(axes)
