"""The paper's figures 7 and 8: error against the number of labels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine.studies.figures import INK, new_figure, save
from ravine.studies.label_methods import LabelMethod
from ravine.studies.label_report import mean_ranks
from ravine.studies.label_verdicts import Errors
from ravine.studies.semisupervised import BINARY, MULTI_CLASS, label_counts

__all__ = ["PICTURES", "draw_errors", "draw_ranks"]

# Names of all pictures that a run may make.
PICTURES = ("two-classes.png", "more-classes.png", "ranks.png")

# Colour (safe for colour-blind readers), marker and line of each method.
LOOKS = {
    "ravine": ("#000000", "D", "-"),
    "mdp2": ("#0072b2", "^", "-"),
    "lapsvm": ("#d55e00", "o", "-"),
    "sssl": ("#009e73", "s", "-"),
    "xnv": ("#cc79a7", "P", "-"),
    "tsvm": ("#e69f00", "v", "--"),
    "linear-svc": ("#777777", "x", ":"),
    "self-training": ("#56b4e9", "*", ":"),
    "label-spreading": ("#999933", "<", ":"),
}
# Methods whose quartiles are shaded: more would hide each other.
SHADED = ("ravine", "mdp2")
# Methods that may leave the picture: at times so much worse that the others could not be told apart.
MAY_LEAVE = ("xnv", "label-spreading")
# They do if they need more than this times the height of all others.
MOST_ROOM = 1.5
# No panel ends below this many per cent: else differences of single rows would look large.
LEAST_TOP = 5.0


def draw_errors(errors: Errors, methods: Sequence[LabelMethod], folder: Path) -> list[Path]:
    """Median error of every method against the number of labels, a panel for each set, with some quartiles shaded."""
    paths = []
    shaded = " and ".join(m.title.split(",")[0] for m in methods if m.name in SHADED)
    for name, title, sets in (
        (PICTURES[0], "Sets of two classes", BINARY),
        (PICTURES[1], "Pairs of classes of sets with more", MULTI_CLASS),
    ):
        shown = [s for s in sets if any(key[0] == s for key in errors)]
        if not shown:
            continue
        figure = new_figure(figsize=(9.0, 3.3 * ((len(shown) + 1) // 2) + 0.9))
        note = f"\nshaded: quartiles of {shaded}; those of all methods are in errors.csv" if shaded else ""
        figure.suptitle(f"{title}: median error on the unlabelled rows{note}", fontsize=11, color=INK)
        panels = np.atleast_1d(figure.subplots((len(shown) + 1) // 2, min(2, len(shown)))).ravel()
        for axes, dataset in zip(panels, shown, strict=False):
            _panel(axes, errors, methods, dataset)
        for axes in panels[len(shown) :]:
            axes.set_axis_off()
        lines, labels = panels[0].get_legend_handles_labels()
        figure.legend(lines, labels, loc="outside lower center", ncols=5, frameon=False, fontsize=8)
        paths.append(folder / name)
        save(figure, paths[-1])
    return paths


def _panel(axes: Any, errors: Errors, methods: Sequence[LabelMethod], dataset: str) -> None:
    counts = label_counts(dataset)
    quartiles = {
        m.name: np.array([np.percentile(errors[dataset, n, m.name], [25, 50, 75]) for n in counts]) for m in methods
    }
    for method in methods:
        colour, marker, style = LOOKS[method.name]
        low, middle, high = quartiles[method.name].T
        axes.plot(counts, middle, style, color=colour, marker=marker, ms=5, lw=1.4, label=method.title)
        if method.name in SHADED:
            axes.fill_between(counts, low, high, color=colour, alpha=0.13, lw=0)
    top = axes_top(quartiles)
    outside = [
        f"{m.title} (up to {np.nanmax(quartiles[m.name][:, 1]):.0f} %)"
        for m in methods
        if (quartiles[m.name][:, 1] > top).any()
    ]
    if outside:
        axes.text(
            0.5, 1.015, f"above the picture: {', '.join(outside)}", transform=axes.transAxes, ha="center", va="bottom",
            fontsize=7.5, color="#666666",
        )  # fmt: skip
    n_problems, n_splits = errors[dataset, counts[0], methods[0].name].shape
    pairs = "" if dataset in BINARY else f"{n_problems} {'pair' if n_problems == 1 else 'pairs'} of classes, "
    splits = f"{n_splits} {'split' if n_splits == 1 else 'splits'}"
    axes.set_title(f"{dataset} ({pairs}{splits}{'' if dataset in BINARY else ' each'})", fontsize=10, color=INK, pad=15)
    axes.set_xscale("log")
    axes.set_xticks(counts, [str(n) for n in counts])
    axes.minorticks_off()
    axes.set_ylim(-0.025 * top, top)  # lines at zero are seen
    axes.set_xlabel("labelled rows")
    axes.set_ylabel("error (%)")
    axes.grid(color="#dddddd", lw=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def axes_top(quartiles: Mapping[str, NDArray[np.float64]]) -> float:
    """Upper end of a panel, from lower quartiles, medians and upper quartiles (columns) of each method."""
    highest = {
        name: float(np.nanmax(table[:, 2 if name in SHADED else 1], initial=0.0)) for name, table in quartiles.items()
    }
    needed = max((high for name, high in highest.items() if name not in MAY_LEAVE), default=math.inf)
    return max(LEAST_TOP, 1.08 * max(high for high in highest.values() if high <= MOST_ROOM * needed) + 0.2)


def draw_ranks(errors: Errors, methods: Sequence[LabelMethod], folder: Path) -> Path:
    """Mean ranks, best on top, with a band as wide as the critical difference."""
    ranks, critical = mean_ranks(errors, methods)
    order = np.argsort(ranks)
    first = float(ranks[order[0]])
    figure = new_figure(figsize=(9.0, 0.34 * len(methods) + 1.4))
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
    band = "" if critical is None else f"; in the band ({critical:.2f} wide) a method cannot be told from the first"
    axes.set_title(f"Mean rank over {n_sets} {'set' if n_sets == 1 else 'sets'}{band}", fontsize=10, color=INK)
    axes.set_xlim(1.0, len(methods) + 0.3)
    axes.set_xticks(range(1, len(methods) + 1))
    axes.set_xlabel(f"mean rank (1: lowest median error, {len(methods)}: highest)")
    axes.set_ylim(len(methods) - 0.5, -0.5)
    axes.set_yticks(range(len(methods)), [methods[k].title for k in order])
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right"]].set_visible(False)
    path = folder / PICTURES[2]
    save(figure, path)
    return path
