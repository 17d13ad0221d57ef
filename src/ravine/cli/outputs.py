"""Files that a run writes: labels, model, figures, report, summary."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from ravine._plurals import count
from ravine.cli.console import Console, escape
from ravine.cli.errors import announce
from ravine.cli.summary import Result, keep_rows
from ravine.tables import is_number

LABELS, MODEL, REPORT, SUMMARY, FIGURES = "labels.csv", "model.ravine", "report.html", "summary.json", "figures"
SUGGESTIONS = "suggestions.csv"
# Glob patterns of all figures that `_list_figures` may yield.
FIGURE_NAMES = (
    "tree", "cells", "boundary-[0-9]*", "direction", "direction-[0-9]*", "split-[0-9]*", "pair-[0-9]*", "hyperplane",
    "path",
)  # fmt: skip
# All files that a run may write, so that none of an earlier run is mistaken for a result of this one.
RESULTS = (LABELS, SUGGESTIONS, MODEL, REPORT, SUMMARY, *(f"{FIGURES}/{name}.png" for name in FIGURE_NAMES))
# Number of splits, or pairs of classes, that get a figure of their own.
MAX_SPLITS = 2
DOTS_PER_INCH = 130
# A text that begins like this, and has more characters, is a formula unless it is a number.
BEGINNING = r"(?s)^[=+\-@\t\r]."


def write_outputs(stage: Path, result: Result, console: Console, figures: bool = True) -> list[str]:
    """Write all files of a run into a folder and return their names.

    Parameters
    ----------
    stage : Path
        Empty folder.
    result : Result
    console : Console
    figures : bool
        Whether to write figures and report.
    """
    from ravine.models import save

    with console.step("writing"):
        with (stage / LABELS).open("wb") as stream:
            write_csv(make_labels_table(result), stream)
        if result.suggested is not None:
            with (stage / SUGGESTIONS).open("wb") as stream:
                write_csv(make_suggestions_table(result), stream)
        save(result.model, stage / MODEL)
    imputer = result.model.imputer
    if imputer is not None:
        console.report(
            f"{MODEL} contains {count(len(imputer.donors_), 'row')} of the table, from which missing cells are drawn"
        )
    if figures:
        with console.step("drawing"):
            write_figures(stage / FIGURES, result)
            write_report(stage / REPORT, result)
    names = sorted(str(path.relative_to(stage)) for path in stage.rglob("*") if path.is_file())
    result.summary |= {
        "notes": list(console.notes),
        "files": [*names, SUMMARY],
        "seconds": {k: round(s, 3) for k, s in console.seconds.items()},
    }
    text = json.dumps(result.summary, ensure_ascii=False, allow_nan=False, indent=1, default=str)
    (stage / SUMMARY).write_text(text + "\n", encoding="utf-8")
    return list(result.summary["files"])


# ----------------------------------------------------------------------------------------------- labels


def make_labels_table(result: Result) -> Any:
    """Return a table with one row for each row of the input: its key, its label, and the label that was given."""
    columns: dict[str, Any] = {result.key_name: result.keys}

    def find_free_name(name: str) -> str:
        return name if name not in columns else find_free_name(f"ravine_{name}")

    columns[find_free_name(result.group_name)] = _extend_to_all_rows(result.labels, result.kept)
    if result.probability is not None:
        name = "probability" if result.command == "classify" else "membership"
        columns[find_free_name(name)] = _extend_to_all_rows(result.probability.round(4), result.kept)
    if result.outlier_scores is not None:
        columns[find_free_name("outlier_score")] = _extend_to_all_rows(result.outlier_scores.round(4), result.kept)
    if result.instability is not None:
        columns[find_free_name("instability")] = _extend_to_all_rows(result.instability.round(4), result.kept)
    if result.given is not None:
        columns[find_free_name("given")] = import_module("pyarrow").array(result.given.tolist())
    table = import_module("pyarrow").table(columns)
    return protect_formulas(table) if result.protects_formulas else table


def make_suggestions_table(result: Result) -> Any:
    """Return the rows of the table of labels that should be labelled next, the most helpful first."""
    import numpy as np

    assert result.suggested is not None
    places = result.suggested if result.kept is None else np.flatnonzero(result.kept)[result.suggested]
    return make_labels_table(result).take(import_module("pyarrow").array(places))


def _extend_to_all_rows(values: Any, kept: Any) -> Any:
    """Return a column with the values of the kept rows and empty cells for the others."""
    import numpy as np

    pa = import_module("pyarrow")
    column = pa.array(values.tolist() if values.dtype.kind == "O" else values)
    if kept is None:
        return column
    positions = np.cumsum(kept) - 1
    return column.take(pa.array(positions, mask=~kept))


def print_labels(table: Any) -> None:
    """Write a table as CSV to standard output; on a terminal, control characters in its cells are escaped."""
    announce("the printed labels may be incomplete")
    if not sys.stdout.isatty():
        write_csv(table, sys.stdout.buffer)
    else:
        stream = io.BytesIO()
        write_csv(table, stream)
        sys.stdout.writelines(f"{escape(line)}\n" for line in stream.getvalue().decode().split("\n")[:-1])
    sys.stdout.flush()
    announce("the printed labels are complete")


def report_formulas(result: Result, console: Console) -> None:
    """Report cells of the labels that a spreadsheet would take for formulas, unless they are protected."""
    n = 0 if result.protects_formulas else count_formulas(make_labels_table(result))
    if n:
        console.report(
            f"note: a spreadsheet would read {n} cell{'' if n == 1 else 's'} of the labels as formulas, since they "
            "begin with =, +, - or @: use --spreadsheet to write an apostrophe before them"
        )


def write_csv(table: Any, stream: BinaryIO) -> None:
    """Write a table as CSV."""
    csv = import_module("pyarrow.csv")
    csv.write_csv(table, stream, csv.WriteOptions(quoting_style="needed"))


# ----------------------------------------------------------------------------------------------- figures and report


def write_figures(folder: Path, result: Result) -> None:
    """Draw the figures of a run.

    Parameters
    ----------
    folder : Path
        Created if there is anything to draw.
    result : Result
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    for name, draw in _list_figures(result):
        folder.mkdir(exist_ok=True)
        figure = draw().figure_
        figure.set_dpi(DOTS_PER_INCH)
        # savefig would draw everything twice, the first time only for the layout.
        FigureCanvasAgg(figure).print_png(folder / f"{name}.png")  # type: ignore[no-untyped-call]
        pyplot.close(figure)


