"""Semi-supervised study as text: errors, ranks, statements, settings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from scipy.stats import rankdata, studentized_range

from ravine_paper._typing import Array
from ravine_paper.studies.engine.claims import OUTCOMES
from ravine_paper.studies.engine.environment import describe_environment
from ravine_paper.studies.engine.formats import format_count, format_csv, format_markdown_table
from ravine_paper.studies.semi_supervised.methods import LabelMethod
from ravine_paper.studies.semi_supervised.tasks import BINARY, LABEL_SETS, LabelResults, count_labels
from ravine_paper.studies.semi_supervised.verdicts import Errors, check_label_claims, compute_median, list_cells

__all__ = [
    "compute_mean_ranks",
    "format_errors_csv",
    "format_errors_markdown",
    "format_label_summary",
    "format_ranks_csv",
]

# Standard errors from fewer splits are unreliable.
ENOUGH_SPLITS = 10
Methods = Sequence[LabelMethod]


def format_errors_csv(errors: Errors, methods: Methods) -> str:
    """Return a CSV file with one line for each set, number of labels and method."""
    header = ("set", "labels", "method", "median", "lower_quartile", "upper_quartile", "mean", "problems", "splits")
    rows = []
    for cell in list_cells(errors):
        for method in methods:
            table = errors[(*cell, method.name)]
            numbers = [f"{x:.3f}" for x in (*np.percentile(table, [50, 25, 75]), table.mean())]
            rows.append([*cell, method.name, *numbers, *table.shape])
    return format_csv(header, rows)


def format_ranks_csv(results: LabelResults, methods: Methods) -> str:
    """Return a CSV file with mean rank, seconds and convergence warnings of each method, best first."""
    quartiles = [f"seconds_{name}" for name in ("lower_quartile", "median", "upper_quartile")]
    ranks, _ = compute_mean_ranks(results.errors, methods)
    rows = []
    for k in np.argsort(ranks, kind="stable"):
        seconds, not_converged = results.seconds[methods[k].name], results.not_converged[methods[k].name]
        times = [f"{x:.4g}" for x in np.percentile(seconds, [25, 50, 75])] if len(seconds) else [""] * 3
        warned = "" if math.isnan(not_converged) else f"{not_converged:.0f}"
        rows.append([methods[k].name, f"{ranks[k]:.3f}", *times, len(seconds), warned])
    return format_csv(["method", "mean_rank", *quartiles, "fits", "not_converged"], rows)


def format_errors_markdown(errors: Errors, methods: Methods) -> str:
    """Return a table for each set with medians and quartiles of the errors."""
    parts = []
    for dataset in dict.fromkeys(cell[0] for cell in list_cells(errors)):
        counts = count_labels(dataset)
        lowest = {n: np.nanmin([compute_median(errors, (dataset, n), m.name) for m in methods]) for n in counts}
        rows = {m.title: [_format_cell(errors[dataset, n, m.name], lowest[n]) for n in counts] for m in methods}
        columns = [f"ℓ = {n}" for n in counts]
        parts.append(f"### {dataset}\n\n" + format_markdown_table("error in %", columns, rows))
    return "\n".join(parts)


def _format_cell(table: Array, lowest: float) -> str:
    if np.isnan(table).any():
        return "failed"
    low, middle, high = np.percentile(table, [25, 50, 75])
    text = f"{middle:.1f}"
    return f"{f'**{text}**' if middle <= lowest + 0.05 else text} [{low:.1f}, {high:.1f}]"


def compute_mean_ranks(errors: Errors, methods: Methods) -> tuple[Array, float | None]:
    """Compute the mean ranks of the median errors over the sets, and the critical difference.

    Two methods differ significantly if their mean ranks differ by more than the critical difference (Nemenyi's test at
    5 %, Demšar 2006). Ranks are first averaged over the cells of a set: only whole sets are independent, since the
    numbers of labels of a set share its rows. The critical difference is None if no two ranks can differ by as much.
    """
    by_set: dict[str, list[Array]] = {}
    for cell in list_cells(errors):
        medians = [compute_median(errors, cell, m.name) for m in methods]
        by_set.setdefault(cell[0], []).append(rankdata(np.nan_to_num(medians, nan=np.inf)))
    ranks = np.mean([np.mean(of_set, axis=0) for of_set in by_set.values()], axis=0)
    k, n = len(methods), len(by_set)
    if k < 2:
        return ranks, None
    critical = studentized_range.ppf(0.95, k, math.inf) / math.sqrt(2.0) * math.sqrt(k * (k + 1) / (6.0 * n))
    return ranks, float(critical) if critical <= k - 1 else None


# ----------------------------------------------------------------------------------------------- summary


def format_label_summary(results: LabelResults, methods: Methods, runs: Sequence[Mapping[str, Any]], size: str) -> str:
    """Return the whole study as Markdown."""
    errors = results.errors
    parts = [
        "# Semi-supervised classification: figures 7 and 8 of “Minimum Density Hyperplanes” in numbers\n",
        f"Size of the study: {size}, {_format_extent(errors, methods)}\n",
        "The features of every problem of two classes are standardised. Labelled rows are drawn at random, again if a "
        "class is missing, and are the same for every method; errors are measured on the unlabelled rows. Sets with "
        "more than two classes are divided into pairs of classes. A cell shows the median [and quartiles] over pairs "
        "and splits; the lowest median and those within 0.05 of it are bold.\n",
        format_errors_markdown(errors, methods),
        "## Mean ranks\n",
        _format_ranks_markdown(results, methods),
        *_format_claims(errors, methods),
        "## Settings\n",
        format_markdown_table("method", ["settings"], {m.title: [m.settings] for m in methods}),
    ]
    if results.failures:
        parts.append("## Failures\n\n" + "\n".join(f"- {failure}" for failure in results.failures) + "\n")
    return "\n".join([*parts, _format_runs(runs)])


def _format_extent(errors: Errors, methods: Methods) -> str:
    """List the splits, the sets with their numbers of pairs, and the methods."""
    shapes = {key[0]: table.shape for key, table in errors.items()}
    sets = [
        dataset if dataset in BINARY else f"{dataset} ({format_count(shapes[dataset][0], 'pair')} of classes)"
        for dataset in LABEL_SETS
        if dataset in shapes
    ]
    splits = format_count(min(shape[1] for shape in shapes.values()), "split")
    return f"{splits} of each problem. Sets: {', '.join(sets)}. Methods: {'; '.join(m.title for m in methods)}."


def _format_claims(errors: Errors, methods: Methods) -> list[str]:
    """Return the section on the statements; an empty list if the methods that they need were not run."""
    claims = check_label_claims(errors, methods)
    caution = _format_caution(errors)
    rows = {c.text: [OUTCOMES[None if caution else c.holds], c.evidence] for c in claims}
    title = "## Statements of the paper and our own requirements\n"
    return [title, *caution, format_markdown_table("statement", ["here", "numbers"], rows)] if claims else []


def _format_ranks_markdown(results: LabelResults, methods: Methods) -> str:
    ranks, critical = compute_mean_ranks(results.errors, methods)
    rows = {}
    for k in np.argsort(ranks):
        seconds, not_converged = results.seconds[methods[k].name], results.not_converged[methods[k].name]
        rows[methods[k].title] = [
            f"{ranks[k]:.2f}",
            *([] if critical is None else ["no" if ranks[k] - ranks.min() <= critical else "yes"]),
            f"{np.median(seconds):.3g}" if len(seconds) else "–",
            "–" if math.isnan(not_converged) else f"{not_converged:.0f} of {len(seconds)}",
        ]
    significant = [] if critical is None else ["significantly worse than the first"]
    columns = ["mean rank", *significant, "seconds per fit", "fits with a convergence warning"]
    difference = (
        "There are too few sets, or methods, for a critical difference."
        if critical is None
        else f"Critical difference (Nemenyi, 5 %): {critical:.2f}."
    )
    return (
        f"{format_markdown_table('method', columns, rows)}\n"
        f"Ranks are averaged over the numbers of labels of a set and then over the sets. {difference}\n"
    )


def _format_caution(errors: Errors) -> list[str]:
    """Return a warning if the study is small."""
    n_splits = min(table.shape[1] for table in errors.values())
    n_sets = len({cell[0] for cell in list_cells(errors)})
    if n_splits >= ENOUGH_SPLITS and n_sets == len(LABEL_SETS):
        return []
    return [
        f"**A small run: {format_count(n_splits, 'split')}, {n_sets} of {len(LABEL_SETS)} sets. Its standard errors "
        "and shares of cells are too uncertain to decide the statements; run the default size on all sets.**\n"
    ]


def _format_runs(runs: Sequence[Mapping[str, Any]]) -> str:
    dates = list(dict.fromkeys(_format_date(run["started"]) for run in runs))
    environments = list(dict.fromkeys(describe_environment(run["environment"]) for run in runs))
    text = f"Run on {dates[0]}{f', last on {dates[-1]},' if len(dates) > 1 else ''} with {environments[-1]}.\n"
    if len(environments) > 1:
        text += f"\n**Some of these results may come from another environment:** {'; '.join(environments[:-1])}.\n"
    return text


def _format_date(started: str) -> str:
    date = datetime.fromisoformat(started)
    return f"{date.day} {date:%B %Y}"
