"""Table 2 as Markdown and CSV, and the summary of the clustering study."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ravine_paper._typing import Array
from ravine_paper.studies.clustering.methods import METHODS, ClusteringMethod
from ravine_paper.studies.clustering.paper import IMPROVEMENT, SETS, TABLE_2
from ravine_paper.studies.clustering.tasks import Cell, Cells
from ravine_paper.studies.clustering.verdicts import check_claims, find_differences, make_score_matrix
from ravine_paper.studies.engine.claims import OUTCOMES
from ravine_paper.studies.engine.formats import format_csv, format_markdown_table

__all__ = ["format_scores_csv", "format_scores_markdown", "format_summary"]

Methods = Sequence[ClusteringMethod]


def format_scores_csv(cells: Cells, sets: Sequence[str], methods: Methods) -> str:
    """Return a CSV file with one line for each set and method."""
    header = (
        "set", "method", "sr", "v", "sr_min", "sr_max", "v_min", "v_max", "seeds", "seconds", "peak_mb", "paper_sr",
        "paper_v", "problem",
    )  # fmt: skip
    rows = []
    for dataset in sets:
        for method in methods:
            cell = cells[dataset, method.name]
            numbers: list[object] = [""] * 9
            if len(cell.success):
                spread = [f(x) for x in (cell.success, cell.v_measure) for f in (np.min, np.max)]
                numbers = [f"{x:.4f}" for x in (*cell.scores, *spread)]
                numbers += [len(cell.success), f"{np.median(cell.seconds):.4g}", f"{cell.memory:.0f}"]
            paper = TABLE_2.get((dataset, method.name), ("", ""))
            rows.append([dataset, method.name, *numbers, *paper, cell.problem])
    return format_csv(header, rows)


def _format_score(value: float) -> str:
    """Return a score with two decimals, as the paper prints it."""
    return "–" if np.isnan(value) else f"{value:.2f}"


def format_scores_markdown(cells: Cells, sets: Sequence[str], methods: Methods) -> str:
    """Return the tables of scores, beside the paper's, of spreads over seeds and of times."""
    titles = [method.title if method.in_paper else f"*{method.title}*" for method in methods]
    parts = []
    for measure, word in enumerate(("Success ratio", "Binary V-measure")):
        table = make_score_matrix(cells, sets, [m.name for m in methods], measure)
        rows = {}
        for dataset, scores in zip(sets, table, strict=True):
            highest = np.nanmax(scores[[m.in_paper for m in methods]], initial=-1.0)
            rows[dataset] = [_format_cell(cells, dataset, m, measure, highest) for m in methods]
        rows["**mean**"] = [_format_mean(table[:, k], m, sets, measure) for k, m in enumerate(methods)]
        rows["improvement of MDP²"] = _format_improvements(table, sets, methods, measure)
        parts.append(f"## {word}\n\n" + format_markdown_table("set", titles, rows))
    parts.append(
        "## Spread over seeds: lowest to highest SR, V\n\n" + _format_by_cell(cells, sets, methods, _format_spread)
    )
    parts.append("## Seconds per fit\n\n" + _format_by_cell(cells, sets, methods, _format_seconds))
    return "\n".join(parts)


def _format_cell(cells: Cells, dataset: str, method: ClusteringMethod, measure: int, highest: float) -> str:
    cell, paper = cells[dataset, method.name], TABLE_2.get((dataset, method.name))
    score = cell.scores[measure]
    if np.isnan(score):
        return "failed" if cell.failed else "–"
    text = _format_score(score)
    if method.in_paper and score >= highest - 5e-4:
        text = f"**{text}**"
    return f"{text} ({_format_score(paper[measure])})" if paper else text


def _format_mean(column: Array, method: ClusteringMethod, sets: Sequence[str], measure: int) -> str:
    if np.isnan(column).all():
        return "–"
    mean = f"{np.nanmean(column):.3f}"
    if np.isnan(column).any():
        return f"{mean} over {int(np.sum(~np.isnan(column)))} sets"
    if method.in_paper:
        return f"{mean} ({np.mean([TABLE_2[s, method.name][measure] for s in sets]):.3f})"
    return mean


def _format_improvements(table: Array, sets: Sequence[str], methods: Methods, measure: int) -> list[str]:
    names = [m.name for m in methods]
    if "mdp2" not in names:
        return [""] * len(names)
    cells = []
    for k, method in enumerate(methods):
        gain = table[:, names.index("mdp2")] - table[:, k]
        if method.name == "mdp2" or np.isnan(gain).all():
            cells.append("")
            continue
        cells.append(f"{np.nanmean(gain):.2f}")
        if np.isnan(gain).any():
            cells[-1] += f" over {int(np.sum(~np.isnan(gain)))} sets"
        elif set(sets) == set(SETS) and method.name in IMPROVEMENT:
            cells[-1] += f" ({IMPROVEMENT[method.name][measure]:.2f})"
        elif method.in_paper:
            printed = [TABLE_2[s, "mdp2"][measure] - TABLE_2[s, method.name][measure] for s in sets]
            cells[-1] += f" ({np.mean(printed):.2f})"
    return cells


