"""What the optimisers cost and how low they get: tables and a figure."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ravine._typing import Array
from ravine.studies.figures import BOX, HIGHLIGHT, INK, MEAN, new_figure, save
from ravine.studies.markdown import grid
from ravine.studies.optimisers import TITLES, Place, Runs

__all__ = ["Comparison", "compare", "draw_optimisers", "runs_csv", "runs_markdown"]

DEFAULT, PAPER = "lbfgs", "spherical"
# Log φ that differs by less is the same.
SAME = 1e-4
# In the order of TITLES; colour-blind readers can tell them apart, and the markers differ.
LOOKS = ((HIGHLIGHT, "o"), ("#56b4e9", "s"), (MEAN, "X"), ("#009e73", "^"), ("#cc79a7", "v"))


class Comparison:
    """The default against another optimiser, from the same starts.

    Attributes
    ----------
    places : list
        Sets, values of α and starts where both came to an end.
    ratio : ndarray
        Evaluations of the default over those of the other.
    lower : ndarray
        By how much the default's log φ is larger: negative where it is lower.
    """

    def __init__(self, default: Runs, other: Runs) -> None:
        self.places: list[Place] = [place for place in default.records if place in other.records]
        self.ratio = default.values("evaluations", self.places) / other.values("evaluations", self.places)
        self.lower = default.values("log_index", self.places) - other.values("log_index", self.places)

    def of_set(self, dataset: str) -> Array:
        """Ratios on one set."""
        return self.ratio[[place[0] == dataset for place in self.places]]


def compare(runs: Mapping[str, Runs], other: str = PAPER) -> Comparison | None:
    """The default against another optimiser; None if one of them is missing."""
    if not {DEFAULT, other} <= runs.keys() or not (runs[DEFAULT].records.keys() & runs[other].records.keys()):
        return None
    return Comparison(runs[DEFAULT], runs[other])


def runs_csv(runs: Mapping[str, Runs]) -> str:
    """One line for each run."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = ("evaluations", "iterations", "seconds", "log_index", "stationarity", "ended")
    writer.writerow(["set", "optimiser", "alpha", "start", *columns])
    for name, one in runs.items():
        for (dataset, alpha, start), record in one.records.items():
            values = (f"{v:.6g}" if isinstance(v := record[c], float) else v for c in columns)
            writer.writerow([dataset, name, alpha, start, *values])
    return out.getvalue()


def runs_markdown(runs: Mapping[str, Runs], sets: Sequence[str]) -> str:
    """The table, with what is claimed of the default, and its sets."""
    rows = {}
    for name, one in runs.items():
        if not one.records:
            rows[TITLES[name]] = ["0", one.problem, *[""] * 6]
            continue
        against = compare(runs, name) if name != DEFAULT else None
        rows[TITLES[name]] = [
            str(len(one.records)),
            f"{np.median(one.values('evaluations')):.0f}",
            f"{np.median(1.0 / against.ratio):.2f}" if against else "1",
            f"{1e3 * np.median(one.values('seconds')):.1f}",
            _shares(against) if against else "",
            f"{np.median(one.values('stationarity')):.1e}",
            f"{np.mean(one.values('stationarity') < 1e-2):.0%}",
            f"{np.mean(one.values('ended')):.0%}",
        ]
    columns = (
        "runs", "evaluations", "evaluations / default", "ms", "φ lower, equal, higher than default", "stationarity",
        "below 0.01", "ended by itself",
    )  # fmt: skip
    parts = [
        "# Optimisers\n",
        "Medians over sets, values of α and starts, all to the same tolerance; ratios are taken run by run. φ is equal "
        f"if it differs by less than {SAME:g} of itself. Stationarity is the norm of the smallest element of the "
        "sampled Clarke gradient of log φ, per radian.\n",
        grid("", columns, rows),
    ]
    against = compare(runs)
    if against:
        parts += ["## Statements\n", *_statements(against, sets), ""]
        parts += ["## Evaluations of the default over those of BFGS in spherical coordinates\n", _by_set(against, sets)]
    parts += [f"{TITLES[name]}: {one.problem}\n" for name, one in runs.items() if one.problem]
    return "\n".join(parts)


def _shares(against: Comparison) -> str:
    other = -against.lower
    return f"{np.mean(other < -SAME):.0%}, {np.mean(np.abs(other) <= SAME):.0%}, {np.mean(other > SAME):.0%}"


def _statements(against: Comparison, sets: Sequence[str]) -> list[str]:
    ratio, lower = float(np.median(against.ratio)), float(np.median(against.lower))
    by_set = float(np.median([np.median(r) for s in sets if len(r := against.of_set(s))]))
    fair = against.ratio[against.lower <= SAME]
    where_lower = float(np.median(fair)) if len(fair) else float("nan")
    words = [
        (
            ratio <= 0.5,
            f"the default needs at most half the evaluations: {ratio:.2f} (median of {len(against.ratio)} runs)",
        ),
        (by_set <= 0.5, f"the same with every set counted once: {by_set:.2f}"),
        (
            where_lower <= 0.5,
            f"the same where its φ is equal or lower ({len(fair)} runs): {where_lower:.2f}",
        ),
        (lower <= 0.0, f"at an equal or lower φ: median difference of log φ {lower:.1e}"),
    ]
    return [f"- {'yes' if holds else 'NO'}: {text}" for holds, text in words]


def _by_set(against: Comparison, sets: Sequence[str]) -> str:
    rows = {}
    for dataset in sets:
        ratios = against.of_set(dataset)
        if len(ratios):
            low, middle, high = np.quantile(ratios, [0.25, 0.5, 0.75])
            rows[dataset] = [f"{middle:.2f}", f"{low:.2f} to {high:.2f}"]
    return grid("", ("median", "quartiles"), rows)


# ----------------------------------------------------------------------------------------------- picture


def draw_optimisers(runs: Mapping[str, Runs], sets: Sequence[str], path: Path) -> Path | None:
    """Evaluations on every set, how far φ is above the lowest, and stationarity."""
    shown = {name: one for name, one in runs.items() if one.records}
    if not shown:
        return None
    looks = dict(zip(TITLES, LOOKS, strict=True))
    figure = new_figure(figsize=(12.0, 1.9 + 0.28 * max(len(sets), 6)))
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
    logs = np.array([one.values("log_index", common) for one in shown.values()])
    excess = np.maximum(logs - logs.min(axis=0), 1e-7) if common else logs
    _boxes(above, list(excess), shown, looks)
    above.set_xlabel(f"log φ above the lowest ({len(common)} runs)")
    _boxes(stationary, [np.maximum(o.values("stationarity"), 1e-7) for o in shown.values()], shown, looks)
    stationary.set_xlabel("smallest sampled gradient")
    for axes, title in ((by_set, "Cost"), (above, "How low"), (stationary, "How still")):
        axes.set_title(title, loc="left", fontsize=10, color=INK)
        axes.grid(axis="x", color="#e5e5e5", lw=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    handles, labels = by_set.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(handles), frameon=False, fontsize=8.5)
    save(figure, path)
    return path


def _boxes(axes: Any, values: Sequence[Array], shown: Mapping[str, Runs], looks: Mapping[str, tuple[str, str]]) -> None:
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
