"""Figures of docs/evidence.md: `python benchmarks/evidence.py figures`."""

from __future__ import annotations

import itertools
import statistics
from typing import Any

import numpy as np

from evidence_tables import select_verdicts
from problems import AXES, BASE, list_designs, name_design, name_nulls
from ravine.plotting.style import COLOURS, GREY, INK, MARKERS, PALE, import_pyplot, tidy_axes
from results import Results
from rivals import LEVEL, TESTS
from trees import NULLS

__all__ = ["draw_nulls", "draw_power"]

TEXT_SIZE = 9.0
LABELS = {
    "rows": "rows",
    "features": "features",
    "separation": "separation, standard deviations",
    "share": "share of the smaller cluster",
    "nuisance": "standard deviation of a feature without clusters",
}


def _choose_style(method: str) -> dict[str, Any]:
    """Return colour, marker and width of a method: those of ravine are drawn strong."""
    ours = method.startswith("valley")
    others = [name for name in TESTS if not name.startswith("valley")]
    k = (0 if method == "valley, pooled" else len(COLOURS) - 1) if ours else 1 + others.index(method)
    return {
        "color": COLOURS[k],
        "marker": MARKERS[k],
        "linestyle": "-" if ours else "--",
        "linewidth": 2.2 if ours else 1.2,
        "markersize": 6.5,
        "markerfacecolor": COLOURS[k] if ours else "none",
        "zorder": 3 if ours else 2,
    }


def draw_power(results: Results, n_fits: int) -> Any:
    """Draw power against the axes of the designs; each panel varies one, from the same design."""
    figure, panels = import_pyplot().subplots(2, 3, figsize=(12.0, 6.6), sharey=True, layout="constrained")
    for place, (ax, axis) in enumerate(zip(panels.flat, AXES, strict=False)):
        _draw_curves(ax, axis, results, n_fits)
        ax.axvline(BASE[place], color=PALE, linewidth=4.0, zorder=0)
    for ax in panels[:, 0]:
        ax.set_ylabel("power at 5 %", fontsize=TEXT_SIZE, color=INK)
    panels[-1, -1].axis("off")
    panels[-1, -1].legend(*panels[0, 0].get_legend_handles_labels(), loc="center", frameon=False, fontsize=TEXT_SIZE)
    return figure


def _draw_curves(ax: Any, axis: str, results: Results, n_fits: int) -> None:
    names = [name_design(design) for design in list_designs(axis)]
    for method in TESTS:
        found = [select_verdicts(results, "power", [name], method, n_fits) for name in names]
        points = [(x, statistics.fmean(y)) for x, y in zip(AXES[axis], found, strict=True) if y]
        ax.plot(*zip(*points, strict=True), label=method, clip_on=False, **_choose_style(method))
    if axis not in ("separation", "nuisance"):
        ax.set_xscale("log")
        ax.xaxis.set_minor_locator(import_pyplot().NullLocator())
    ax.set_xticks(AXES[axis], [f"{100 * x:g} %" if axis == "share" else f"{x:g}" for x in AXES[axis]])
    if axis == "share":
        ax.invert_xaxis()
    ax.set_ylim(0.0, 1.0)
    ax.set_yticks([0.0, 0.25, 0.5, 0.75, 1.0], ["0", "25 %", "50 %", "75 %", "100 %"])
    ax.axhline(LEVEL, color=GREY, linewidth=0.8, linestyle=":")
    ax.set_xlabel(LABELS[axis], fontsize=TEXT_SIZE, color=INK)
    tidy_axes(ax, TEXT_SIZE)


def draw_nulls(results: Results, n_fits: int) -> Any:
    """Draw the share of false splits of each test in each unimodal family, in shades of one colour."""
    plt = import_pyplot()
    shares = np.full((len(NULLS), len(TESTS)), np.nan)
    for (i, family), (j, method) in itertools.product(enumerate(NULLS), enumerate(TESTS)):
        found = select_verdicts(results, "nulls", name_nulls([family]), method, n_fits)
        if found:
            shares[i, j] = statistics.fmean(found)
    figure, ax = plt.subplots(figsize=(9.0, 1.2 + 0.28 * len(NULLS)), layout="constrained")
    ax.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
    for (i, j), share in np.ndenumerate(shares):
        if not np.isnan(share):
            # More than the level is bold: colour is never needed.
            weight, colour = ("bold" if share > LEVEL else "normal"), ("#ffffff" if share > 0.6 else INK)
            ax.text(j, i, f"{100 * share:.0f} %", ha="center", va="center", size=TEXT_SIZE, weight=weight, color=colour)
    ax.set_xticks(range(len(TESTS)), [name.replace(", ", ",\n") for name in TESTS])
    ax.set_yticks(range(len(NULLS)), list(NULLS))
    tidy_axes(ax, TEXT_SIZE, hidden=("top", "right", "bottom", "left"))
    ax.tick_params(length=0, top=False, labeltop=True, bottom=False, labelbottom=False)
    ax.axvline(sum(name.startswith("valley") for name in TESTS) - 0.5, color="#ffffff", linewidth=4.0)
    return figure
