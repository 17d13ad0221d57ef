"""Figures 7 and 8 of the paper: error against the number of labels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ravine_paper._typing import Array
from ravine_paper.studies.engine.drawing import INK, create_figure, save_figure, style_axes
from ravine_paper.studies.engine.formats import format_count
from ravine_paper.studies.semi_supervised.methods import LabelMethod
from ravine_paper.studies.semi_supervised.report import compute_mean_ranks
from ravine_paper.studies.semi_supervised.tasks import BINARY, MULTI_CLASS, count_labels
from ravine_paper.studies.semi_supervised.verdicts import Errors

__all__ = ["FIGURES", "choose_top", "draw_errors", "draw_ranks"]

# File names of all figures.
FIGURES = ("two-classes.png", "more-classes.png", "ranks.png")

# Colour (safe for colour-blind readers), marker and line of each method.
LOOKS = {
    "ravine": ("#000000", "D", "-"),
    "mdp2": ("#0072b2", "^", "-"),
    "lapsvm": ("#d55e00", "o", "-"),
    "sssl": ("#009e73", "s", "-"),
    "xnv": ("#cc79a7", "P", "-"),
    "tsvm": ("#e69f00", "v", "--"),
    "linear-svc": ("#777777", "x", ":"),
    "shrinkage-lda": ("#882255", "+", ":"),
    "boosting": ("#44aa99", ">", ":"),
    "self-training": ("#56b4e9", "*", ":"),
    "label-spreading": ("#999933", "<", ":"),
}
# Methods whose quartiles are shaded; more would overlap.
SHADED = ("ravine", "mdp2")
# Methods that may exceed a panel: their errors can be so large that the others would be indistinguishable.
MAY_EXCEED = ("xnv", "boosting", "label-spreading")
# They exceed it if they need more than this times the height of all others.
MAX_HEIGHT = 1.5
# Lowest upper end of a panel, in per cent: differences of single rows would look large otherwise.
MIN_TOP = 5.0


def draw_errors(errors: Errors, methods: Sequence[LabelMethod], folder: Path) -> list[Path]:
    """Draw median errors against the number of labels, one panel for each set, with some quartiles shaded."""
    paths = []
    shaded = " and ".join(m.title.split(",")[0] for m in methods if m.name in SHADED)
    for name, title, sets in (
        (FIGURES[0], "Sets of two classes", BINARY),
        (FIGURES[1], "Pairs of classes of sets with more", MULTI_CLASS),
    ):
        shown = [s for s in sets if any(key[0] == s for key in errors)]
        if not shown:
            continue
        figure = create_figure(figsize=(9.0, 3.3 * ((len(shown) + 1) // 2) + 0.9))
        note = f"\nshaded: quartiles of {shaded}; those of all methods are in errors.csv" if shaded else ""
        figure.suptitle(f"{title}: median error on the unlabelled rows{note}", fontsize=11, color=INK)
        panels = np.atleast_1d(figure.subplots((len(shown) + 1) // 2, min(2, len(shown)))).ravel()
        for axes, dataset in zip(panels, shown, strict=False):
            _draw_panel(axes, errors, methods, dataset)
        for axes in panels[len(shown) :]:
            axes.set_axis_off()
        lines, labels = panels[0].get_legend_handles_labels()
        figure.legend(lines, labels, loc="outside lower center", ncols=5, frameon=False, fontsize=8)
        paths.append(save_figure(figure, folder / name))
    return paths


def _draw_panel(axes: Any, errors: Errors, methods: Sequence[LabelMethod], dataset: str) -> None:
    counts = count_labels(dataset)
    quartiles = {
        m.name: np.array([np.percentile(errors[dataset, n, m.name], [25, 50, 75]) for n in counts]) for m in methods
    }
    for method in methods:
        colour, marker, style = LOOKS[method.name]
        low, middle, high = quartiles[method.name].T
        axes.plot(counts, middle, style, color=colour, marker=marker, ms=5, lw=1.4, label=method.title)
        if method.name in SHADED:
            axes.fill_between(counts, low, high, color=colour, alpha=0.13, lw=0)
    top = choose_top(quartiles)
    outside = [
        f"{m.title} (up to {np.nanmax(quartiles[m.name][:, 1]):.0f} %)"
        for m in methods
        if (quartiles[m.name][:, 1] > top).any()
    ]
    if outside:
        axes.text(
            0.5, 1.015, f"outside the panel: {', '.join(outside)}", transform=axes.transAxes, ha="center", va="bottom",
            fontsize=7.5, color="#666666",
        )  # fmt: skip
    n_problems, n_splits = errors[dataset, counts[0], methods[0].name].shape
    pairs = "" if dataset in BINARY else f"{format_count(n_problems, 'pair')} of classes, "
    splits = format_count(n_splits, "split")
    axes.set_title(f"{dataset} ({pairs}{splits}{'' if dataset in BINARY else ' each'})", fontsize=10, color=INK, pad=15)
    axes.set_xscale("log")
    axes.set_xticks(counts, [str(n) for n in counts])
    axes.minorticks_off()
    axes.set_ylim(-0.025 * top, top)  # keeps lines at zero visible
    axes.set_xlabel("labelled rows")
    axes.set_ylabel("error (%)")
    style_axes(axes, colour="#dddddd")


def choose_top(quartiles: Mapping[str, Array]) -> float:
    """Choose the upper end of a panel from lower quartiles, medians and upper quartiles (columns) of each method."""
    highest = {
        name: float(np.nanmax(table[:, 2 if name in SHADED else 1], initial=0.0)) for name, table in quartiles.items()
    }
    needed = max((high for name, high in highest.items() if name not in MAY_EXCEED), default=math.inf)
    return max(MIN_TOP, 1.08 * max(high for high in highest.values() if high <= MAX_HEIGHT * needed) + 0.2)


def draw_ranks(errors: Errors, methods: Sequence[LabelMethod], folder: Path) -> Path:
    """Draw mean ranks, best on top, with a band as wide as the critical difference."""
    ranks, critical = compute_mean_ranks(errors, methods)
    order = np.argsort(ranks)
    first = float(ranks[order[0]])
    figure = create_figure(figsize=(9.0, 0.34 * len(methods) + 1.4))
    axes = figure.subplots()
    if critical is not None:
        axes.axvspan(first, first + critical, color="#e8f1f8", lw=0, zorder=0)
    for place, k in enumerate(order):
        colour, marker, _ = LOOKS[methods[k].name]
        axes.plot([1.0, ranks[k]], [place, place], color="#bbbbbb", lw=1, zorder=1)
        axes.plot(ranks[k], place, marker, color=colour, ms=8, zorder=2)
        axes.annotate(
            f"{ranks[k]:.2f}", (ranks[k], place), xytext=(9, 0), textcoords="offset points", va="center", fontsize=9,
            color=INK,
        )  # fmt: skip
    n_sets = len({key[0] for key in errors})
    band = (
        ""
        if critical is None
        else f"; methods in the band ({critical:.2f} wide) do not differ significantly from the first"
    )
    axes.set_title(f"Mean rank over {format_count(n_sets, 'set')}{band}", fontsize=10, color=INK)
    axes.set_xlim(1.0, len(methods) + 0.3)
    axes.set_xticks(range(1, len(methods) + 1))
    axes.set_xlabel(f"mean rank (1: lowest median error, {len(methods)}: highest)")
    axes.set_ylim(len(methods) - 0.5, -0.5)
    axes.set_yticks(range(len(methods)), [methods[k].title for k in order])
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right"]].set_visible(False)
    return save_figure(figure, folder / FIGURES[2])
