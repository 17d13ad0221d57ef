"""Choices for a table that make all of its columns usable: to apply, or to suggest as options of the command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

import numpy as np

from ravine.tables.categories import is_free_text
from ravine.tables.choose import (
    ColumnChoices,
    count_text_cells,
    decode_dictionary,
    is_counter,
    is_text,
    join_names,
    list_columns,
    list_texts,
)
from ravine.tables.commas import describe_thousands, has_decimal_commas, may_have_thousands
from ravine.tables.prepare import check_finite
from ravine.tables.read import Report
from ravine.tables.sniff import is_missing, is_number
from ravine.tables.table_error import TableError

__all__ = ["Remedy", "apply_remedy", "find_remedy"]

# Integers that all differ identify the rows if their column has such a name.
IDENTIFIER = re.compile(r"(?i)(^|[_\W])(id|uuid|guid|key|index|rowid|row_?num(ber)?)$|[a-z]I[Dd]$")
# A column with a larger share of missing cells is left out.
MOST_MISSING = 0.5


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
        Columns of numbers whose commas may separate thousands, with an example. They need a decision of the user.
    encode : tuple of str
        Columns of categories.
    missing : tuple of str
        Columns with missing cells.
    choices : ColumnChoices
        The choices of the user with these changes.
    """

    drop: dict[str, str] = field(default_factory=dict)
    commas: tuple[str, ...] = ()
    thousands: dict[str, str] = field(default_factory=dict)
    encode: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    choices: ColumnChoices = field(default_factory=ColumnChoices)

    def list_options(self, given: ColumnChoices) -> str:
        """Return the options that have the same effect, without those that were given."""
        words = [f"--drop {shlex.quote(name)}" for name in self.drop]
        words += ["--decimal ,"] if self.commas else []
        words += [f"--encode {self.choices.encode}"] if self.choices.encode != given.encode else []
        words += [f"--missing {self.choices.missing}"] if self.choices.missing != given.missing else []
        return " ".join(words)


def find_remedy(table: Any, choices: ColumnChoices) -> Remedy:
    """Find the columns to leave out, to encode and to fill; choices of the user are kept."""
    types = import_module("pyarrow").types
    drop: dict[str, str] = {}
    commas, thousands = _find_commas(table, choices)
    texts: list[str] = []
    gaps: list[str] = []
    for name in list_columns(table, choices)[0]:
        column = decode_dictionary(table[name])
        n_missing = count_missing(column)
        reason = ""
        if n_missing == table.num_rows:
            reason = "all of its cells are empty"
        elif n_missing > MOST_MISSING * table.num_rows:
            reason = f"{100.0 * n_missing / table.num_rows:.0f} % of its cells are missing"
        elif is_text(column.type) and name not in commas and name not in thousands:
            reason = _judge_text(column)
            texts.append(name)
        elif types.is_temporal(column.type):
            reason = "dates and times are not numbers"
        elif not (is_numeric(column.type) or is_text(column.type) or types.is_boolean(column.type)):
            reason = f"cells of the type {column.type} cannot be used"
        elif is_counter(column):
            reason = "it numbers the rows"
        elif types.is_integer(column.type) and IDENTIFIER.search(name) and len(column.unique()) == table.num_rows:
            reason = "it identifies the rows"
        if reason:
            drop[name] = reason
        elif n_missing:
            gaps.append(name)
    kept = tuple(name for name in texts if name not in drop)
    changes = replace(
        choices,
        drop=(*choices.drop, *drop),
        encode="famd" if kept and choices.encode == "error" else choices.encode,
        missing=choices.fill if gaps and choices.missing == "error" else choices.missing,
    )
    thousands = {name: cell for name, cell in thousands.items() if name not in drop}
    return Remedy(drop, tuple(name for name in commas if name not in drop), thousands, kept, tuple(gaps), changes)


