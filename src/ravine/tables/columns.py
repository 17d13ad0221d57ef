"""Columns of a table: which can be features, which hold labels, and what would make the others usable."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine.tables.mixed_scaler import check_finite, count_categories, is_free_text, join_names
from ravine.tables.read import Report, TableError, is_missing, is_number

# A column with more distinct texts than this is not encoded as zeros and ones.
MAX_CATEGORIES = 50
# Labels with fractions are measurements if there are more different ones than the first number. Labels identify rows if
# there are more than the first number, and more than the second share of the rows.
MANY_CLASSES, MOST_DIFFERENT = 20, 0.5
# A column with a larger share of missing cells is left out.
MOST_MISSING = 0.5
# The name that pandas gives to an unnamed index when it writes a data frame.
PANDAS_INDEX = re.compile(r"__index_level_\d+__")
# Integers that all differ identify the rows if their column has such a name.
IDENTIFIER = re.compile(r"(?i)(^|[_\W])(id|uuid|guid|key|index|rowid|row_?num(ber)?)$|[a-z]I[Dd]$")
DECIMAL_COMMA = re.compile(r"\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*")
# Groups of three digits after one to three digits, the first of which is not zero.
THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?\s*")


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
    """Check that all chosen columns exist; an entry "a,b" of ``drop`` is split unless a column has that name."""
    names = table.column_names
    drop = tuple(name for entry in choices.drop for name in ([entry] if entry in names else entry.split(",")))
    for role, name in (*(("drop", name) for name in drop), ("key", choices.key), ("label", choices.label)):
        if name is not None and name not in names:
            near = get_close_matches(name, names, 1)
            hint = f"Did you mean {near[0]!r}?" if near else f"The columns are {join_names(names)}."
            raise TableError(f"there is no column {name!r}. {hint}", **{role: name})
    if choices.label is not None and choices.label == choices.key:
        raise TableError("key and label are the same column: choose two.", key=choices.key, label=choices.label)
    return replace(choices, drop=drop)


# ----------------------------------------------------------------------------------------------- labels


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
    cells = [None if is_missing(cell) else cell for cell in _decode(table[column]).to_pylist()]
    labels = [cell for cell in cells if cell is not None]
    # Integers with gaps are often stored as floats.
    integers = all(type(cell) is int or (isinstance(cell, float) and cell.is_integer()) for cell in labels)
    values = np.empty(len(cells), dtype=object)
    values[:] = [None if cell is None else int(cell) if integers else str(cell) for cell in cells]
    if learn:
        _refuse_labels(column, [str(value).strip() for value in values if value is not None], len(cells))
    n_empty = len(cells) - len(labels)
    report(f"labels in {column!r}: {len(labels)} of {len(cells)} rows are labelled, {n_empty} are not")
    return values


def _refuse_labels(column: str, labels: Sequence[str], n_rows: int) -> None:
    """Raise an error if labels are ambiguous, measurements or identifiers."""
    different = list(dict.fromkeys(labels))
    if {"-1", "-1.0"} & set(different):
        raise TableError(
            f'column {column!r} contains -1, which is ambiguous: it could be a class or mean "unlabelled". Leave the '
            "cells of unlabelled rows empty, or rename the class."
        )
    fractions = sorted(label for label in different if _has_fraction(label))
    if len(fractions) > MANY_CLASSES:
        raise TableError(
            f"column {column!r} holds {len(fractions)} different numbers, such as {fractions[0]}, not classes: choose "
            "another column of labels, or turn the numbers into a few classes.",
            label=column,
        )
    if len(different) > max(MANY_CLASSES, MOST_DIFFERENT * n_rows):
        raise TableError(
            f"column {column!r} has {len(different)} different labels in {n_rows} rows, such as {different[0][:40]!r}: "
            "these identify rows and are not classes. Choose another column of labels, or use this one as key.",
            label=column,
        )


def _has_fraction(label: str) -> bool:
    try:
        return math.isfinite(float(label)) and not float(label).is_integer()
    except ValueError:
        return False


# ----------------------------------------------------------------------------------------------- judgement of columns


@dataclass(frozen=True)
class Column:
    """Judgement of a column.

    Attributes
    ----------
    kind : str
        "number", "boolean", "text", "empty", or the type of cells that cannot be used.
    n_missing : int
    counts : dict
        Number of cells of each text.
    reason : str
        Why the column should be left out; empty if it should not.
    """

    kind: str
    n_missing: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    reason: str = ""


def list_columns(table: Any, choices: ColumnChoices) -> list[str]:
    """Return the columns that may be features: not the chosen ones, and not an index written by pandas."""
    excluded = {*choices.drop, choices.key, choices.label}
    return [name for name in table.column_names if name not in excluded and not PANDAS_INDEX.fullmatch(name)]


def _judge(name: str, column: Any) -> Column:
    types, column = import_module("pyarrow").types, _decode(column)
    kind, n = column.type, len(column)
    if _is_text(kind):
        counts = count_categories(None if is_missing(cell) else cell for cell in column.to_pylist())
        n_missing = n - sum(counts.values())
    else:
        compute = import_module("pyarrow.compute")
        counts, n_missing = {}, int(compute.sum(compute.is_null(column, nan_is_null=True)).as_py() or 0)
    if n_missing == n:
        return Column("empty", n, {}, "all of its cells are empty")
    sparse = f"{100.0 * n_missing / n:.0f} % of its cells are missing" if n_missing > MOST_MISSING * n else ""
    if _is_text(kind):
        return Column("text", n_missing, counts, sparse or _judge_text(counts))
    if types.is_boolean(kind):
        return Column("boolean", n_missing, {}, sparse)
    if not _is_number(kind):
        dates = "dates or times" if types.is_temporal(kind) else ""
        why = "dates and times are not numbers" if dates else f"cells of the type {kind} cannot be used"
        return Column(dates or str(kind), n_missing, {}, sparse or why)
    if not sparse and _counts_rows(column):
        return Column("number", n_missing, {}, "it numbers the rows")
    is_id = types.is_integer(kind) and IDENTIFIER.search(name) and len(column.unique()) == n
    return Column("number", n_missing, {}, sparse or ("it identifies the rows" if is_id else ""))


def _judge_text(counts: dict[str, int]) -> str:
    if len(counts) == 1:
        return f"it has one category, {next(iter(counts))[:40]!r}"
    if is_free_text(counts):
        return f"it has {len(counts)} distinct texts, most of them rare: names, identifiers or free text"
    return ""


def _counts_rows(column: Any) -> bool:
    """Return whether a column counts the rows: integers without gaps, each larger by one than the one before."""
    if not import_module("pyarrow").types.is_integer(column.type) or column.null_count or len(column) <= 2:
        return False
    values = np.asarray(column)
    return bool((np.diff(values[:1000]) == 1).all() and (np.diff(values) == 1).all())


def _is_text(kind: Any) -> bool:
    types = import_module("pyarrow").types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _is_number(kind: Any) -> bool:
    types = import_module("pyarrow").types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind))


def _decode(column: Any) -> Any:
    """Return a column of pyarrow with its values instead of a dictionary of them."""
    is_encoded = import_module("pyarrow").types.is_dictionary(column.type)
    return column.cast(column.type.value_type) if is_encoded else column


def _find_commas(columns: dict[str, Column]) -> tuple[list[str], dict[str, str]]:
    """Return the columns of numbers with decimal commas, and an example of those whose commas may separate thousands.

    A table uses commas in one way: if one column has decimal commas, those of the others are, too, where they can be.
    """
    decimal, unclear = [], {}
    for name, column in columns.items():
        with_commas = [cell for cell in column.counts if "," in cell]
        numeric = all(map(is_number, column.counts))
        if with_commas and all(map(THOUSANDS.fullmatch, with_commas)):
            if all(is_number(cell) for cell in column.counts if "," not in cell):
                unclear[name] = with_commas[0]
        elif numeric and any(DECIMAL_COMMA.fullmatch(c) and not THOUSANDS.fullmatch(c) for c in with_commas):
            decimal.append(name)
    if decimal:
        decimal = [n for n in columns if n in decimal or (n in unclear and all(map(is_number, columns[n].counts)))]
    return decimal, {name: cell for name, cell in unclear.items() if name not in decimal}


# ----------------------------------------------------------------------------------------------- remedies


@dataclass(frozen=True)
class Remedy:
    """Choices that make all columns of a table usable.

    Attributes
    ----------
    drop : dict
        Columns to leave out, with the reason.
    commas : tuple of str
        Columns of numbers with a decimal comma.
    thousands : dict
        Columns whose commas may separate thousands, with an example: they need a decision of the user.
    encode, missing : tuple of str
        Columns of categories, and columns with missing cells.
    choices : ColumnChoices
        The choices of the user with these changes.
    """

    drop: dict[str, str]
    commas: tuple[str, ...]
    thousands: dict[str, str]
    encode: tuple[str, ...]
    missing: tuple[str, ...]
    choices: ColumnChoices

    def list_changes(self, given: ColumnChoices) -> dict[str, Any]:
        """Return the choices that differ from the given ones."""
        changed = {name: getattr(self.choices, name) for name in ("encode", "missing")}
        changes: dict[str, Any] = {"drop": tuple(self.drop)} if self.drop else {}
        changes |= {"decimal": ","} if self.commas else {}
        return changes | {name: value for name, value in changed.items() if value != getattr(given, name)}


def find_remedy(table: Any, choices: ColumnChoices) -> Remedy:
    """Find the columns to leave out, to encode and to fill; choices of the user are kept."""
    columns = {name: _judge(name, table[name]) for name in list_columns(table, choices)}
    commas, thousands = _find_commas(columns)
    usable = {*commas, *thousands}
    drop = {n: c.reason for n, c in columns.items() if c.reason and not (n in usable and c.reason.startswith("it "))}
    kept = {name: column for name, column in columns.items() if name not in drop}
    texts = tuple(name for name, column in kept.items() if column.kind == "text" and name not in usable)
    gaps = tuple(name for name, column in kept.items() if column.n_missing)
    changes = replace(
        choices,
        drop=(*choices.drop, *drop),
        encode="famd" if texts and choices.encode == "error" else choices.encode,
        missing=choices.fill if gaps and choices.missing == "error" else choices.missing,
    )
    commas = [name for name in commas if name in kept]
    return Remedy(drop, tuple(commas), {n: c for n, c in thousands.items() if n in kept}, texts, gaps, changes)


def apply_remedy(table: Any, choices: ColumnChoices, report: Report) -> tuple[Any, Remedy]:
    """Return the table with decimal commas converted, and the choices that make it usable; every change is reported."""
    found = find_remedy(table, choices)
    if found.thousands:
        raise TableError(_describe_thousands(found.thousands), decimal=",")
    kept = list_columns(table, found.choices)
    if found.drop and not kept:
        reasons = ", ".join(f"{name!r} ({reason})" for name, reason in list(found.drop.items())[:5])
        more = f" and {len(found.drop) - 5} more" if len(found.drop) > 5 else ""
        raise TableError(f"no column can be used: {reasons}{more}. Convert a column to numbers, or add one.")
    for name in found.commas:
        numbers = [
            np.nan if is_missing(c) else float(str(c).strip().replace(",", ".")) for c in table[name].to_pylist()
        ]
        table = table.set_column(table.column_names.index(name), name, import_module("pyarrow").array(numbers))
    check_finite(extract_columns({name: table[name] for name in kept}))
    for text in _describe_changes(found, choices):
        report(f"auto: {text}")
    return table, found


def _describe_changes(found: Remedy, choices: ColumnChoices) -> Iterator[str]:
    yield from (f"{name!r} is left out: {reason}" for name, reason in found.drop.items())
    if found.commas:
        yield f"{_join(found.commas)} read as numbers with a decimal comma"
    if found.choices.encode != choices.encode:
        yield f"{_join(found.encode)} encoded as categories"
    if found.choices.missing != choices.missing:
        how = f", with medians because {choices.fill_reason}: rows pile up at a median, which can look like a cluster"
        how = how if found.choices.missing == "impute-median" else ""
        yield f"{_join(found.missing)} filled where cells are missing{how}"


def _join(names: Sequence[str]) -> str:
    return f"{join_names(names)} {'is' if len(names) == 1 else 'are'}"


def _describe_thousands(examples: dict[str, str]) -> str:
    listed = ", ".join(f"{name!r} (such as {cell!r})" for name, cell in list(examples.items())[:5])
    more = f" and {len(examples) - 5} more" if len(examples) > 5 else ""
    return (
        f"commas in {listed}{more} may separate thousands or be decimal commas: remove them in the file, or choose the "
        "comma as decimal separator."
    )


# ----------------------------------------------------------------------------------------------- features


def choose_features(table: Any, choices: ColumnChoices, report: Report) -> tuple[list[str], list[str]]:
    """Return the columns to use, and those of them that hold categories; one error names all problems."""
    names = list_columns(table, choices)
    for name in table.column_names:
        if PANDAS_INDEX.fullmatch(name) and name not in (*choices.drop, choices.key, choices.label):
            report(f"{name!r}: index of a data frame, not used (as key it is copied to the results)")
    columns = {name: _judge(name, table[name]) for name in names}
    kinds = {kind: [n for n in names if columns[n].kind == kind] for kind in ("text", "boolean", "empty", "number")}
    others = [name for name in names if columns[name].kind not in kinds]
    if others or (kinds["text"] and choices.encode == "error"):
        _refuse_unusable(table, columns, choices)
    if not names:
        raise TableError("no column is left: drop fewer.")
    problems = {n: _describe_problem(n, columns[n], choices.encode) for n in (*kinds["empty"], *kinds["text"])}
    if any(problems.values()):
        bad = tuple(name for name, text in problems.items() if text)
        raise TableError(" ".join(problems[name] for name in bad), drop=bad)
    if kinds["boolean"]:
        report(f"{join_names(kinds['boolean'])}: true and false are used as 1 and 0")
    for name in kinds["number"]:
        if columns[name].reason == "it numbers the rows":
            report(f"warning: {name!r} numbers the rows but is used as a feature; choose it as key if it is an id")
    return names, kinds["text"]


def _describe_problem(name: str, column: Column, encode: str) -> str:
    """Return why a column cannot be used; empty if it can."""
    n = len(column.counts)
    if column.kind == "empty":
        return f"column {name!r}: all cells are empty."
    if encode == "one-hot":
        return f"column {name!r} has {n} distinct texts, more than {MAX_CATEGORIES}." if n > MAX_CATEGORIES else ""
    if is_free_text(column.counts):
        return f"column {name!r} has {n} distinct texts, most of them rare: it is not categorical."
    return f"column {name!r} has one category, {next(iter(column.counts))[:40]!r}." if n == 1 else ""


def _refuse_unusable(table: Any, columns: dict[str, Column], choices: ColumnChoices) -> None:
    """Raise an error about columns that are not numeric, with examples and the choices that make them usable."""
    shown = [name for name, column in columns.items() if column.kind not in ("number", "boolean")]
    parts = [f"{name!r} ({_describe_kind(columns[name])})" for name in shown[:8]]
    listed = ", ".join(parts) + (f" and {len(shown) - 8} more" if len(shown) > 8 else "")
    problem = f"{listed} {'is' if len(shown) == 1 else 'are'} not numeric"
    problem = f"no column is numeric: {listed}" if len(shown) == len(columns) else problem
    remedy = find_remedy(table, choices)
    if remedy.missing and choices.missing == "error":
        problem += f", and cells are missing in {join_names(remedy.missing)}"
    problem += ". If a column identifies or labels the rows, choose it as key or label."
    if len(remedy.drop) == len(columns):
        raise TableError(f"{problem} Convert them to numbers.")
    if remedy.thousands:
        question = _describe_thousands(remedy.thousands)
        raise TableError(f"{problem} {question[0].upper()}{question[1:]}", **remedy.list_changes(choices))
    if remedy.commas:
        problem += f" {join_names(remedy.commas, 3)} {'has' if len(remedy.commas) == 1 else 'have'} decimal commas."
    raise TableError(problem, **remedy.list_changes(choices), auto=True)


def _describe_kind(column: Column) -> str:
    texts = sorted(column.counts, key=lambda cell: (is_number(cell), "," not in cell))  # the most telling first
    return f"text such as {texts[0][:30]!r}" if column.kind == "text" else column.kind


def extract_columns(table: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return columns of pyarrow as floats, or as objects if they hold text; NaN where cells are missing."""
    columns = {}
    for name, column in ((name, _decode(column)) for name, column in table.items()):
        if _is_text(column.type):
            columns[name] = np.empty(len(column), dtype=object)
            columns[name][:] = [np.nan if is_missing(cell) else cell for cell in column.to_pylist()]
        elif _is_number(column.type):
            columns[name] = np.asarray(column.cast(import_module("pyarrow").float64(), safe=False), dtype=np.float64)
        else:
            columns[name] = np.asarray(column)  # refused by the scaler
    return columns
