"""Columns of a table: which can be features, which hold labels, what makes the others usable, and their features."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._plurals import count, join_counts, join_names, join_texts
from ravine._typing import Array
from ravine.tables.cells import find_example, is_unclear
from ravine.tables.imputer import MultipleImputer
from ravine.tables.mixed_scaler import (
    MixedScaler,
    check_finite,
    count_categories,
    count_missing,
    find_missing,
    judge_texts,
)
from ravine.tables.read import Report, TableError, is_missing, is_number

# A column with more distinct texts than this is not encoded as zeros and ones.
MAX_CATEGORIES = 50
# Labels with fractions are measurements if there are more different ones than the first number. Labels identify rows if
# there are more than the first number, and more than the second share of the rows.
MANY_CLASSES, MOST_DIFFERENT = 20, 0.5
# Columns of categories that are reported one by one; the model file lists all.
MOST_REPORTED = 20
# A column with a larger share of missing cells is left out.
MOST_MISSING = 0.5
# Integers that all differ identify the rows if their column has such a name.
IDENTIFIER = re.compile(r"(?i)(^|[_\W])(id|uuid|guid|key|index|rowid|row_?num(ber)?)$|[a-z]I[Dd]$")
FRACTION = re.compile(r"(?i)[+-]?\d*\.\d*[1-9]\d*(e[+-]?\d+)?")
NUMBERS_ROWS = "it numbers the rows"
UNCLEAR = "its commas or points may be decimal or separate thousands: choose the decimal separator"
# Treatment of missing cells by the scaler, for each treatment of a table.
MISSING = {"error": "error", "drop": "keep", "impute-median": "median", "multiple": "keep"}
SCALES = {"standard": "standardised (mean 0, standard deviation 1)", "robust": "scaled by median and quartiles"}


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
    fill_reason : str
        Why cells cannot be filled several times; empty if they can.
    """

    drop: tuple[str, ...] = ()
    key: str | None = None
    label: str | None = None
    encode: str = "error"
    missing: str = "error"
    scale: str = "standard"
    normalize: str = "none"
    fill_reason: str = ""

    @property
    def fills(self) -> tuple[str, ...]:
        """Treatments that fill missing cells, the best of them last."""
        return ("impute-median",) if self.fill_reason else ("impute-median", "multiple")


