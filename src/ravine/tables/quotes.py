"""Quotes of a text table that are never closed: what follows would silently become part of their cell."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["find_open_quote"]


def find_open_quote(lines: Iterable[str], delimiter: str) -> int | None:
    """Return the number of the line where a quote opens that is not closed at the end of a cell; None if all are.

    A quote opens at the start of a cell. Inside quotes, two quotes stand for one. Text after a closing quote is ignored
    unless the quotes join several lines.
    """
    is_open, opened = False, 0
    for number, line in enumerate(lines, start=1):
        is_closed = False  # whether the last quote closed a cell
        *before, rest = line.split('"')
        for k, text in enumerate(before):
            if is_open:
                is_open, is_closed = False, True
            elif is_closed and not text:
                is_open, is_closed = True, False
            elif is_closed and opened < number and not text.startswith(delimiter):
                return opened
            elif text.endswith(delimiter) or (k == 0 and not text):
                is_open, opened = True, number
            else:
                is_closed = False
        if is_closed and opened < number and rest and not rest.startswith(delimiter):
            return opened
    return opened if is_open else None
