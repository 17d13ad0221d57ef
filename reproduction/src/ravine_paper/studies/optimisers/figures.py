"""Figure of the optimisers: cost, value of the index and stationarity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ravine_paper._typing import Array
from ravine_paper.studies.engine.drawing import BOX, HIGHLIGHT, INK, MEAN, create_figure, save_figure, style_axes
from ravine_paper.studies.optimisers.tasks import TITLES, Runs

__all__ = ["draw_optimisers"]

# In the order of TITLES; distinguishable for colour-blind readers, and with different markers.
LOOKS = ((HIGHLIGHT, "o"), ("#56b4e9", "s"), (MEAN, "X"), ("#009e73", "^"), ("#cc79a7", "v"))


def draw_optimisers(runs: Mapping[str, Runs], sets: Sequence[str], path: Path) -> Path | None:
    """Draw the evaluations on every set, the excess of φ over the lowest, and stationarity; None without results."""
    shown = {name: one for name, one in runs.items() if one.records}
    if not shown:
        return None
    looks = dict(zip(TITLES, LOOKS, strict=True))
    figure = create_figure(figsize=(12.0, 1.9 + 0.28 * max(len(sets), 6)))
    by_set, above, stationary = figure.subplots(1, 3, width_ratios=[1.45, 1.0, 1.0])
    places = np.arange(len(sets))[::-1]
    for name, one in shown.items():
        colour, marker = looks[name]
        of = [np.array([r["evaluations"] for p, r in one.records.items() if p[0] == s], dtype=float) for s in sets]
        medians = [np.median(v) if len(v) else np.nan for v in of]
        by_set.plot(medians, places, marker, color=colour, ms=7, mec="white", mew=0.6, label=TITLES[name])
    by_set.set_yticks(places, sets)
    by_set.set_xscale("log")
    by_set.set_xlabel("evaluations of the index (median)")
    by_set.grid(axis="y", color="#eeeeee", lw=0.6)
    common = [place for place in next(iter(shown.values())).records if all(place in o.records for o in shown.values())]
    logs = np.array([one.get_values("log_index", common) for one in shown.values()])
    excess = np.maximum(logs - logs.min(axis=0), 1e-7) if common else logs
    _draw_boxes(above, list(excess), shown, looks)
    above.set_xlabel(f"log φ above the lowest ({len(common)} runs)")
    _draw_boxes(stationary, [np.maximum(o.get_values("stationarity"), 1e-7) for o in shown.values()], shown, looks)
    stationary.set_xlabel("norm of the smallest sampled gradient")
    for axes, title in ((by_set, "Cost"), (above, "Value"), (stationary, "Stationarity")):
        axes.set_title(title, loc="left", fontsize=10, color=INK)
        style_axes(axes, "x")
    handles, labels = by_set.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(handles), frameon=False, fontsize=8.5)
    return save_figure(figure, path)


def _draw_boxes(
    axes: Any, values: Sequence[Array], shown: Mapping[str, Runs], looks: Mapping[str, tuple[str, str]]
) -> None:
    places = np.arange(len(values))[::-1]
    boxes = axes.boxplot(
        list(values), positions=places, orientation="horizontal", widths=0.55, patch_artist=True,
        medianprops={"color": INK, "lw": 1.8}, whiskerprops={"color": INK}, capprops={"color": INK},
        flierprops={"marker": ".", "ms": 3, "mfc": "#999999", "mec": "none"},
    )  # fmt: skip
    for box, name in zip(boxes["boxes"], shown, strict=True):
        box.set(facecolor=looks[name][0] if name in looks else BOX, edgecolor=INK, alpha=0.75)
    axes.set_xscale("log")
    axes.set_yticks([])
