"""The semi-supervised study as text: errors, ranks, the paper's statements."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, studentized_range

from ravine.studies.environment import described
from ravine.studies.label_methods import LabelMethod
from ravine.studies.label_verdicts import Errors, cells, median, verdicts
from ravine.studies.markdown import grid
from ravine.studies.semisupervised import BINARY, LABEL_SETS, LabelResults, label_counts

__all__ = ["errors_csv", "errors_markdown", "label_summary", "mean_ranks", "ranks_csv"]

# With fewer splits standard errors say little.
ENOUGH_SPLITS = 10


def errors_csv(errors: Errors, methods: Sequence[LabelMethod]) -> str:
    """One line for each set, number of labels and method."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["set", "labels", "method", "median", "lower_quartile", "upper_quartile", "mean", "problems", "splits"]
    )
    for cell in cells(errors):
        for method in methods:
            table = errors[(*cell, method.name)]
            numbers = [f"{x:.3f}" for x in (*np.percentile(table, [50, 25, 75]), table.mean())]
            writer.writerow([*cell, method.name, *numbers, *table.shape])
    return out.getvalue()


def ranks_csv(results: LabelResults, methods: Sequence[LabelMethod]) -> str:
    """One line for each method, best first: mean rank, seconds of a fit, fits that warned of no convergence."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    quartiles = [f"seconds_{name}" for name in ("lower_quartile", "median", "upper_quartile")]
    writer.writerow(["method", "mean_rank", *quartiles, "fits", "not_converged"])
    ranks, _ = mean_ranks(results.errors, methods)
    for k in np.argsort(ranks, kind="stable"):
        seconds, not_converged = results.seconds[methods[k].name], results.not_converged[methods[k].name]
        times = [f"{x:.4g}" for x in np.percentile(seconds, [25, 50, 75])] if len(seconds) else [""] * 3
        warned = "" if math.isnan(not_converged) else f"{not_converged:.0f}"
        writer.writerow([methods[k].name, f"{ranks[k]:.3f}", *times, len(seconds), warned])
    return out.getvalue()


def errors_markdown(errors: Errors, methods: Sequence[LabelMethod]) -> str:
    """A table for each set: median and quartiles of the error."""
    parts = []
    for dataset in dict.fromkeys(cell[0] for cell in cells(errors)):
        counts = label_counts(dataset)
        lowest = {n: np.nanmin([median(errors, (dataset, n), m.name) for m in methods]) for n in counts}
        rows = {m.title: [_shown(errors[dataset, n, m.name], lowest[n]) for n in counts] for m in methods}
        parts.append(f"### {dataset}\n\n" + grid("error in %", [f"ℓ = {n}" for n in counts], rows))
    return "\n".join(parts)


def _shown(table: NDArray[np.float64], lowest: float) -> str:
    if np.isnan(table).any():
        return "failed"
    low, middle, high = np.percentile(table, [25, 50, 75])
    text = f"{middle:.1f}"
    return f"{f'**{text}**' if middle <= lowest + 0.05 else text} [{low:.1f}, {high:.1f}]"


def mean_ranks(errors: Errors, methods: Sequence[LabelMethod]) -> tuple[NDArray[np.float64], float | None]:
    """Mean ranks of the median errors over the sets (the cells of a set averaged first), and the critical difference.

    Two methods whose mean ranks differ by less than the critical difference (Nemenyi's test at 5 %, Demšar 2006) cannot
    be told apart. Only whole sets count as independent: the numbers of labels of a set share its rows. None where no
    ranks could differ by as much.
    """
    by_set: dict[str, list[NDArray[np.float64]]] = {}
    for cell in cells(errors):
        medians = [median(errors, cell, m.name) for m in methods]
        by_set.setdefault(cell[0], []).append(rankdata(np.nan_to_num(medians, nan=np.inf)))
    ranks = np.mean([np.mean(of_set, axis=0) for of_set in by_set.values()], axis=0)
    k, n = len(methods), len(by_set)
    if k < 2:
        return ranks, None
    critical = studentized_range.ppf(0.95, k, math.inf) / math.sqrt(2.0) * math.sqrt(k * (k + 1) / (6.0 * n))
    return ranks, float(critical) if critical <= k - 1 else None


def label_summary(
    results: LabelResults, methods: Sequence[LabelMethod], runs: Sequence[Mapping[str, Any]], size: str
) -> str:
    """Everything about the study that a reader should know."""
    errors = results.errors
    parts = [
        "# Semi-supervised classification: figures 7 and 8 of “Minimum Density Hyperplanes” in numbers\n",
        f"Size of the study: {size}, {_covered(errors, methods)}\n",
        "Columns of every problem of two classes are standardised. Labelled rows are drawn "
        "at random, again if a class is missing, and are the same for every method; the error is that on the "
        "unlabelled rows. Sets of more than two classes are cut into pairs of classes. A cell is the median "
        "[and quartiles] over pairs and splits; bold are the lowest median and those within 0.05 of it.\n",
        errors_markdown(errors, methods),
        "## Mean ranks\n",
        _ranks_markdown(results, methods),
        *_statements(errors, methods),
        "## Settings\n",
        grid("method", ["settings"], {m.title: [m.settings] for m in methods}),
    ]
    if results.failures:
        parts.append("## What failed\n\n" + "\n".join(f"- {failure}" for failure in results.failures) + "\n")
    return "\n".join([*parts, _runs_text(runs)])


def _covered(errors: Errors, methods: Sequence[LabelMethod]) -> str:
    """Splits, sets with their numbers of pairs, and methods."""
    shapes = {key[0]: table.shape for key, table in errors.items()}
    sets = [
        dataset if dataset in BINARY else f"{dataset} ({_number(shapes[dataset][0], 'pair')} of classes)"
        for dataset in LABEL_SETS
        if dataset in shapes
    ]
    splits = _number(min(shape[1] for shape in shapes.values()), "split")
    return f"{splits} of each problem. Sets: {', '.join(sets)}. Methods: {'; '.join(m.title for m in methods)}."


def _number(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _statements(errors: Errors, methods: Sequence[LabelMethod]) -> list[str]:
    """The section on them; nothing if the methods that they need were not run."""
    found = verdicts(errors, methods)
    caution = _caution(errors)
    rows = {v.text: [HOLDS[None if caution else v.holds], v.evidence] for v in found}
    title = "## What the paper says, and what we ask of ourselves\n"
    return [title, *caution, grid("statement", ["here", "figures"], rows)] if found else []


HOLDS = {True: "holds", False: "**does not hold**", None: "cannot be said"}


def _ranks_markdown(results: LabelResults, methods: Sequence[LabelMethod]) -> str:
    ranks, critical = mean_ranks(results.errors, methods)
    rows = {}
    for k in np.argsort(ranks):
        seconds, not_converged = results.seconds[methods[k].name], results.not_converged[methods[k].name]
        rows[methods[k].title] = [
            f"{ranks[k]:.2f}",
            *([] if critical is None else ["yes" if ranks[k] - ranks.min() <= critical else "no"]),
            f"{np.median(seconds):.3g}" if len(seconds) else "–",
            "–" if math.isnan(not_converged) else f"{not_converged:.0f} of {len(seconds)}",
        ]
    told_apart = [] if critical is None else ["not told apart from the first"]
    table = grid("method", ["mean rank", *told_apart, "seconds a fit", "fits that warned of no convergence"], rows)
    difference = (
        "There are too few sets, or methods, for a critical difference."
        if critical is None
        else f"Critical difference (Nemenyi, 5 %): {critical:.2f}."
    )
    return f"{table}\nRanks are averaged over the numbers of labels of a set and then over the sets. {difference}\n"


def _caution(errors: Errors) -> list[str]:
    """A warning for small studies."""
    n_splits = min(table.shape[1] for table in errors.values())
    n_sets = len({cell[0] for cell in cells(errors)})
    if n_splits >= ENOUGH_SPLITS and n_sets == len(LABEL_SETS):
        return []
    return [
        f"**A small run: {_number(n_splits, 'split')}, {n_sets} of {len(LABEL_SETS)} sets. Its standard errors "
        "and shares of cells are too uncertain to judge the statements by; that takes the default size on all sets.**\n"
    ]


def _runs_text(runs: Sequence[Mapping[str, Any]]) -> str:
    dates = list(dict.fromkeys(_date(run["started"]) for run in runs))
    environments = list(dict.fromkeys(described(run["environment"]) for run in runs))
    text = f"Run on {dates[0]}{f', last on {dates[-1]},' if len(dates) > 1 else ''} with {environments[-1]}.\n"
    if len(environments) > 1:
        text += f"\n**Some of these results may come from another environment:** {'; '.join(environments[:-1])}.\n"
    return text


def _date(started: str) -> str:
    date = datetime.fromisoformat(started)
    return f"{date.day} {date:%B %Y}"
