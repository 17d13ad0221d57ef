"""The paper's figures 7 and 8: error against the number of labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ravine.experiments.figures import INK, new_figure, save
from ravine.experiments.label_methods import LabelMethod
from ravine.experiments.label_report import Errors, mean_ranks
from ravine.experiments.semisupervised import BINARY, MULTI_CLASS, label_counts

__all__ = ["draw_errors", "draw_ranks"]

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


def draw_errors(errors: Errors, methods: Sequence[LabelMethod], folder: Path) -> list[Path]:
    """Median error of every method against the number of labels, a panel for each set, with some quartiles shaded."""
    paths = []
    for name, title, sets in (
        ("two-classes.png", "Sets of two classes", BINARY),
        ("more-classes.png", "Pairs of classes of sets with more", MULTI_CLASS),
    ):
        shown = [s for s in sets if any(key[0] == s for key in errors)]
        if not shown:
            continue
        figure = new_figure(figsize=(9.0, 3.3 * ((len(shown) + 1) // 2) + 0.9))
        figure.suptitle(f"{title}: error on the unlabelled rows", fontsize=12, color=INK)
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
    top = 0.0
    for method in methods:
        colour, marker, style = LOOKS[method.name]
        quartiles = np.array([np.percentile(errors[dataset, n, method.name], [25, 50, 75]) for n in counts])
        axes.plot(counts, quartiles[:, 1], style, color=colour, marker=marker, ms=5, lw=1.4, label=method.title)
        if method.name in SHADED:
            axes.fill_between(counts, quartiles[:, 0], quartiles[:, 2], color=colour, alpha=0.13, lw=0)
        if method.name not in (
            "xnv",
            "label-spreading",
        ):  # much worse at times, which would hide the rest
            top = max(top, float(np.nanmax(quartiles[:, 1], initial=0.0)))
    axes.set_title(dataset, fontsize=10, color=INK)
    axes.set_xscale("log")
    axes.set_xticks(counts, [str(n) for n in counts])
    axes.minorticks_off()
    axes.set_ylim(0.0, 1.25 * top + 0.5)
    axes.set_xlabel("labelled rows")
    axes.set_ylabel("error (%)")
    axes.grid(color="#dddddd", lw=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def draw_ranks(errors: Errors, methods: Sequence[LabelMethod], folder: Path) -> Path:
    """Mean ranks on a line, best on the left, with a bar as long as the critical difference."""
    ranks, critical = mean_ranks(errors, methods)
    order = np.argsort(ranks)
    figure = new_figure(figsize=(8.0, 0.36 * len(methods) + 1.5))
    axes = figure.subplots()
    for place, k in enumerate(order):
        colour, marker, _ = LOOKS[methods[k].name]
        axes.plot([ranks[order[0]], ranks[k]], [place, place], color="#dddddd", lw=1, zorder=1)
        axes.plot(ranks[k], place, marker, color=colour, ms=8, zorder=2)
        axes.text(ranks[k] + 0.12, place, f"{methods[k].title}  {ranks[k]:.2f}", va="center", fontsize=9, color=INK)
    axes.axvspan(ranks[order[0]], ranks[order[0]] + critical, color="#0072b2", alpha=0.1, lw=0)
    axes.set_title(
        f"Mean rank over the sets; within the band ({critical:.1f}) a method cannot be told from the first",
        fontsize=10, color=INK,
    )  # fmt: skip
    axes.set_xlim(ranks.min() - 0.3, max(ranks.max() + 2.2, ranks.min() + critical + 0.3))
    axes.set_ylim(len(methods) - 0.4, -0.6)
    axes.set_yticks([])
    axes.spines[["top", "right", "left"]].set_visible(False)
    path = folder / "ranks.png"
    save(figure, path)
    return path
