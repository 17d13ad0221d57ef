"""Commas in numbers: decimal commas, or separators of thousands."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ravine.tables.sniff import is_number

__all__ = ["describe_thousands", "has_decimal_commas", "may_have_thousands"]

DECIMAL_COMMA = re.compile(r"\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*")
# Groups of three digits after one to three digits, the first of which is not zero.
THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?\s*")


def has_decimal_commas(cells: Sequence[str]) -> bool:
    """Return whether all cells are numbers, and the comma of some can only be a decimal comma.

    Three digits follow a comma that separates thousands, and at most three digits without a leading zero come before.
    """
    return all(map(is_number, cells)) and any(
        DECIMAL_COMMA.fullmatch(cell) and not THOUSANDS.fullmatch(cell) for cell in cells
    )


def may_have_thousands(cells: Sequence[str]) -> bool:
    """Return whether all cells are numbers, and all commas, of which there are some, can separate thousands."""
    with_commas = [cell for cell in cells if "," in cell]
    return (
        bool(with_commas)
        and all(map(THOUSANDS.fullmatch, with_commas))
        and all(is_number(cell) for cell in cells if "," not in cell)
    )


def describe_thousands(examples: dict[str, str]) -> str:
    """Return the message about columns whose commas may separate thousands.

    Parameters
    ----------
    examples : dict
        A number with a comma of each column.
    """
    listed = ", ".join(f"{name!r} (such as {cell!r})" for name, cell in list(examples.items())[:5])
    more = f" and {len(examples) - 5} more" if len(examples) > 5 else ""
    return (
        f"commas in {listed}{more} may separate thousands or be decimal commas: remove them in the file, or add  "
        "--decimal ,  if they are decimal commas."
    )
