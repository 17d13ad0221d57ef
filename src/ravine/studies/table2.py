"""Table 2 as text: for people in Markdown, for programs as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ravine.studies.claims import Cells, check_claims, differences, score_matrix
from ravine.studies.clustering import Cell
from ravine.studies.markdown import grid
from ravine.studies.methods import METHODS, Method
from ravine.studies.paper import IMPROVEMENT, SETS, TABLE_2

__all__ = ["csv_text", "markdown_text", "summary_text"]


def csv_text(cells: Cells, sets: Sequence[str], methods: Sequence[Method]) -> str:
    """One line for each set and method."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    spreads = ("sr_min", "sr_max", "v_min", "v_max")
    writer.writerow(
        ["set", "method", "sr", "v", *spreads, "seeds", "seconds", "peak_mb", "paper_sr", "paper_v", "problem"]
    )
    for dataset in sets:
        for method in methods:
            cell = cells[dataset, method.name]
            numbers: list[object] = [""] * 9
            if len(cell.success):
                spread = [f(x) for x in (cell.success, cell.v_measure) for f in (np.min, np.max)]
                numbers = [f"{x:.4f}" for x in (*cell.scores, *spread)]
                numbers += [len(cell.success), f"{np.median(cell.seconds):.4g}", f"{cell.memory:.0f}"]
            paper = TABLE_2.get((dataset, method.name), ("", ""))
            writer.writerow([dataset, method.name, *numbers, *paper, cell.problem])
    return out.getvalue()


def _two(value: float) -> str:
    """As the paper prints it."""
    return "–" if np.isnan(value) else f"{value:.2f}"


def markdown_text(cells: Cells, sets: Sequence[str], methods: Sequence[Method]) -> str:
    """The tables of scores, with the paper's beside ours, of spreads and of times."""
    titles = [method.title if method.in_paper else f"*{method.title}*" for method in methods]
    parts = []
    for measure, word in enumerate(("Success ratio", "Binary V-measure")):
        table = score_matrix(cells, sets, [m.name for m in methods], measure)
        rows = {}
        for dataset, scores in zip(sets, table, strict=True):
            highest = np.nanmax(scores[[m.in_paper for m in methods]], initial=-1.0)
            rows[dataset] = [
                _score(cells[dataset, m.name], score, TABLE_2.get((dataset, m.name)), measure, m.in_paper, highest)
                for m, score in zip(methods, scores, strict=True)
            ]
        rows["**mean**"] = [_mean(table[:, k], m, sets, measure) for k, m in enumerate(methods)]
        rows["MDP² is better by"] = _improvements(table, sets, methods, measure)
        parts.append(f"## {word}\n\n" + grid("set", titles, rows))
    parts.append("## Spread over seeds: lowest to highest SR, V\n\n" + _by_cell(cells, sets, methods, _spread))
    parts.append("## Seconds for a fit\n\n" + _by_cell(cells, sets, methods, _seconds))
    return "\n".join(parts)


def _score(
    cell: Cell, score: float, paper: tuple[float, float] | None, measure: int, in_paper: bool, highest: float
) -> str:
    if np.isnan(score):
        return "cannot run" if cell.problem and cell.problem != "not run" else "–"
    text = _two(score)
    if in_paper and score >= highest - 5e-4:
        text = f"**{text}**"
    return f"{text} ({_two(paper[measure])})" if paper else text


def _mean(column: np.ndarray[tuple[int], np.dtype[np.float64]], method: Method, sets: Sequence[str], k: int) -> str:
    if np.isnan(column).all():
        return "–"
    mean = f"{np.nanmean(column):.3f}"
    if np.isnan(column).any():
        return f"{mean} over {int(np.sum(~np.isnan(column)))} sets"
    if method.in_paper:
        return f"{mean} ({np.mean([TABLE_2[s, method.name][k] for s in sets]):.3f})"
    return mean


def _improvements(
    table: np.ndarray[tuple[int, int], np.dtype[np.float64]],
    sets: Sequence[str],
    methods: Sequence[Method],
    measure: int,
) -> list[str]:
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


