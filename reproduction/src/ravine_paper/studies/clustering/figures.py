"""Figures of the clustering study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ravine_paper._typing import Array
from ravine_paper.studies.clustering.methods import ClusteringMethod
from ravine_paper.studies.clustering.tasks import Cells
from ravine_paper.studies.clustering.verdicts import MEASURES, make_score_matrix
from ravine_paper.studies.engine.drawing import BOX, HIGHLIGHT, INK, MEAN, create_figure, save_figure, style_axes

__all__ = ["draw_boxplots"]


def draw_boxplots(cells: Cells, sets: Sequence[str], methods: Sequence[ClusteringMethod], folder: Path) -> list[Path]:
    """Draw boxplots over the sets of performance and of regret, as in the paper's figure.

    Each point is a set, each diamond a mean. Regret is relative to the best of the paper's methods. Methods without a
    result on every set are omitted.
    """
    complete = [m for m in methods if not np.isnan(make_score_matrix(cells, sets, [m.name], 0)).any()]
    if not complete:
        return []
    rivals = [k for k, m in enumerate(complete) if m.in_paper] or list(range(len(complete)))
    paths = []
    for name, title in (
        ("performance.png", "Performance"),
        ("regret.png", "Regret: loss relative to the best of the paper's methods on a set"),
    ):
        of_regret = name == "regret.png"
        figure = create_figure(figsize=(9.0, 0.42 * len(complete) + 1.6))
        figure.suptitle(f"{title} ({len(sets)} sets)", fontsize=12, color=INK)
        for measure, axes in enumerate(figure.subplots(1, 2, sharey=True)):
            values = make_score_matrix(cells, sets, [m.name for m in complete], measure)
            if of_regret:
                values = np.maximum(values[:, rivals].max(axis=1, keepdims=True) - values, 0.0)
            _draw_boxes(axes, values, complete)
            axes.set_title(("Success ratio", "Binary V-measure")[measure], fontsize=10, color=INK)
            axes.set_xlabel(f"{'regret in ' if of_regret else ''}{MEASURES[measure]}")
        paths.append(save_figure(figure, folder / name))
    return paths


def _draw_boxes(axes: Any, values: Array, methods: Sequence[ClusteringMethod]) -> None:
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
    style_axes(axes, "x", "#dddddd")
