"""`ravine predict`: clusters or classes of new rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from ravine.cli.errors import DataError, PoliteCommand, visible
from ravine.cli.options import COMMON, MISSING, READING, options
from ravine.cli.voice import Voice

__all__ = ["predict"]


@click.command(cls=PoliteCommand, epilog="\b\nExample:\n  ravine predict data-ravine/model.ravine new.csv > labels.csv")
@click.argument("model", metavar="MODEL")
@click.argument("data", metavar="FILE")
@click.option("--key", default=None, metavar="COLUMN", help="Column that names the rows.  [the number of the row]")
@click.option("--missing", type=MISSING, default=None, help="What to do with missing cells.  [as when it was fitted]")
@click.option("--out", default="-", show_default=True, metavar="FILE", help="Where the labels go; - prints them.")
@click.option("--force", is_flag=True, help="Replace that file if it is there already.")
@options(READING, COMMON)
def predict(
    model: str,
    data: str,
    key: str | None,
    missing: str | None,
    out: str,
    force: bool,
    delimiter: str | None,
    header: bool | None,
    encoding: str | None,
    decimal: str,
    quiet: bool,
    as_json: bool,
    debug: bool,
) -> None:
    """Give the rows of FILE (- is standard input) the clusters or classes of a MODEL.

    Columns are found by their names, prepared as they were for the model, and others are ignored.
    """
    import sys
    from pathlib import Path

    from ravine._files import replacing
    from ravine.cli.columns import Choices
    from ravine.cli.columns import check_names as check_choices
    from ravine.cli.outputs import labels_table, write_csv
    from ravine.cli.tables import Reading, read_table

    voice = Voice(quiet, as_json)
    if out != "-" and Path(out).exists() and not force:
        raise DataError(f"{out!r} exists already: give --force to replace it, or another --out.")
    if out != "-" and not Path(out).absolute().parent.is_dir():
        raise DataError(f"the folder of {out!r} does not exist: make it first.")
    known = load_table_model(model)
    with voice.working("reading"):
        table = read_table(data, Reading(delimiter, encoding, header, decimal, (key,) if key else ()), voice.say)
    check_choices(table, Choices(key=key))
    with voice.working("predicting"):
        result = _predict(known, table, key, missing, data, voice)
    counts = _counts(result)
    if as_json:
        summary = {"command": "predict", "rows": table.num_rows, "counts": counts, "notes": voice.notes}
        voice.result({**summary, "labels": labels_table(result).to_pydict()} if out == "-" else summary)
    elif out == "-":
        write_csv(labels_table(result), sys.stdout.buffer)
        sys.stdout.flush()
    if out != "-":
        with replacing(out) as part, part.open("wb") as stream:
            write_csv(labels_table(result), stream)
    voice.tell(", ".join(f"{visible(group)}: {n} rows" for group, n in list(counts.items())[:20]))


def load_table_model(path: str) -> Any:
    """A model that the command wrote."""
    from ravine.models import TableModel, load

    model = load(path)
    if not isinstance(model, TableModel):
        raise DataError(
            f"{path!r} was saved by ravine.save and does not know columns by name: use it in Python with ravine.load."
        )
    return model


def _predict(model: Any, table: Any, key: str | None, missing: str | None, source: str, voice: Voice) -> Any:
    import numpy as np

    from ravine.cli.columns import Choices, check_finite, named, plain_columns
    from ravine.cli.result import Result
    from ravine.cli.run import row_keys
    from ravine.models.preparation import check_columns, listed

    plan = model.preparation if missing is None else replace(model.preparation, missing=missing)
    if plan.missing == "impute-median" and np.isnan(plan.medians).any():
        raise DataError("the model knows no medians: fit it with --missing impute-median, or give --missing drop.")
    check_columns(table, plan.columns)
    unused = [name for name in table.column_names if name not in (*plan.columns, key, model.label_column)]
    if unused:
        voice.say(f"ignored, since the model does not use {'it' if len(unused) == 1 else 'them'}: {named(unused)}")
    raw = plan.matrix(plain_columns(table, plan.columns))
    check_finite(raw, plan.feature_names)
    gaps, kept = plan.missing_counts(raw), None
    if gaps and plan.missing == "error":
        raise DataError(f"missing cells: {listed(gaps)}. Fill them, or leave such rows unlabelled with --missing drop.")
    if gaps and plan.missing == "drop":
        kept = ~np.isnan(raw).any(axis=1)
        raw = raw[kept]
        voice.say(f"{int((~kept).sum())} of {len(kept)} rows have missing cells and get no label: {listed(gaps)}")
    elif gaps:
        voice.say(f"missing cells filled with the medians of the model's table: {listed(gaps)}")
    X = plan.finish(raw)
    probability = None
    if hasattr(model.estimator, "classes_"):
        command = "classify"
        chances = model.estimator.predict_proba(X) if len(X) else np.empty((0, 1))
        probability = chances.max(axis=1)
        found = model.estimator.predict(X) if len(X) else model.estimator.classes_[:0]
    else:
        command = "cluster"
        found = model.estimator.predict(X) if len(X) else np.empty(0, dtype=np.intp)
    keys, key_name = row_keys(table, Choices(key=key))
    return Result(command, source, model, X, kept, found, key_name, keys, None, probability)


def _counts(result: Any) -> dict[str, int]:
    import numpy as np

    groups, counts = np.unique(result.found, return_counts=True)
    return {str(group): int(n) for group, n in zip(groups.tolist(), counts.tolist(), strict=True)}