def _by_cell(cells: Cells, sets: Sequence[str], methods: Sequence[Method], show: Callable[[Cell], str]) -> str:
    rows = {s: [show(cells[s, m.name]) for m in methods] for s in sets}
    if show is _seconds:
        sums = [
            sum(float(np.median(cells[s, m.name].seconds)) for s in sets if len(cells[s, m.name].seconds))
            for m in methods
        ]
        rows["**all sets**"] = [f"{seconds:.3g}" for seconds in sums]
    return grid("set", [m.title for m in methods], rows)


def _spread(cell: Cell) -> str:
    if len(cell.success) < 2:
        return "" if len(cell.success) else "–"
    low, high = (f(cell.success) for f in (np.min, np.max))
    v_low, v_high = (f(cell.v_measure) for f in (np.min, np.max))
    if high - low < 5e-3 and v_high - v_low < 5e-3:
        return "same"
    return f"{_two(low)}–{_two(high)}, {_two(v_low)}–{_two(v_high)}"


def _seconds(cell: Cell) -> str:
    return f"{np.median(cell.seconds):.3g}" if len(cell.seconds) else "–"


def _verdict(holds: bool) -> str:
    return "holds" if holds else "**does not hold**"


def summary_text(
    cells: Cells, sets: Sequence[str], methods: Sequence[Method], runs: Sequence[Mapping[str, object]], n_seeds: int
) -> str:
    """What a reader of the paper should know: the tables, its statements, the differences, the settings."""
    titles = {m.name: m.title for m in methods}
    parts = [
        "# Table 2 of “Minimum Density Hyperplanes”, computed again\n",
        "Columns are standardised, missing cells filled with the median of the column. Each cell is ours with the "
        "paper's in parentheses; bold is the best of the paper's methods on a set. Methods that use chance show the "
        f"median over {n_seeds} seeds. Methods in italics are not in the paper.\n",
        markdown_text(cells, sets, methods),
    ]
    claims = check_claims(cells, titles)
    if claims:
        rows = {
            c.text: ["–" if c is claims[0] else _verdict(c.holds_in_paper), _verdict(c.holds), c.evidence]
            for c in claims
        }
        heads = ["in the paper's own table", "here", "figures"]
        parts.append("## What the paper says\n\n" + grid("statement", heads, rows))
    else:
        parts.append("What the paper says was not checked: that needs all of its sets and methods.\n")
    found = differences(cells)
    rows = {
        f"{d.dataset}, {titles[d.method]}": [
            " / ".join(map(_two, d.paper)), " / ".join(map(_two, d.ours)), d.reason
        ]
        for d in found if d.method in titles
    }  # fmt: skip
    parts.append(
        "## Where we differ from the paper by more than .03, and the likely reason\n\n"
        + (grid("cell", ["paper, SR / V", "ours", "reason"], rows) if rows else "Nowhere.\n")
    )
    problems = {
        f"{s}, {titles[m]}": [cells[s, m].problem]
        for s in sets
        for m in titles
        if cells[s, m].problem and cells[s, m].problem != "not run"
    }
    if problems:
        parts.append("## What could not be run\n\n" + grid("cell", ["why"], problems))
    parts.append(
        "## Settings\n\nFound with the labels in view, so not evidence of how a method would do on new data: "
        "those marked so below.\n\n" + grid("method", ["settings"], {m.title: [m.settings] for m in methods})
    )
    memory = max((cell.memory for cell in cells.values() if not np.isnan(cell.memory)), default=float("nan"))
    environments = list(dict.fromkeys(str(run["environment"]) for run in runs))
    fits = [seconds for cell in cells.values() for seconds in cell.seconds]
    parts.append(
        f"## Run\n\nStarted {runs[0].get('started', 'at an unknown time')}, continued {len(runs) - 1} times. "
        f"{len(fits)} fits, {sum(fits) / 60:.1f} minutes in all, one thread each. "
        f"Largest memory of a process: {memory:.0f} MB.\n"
    )
    absent = [m for m in METHODS.values() if not m.installed]
    if absent:
        names = ", ".join(m.title for m in absent)
        parts.append(f"Not installed, so left out: {names} (pip install 'ravine[peers]').\n")
    parts += [f"Run with {text.strip('{}').replace(chr(39), '')}.\n" for text in environments]
    if len(environments) > 1:
        parts.append("**These results come from more than one environment.**\n")
    return "\n".join(parts)
