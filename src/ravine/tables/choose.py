"""Choice of the columns that become features. Every decision is reported: nothing is dropped or encoded silently."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine.tables.categories import MIN_FREQUENCY, OTHER, Categories, count_categories, group_rare, is_free_text
from ravine.tables.commas import describe_thousands
from ravine.tables.read import Report
from ravine.tables.sniff import is_missing, is_number
from ravine.tables.table_error import TableError

__all__ = [
    "ColumnChoices",
    "choose_features",
    "describe_rare",
    "extract_columns",
    "join_names",
    "read_labels",
    "resolve_columns",
]

# A column with more distinct texts than this is not categorical.
MAX_CATEGORIES = 50
# More different labels than this that are numbers with fractions are measurements: as many classes are not meant. More
# than this and than a share of the rows identify rows.
MANY_CLASSES, MOST_DIFFERENT = 20, 0.5
# The name that pandas gives to an unnamed index when it writes a data frame.
PANDAS_INDEX = re.compile(r"__index_level_\d+__")


@dataclass(frozen=True)
class ColumnChoices:
    """The user's choices about columns.

    Attributes
    ----------
    drop : tuple of str
        Columns to leave out.
    key, label : str or None
        Columns that identify and label the rows; they are not features.
    encode : {"error", "one-hot", "famd"}
        Treatment of text columns.
    missing : {"error", "drop", "impute-median", "multiple"}
        Treatment of missing cells.
    scale : {"standard", "robust", "none"}
    normalize : {"none", "l2"}
        Whether rows are divided by their lengths.
    fill : {"multiple", "impute-median"}
        Treatment of missing cells to suggest.
    fill_reason : str
        Why ``fill`` is not "multiple".
    """

    drop: tuple[str, ...] = ()
    key: str | None = None
    label: str | None = None
    encode: str = "error"
    missing: str = "error"
    scale: str = "standard"
    normalize: str = "none"
    fill: str = "multiple"
    fill_reason: str = ""


def resolve_columns(table: Any, choices: ColumnChoices) -> ColumnChoices:
    """Check that all chosen columns exist, and split ``--drop a,b`` unless there is a column of that name."""
    names = table.column_names
    dropped: list[str] = []
    for entry in choices.drop:
        dropped += [entry] if entry in names else entry.split(",")
    for name in dropped:
        _check_exists(name, "--drop", names)
    if choices.key is not None:
        _check_exists(choices.key, "--key", names)
    if choices.label is not None:
        _check_exists(choices.label, "--label-column", names)
        if choices.label == choices.key:
            raise TableError(f"--key and --label-column are the same column, {choices.label!r}: choose two.")
    return replace(choices, drop=tuple(dropped))


def _check_exists(name: str, option: str, names: Sequence[str]) -> None:
    if name not in names:
        near = get_close_matches(name, names, 1)
        hint = f"Did you mean {near[0]!r}?" if near else f"The columns are {join_names(names)}."
        raise TableError(f"{option} {name}: no such column. {hint}")


def read_labels(table: Any, column: str, report: Report, *, learn: bool) -> NDArray[Any]:
    """Return the labels in a column: integers if all are, else text; None where a cell is empty.

    Parameters
    ----------
    table : pyarrow.Table
    column : str
    report : callable
    learn : bool
        Whether an estimator learns from the labels. Then -1 is rejected: it could also mean "unlabelled".
    """
    cells = [None if is_missing(cell) else cell for cell in decode_dictionary(table[column]).to_pylist()]
    labels = [cell for cell in cells if cell is not None]
    # Integers with gaps are often stored as floats.
    integers = all(type(cell) is int or (isinstance(cell, float) and cell.is_integer()) for cell in labels)
    cells = [None if cell is None else int(cell) if integers else str(cell) for cell in cells]
    if learn and any(cell is not None and str(cell).strip() in ("-1", "-1.0") for cell in cells):
        raise TableError(
            f'column {column!r} contains -1, which is ambiguous: it could be a class or mean "unlabelled". Leave the '
            "cells of unlabelled rows empty, or rename the class."
        )
    if learn and not integers:
        _refuse_measurements(column, labels)
    if learn:
        _refuse_identifiers(column, labels, len(cells))
    values = np.empty(len(cells), dtype=object)
    values[:] = cells
    n_empty = len(cells) - len(labels)
    report(f"labels in {column!r}: {len(labels)} of {len(cells)} rows are labelled, {n_empty} are not")
    return values


def _refuse_measurements(column: str, labels: Sequence[Any]) -> None:
    """Raise an error if a column of labels holds many different numbers with fractions."""
    fractions = sorted({str(label) for label in labels if _has_fraction(label)})
    if len(fractions) > MANY_CLASSES:
        raise TableError(
            f"column {column!r} holds {len(fractions)} different numbers, such as {fractions[0]}, not classes: choose "
            "another --label-column, or turn the numbers into a few classes."
        )


def _refuse_identifiers(column: str, labels: Sequence[Any], n_rows: int) -> None:
    """Raise an error if a column has almost as many different labels as rows."""
    different = list(dict.fromkeys(map(str, labels)))
    if len(different) > max(MANY_CLASSES, MOST_DIFFERENT * n_rows):
        raise TableError(
            f"column {column!r} has {len(different)} different labels in {n_rows} rows, such as {different[0][:40]!r}: "
            "these identify rows and are not classes. Choose another --label-column, or use this one as --key."
        )


def _has_fraction(label: Any) -> bool:
    try:
        number = float(label)
    except (TypeError, ValueError):
        return False
    return math.isfinite(number) and not number.is_integer()


def join_names(names: Sequence[str], most: int = 8) -> str:
    """Return the first names as text, with the number of those left out."""
    return ", ".join(map(repr, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")


def describe_rare(categories: Categories) -> str:
    """Return the rare categories of a column as text, and the category that they join."""
    joined = f", together with the category {OTHER!r} of the column" if categories.has_other else ""
    return f"{join_names(categories.rare, 5)}{joined}"


# ----------------------------------------------------------------------------------------------- types of columns


def choose_features(
    table: Any, choices: ColumnChoices, report: Report
) -> tuple[tuple[str, ...], dict[str, Categories]]:
    """Return the columns to use, and the categories of those that hold text."""
    columns, indices = list_columns(table, choices)
    if indices:
        report(f"{join_names(indices)}: index of a data frame, not used (--key {indices[0]} copies it to the results)")
    texts, booleans, empty, others = _sort_by_type(table, columns)
    if others or (texts and choices.encode == "error"):
        others |= dict.fromkeys(empty, "all cells empty")
        raise TableError(_describe_unusable(table, texts, others, columns, choices))
    if empty:
        raise TableError(_describe_empty(empty))
    if not columns:
        raise TableError("no column is left: drop fewer.")
    if booleans:
        report(f"{join_names(booleans)}: true and false are used as 1 and 0")
    _warn_about_counters(table, columns, report)
    counts = {name: count_text_cells(table[name]) for name in texts}
    _refuse_texts(counts, choices.encode)
    return tuple(columns), {name: _find_categories(name, counts[name], choices.encode, report) for name in texts}


def list_columns(table: Any, choices: ColumnChoices) -> tuple[list[str], list[str]]:
    """Return the columns that may be features, and those that hold an index written by pandas."""
    excluded = {*choices.drop, choices.key, choices.label}
    indices = [name for name in table.column_names if PANDAS_INDEX.fullmatch(name) and name not in excluded]
    return [name for name in table.column_names if name not in {*excluded, *indices}], indices


def _sort_by_type(table: Any, columns: Sequence[str]) -> tuple[list[str], list[str], list[str], dict[str, str]]:
    """Return the columns of text, those of booleans, empty ones, and those of types that cannot be used."""
    types = import_module("pyarrow").types
    texts, booleans, empty, others = [], [], [], {}
    for name in columns:
        kind = table.schema.field(name).type
        kind = kind.value_type if types.is_dictionary(kind) else kind
        if types.is_null(kind) or table[name].null_count == table.num_rows:
            empty.append(name)
        elif types.is_boolean(kind):
            booleans.append(name)
        elif is_text(kind):
            texts.append(name)
        elif not (types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)):
            others[name] = "dates or times" if types.is_temporal(kind) else str(kind)
    return texts, booleans, empty, others


def _describe_empty(names: Sequence[str]) -> str:
    return f"{join_names(names)}: all cells are empty. Leave out with {suggest_dropping(names)}."


def _describe_unusable(
    table: Any, texts: list[str], others: dict[str, str], columns: list[str], choices: ColumnChoices
) -> str:
    """Return the message about columns that are not numeric, with examples and the options to add."""
    from ravine.tables.automatic import find_remedy  # it uses this module

    parts = [f"{name!r} (text such as {_find_example(table[name])[:30]!r})" for name in texts[:3]]
    parts += [f"{name!r} (text)" for name in texts[3:8]]
    parts += [f"{name!r} ({kind})" for name, kind in list(others.items())[:5]]
    unusable = [*texts, *others]
    rest = len(unusable) - len(parts)
    listed = f"{', '.join(parts)}{f' and {rest} more' if rest > 0 else ''}"
    problem = f"{listed} {'is' if len(unusable) == 1 else 'are'} not numeric"
    if len(unusable) == len(columns):
        problem = f"no column is numeric: {listed}"
    remedy = find_remedy(table, choices)
    if remedy.missing and choices.missing == "error":
        problem += f", and cells are missing in {join_names(remedy.missing)}"
    options = remedy.list_options(choices)
    advice = f"Add  {options}  or let --auto choose the same."
    if len(remedy.drop) == len(columns):
        advice = "Convert them to numbers."
    elif remedy.commas:
        advice = (
            f"{join_names(remedy.commas, 3)} {'has' if len(remedy.commas) == 1 else 'have'} decimal commas. {advice}"
        )
    if remedy.thousands:
        question = describe_thousands(remedy.thousands)
        advice = f"{question[0].upper()}{question[1:]}{f' Then add  {options}' if options else ''}"
    return f"{problem}. {advice} If a column identifies or labels the rows, name it with --key or --label-column."


def list_texts(column: Any) -> list[str]:
    """Return the different cells of a column as text, without missing ones."""
    return [str(cell) for cell in decode_dictionary(column).unique().to_pylist() if not is_missing(cell)]


def _find_example(column: Any) -> str:
    """Return a cell that is not a number, else one with a comma, else the first one."""
    cells = list_texts(column)
    texts = [cell for cell in cells if not is_number(cell)] or [cell for cell in cells if "," in cell]
    return next(iter([*texts, *cells]), "")


def suggest_dropping(names: Sequence[str]) -> str:
    words = " ".join(f"--drop {shlex.quote(name)}" for name in names[:5])
    return words + (" ..." if len(names) > 5 else "")


def _refuse_texts(counts: dict[str, dict[str, int]], encode: str) -> None:
    """Raise one error that names all columns of text that cannot be encoded."""
    problems = [_describe_text(name, found, encode) for name, found in counts.items()]
    message = " ".join(filter(None, problems))
    if message:
        raise TableError(message)


def _describe_text(name: str, counts: dict[str, int], encode: str) -> str:
    """Return why a column of text cannot be encoded; empty if it can."""
    if not counts:
        return _describe_empty([name])
    if encode == "one-hot" and len(counts) > MAX_CATEGORIES:
        return (
            f"column {name!r} has {len(counts)} distinct texts, too many for --encode one-hot (at most "
            f"{MAX_CATEGORIES}): leave it out with {suggest_dropping([name])}, or use it as --key."
        )
    if encode != "one-hot" and is_free_text(counts):
        return (
            f"column {name!r} has {len(counts)} distinct texts, most of them rare: it is not categorical. Leave it out "
            f"with {suggest_dropping([name])}, or use it as --key."
        )
    if encode != "one-hot" and len(counts) == 1:
        return (
            f"column {name!r} has one category, {next(iter(counts))[:40]!r}, and cannot separate anything: leave it "
            f"out with {suggest_dropping([name])}."
        )
    return ""


def _find_categories(name: str, counts: dict[str, int], encode: str, report: Report) -> Categories:
    """Return the categories of a column of text; rare ones are grouped if the encoding is "famd"."""
    if encode == "one-hot":
        report(f"{name!r} has {len(counts)} categories, encoded as zeros and ones: {join_names(list(counts), 5)}")
        return Categories(tuple(counts))
    found = group_rare(counts, MIN_FREQUENCY)
    report(f"{name!r} has {len(counts)} categories, encoded and scaled as in FAMD: {join_names(list(found.names), 5)}")
    if found.rare:
        report(f"{name!r}: rare categories count as 'other': {describe_rare(found)}")
    return found


def count_text_cells(column: Any) -> dict[str, int]:
    """Return the number of cells of each text in a column, without missing ones."""
    return count_categories(None if is_missing(cell) else cell for cell in decode_dictionary(column).to_pylist())


def _warn_about_counters(table: Any, columns: Sequence[str], report: Report) -> None:
    """Report columns that number the rows: they are rarely meant as features."""
    for name in columns:
        if is_counter(table[name]):
            report(f"warning: {name!r} numbers the rows but is used as a feature; use --key {name} if it is an id")


def is_counter(column: Any) -> bool:
    """Return whether a column counts the rows: integers without gaps, each larger by one than the one before."""
    types = import_module("pyarrow").types
    if not types.is_integer(column.type) or column.null_count or len(column) <= 2:
        return False
    values = np.asarray(column)
    return bool((np.diff(values[:1000]) == 1).all() and (np.diff(values) == 1).all())


def is_text(kind: Any) -> bool:
    types = import_module("pyarrow").types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def decode_dictionary(column: Any) -> Any:
    types = import_module("pyarrow").types
    return column.cast(column.type.value_type) if types.is_dictionary(column.type) else column


def extract_columns(table: Any, columns: Sequence[str]) -> dict[str, Any]:
    """Return columns of numbers, booleans or text, with None or NaN for missing cells."""
    plain: dict[str, Any] = {}
    for name in columns:
        plain[name] = column = decode_dictionary(table[name])
        if is_text(column.type):
            plain[name] = cells = np.empty(len(column), dtype=object)
            cells[:] = [None if is_missing(cell) else cell for cell in column.to_pylist()]
    return plain