def resolve_columns(table: Any, choices: ColumnChoices) -> ColumnChoices:
    """Check that all chosen columns exist; an entry "a,b" of ``drop`` is split unless a column has that name."""
    names = list(table.columns)
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
    table : DataFrame
    column : str
    report : callable
    learn : bool
        Whether an estimator learns from the labels. Then -1 is rejected: it could also mean "unlabelled".
    """
    cells = np.array([None if is_missing(cell) else cell for cell in table[column].tolist()], dtype=object)
    labels = [cell for cell in cells if cell is not None]
    # Integers with gaps are often stored as floats.
    kind = int if all(type(cell) is int or (isinstance(cell, float) and cell.is_integer()) for cell in labels) else str
    values = np.array([None if cell is None else kind(cell) for cell in cells], dtype=object)
    different = list(dict.fromkeys(str(kind(label)).strip() for label in labels))
    if learn and {"-1", "-1.0"} & set(different):
        raise TableError(
            f'column {column!r} contains -1, which is ambiguous: it could be a class or mean "unlabelled". Leave the '
            "cells of unlabelled rows empty, or rename the class."
        )
    are_measured = sum(FRACTION.fullmatch(label) is not None for label in different) > MANY_CLASSES
    if learn and (are_measured or len(different) > max(MANY_CLASSES, MOST_DIFFERENT * len(cells))):
        raise TableError(
            f"column {column!r} has {len(different)} different labels in {len(cells)} rows, such as "
            f"{different[0][:40]!r}: they measure or identify rows and are not classes. Choose another column.",
            label=column,
        )
    report(f"labels in {column!r}: {len(labels)} of {len(cells)} rows are labelled, {len(cells) - len(labels)} are not")
    return values


# ----------------------------------------------------------------------------------------------- judgement of columns


@dataclass(frozen=True)
class Column:
    """Judgement of a column.

    Attributes
    ----------
    kind : str
        "number", "boolean", "text", "unclear" for texts that are numbers of two meanings, or the type of cells that
        cannot be used.
    n_missing : int
    counts : dict
        Number of cells of each text.
    problem : str
        Why the column cannot be used; empty if it can.
    doubt : str
        Why the column should be left out although it can be used; empty if it should not.
    """

    kind: str
    n_missing: int
    counts: dict[str, int]
    problem: str
    doubt: str

    def show_text(self) -> str:
        """Return the most telling text as an example."""
        texts = sorted(self.counts, key=lambda cell: (is_number(cell), "," not in cell))
        return f"text such as {texts[0][:30]!r}"


def judge_columns(table: Any, choices: ColumnChoices) -> dict[str, Column]:
    """Judge all columns that may be features: those that are not chosen for something else."""
    left_out = {*choices.drop, choices.key, choices.label}
    return {name: _judge(name, cells, choices.encode) for name, cells in table.items() if name not in left_out}


def _judge(name: str, cells: Any, encode: str) -> Column:
    n, n_missing, kind = len(cells), int(find_missing(cells).sum()), _find_kind(cells.dtype)
    counts = count_categories(cells.tolist()) if kind == "text" else {}
    if n_missing == n:
        return Column("empty", n, counts, "all of its cells are empty", "")
    problem = doubt = ""
    if kind == "text" and is_unclear([*counts]):
        kind, problem = "unclear", f"text such as {find_example([*counts])!r}: {UNCLEAR}"
    elif kind == "text":
        problem = judge_texts(counts, 0.0) if encode == "one-hot" else judge_texts(counts)
        if encode == "one-hot" and len(counts) > MAX_CATEGORIES:
            problem = f"it has {len(counts)} distinct texts, more than {MAX_CATEGORIES}"
    elif kind not in ("number", "boolean"):
        problem = f"its type is {kind}: convert it to numbers"
    if n_missing > MOST_MISSING * n:
        doubt = f"{100.0 * n_missing / n:.0f} % of its cells are missing"
    elif cells.dtype.kind in "iu" and n > 2 and not n_missing and (np.diff(cells.to_numpy()) == 1).all():
        doubt = NUMBERS_ROWS
    elif cells.dtype.kind in "iu" and IDENTIFIER.search(name) and cells.is_unique:
        doubt = "it identifies the rows"
    return Column(kind, n_missing, counts, problem, doubt)


def _find_kind(dtype: Any) -> str:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype, is_string_dtype

    if is_bool_dtype(dtype) or is_numeric_dtype(dtype):
        return "boolean" if is_bool_dtype(dtype) else "number"
    is_text = is_string_dtype(dtype) and not hasattr(dtype, "pyarrow_dtype")
    return "text" if is_text else str(dtype).removesuffix("[pyarrow]")


# ----------------------------------------------------------------------------------------------- remedies


def find_remedy(table: Any, choices: ColumnChoices) -> tuple[dict[str, str], dict[str, Column], dict[str, Any]]:
    """Return the columns to leave out, with the reasons; the others; and the choices that make these usable.

    Choices of the user are kept.
    """
    columns = judge_columns(table, choices)
    reasons = {name: one.doubt or ("" if one.kind == "unclear" else one.problem) for name, one in columns.items()}
    drop = {name: reason for name, reason in reasons.items() if reason}
    kept = {name: column for name, column in columns.items() if name not in drop}
    changes = {
        "drop": tuple(drop),
        "encode": "famd" if list_kind(kept, "text") and choices.encode == "error" else None,
        "missing": choices.fills[-1] if list_missing(kept) and choices.missing == "error" else None,
    }
    return drop, kept, {name: choice for name, choice in changes.items() if choice}


def list_kind(columns: dict[str, Column], kind: str) -> list[str]:
    """Return the names of the columns of some kind."""
    return [name for name, column in columns.items() if column.kind == kind]


def list_missing(columns: dict[str, Column]) -> list[str]:
    """Return the names of the columns with missing cells."""
    return [name for name, column in columns.items() if column.n_missing]


def apply_remedy(table: Any, choices: ColumnChoices, report: Report) -> tuple[Any, ColumnChoices, dict[str, Any]]:
    """Return the table, choices that make it usable, and those that were changed, each of which is reported."""
    drop, kept, changes = find_remedy(table, choices)
    unclear = {name: kept[name].problem for name in list_kind(kept, "unclear")}
    if unclear:
        raise TableError(f"{_join_reasons(unclear)}.", decimal=(".", ","))
    if drop and not kept:
        raise TableError(f"no column can be used: {_join_reasons(drop)}. Convert one to numbers, or add one.")
    check_finite(table[list(kept)])
    for name, reason in drop.items():
        report(f"auto: {name!r} is left out: {reason}")
    if "encode" in changes:
        report(f"auto: {join_names(list_kind(kept, 'text'))} encoded as categories")
    if "missing" in changes:
        why = f", with medians because {choices.fill_reason}: rows pile up at a median, which can look like a cluster"
        filled = join_names(list_missing(kept))
        report(f"auto: {filled} filled where cells are missing{why if choices.fill_reason else ''}")
    return table, replace(choices, **{**changes, "drop": (*choices.drop, *drop)}), changes


def _join_reasons(reasons: dict[str, str]) -> str:
    return join_texts([f"{name!r} ({reason})" for name, reason in reasons.items()])


# ----------------------------------------------------------------------------------------------- features


def choose_features(table: Any, choices: ColumnChoices, report: Report) -> tuple[list[str], list[str]]:
    """Return the columns to use, and those of them that hold categories; one error names all problems."""
    columns = judge_columns(table, choices)
    if not columns:
        raise TableError("no column is left: drop fewer.")
    texts = list_kind(columns, "text")
    problems = {name: column.problem for name, column in columns.items() if column.problem}
    if choices.encode == "error":
        problems |= {name: columns[name].show_text() for name in texts}
    if problems:
        _refuse_columns(problems, table, choices)
    booleans = [name for name, column in columns.items() if column.kind == "boolean"]
    if booleans:
        report(f"{join_names(booleans)}: true and false are used as 1 and 0")
    for name, column in columns.items():
        if column.doubt == NUMBERS_ROWS:
            report(f"warning: {name!r} numbers the rows but is used as a feature; choose it as key if it is an id")
    return list(columns), texts


def _refuse_columns(problems: dict[str, str], table: Any, choices: ColumnChoices) -> None:
    """Raise an error about columns that cannot be used, with the choices that make all columns usable."""
    drop, kept, changes = find_remedy(table, choices)
    number = "no" if len(problems) == len(drop) + len(kept) else "not every"
    text = f"{number} column can be used: {_join_reasons(problems)}"
    if "missing" in changes:
        text += f", and cells are missing in {join_names(list_missing(kept))}"
    text += ". If a column identifies or labels the rows, choose it as key or label."
    if not kept:
        raise TableError(f"{text} Convert them to numbers.")
    if list_kind(kept, "unclear"):
        raise TableError(text, **changes, decimal=(".", ","))
    raise TableError(text, **changes, auto=True)


# ----------------------------------------------------------------------------------------------- preparation


@dataclass(frozen=True)
class PreparedTable:
    """Features of a table.

    Attributes
    ----------
    X : ndarray of shape (n_kept, n_features)
        NaN where cells are missing, if these are filled several times.
    kept : ndarray of bool of shape (n,) or None
        Mask of the rows that are used; None for all.
    scaler : MixedScaler
    imputer : MultipleImputer or None
        Fills missing cells of X.
    """

    X: Array
    kept: NDArray[np.bool_] | None
    scaler: MixedScaler
    imputer: MultipleImputer | None = None


def fit_table(table: Any, choices: ColumnChoices, report: Report, seed: int = 0) -> PreparedTable:
    """Choose the features of a table and scale them; an error names the columns that cannot be used."""
    names, texts = choose_features(table, choices, report)
    rows, kept = _treat_missing(table[names], choices.missing, report, choices.fills)
    if kept is not None and kept.sum() < 2:
        raise TableError("every row has a missing cell: fill them, or drop the emptiest columns.")
    encode = "famd" if choices.encode == "famd" else "one-hot"
    scaler = MixedScaler(
        categorical=texts, encode=encode, scale=choices.scale, normalize=choices.normalize,
        missing=MISSING[choices.missing],
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # rare categories are reported below
        X = scaler.fit_transform(rows)
    _report_categories(scaler, report)
    features = scaler.get_feature_names_out()
    constant = features[(X[0] == X).all(axis=0)].tolist()
    if len(constant) == len(features):
        raise TableError("all rows are equal: there is nothing to separate.")
    if constant:
        report(f"{join_names(constant)} {'is' if len(constant) == 1 else 'are'} constant and cannot separate anything")
    if choices.normalize == "l2":
        report("each row is divided by its length before the features are scaled")
    report(f"{count(len(features), 'feature')}, {SCALES.get(choices.scale, 'not scaled')}")
    imputer = MultipleImputer(random_state=seed).fit(X) if choices.missing == "multiple" else None
    return PreparedTable(X, kept, scaler, imputer)


def _report_categories(scaler: MixedScaler, report: Report) -> None:
    how = "and scaled as in FAMD" if scaler.encode == "famd" else "as zeros and ones"
    more = len(scaler.categories_) - MOST_REPORTED
    for name, texts in islice(scaler.categories_.items(), MOST_REPORTED):
        rare = scaler.rare_.get(name, ())
        n = len(texts) + len(rare) - bool(rare)
        report(f"{name!r} has {n} categories, encoded {how}: {join_names(texts, 5)}")
        if rare:
            report(f"{name!r}: rare categories count as {texts[-1]!r}: {join_names(rare, 5)}")
    if more > 0:
        report(f"and {count(more, 'more column')} of categories, encoded {how}")


def transform_table(
    table: Any, scaler: MixedScaler, missing: str, report: Report, imputer: MultipleImputer | None = None
) -> PreparedTable:
    """Prepare a new table as the one that a model was fitted to."""
    if missing == "impute-median" and scaler.missing != "median":
        raise TableError("the model has no medians: fit it to filled cells, or leave these rows out.", missing=missing)
    if missing == "multiple" and imputer is None:
        raise TableError("the model has no rows to fill cells with: fit it with the same treatment.", missing=missing)
    select_columns(table, scaler._columns)
    rows, kept = _treat_missing(table[list(scaler._columns)], missing, report)
    X = scaler.transform(rows) if kept is None or kept.any() else np.empty((0, len(scaler.mean_)))
    return PreparedTable(X, kept, scaler, imputer)


def _treat_missing(
    table: Any, missing: str, report: Report, fills: Sequence[str] = ()
) -> tuple[Any, NDArray[np.bool_] | None]:
    """Return the rows to use, and their mask (None for all)."""
    check_finite(table)
    counts = count_missing(table)
    if not counts:
        return table, None
    if missing == "error":
        raise TableError(
            f"missing cells: {join_counts(counts)}. Leave these rows out{', or fill the cells' if fills else ''}.",
            missing=("drop", *fills),
        )
    if missing == "drop":
        kept = table.notna().all(axis=1).to_numpy()
        report(f"{int((~kept).sum())} of {len(kept)} rows have missing cells and get no label: {join_counts(counts)}")
        return table[kept], kept
    medians = "with medians (text: the most frequent category)"
    how = "several times with values of similar rows" if missing == "multiple" else medians
    report(f"missing cells filled {how}: {join_counts(counts)}")
    return table, None


def select_columns(table: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return columns of any table; raise an error that names those it does not have."""
    known = list(map(str, getattr(table, "column_names", table)))
    missing = [name for name in names if name not in known]
    if missing:
        raise ValueError(
            f"the table has no column {join_names(missing)}, which the model needs; it has {join_names(known)}."
        )
    return {name: table[name] for name in names}