def _list_figures(result: Result) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the name of each figure and the function that draws it."""
    from ravine import plotting

    estimator, X, names = result.model.estimator, result.X, result.feature_names
    draw_hyperplane = partial(plotting.HyperplaneDisplay.from_estimator, estimator, X)
    draw_direction = partial(plotting.DirectionDisplay.from_estimator, estimator, feature_names=names)
    if hasattr(estimator, "tree_"):
        tree = estimator.tree_
        if tree.n_leaves > 1:
            yield "tree", partial(plotting.TreeDisplay.from_estimator, estimator, X)
        if tree.joins is not None and tree.n_leaves > 1:
            if X.shape[1] == 2:
                yield "cells", partial(plotting.CellDisplay.from_estimator, estimator, X, feature_names=names)
            for boundary in _find_weakest_boundaries(tree, X):
                name = f"boundary-{boundary.first}-{boundary.second}"
                yield name, partial(plotting.BoundaryDisplay.from_boundary, boundary)
        splits = sorted((k for k in range(len(tree)) if tree.left[k] >= 0), key=lambda k: tree.order[k])
        if splits:
            yield "direction-0", partial(draw_direction, node=0)
        for k in splits[:MAX_SPLITS]:
            yield f"split-{k}", partial(draw_hyperplane, node=k)
    elif len(getattr(estimator, "classes_", ())) > 2:
        pairs = [pair for pair, plane in estimator.hyperplanes_.items() if plane.splits]
        for number, pair in enumerate(pairs[:MAX_SPLITS]):
            yield f"pair-{number}", partial(draw_hyperplane, pair=pair)
    elif estimator.hyperplane_.splits:
        yield "hyperplane", draw_hyperplane
        yield "direction", draw_direction
        yield "path", partial(plotting.PathDisplay.from_estimator, estimator, X)


def _find_weakest_boundaries(tree: Any, X: Any) -> list[Any]:
    """Return the boundaries with the least evidence, of those that can be drawn."""
    from ravine.explain import find_boundaries
    from ravine.rows import as_rows

    try:
        found = find_boundaries(tree, as_rows(X))
    except ValueError:  # too few rows, or repeated values
        return []
    drawable = [boundary for boundary in found if boundary.contact is not None]
    return sorted(drawable, key=lambda boundary: boundary.evidence)[:MAX_SPLITS]


def write_report(path: Path, result: Result) -> None:
    """Write the report of a run."""
    import numpy as np

    from ravine import report

    scaler, summary = result.model.preparation, result.summary
    scaled = bool(scaler.mean_.any() or (scaler.scale_ != 1.0).any())
    completions = [summary["completions"]["text"]] if "completions" in summary else []
    report.write_report(
        path, result.model.estimator, result.X, feature_names=result.feature_names,
        labels_true=keep_rows(result.given, result.kept), label_name=result.model.label_column or "label",
        row_keys=keep_rows(np.asarray(result.keys), result.kept), key_name=result.key_name,
        source=Path(result.source).name, settings=summary["settings"], notes=[*summary["notes"], *completions],
        centre=scaler.mean_ if scaled else None, scale=scaler.scale_ if scaled else None,
    )  # fmt: skip


# ----------------------------------------------------------------------------------------------- formulas

# Text in the table of labels that a spreadsheet would take for a formula.


def count_formulas(table: Any) -> int:
    """Count the cells and names of columns of a table that a spreadsheet would take for formulas."""
    table = _decode_dictionaries(table)
    texts = [table.column(name) for name in _find_texts(table)]
    return sum(map(_is_formula, table.column_names)) + sum(len(_find_formulas(column)) for column in texts)


def protect_formulas(table: Any) -> Any:
    """Write an apostrophe before cells and names of columns of a table that a spreadsheet would take for formulas."""
    pa, table = import_module("pyarrow"), _decode_dictionaries(table)
    for name in _find_texts(table):
        column = table.column(name)
        found = _find_formulas(column)
        if found:
            cells = column.to_pylist()
            for k in found:
                cells[k] = f"'{cells[k]}"
            table = table.set_column(table.column_names.index(name), name, pa.array(cells, pa.string()))
    return table.rename_columns([f"'{name}" if _is_formula(name) else name for name in table.column_names])


def _decode_dictionaries(table: Any) -> Any:
    """Return a table whose columns are not stored as dictionaries."""
    types = import_module("pyarrow").types
    for k, field in enumerate(table.schema):
        if types.is_dictionary(field.type):
            table = table.set_column(k, field.name, table.column(k).cast(field.type.value_type))
    return table


def _find_texts(table: Any) -> list[str]:
    """Return the names of the columns of text."""
    types = import_module("pyarrow").types
    return [field.name for field in table.schema if types.is_string(field.type) or types.is_large_string(field.type)]


def _find_formulas(column: Any) -> list[int]:
    """Return the positions of the cells of a column that are formulas."""
    compute = import_module("pyarrow.compute")
    candidates = compute.indices_nonzero(compute.match_substring_regex(column, BEGINNING).fill_null(False)).to_pylist()
    return [k for k in candidates if _is_formula(column[k].as_py())]


def _is_formula(text: str) -> bool:
    return len(text) > 1 and text[0] in "=+-@\t\r" and not is_number(text)
