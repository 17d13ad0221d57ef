"""`ravine predict`: apply a model to new rows."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import click

from ravine._plurals import count, join_names
from ravine.cli.console import Console, escape
from ravine.cli.errors import Command, CommandError, announce, defer_signals
from ravine.cli.options import COMMON, MEMBERSHIPS, MISSING, READING, SPREADSHEET, OutputPath, add_options

# Groups that are printed.
MAX_GROUPS = 20


@click.command(cls=Command, epilog="\b\nExample:\n  ravine predict data-ravine/model.ravine new.csv > labels.csv")
@click.argument("model", metavar="MODEL")
@click.argument("data", metavar="FILE")
@click.option("--key", default=None, metavar="COLUMN", help="Column that identifies the rows.  [default: row number]")
@click.option("--missing", type=MISSING, default=None, help="Treatment of missing cells.  [default: that of the model]")
@click.option(
    "--unknown",
    type=click.Choice(["error", "other"]),
    default="error",
    show_default=True,
    help="Categories that the model does not know: stop with an error, or count them as the rare ones (without such, "
    "as an average cell).",
)
@click.option(
    "--out",
    type=OutputPath(allow_dash=True),
    default="-",
    show_default=True,
    metavar="FILE",
    help="File for the labels; - prints them.",
)
@click.option("--force", is_flag=True, help="Replace an existing file.")
@SPREADSHEET
@MEMBERSHIPS
@click.option(
    "--outliers", is_flag=True, help="Mark outliers with cluster -1 and add their scores; the model must know them."
)
@add_options(READING, COMMON)
def predict(
    model: str,
    data: str,
    key: str | None,
    missing: str | None,
    unknown: str,
    out: str,
    force: bool,
    spreadsheet: bool,
    memberships: bool,
    outliers: bool,
    **shared: Any,
) -> None:
    """Assign the rows of FILE to the clusters or classes of MODEL.

    Columns are found by name and prepared as for the model; other columns are ignored. With - as FILE, the table is
    read from standard input.
    """
    from ravine.cli.outputs import make_labels_table, print_labels, report_formulas
    from ravine.tables import ColumnChoices, read_table, resolve_columns

    as_json = shared["as_json"]
    console = Console(shared["quiet"], as_json)
    _check_output_file(out, force, model, data)
    table_model = _load_table_model(model)
    _check_additions(table_model.estimator, outliers)
    with console.step("reading"):
        table, _ = read_table(data, _make_reading(shared, table_model.cells, key), console.report)
    resolve_columns(table, ColumnChoices(key=key))
    with console.step("predicting"):
        additions = {"memberships": memberships, "outliers": outliers}
        treatment = {"missing": missing, "unknown": unknown}
        result = _predict(table_model, table, key, treatment, additions, data, console)
        result.protects_formulas = spreadsheet
    report_formulas(result, console)
    counts = _count_groups(result)
    if out != "-":
        _write_labels(result, out)
    if as_json:
        if out == "-":
            announce("the printed labels may be incomplete")
        summary = {"command": "predict", "rows": len(table), "counts": counts, "notes": console.notes}
        console.print_json({**summary, "labels": make_labels_table(result).to_pydict()} if out == "-" else summary)
    elif out == "-":
        print_labels(make_labels_table(result))
    console.print(", ".join(f"{escape(group)}: {count(n, 'row')}" for group, n in list(counts.items())[:MAX_GROUPS]))


def _make_reading(shared: dict[str, Any], fitted: Any, key: str | None) -> Any:
    """Return the options of reading; formats of cells that are not given are those of the table of the model."""
    from ravine.tables import CellFormat, ReadOptions

    decimal, thousands = (shared[name] or getattr(fitted, name) for name in ("decimal", "thousands"))
    cells = CellFormat(decimal, thousands, (*fitted.na, *shared["na"]), fitted.day_first)
    as_text = () if key is None else (key,)
    return ReadOptions(shared["delimiter"], shared["encoding"], shared["header"], cells, as_text, shared["max_size"])


def _check_output_file(out: str, force: bool, model: str, data: str) -> None:
    """Raise an error if the labels cannot be written to a file, or would replace something else."""
    import os
    from pathlib import Path

    from ravine._files import find_obstacle

    if out == "-":
        return
    obstacle = find_obstacle(out)
    if obstacle:
        raise CommandError(
            f"{out!r} is {obstacle}, not a file: choose another --out, or print the labels with --out -."
        )
    for name, used in {"model": model, "input": data}.items():
        if os.path.exists(out) and os.path.exists(used) and os.path.samefile(out, used):
            raise CommandError(f"{out!r} is the {name} of this run, which is not replaced: choose another --out.")
    if os.path.exists(out) and not force:
        raise CommandError(f"{out!r} already exists: use --force to replace it, or choose another --out.")
    if not Path(out).absolute().parent.is_dir():
        raise CommandError(f"the folder of {out!r} does not exist: create it first.")


def _load_table_model(path: str) -> Any:
    from ravine.models import TableModel, load

    model = load(path)
    if not isinstance(model, TableModel):
        raise CommandError(
            f"{path!r} was saved from Python and has no column names: use it in Python with ravine.load."
        )
    return model


def _check_additions(estimator: Any, outliers: bool) -> None:
    """Raise an error if a model cannot mark outliers."""
    if outliers and not hasattr(estimator, "outlier_model_"):
        raise CommandError("the model does not mark outliers: fit it with ravine cluster --outliers auto.")


def _predict(
    model: Any,
    table: Any,
    key: str | None,
    options: dict[str, Any],
    additions: dict[str, bool],
    source: str,
    console: Console,
) -> Any:
    import numpy as np

    from ravine.cli.summary import Result, get_row_keys
    from ravine.tables import average_memberships, transform_table, vote

    missing = model.missing if options["missing"] is None else options["missing"]
    scaler = model.preparation.set_params(handle_unknown=options["unknown"])
    used = (*(name for name, _, _ in scaler.list_features()), key, model.label_column)
    unused = [name for name in table.columns if name not in used]
    if unused:
        console.report(f"ignored columns, which the model does not use: {join_names(unused)}")
    prepared = transform_table(table, scaler, missing, console.report, model.imputer)
    X, estimator = prepared.X, model.estimator
    classify = hasattr(estimator, "classes_")
    probability = scores = instability = None
    asks = classify or additions["memberships"]
    if len(X) and missing == "multiple":
        completions = model.imputer.impute(X)
        labels, instability = vote(estimator, completions)
        probability = average_memberships(estimator, completions, labels) if asks else None
    elif len(X):
        labels = estimator.predict(X, outliers=True) if additions["outliers"] else estimator.predict(X)
        probability = estimator.predict_proba(X).max(axis=1) if asks else None
        scores = estimator.score_outliers(X) if additions["outliers"] else None
    else:
        labels = estimator.classes_[:0] if classify else np.empty(0, dtype=np.intp)
        probability = np.empty(0) if asks else None
        scores = np.empty(0) if additions["outliers"] else None
    keys, key_name = get_row_keys(table, key)
    command = "classify" if classify else "cluster"
    result = Result(command, source, model, X, prepared.kept, labels, key_name, keys, None, probability)
    result.outlier_scores, result.instability = scores, instability
    return result


def _count_groups(result: Any) -> dict[str, int]:
    import numpy as np

    groups, counts = np.unique(result.labels, return_counts=True)
    return {str(group): int(n) for group, n in zip(groups.tolist(), counts.tolist(), strict=True)}


def _write_labels(result: Any, out: str) -> None:
    from ravine._files import replace_file
    from ravine.cli.outputs import make_labels_table, write_csv

    with ExitStack() as deferral:
        with replace_file(out) as temporary:
            with temporary.open("wb") as stream:
                write_csv(make_labels_table(result), stream)
            deferral.enter_context(defer_signals())
        announce(f"{out!r} is complete")