def _format_by_cell(cells: Cells, sets: Sequence[str], methods: Methods, show: Callable[[Cell], str]) -> str:
    rows = {s: [show(cells[s, m.name]) for m in methods] for s in sets}
    if show is _format_seconds:
        sums = [
            sum(float(np.median(cells[s, m.name].seconds)) for s in sets if len(cells[s, m.name].seconds))
            for m in methods
        ]
        rows["**all sets**"] = [f"{seconds:.3g}" for seconds in sums]
    return format_markdown_table("set", [m.title for m in methods], rows)


def _format_spread(cell: Cell) -> str:
    if len(cell.success) < 2:
        return "" if len(cell.success) else "–"
    low, high = (f(cell.success) for f in (np.min, np.max))
    v_low, v_high = (f(cell.v_measure) for f in (np.min, np.max))
    if high - low < 5e-3 and v_high - v_low < 5e-3:
        return "same"
    return f"{_format_score(low)}–{_format_score(high)}, {_format_score(v_low)}–{_format_score(v_high)}"


def _format_seconds(cell: Cell) -> str:
    return f"{np.median(cell.seconds):.3g}" if len(cell.seconds) else "–"


# ----------------------------------------------------------------------------------------------- summary


def format_summary(
    cells: Cells, sets: Sequence[str], methods: Methods, runs: Sequence[Mapping[str, object]], n_seeds: int
) -> str:
    """Return the whole study as Markdown: tables, statements of the paper, differences, settings."""
    titles = {m.name: m.title for m in methods}
    settings = {m.title: [m.settings] for m in methods}
    parts = [
        "# Table 2 of “Minimum Density Hyperplanes”, reproduced\n",
        "Features are standardised, and missing values replaced by the median of the feature. Each cell shows our "
        "score, with the paper's in parentheses; the best of the paper's methods on a set is bold. Random methods show "
        f"the median over {n_seeds} seeds. Methods in italics are not in the paper.\n",
        format_scores_markdown(cells, sets, methods),
        _format_claims(cells, titles),
        _format_differences(cells, titles),
        *_format_failures(cells, sets, titles),
        "## Settings\n\nSettings marked as tuned on the labels say nothing about performance on new data.\n\n"
        + format_markdown_table("method", ["settings"], settings),
        *_format_runs(cells, runs),
    ]
    return "\n".join(parts)


def _format_claims(cells: Cells, titles: Mapping[str, str]) -> str:
    claims = check_claims(cells, titles)
    if not claims:
        return "The statements of the paper are not checked: this needs results of all its sets and methods.\n"
    rows = {
        c.text: ["–" if c is claims[0] else OUTCOMES[c.holds_in_paper], OUTCOMES[c.holds], c.evidence] for c in claims
    }
    columns = ["in the paper's own table", "here", "numbers"]
    return "## Statements of the paper\n\n" + format_markdown_table("statement", columns, rows)


def _format_differences(cells: Cells, titles: Mapping[str, str]) -> str:
    rows = {
        f"{d.dataset}, {titles[d.method]}": [
            " / ".join(map(_format_score, d.paper)), " / ".join(map(_format_score, d.ours)), d.reason
        ]
        for d in find_differences(cells) if d.method in titles
    }  # fmt: skip
    table = format_markdown_table("cell", ["paper, SR / V", "ours", "reason"], rows) if rows else "None.\n"
    return "## Differences of more than .03 from the paper, with likely reasons\n\n" + table


def _format_failures(cells: Cells, sets: Sequence[str], titles: Mapping[str, str]) -> list[str]:
    rows = {f"{s}, {titles[m]}": [cells[s, m].problem] for s in sets for m in titles if cells[s, m].failed}
    return ["## Failures\n\n" + format_markdown_table("cell", ["reason"], rows)] if rows else []


def _format_runs(cells: Cells, runs: Sequence[Mapping[str, object]]) -> list[str]:
    memory = max((cell.memory for cell in cells.values() if not np.isnan(cell.memory)), default=float("nan"))
    environments = list(dict.fromkeys(str(run["environment"]) for run in runs))
    fits = [seconds for cell in cells.values() for seconds in cell.seconds]
    parts = [
        f"## Run\n\nStarted {runs[0].get('started', 'at an unknown time')}, continued {len(runs) - 1} times. "
        f"{len(fits)} fits, {sum(fits) / 60:.1f} minutes in total, one thread each. "
        f"Largest memory of a process: {memory:.0f} MB.\n"
    ]
    absent = [m.title for m in METHODS.values() if not m.installed]
    if absent:
        parts.append(
            f"Omitted because they are not installed: {', '.join(absent)} (pip install 'ravine-paper[peers]').\n"
        )
    parts += [f"Run with {text.strip('{}').replace(chr(39), '')}.\n" for text in environments]
    if len(environments) > 1:
        parts.append("**These results come from more than one environment.**\n")
    return parts
