"""From a file to results: what `cluster`, `classify` and `demo` have in common."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click

from ravine.cli.columns import Choices, check_names, labels_of, prepare
from ravine.cli.errors import DataError, visible
from ravine.cli.folder import check_free, staged
from ravine.cli.options import default_folder
from ravine.cli.outputs import RESULTS, labels_table, write_csv, write_outputs
from ravine.cli.result import Result, profiles
from ravine.cli.tables import Reading, read_table
from ravine.cli.voice import Move, Voice

__all__ = ["Job", "row_keys", "run"]


@dataclass(frozen=True)
class Job:
    """What is to be done.

    Attributes
    ----------
    command : {"cluster", "classify"}
    source : str
    reading : Reading
    choices : Choices
    make : callable
        Gets the way to move the bar and the number of rows, and makes the estimator.
    out : str or None
        Folder, or "-" for labels on standard output.
    force, figures : bool
    settings : dict
        For the summary.
    embedded : str or None
        The text of the input, if it is not in a file; it is then written with the results, as ``source``.
    """

    command: str
    source: str
    reading: Reading
    choices: Choices
    make: Callable[[Move, int], Any]
    out: str | None
    force: bool
    figures: bool
    settings: dict[str, Any]
    embedded: str | None = None


def run(job: Job, voice: Voice) -> Result:
    """Read, prepare, fit, write and tell."""
    if job.out == "-" and voice.as_json:
        raise click.UsageError("--out - and --json both want standard output: give one of them.")
    with ExitStack() as stack:
        stage, folder = None, default_folder(job.source) if job.out is None else Path(job.out)
        if job.out != "-":  # before the work: a folder that cannot be written should cost nobody an hour
            results = (*RESULTS, *([] if job.embedded is None else [job.source]))
            check_free(folder, results, job.force)
            stage = stack.enter_context(staged(folder, results))
        source = job.source
        if stage is not None and job.embedded is not None:
            source = str(stage / job.source)
            Path(source).write_text(job.embedded, encoding="utf-8")
        with voice.working("reading"):
            table = read_table(source, job.reading, voice.say)
        result = fit(table, job, voice)
        if stage is not None:
            names = write_outputs(stage, result, voice, job.figures)
    if stage is None:
        write_csv(labels_table(result), sys.stdout.buffer)
        sys.stdout.flush()
    _tell(result, voice)
    if stage is not None:
        voice.tell(f"\nwritten to {folder}: {', '.join(name for name in names if '/' not in name)}")
        figures = [name for name in names if "/" in name]
        if figures:
            voice.tell(f"  and {len(figures)} figures: {', '.join(figures[:6])}")
        result.summary["folder"] = str(folder)
    voice.result(result.summary)
    return result


def fit(table: Any, job: Job, voice: Voice) -> Result:
    """Fit an estimator to a table."""
    from ravine.models import TableModel

    choices = check_names(table, job.choices)
    given = None
    with voice.working("preparing"):
        if choices.label is not None:
            given = labels_of(table, choices.label, voice.say, learned=job.command == "classify")
        prepared = prepare(table, choices, voice.say)
    kept, X = prepared.kept, prepared.X
    labels = given if given is None or kept is None else given[kept]
    with voice.working("fitting") as move:
        estimator = job.make(move, len(X))
        if job.command == "classify":
            estimator.fit(X, labels)
        else:
            estimator.fit(X)
        estimator.set_params(callback=None)
    with voice.working("labelling"):
        probability = None
        if job.command == "classify":
            found = estimator.transduction_
            probability = estimator.predict_proba(X).max(axis=1)
        else:
            found = estimator.labels_
    keys, key_name = row_keys(table, choices)
    model = TableModel(estimator, prepared.preparation, choices.label)
    source = "standard input" if job.source == "-" else job.source
    result = Result(job.command, source, model, X, kept, found, key_name, keys, given, probability)
    result.summary = _summary(result, job, voice, table.num_rows)
    return result


def row_keys(table: Any, choices: Choices) -> tuple[Any, str]:
    """What names the rows, as a column, and its name: the column of --key, or the number of the row from 1."""
    if choices.key is not None:
        return table[choices.key], choices.key
    pa = import_module("pyarrow")
    import numpy as np

    return pa.array(np.arange(1, table.num_rows + 1)), "row"


def _summary(result: Result, job: Job, voice: Voice, n_rows: int) -> dict[str, Any]:
    word = {"cluster": "cluster", "classify": "class"}[job.command]
    groups = profiles(result.X, result.found, result.feature_names, word)
    summary: dict[str, Any] = {
        "command": job.command,
        "input": result.source,
        "rows": n_rows,
        "rows_used": len(result.X),
        "features": list(result.feature_names),
        "settings": job.settings,
        "clusters" if job.command == "cluster" else "classes": groups,
        "notes": list(voice.notes),
        "version": version("ravine"),
    }
    if job.command == "cluster" and result.given is not None:
        summary["agreement"] = _agreement(result)
    return summary


def _agreement(result: Result) -> dict[str, Any]:
    """How the clusters agree with labels that were known but not used."""
    import numpy as np
    from sklearn.metrics import v_measure_score

    from ravine.metrics import adjusted_rand_index, contingency_table

    assert result.given is not None
    given = result.given if result.kept is None else result.given[result.kept]
    there = np.array([label is not None for label in given.tolist()], dtype=bool)
    if not there.any():
        raise DataError(f"the column {result.model.label_column!r} is empty: leave --label-column out.")
    known = np.unique([str(label) for label in given[there]], return_inverse=True)[1]
    return {
        "rows": int(there.sum()),
        "adjusted_rand_index": round(adjusted_rand_index(contingency_table(known, result.found[there])), 4),
        "v_measure": round(float(v_measure_score(known, result.found[there])), 4),
    }


def _tell(result: Result, voice: Voice) -> None:
    """The result in words."""
    summary, word = result.summary, "cluster" if result.command == "cluster" else "class"
    groups = summary["clusters" if word == "cluster" else "classes"]
    plural = {"cluster": "clusters", "class": "classes"}[word] if len(groups) != 1 else word
    voice.tell(f"\n{len(groups)} {plural} of {summary['rows_used']} rows")
    width = max(len(visible(group[word])) for group in groups)
    for group in groups[:30]:
        differs = ", ".join(
            f"{visible(name)} {'constant' if value is None else format(value, '+.1f')}"
            for name, value in group["differs_by"].items()
        )
        share = 100.0 * group["rows"] / summary["rows_used"]
        voice.tell(f"  {word} {visible(group[word]):>{width}}  {group['rows']:>8} rows {share:5.1f} %   {differs}")
    if len(groups) > 30:
        voice.tell(f"  and {len(groups) - 30} more")
    if len(groups) > 1:
        voice.tell("  (features whose mean differs most from that of all other rows, in pooled standard deviations)")
    if "agreement" in summary:
        known = summary["agreement"]
        voice.tell(
            f"agreement with {result.model.label_column!r} ({known['rows']} rows): adjusted Rand index "
            f"{known['adjusted_rand_index']:.2f}, V-measure {known['v_measure']:.2f}"
        )
