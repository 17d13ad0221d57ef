"""Text that a spreadsheet would take for a formula, in the table of labels."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ravine.tables import is_number

__all__ = ["count_formulas", "protect_formulas"]

# A text that begins like this, and has more characters, is a formula unless it is a number.
BEGINNING = r"(?s)^[=+\-@\t\r]."


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
