"""From a file to results: the work that `cluster`, `classify` and `demo` share."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from ravine._plurals import count
from ravine.cli.console import Console, ShowProgress, escape
from ravine.cli.errors import CommandError
from ravine.cli.options import FitOptions, format_choices
from ravine.cli.output_folder import check_output_folder, get_default_folder, remove_killed_runs, stage_results
from ravine.cli.outputs import RESULTS, make_labels_table, print_labels, report_formulas, write_outputs
from ravine.cli.summary import Result, get_row_keys, keep_rows, make_summary, print_result
from ravine.models import TableModel
from ravine.rows import as_rows
from ravine.rows.scales import ScaleWarning, describe_hidden_features
from ravine.tables import (
    CellFormat,
    ColumnChoices,
    Consensus,
    MultipleImputer,
    ReadOptions,
    apply_remedy,
    average_memberships,
    choose_consensus,
    fit_table,
    read_labels,
    read_table,
    resolve_columns,
)


@dataclass(frozen=True)
class FitRequest:
    """Request to fit an estimator to a table.

    Attributes
    ----------
    command : {"cluster", "classify"}
    source : str
        File, or "-" for standard input.
    label_column : str or None
    options : FitOptions
    make_estimator : callable
        Makes the estimator from a function that shows its progress and the number of threads.
    settings : dict
        Settings of the command for the summary.
    content : str or None
        Text of the input if there is no such file; it is then written next to the results, as ``source``.
    n_suggested : int
        Number of unlabelled rows to suggest for labelling.
    memberships : bool
        Whether the labels of clusters have a column of memberships.
    """

    command: str
    source: str
    label_column: str | None
    options: FitOptions
    make_estimator: Callable[[ShowProgress, int], Any]
    settings: dict[str, Any]
    content: str | None = None
    n_suggested: int = 0
    memberships: bool = False


def run(request: FitRequest) -> None:
    """Read the table, fit the estimator, write and print the results."""
    options = request.options
    console = Console(options.quiet, options.as_json)
    if options.out == "-" and options.as_json:
        raise click.UsageError("--out - and --json both print to standard output: choose one.")
    folder = get_default_folder(request.source) if options.out is None else Path(options.out)
    with ExitStack() as stack:
        stage, source = None, request.source
        if options.out != "-":  # first, so that a folder that is not writable is noticed before the work
            results = RESULTS if request.content is None else (*RESULTS, request.source)
            given = request.source if request.content is None else "-"
            check_output_folder(folder, results, options.force, given)
            for message in remove_killed_runs(folder):
                console.print(escape(message))
            stage = stack.enter_context(stage_results(folder, results, options.force, given))
            if request.content is not None:
                source = str(stage / request.source)
                Path(source).write_text(request.content, encoding="utf-8")
        result = fit(source, request, console)
        if stage is not None:
            files = write_outputs(stage, result, console, not options.no_figures)
    if stage is None:
        print_labels(make_labels_table(result))
    print_result(result, console)
    if stage is not None:
        print_files(folder, files, console)
        result.summary["folder"] = str(folder)
    console.print_json(result.summary)


def fit(source: str, request: FitRequest, console: Console) -> Result:
    """Read a table and fit the estimator to it."""
    import numpy as np

    options, label_column = request.options, request.label_column
    classify = request.command == "classify"
    uses_labels = classify or request.settings.get("use_labels", False)
    table, choices, cells = read_choices(source, request, console)
    with console.step("preparing"):
        given = None if label_column is None else read_labels(table, label_column, console.report, learn=uses_labels)
        if options.auto:
            table, choices = apply_auto(table, choices, console)
        prepared = fit_table(table, choices, console.report, options.seed)
    X, kept = prepared.X, prepared.kept
    if options.scale == "none":
        report_scales(X, prepared.scaler.get_feature_names_out().tolist(), console)
    labels_of_fit = keep_rows(given, kept) if uses_labels else None
    if labels_of_fit is not None:
        check_labels(labels_of_fit, str(label_column))
    check_suggestions(request.n_suggested, labels_of_fit)
    with console.step("fitting") as show_progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)  # reported with the names of the columns, if that is their choice
        make_estimator = partial(request.make_estimator, show_progress, options.count_threads(len(X)))
        estimator, consensus = fit_estimator(make_estimator, X, prepared.imputer, labels_of_fit, classify)
        X = X if consensus is None else consensus.X
        estimator.set_params(**{"hyperplane__callback" if classify else "callback": None})
    with console.step("labelling"):
        labels = estimator.transduction_ if classify else estimator.labels_
        labels = labels if consensus is None else consensus.labels
        probability = None
        if consensus is not None and request.memberships:
            probability = average_memberships(estimator, X[None], labels)
        elif classify or request.memberships:
            probability = estimator.predict_proba(X).max(axis=1)
    keys, key_name = get_row_keys(table, choices.key)
    model = TableModel(estimator, prepared.scaler, label_column, prepared.imputer, cells)
    name = "standard input" if request.source == "-" else request.source
    result = Result(request.command, name, model, X, kept, labels, key_name, keys, given, probability)
    result.protects_formulas = options.spreadsheet
    if request.settings.get("outliers") is not None:
        result.outlier_scores = estimator.outlier_scores_
    if consensus is not None:
        result.consensus, result.instability = consensus, consensus.instability
    if request.n_suggested and labels_of_fit is not None:
        unlabelled = np.flatnonzero([label is None for label in labels_of_fit])
        result.suggested = unlabelled[estimator.query(X[unlabelled], request.n_suggested)]
    report_formulas(result, console)
    result.summary = make_summary(result, request, console, len(table))
    return result


def read_choices(source: str, request: FitRequest, console: Console) -> tuple[Any, ColumnChoices, CellFormat]:
    """Read a table; return it with the choices about its columns and the format of its cells."""
    options, label_column = request.options, request.label_column
    classify = request.command == "classify"
    if classify and options.missing == "multiple":
        raise click.UsageError("--missing multiple is an option of cluster: use impute-median or drop.")
    given = request.settings
    once = [name for name in ("outliers", "use_labels") if given.get(name) not in (None, False)]
    if once and options.missing == "multiple":
        option = f"--{once[0].replace('_', '-')}"
        raise click.UsageError(f"--missing multiple and {option} cannot be combined: use --missing impute-median.")
    as_text = tuple(name for name in (options.key, label_column) if name is not None)
    with console.step("reading"):
        reading = ReadOptions(
            options.delimiter, options.encoding, options.header,
            CellFormat(options.decimal, options.thousands, options.na), as_text, options.max_size,
        )  # fmt: skip
        table, cells = read_table(source, reading, console.report)
    reason = explain_medians(request.command, once, options.normalize)
    choices = ColumnChoices(
        options.drop,
        options.key,
        label_column,
        options.encode,
        options.missing,
        options.scale,
        options.normalize,
        reason,
    )
    return table, resolve_columns(table, choices), cells


def explain_medians(command: str, once: Sequence[str], normalize: str) -> str:
    """Return why missing cells cannot be filled several times; empty if they can."""
    if command == "classify":
        return "classify fits completed rows once"
    if once:
        return f"--{once[0].replace('_', '-')} needs one completion of the rows"
    return "--normalize l2 needs complete rows" if normalize == "l2" else ""


def apply_auto(table: Any, choices: ColumnChoices, console: Console) -> tuple[Any, ColumnChoices]:
    """Return a table and the choices that make it usable; changes are reported, also as options."""
    table, choices, changes = apply_remedy(table, choices, console.report)
    options = format_choices(changes)
    console.report(f"auto: the same as {options}" if options else "auto: nothing had to be changed")
    return table, choices


def fit_estimator(
    make_estimator: Callable[[], Any], X: Any, imputer: MultipleImputer | None, labels: Any, classify: bool
) -> tuple[Any, Consensus | None]:
    """Fit the estimator to a table; to several completions of it if cells are missing, on which they have to agree."""
    import numpy as np

    if imputer is None or not np.isnan(X).any():
        given = {} if labels is None else {"y" if classify else "labels": labels}
        return make_estimator().fit(X, **given), None
    consensus = choose_consensus(make_estimator, X, imputer)
    return consensus.estimator, consensus


def check_labels(labels: Any, column: str) -> None:
    """Raise an error if no row that is used has a label."""
    if all(label is None for label in labels):
        raise CommandError(
            f"all rows are unlabelled: the column {column!r} has no label in a row that is used. Enter some labels, or "
            "choose another --label-column."
        )


def report_scales(X: Any, names: list[str], console: Console) -> None:
    """Report columns that others hide, which were not scaled."""
    import numpy as np

    message = describe_hidden_features(as_rows(X[~np.isnan(X).any(axis=1)]), names)
    if message:
        console.report(f"note: {message} Use --scale standard if they have different units.")


def check_suggestions(n: int, labels: Any) -> None:
    """Refuse more suggestions than there are unlabelled rows, before the fit."""
    n_open = 0 if labels is None else sum(label is None for label in labels)
    if n > n_open:
        raise click.UsageError(
            f"--suggest {n}: only {count(n_open, 'row')} {'has' if n_open == 1 else 'have'} no label. Ask for at most "
            "as many."
        )


def print_files(folder: Path, names: list[str], console: Console) -> None:
    """Print the names of the files that were written."""
    console.print(f"\nWritten to {escape(folder)}: {', '.join(name for name in names if '/' not in name)}")
    figures = [name for name in names if "/" in name]
    if figures:
        console.print(f"and {count(len(figures), 'figure')}: {', '.join(figures[:6])}")
