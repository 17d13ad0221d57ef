"""Figures of the paper on S1: partitions of both methods, and the index over the angle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ravine_paper._typing import Array
from ravine_paper.studies.engine.drawing import HIGHLIGHT, INK, MEAN, create_figure, save_figure, style_axes
from ravine_paper.studies.s1.report import MOST_LISTED
from ravine_paper.studies.s1.solutions import Ends, Scan
from ravine_paper.studies.s1.variants import METHODS

__all__ = ["draw_index", "draw_partitions"]

COLOURS = {"sqp": MEAN, "mdp2": HIGHLIGHT}


def draw_partitions(found: Mapping[str, Ends | str], X: Array, path: Path) -> Path:
    """Draw the hyperplanes of all starts over the standardised rows, for both methods."""
    shown = _select_finished(found)
    figure = create_figure(figsize=(5.2 * len(shown), 5.9))
    low, high = X.min(axis=0) - 0.25, X.max(axis=0) + 0.25
    for axes, (name, ends) in zip(np.atleast_1d(figure.subplots(1, len(shown))), shown.items(), strict=True):
        axes.scatter(*X.T, s=3, color="#9a9a9a", alpha=0.35, lw=0, rasterized=True)
        ranks, solutions = ends.rank_minima(), ends.group_starts()
        for group in reversed(solutions):
            k = group[0]
            is_global = ranks[k] == 0
            line = _clip_line(ends.angles[k], ends.offsets[k], low, high)
            width = 0.8 + 5.0 * len(group) / max(len(g) for g in solutions)
            axes.plot(*line, color=INK if is_global else COLOURS[name], lw=width, alpha=0.9 if is_global else 0.6,
                      solid_capstyle="butt", zorder=3)  # fmt: skip
            end = line[:, int(np.argmax(line[1] + 1e-3 * line[0]))]
            if len(solutions) <= MOST_LISTED:
                axes.annotate(str(len(group)), end, textcoords="offset points", xytext=_point_inwards(end, low, high),
                              ha="center", va="center", fontsize=9, color=INK, zorder=5,
                              bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5, "alpha": 0.85})  # fmt: skip
        words = f"{METHODS[name].title}: {len(solutions)} solutions from {len(ends.angles)} starts\n"
        words += f"median SR {np.median(ends.success):.3f}, lowest {ends.success.min():.3f}; "
        words += f"global minimum {int(np.sum(ranks == 0))} times (black)"
        axes.set_title(words, loc="left", fontsize=10, color=INK)
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xticks=[], yticks=[], aspect="equal")
        axes.spines[:].set_color("#bbbbbb")
    figure.get_layout_engine().set(h_pad=0.16)  # titles of two lines need more space than the layout gives them
    figure.supxlabel("S1, standardised; each line is a solution, wider if more frequent", fontsize=9, color=INK)
    return save_figure(figure, path)


def draw_index(found: Mapping[str, Ends | str], path: Path) -> Path:
    """Draw the index over the angle with the solutions of both methods, and histograms of their angles."""
    shown = _select_finished(found)
    scan = next(iter(shown.values())).scan
    figure = create_figure(figsize=(9.5, 7.0))
    upper, *lower = figure.subplots(1 + len(shown), 1, sharex=True, height_ratios=[3.2] + [1.0] * len(shown))
    _draw_scan(upper, scan)
    for name, ends in shown.items():
        of = [group[0] for group in ends.group_starts()]
        sizes = np.array([len(group) for group in ends.group_starts()])
        marker = {"marker": "o"} if name == "mdp2" else {"marker": "X"}
        upper.scatter(ends.angles[of], ends.densities[of], s=26 + 260 * sizes / sizes.max(), color=COLOURS[name],
                      alpha=0.75, lw=0.8, edgecolor="white", zorder=4 if name == "mdp2" else 3,
                      label=f"{METHODS[name].title}: {len(of)} solutions", **marker)  # fmt: skip
    upper.set_ylabel("density on the hyperplane")
    legend = upper.legend(fontsize=9, frameon=False, loc="upper left", bbox_to_anchor=(0.0, 1.12), ncols=4)
    for handle in legend.legend_handles:
        if hasattr(handle, "set_sizes"):
            handle.set_sizes([60])
    most = max(int(np.histogram(e.angles, bins=90, range=(0.0, np.pi))[0].max()) for e in shown.values())
    for axes, (name, ends) in zip(lower, shown.items(), strict=True):
        axes.hist(ends.angles, bins=90, range=(0.0, np.pi), color=COLOURS[name], alpha=0.85)
        axes.set_ylabel("starts")
        axes.set_ylim(0, 1.12 * most)
        axes.text(0.008, 0.88, METHODS[name].title, transform=axes.transAxes, va="top", fontsize=10, color=INK)
        axes.axvline(scan.angles[scan.minima[0]], color=INK, lw=0.8, ls=":", zorder=0)
    lower[-1].set_xlabel("angle of the direction v")
    lower[-1].set_xticks(np.pi * np.arange(5) / 4, ["0", "π/4", "π/2", "3π/4", "π"])
    lower[-1].set_xlim(0.0, np.pi)
    for axes in (upper, *lower):
        style_axes(axes, "x")
    return save_figure(figure, path)


def _draw_scan(axes: Any, scan: Scan) -> None:
    axes.plot(scan.angles, scan.index, color=INK, lw=1.4, label="projection index φ", zorder=2)
    lowest = scan.minima[0]
    axes.axvline(scan.angles[lowest], color=INK, lw=0.8, ls=":", zorder=0)
    axes.annotate("global minimum", (scan.angles[lowest], scan.index[lowest]), textcoords="offset points",
                  xytext=(0, -24), ha="center", fontsize=9, color=INK,
                  bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5})  # fmt: skip
    axes.set_ylim(0.35 * scan.index[lowest], None)


def _select_finished(found: Mapping[str, Ends | str]) -> dict[str, Ends]:
    return {name: ends for name in METHODS if not isinstance(ends := found[name], str)}


def _clip_line(angle: float, offset: float, low: Array, high: Array) -> Array:
    """Return the part of a line within a box, as two points (columns)."""
    normal = np.array([np.cos(angle), np.sin(angle)])
    along, point = np.array([-normal[1], normal[0]]), offset * normal
    near, far = -np.inf, np.inf
    for k in range(2):
        if abs(along[k]) > 1e-12:
            ends = sorted([(low[k] - point[k]) / along[k], (high[k] - point[k]) / along[k]])
            near, far = max(near, ends[0]), min(far, ends[1])
    return np.asarray(point[:, None] + along[:, None] * np.array([near, far]))


def _point_inwards(end: Sequence[float] | Array, low: Array, high: Array) -> tuple[float, float]:
    """Return a shift from the edge of a box towards its middle, in points."""
    if abs(end[1] - high[1]) < 1e-9 or abs(end[1] - low[1]) < 1e-9:
        return (0.0, -10.0 if end[1] > 0 else 10.0)
    return (-12.0 if end[0] > 0 else 12.0, 0.0)
