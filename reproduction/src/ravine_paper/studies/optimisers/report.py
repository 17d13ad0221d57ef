"""Tables of the optimisers: cost, value of the index and stationarity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ravine_paper._typing import Array
from ravine_paper.studies.engine.claims import Claim, list_claims
from ravine_paper.studies.engine.formats import format_csv, format_markdown_table
from ravine_paper.studies.optimisers.tasks import TITLES, Place, Runs

__all__ = ["OptimiserComparison", "compare_with_default", "format_runs_csv", "format_runs_markdown"]

DEFAULT, PAPER = "lbfgs", "spherical"
# Values of log φ that differ by less are equal.
SAME = 1e-4


class OptimiserComparison:
    """Comparison of the default with another optimiser, from the same starts.

    Attributes
    ----------
    places : list
        Sets, values of α and starts that both finished.
    ratio : ndarray
        Evaluations of the default divided by those of the other.
    excess : ndarray
        Log φ of the default minus that of the other: negative where the default is lower.
    """

    def __init__(self, default: Runs, other: Runs) -> None:
        self.places: list[Place] = [place for place in default.records if place in other.records]
        self.ratio = default.get_values("evaluations", self.places) / other.get_values("evaluations", self.places)
        self.excess = default.get_values("log_index", self.places) - other.get_values("log_index", self.places)

    def get_ratios(self, dataset: str) -> Array:
        """Return the ratios on one set."""
        return self.ratio[[place[0] == dataset for place in self.places]]


def compare_with_default(runs: Mapping[str, Runs], other: str = PAPER) -> OptimiserComparison | None:
    """Compare the default with another optimiser; None if they have no run in common."""
    if not {DEFAULT, other} <= runs.keys() or not (runs[DEFAULT].records.keys() & runs[other].records.keys()):
        return None
    return OptimiserComparison(runs[DEFAULT], runs[other])


def format_runs_csv(runs: Mapping[str, Runs]) -> str:
    """Return a CSV file with one line for each run."""
    columns = ("evaluations", "iterations", "seconds", "log_index", "stationarity", "ended")
    rows = []
    for name, one in runs.items():
        for (dataset, alpha, start), record in one.records.items():
            values = (f"{v:.6g}" if isinstance(v := record[c], float) else v for c in columns)
            rows.append([dataset, name, alpha, start, *values])
    return format_csv(["set", "optimiser", "alpha", "start", *columns], rows)


def format_runs_markdown(runs: Mapping[str, Runs], sets: Sequence[str]) -> str:
    """Return the table of the optimisers, statements about the default, and a table of the sets."""
    rows = {}
    for name, one in runs.items():
        if not one.records:
            rows[TITLES[name]] = ["0", one.problem, *[""] * 6]
            continue
        against = compare_with_default(runs, name) if name != DEFAULT else None
        rows[TITLES[name]] = [
            str(len(one.records)),
            f"{np.median(one.get_values('evaluations')):.0f}",
            f"{np.median(1.0 / against.ratio):.2f}" if against else "1",
            f"{1e3 * np.median(one.get_values('seconds')):.1f}",
            _format_shares(against) if against else "",
            f"{np.median(one.get_values('stationarity')):.1e}",
            f"{np.mean(one.get_values('stationarity') < 1e-2):.0%}",
            f"{np.mean(one.get_values('ended')):.0%}",
        ]
    columns = (
        "runs", "evaluations", "evaluations / default", "ms", "φ lower, equal, higher than default", "stationarity",
        "below 0.01", "ended before the limit",
    )  # fmt: skip
    parts = [
        "# Optimisers\n",
        "Medians over sets, values of α and starts, to the same tolerance; ratios are computed run by run. φ is equal "
        f"if its relative difference is less than {SAME:g}. Stationarity is the norm of the smallest element of the "
        "sampled Clarke gradient of log φ, per radian.\n",
        format_markdown_table("", columns, rows),
    ]
    against = compare_with_default(runs)
    if against:
        parts += ["## Statements\n", *list_claims(_check_claims(against, sets)), ""]
        parts += [
            "## Evaluations of the default relative to BFGS in spherical coordinates\n",
            _format_by_set(against, sets),
        ]
    parts += [f"{TITLES[name]}: {one.problem}\n" for name, one in runs.items() if one.problem]
    return "\n".join(parts)


def _format_shares(against: OptimiserComparison) -> str:
    other = -against.excess
    return f"{np.mean(other < -SAME):.0%}, {np.mean(np.abs(other) <= SAME):.0%}, {np.mean(other > SAME):.0%}"


def _check_claims(against: OptimiserComparison, sets: Sequence[str]) -> list[Claim]:
    ratio, excess = float(np.median(against.ratio)), float(np.median(against.excess))
    by_set = float(np.median([np.median(r) for s in sets if len(r := against.get_ratios(s))]))
    fair = against.ratio[against.excess <= SAME]
    of_fair = float(np.median(fair)) if len(fair) else float("nan")
    return [
        Claim(
            f"the default needs at most half the evaluations: {ratio:.2f} (median of {len(against.ratio)} runs)",
            ratio <= 0.5,
        ),
        Claim(f"the same with every set counted once: {by_set:.2f}", by_set <= 0.5),
        Claim(f"the same where its φ is equal or lower ({len(fair)} runs): {of_fair:.2f}", of_fair <= 0.5),
        Claim(f"at an equal or lower φ: median difference of log φ {excess:.1e}", excess <= 0.0),
    ]


def _format_by_set(against: OptimiserComparison, sets: Sequence[str]) -> str:
    rows = {}
    for dataset in sets:
        ratios = against.get_ratios(dataset)
        if len(ratios):
            low, middle, high = np.quantile(ratios, [0.25, 0.5, 0.75])
            rows[dataset] = [f"{middle:.2f}", f"{low:.2f} to {high:.2f}"]
    return format_markdown_table("", ("median", "quartiles"), rows)
