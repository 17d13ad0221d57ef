"""The figures of the clustering study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._files import replace_file
from ravine.studies.claims import MEASURES, Cells, score_matrix
from ravine.studies.methods import Method

__all__ = ["draw_boxplots", "new_figure", "save"]

INK, BOX, HIGHLIGHT, MEAN = "#333333", "#c6dbef", "#0072b2", "#d55e00"


def new_figure(**options: Any) -> Any:
    """A matplotlib figure that belongs to no window."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained", **options)
    FigureCanvasAgg(figure)
    return figure


def save(figure: Any, path: Path) -> None:
    """Write a picture, whole or not at all."""
    with replace_file(path) as part:
        figure.savefig(part, dpi=150, facecolor="white")


def draw_boxplots(cells: Cells, sets: Sequence[str], methods: Sequence[Method], folder: Path) -> list[Path]:
    """Boxplots over the sets of performance and of regret, as in the paper's figure.

    A point is a set, a diamond the mean. Regret is that against the best of the paper's methods. Methods that could not
    be run on every set are left out.
    """
    complete = [m for m in methods if not np.isnan(score_matrix(cells, sets, [m.name], 0)).any()]
    if not complete:
        return []
    rivals = [k for k, m in enumerate(complete) if m.in_paper] or list(range(len(complete)))
    paths = []
    for name, title in (
        ("performance.png", "Performance"),
        ("regret.png", "Regret: what is lost against the best of the paper's methods on a set"),
    ):
        of_regret = name == "regret.png"
        figure = new_figure(figsize=(9.0, 0.42 * len(complete) + 1.6))
        figure.suptitle(f"{title} ({len(sets)} sets)", fontsize=12, color=INK)
        for measure, axes in enumerate(figure.subplots(1, 2, sharey=True)):
            values = score_matrix(cells, sets, [m.name for m in complete], measure)
            if of_regret:
                values = np.maximum(values[:, rivals].max(axis=1, keepdims=True) - values, 0.0)
            _boxes(axes, values, complete)
            axes.set_title(("Success ratio", "Binary V-measure")[measure], fontsize=10, color=INK)
            axes.set_xlabel(f"{'regret in ' if of_regret else ''}{MEASURES[measure]}")
        paths.append(folder / name)
        save(figure, paths[-1])
    return paths


def _boxes(axes: Any, values: NDArray[np.float64], methods: Sequence[Method]) -> None:
    places = np.arange(len(methods))[::-1]
    boxes = axes.boxplot(
        list(values.T), positions=places, orientation="horizontal", widths=0.62, showfliers=False, showmeans=True,
        patch_artist=True, medianprops={"color": INK, "lw": 1.6}, whiskerprops={"color": INK},
        capprops={"color": INK}, meanprops={"marker": "D", "mfc": MEAN, "mec": "white", "ms": 6},
    )  # fmt: skip
    for box, method in zip(boxes["boxes"], methods, strict=True):
        box.set(facecolor=HIGHLIGHT if method.name.startswith("mdp2") else BOX, edgecolor=INK, alpha=0.75)
    spread = np.linspace(-0.2, 0.2, len(values))
    for place, column in zip(places, values.T, strict=True):
        (points,) = axes.plot(column, place + spread, ".", color=INK, ms=4, alpha=0.55)
    axes.legend(
        [boxes["medians"][0], boxes["means"][0], points], ["median", "mean", "one set"], fontsize=8, frameon=False,
        loc="upper center", bbox_to_anchor=(0.5, -0.2 * 6 / (len(methods) + 4)), ncols=3,
    )  # fmt: skip
    axes.set_yticks(places, [m.title for m in methods])
    axes.set_xlim(-0.03, 1.03)
    axes.grid(axis="x", color="#dddddd", lw=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