def _find_commas(table: Any, choices: ColumnChoices) -> tuple[list[str], dict[str, str]]:
    """Return the columns of numbers with decimal commas, and those whose commas may separate thousands.

    A table uses commas in one way: if one column has decimal commas, those of the others are, too, where they can be.
    """
    names = [name for name in list_columns(table, choices)[0] if is_text(decode_dictionary(table[name]).type)]
    texts = {name: list_texts(table[name]) for name in names}
    commas = [name for name in names if has_decimal_commas(texts[name])]
    unclear = {
        name: next(cell for cell in texts[name] if "," in cell) for name in names if may_have_thousands(texts[name])
    }
    if commas:
        commas = [name for name in names if name in commas or (name in unclear and all(map(is_number, texts[name])))]
    return commas, {name: cell for name, cell in unclear.items() if name not in commas}


def apply_remedy(table: Any, choices: ColumnChoices, report: Report) -> tuple[Any, ColumnChoices]:
    """Return the table and the choices that make it usable; every change is reported."""
    found = find_remedy(table, choices)
    if found.thousands:
        raise TableError(describe_thousands(found.thousands))
    kept = list_columns(table, found.choices)[0]
    if found.drop and not kept:
        reasons = ", ".join(f"{name!r} ({reason})" for name, reason in list(found.drop.items())[:5])
        more = f" and {len(found.drop) - 5} more" if len(found.drop) > 5 else ""
        raise TableError(f"--auto finds no column to use: {reasons}{more}. Convert a column to numbers, or add one.")
    _refuse_infinite(table, kept)
    for name, reason in found.drop.items():
        report(f"auto: {name!r} is left out: {reason}")
    for name in found.commas:
        table = _convert_commas(table, name)
    for text in _describe_changes(found, choices):
        report(f"auto: {text}")
    options = found.list_options(choices)
    report(f"auto: the same as {options}" if options else "auto: nothing had to be changed")
    return table, found.choices


def _refuse_infinite(table: Any, names: Sequence[str]) -> None:
    """Raise an error if some columns contain infinite values."""
    types = import_module("pyarrow").types
    floats = {name: table[name].to_numpy() for name in names if types.is_floating(table.schema.field(name).type)}
    infinite = [name for name, values in floats.items() if np.isinf(values).any()]
    if infinite:
        check_finite(np.column_stack([floats[name] for name in infinite]), infinite)


def _describe_changes(found: Remedy, choices: ColumnChoices) -> Iterator[str]:
    if found.commas:
        yield f"{_join(found.commas)} read as numbers with a decimal comma"
    if found.choices.encode != choices.encode:
        yield f"{_join(found.encode)} encoded as categories"
    if found.choices.missing != choices.missing:
        yield f"{_join(found.missing)} filled where cells are missing{_describe_fill(found.choices)}"


def _describe_fill(choices: ColumnChoices) -> str:
    """Return a warning if medians replace several completions, with the reason."""
    if choices.missing != "impute-median":
        return ""
    return (
        f", with medians because {choices.fill_reason}: rows pile up at a median, which can look like a cluster "
        "(--missing drop leaves them out)"
    )


def _join(names: Sequence[str]) -> str:
    return f"{join_names(names)} {'is' if len(names) == 1 else 'are'}"


def _judge_text(column: Any) -> str:
    """Return why a column of text cannot be encoded; empty if it can."""
    counts = count_text_cells(column)
    if len(counts) == 1:
        return f"it has one category, {next(iter(counts))[:40]!r}"
    if is_free_text(counts):
        return f"it has {len(counts)} distinct texts, most of them rare: names, identifiers or free text"
    return ""


def is_numeric(kind: Any) -> bool:
    """Return whether a type of pyarrow is a number."""
    types = import_module("pyarrow").types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def count_missing(column: Any) -> int:
    """Return the number of missing cells of a column."""
    if is_text(column.type):
        return sum(map(is_missing, column.to_pylist()))
    compute = import_module("pyarrow.compute")
    return int(compute.sum(compute.is_null(column, nan_is_null=True)).as_py() or 0)


def _convert_commas(table: Any, name: str) -> Any:
    """Return a table in which a column of texts such as "1,5" holds numbers."""
    cells = decode_dictionary(table[name]).to_pylist()
    numbers = np.array([np.nan if is_missing(cell) else float(str(cell).strip().replace(",", ".")) for cell in cells])
    return table.set_column(table.column_names.index(name), name, import_module("pyarrow").array(numbers))
