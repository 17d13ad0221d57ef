"""Texts of a table that are numbers or dates, also with separators, currency signs or codes of missing values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module

import numpy as np

from ravine._plurals import join_names, join_texts
from ravine._typing import Array

Separators = tuple[str, str]
# Texts that stand for missing values in columns of numbers and dates, in lower case.
CODES = frozenset({
    "-", "--", "---", "–", "—", ".", "..", "...", "?", "*", "/", "none", "missing", "unknown", "not available",
    "n.a.", "n.d.", "nd", "#value!", "#div/0!", "#ref!", "unbekannt", "fehlt", "keine angabe", "k.a.", "k. a.",
    "inconnu", "desconocido", "sconosciuto",
})  # fmt: skip
UNITS = r"US\$|[$€£¥₹]|USD|EUR|GBP|CHF|JPY"
NUMBER = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>[-+−]?)\s*(?P<before>{UNITS})?\s*(?P<inner>[-+−]?)\s*"
    rf"(?P<digits>\d[\d.,' ]*|[.,]\d+)(?P<power>[eE][-+]?\d+)?\s*(?P<after>{UNITS}|%|‰)?\s*(?P<close>\))?"
)
# Decimal separators with separators of groups of three digits; a number may lack both.
FORMATS: tuple[Separators, ...] = ((".", ","), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'"))
DATE = re.compile(r"(\d{4}|\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{1,2})")
SAME_SIGNS = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2019": "'", "\u2212": "-"})
# Texts of a column that are looked at before all others.
FIRST = 20
SECONDS_PER_DAY = 86_400.0


@dataclass(frozen=True)
class CellFormat:
    """Format of numbers and dates in the texts of a table; None stands for "detect it".

    Attributes
    ----------
    decimal, thousands : str or None
        Decimal separator, and separator of groups of three digits.
    na : tuple of str
        Texts that stand for missing values, besides the usual ones.
    day_first : bool or None
        Whether dates such as 3/4/2024 start with the day; those with points always do.
    """

    decimal: str | None = None
    thousands: str | None = None
    na: tuple[str, ...] = ()
    day_first: bool | None = None

    def list_formats(self) -> list[Separators]:
        """Return the pairs of separators that are possible."""
        given = self.decimal, self.thousands
        known = [one for one in FORMATS if all(g in (None, mark) for g, mark in zip(given, one, strict=True))]
        return known or [(self.decimal or ".", self.thousands or ",")]


@dataclass(frozen=True)
class Reading:
    """Numbers that the distinct texts of a column may be.

    Attributes
    ----------
    values : dict
        The numbers, and NaN for missing ones, by pairs of separators.
    codes : list of str
        Texts that are taken for missing values.
    """

    values: dict[Separators, Array]
    codes: list[str]

    def choose(self, formats: Sequence[Separators]) -> Array | None:
        """Return the numbers if they are the same with all of some pairs of separators that are possible."""
        possible = [self.values[one] for one in formats if one in self.values]
        is_clear = possible and all(np.array_equal(possible[0], other, equal_nan=True) for other in possible)
        return possible[0] if is_clear else None


def read_numbers(texts: Sequence[str], given: CellFormat) -> Reading | None:
    """Return the numbers that some distinct texts may be; None if they are not numbers of one unit."""
    found = [NUMBER.fullmatch(_tidy(text)) for text in texts]
    codes = [text for text, one in zip(texts, found, strict=True) if one is None]
    numbers = [one for one in found if one is not None]
    units = {one["before"] or one["after"] or "" for one in numbers}
    is_mixed = len(units - {""}) > 1 or ("" in units and bool(units & {"%", "‰"}))
    if not numbers or is_mixed or not all(_tidy(text).casefold() in CODES for text in codes):
        return None
    values = {}
    for separators in given.list_formats():
        parsed = [np.nan if one is None else _parse(one, separators) for one in found]
        if None not in parsed:
            values[separators] = np.array(parsed, dtype=np.float64)
    return Reading(values, codes) if values else None


def _tidy(text: str) -> str:
    return text.translate(SAME_SIGNS).strip()


def _parse(found: re.Match[str], separators: Separators) -> float | None:
    digits = _compile(*separators).fullmatch(found["digits"].rstrip())
    if digits is None or (found["open"] is None) != (found["close"] is None):
        return None
    whole = (digits[1] or "0").replace(separators[1], "")
    value = float(f"{whole}.{digits[2] or 0}{found['power'] or ''}")
    return -value if "-" in found["sign"] + found["inner"] or found["open"] else value


@cache
def _compile(decimal: str, thousands: str) -> re.Pattern[str]:
    group, point = re.escape(thousands), re.escape(decimal)
    return re.compile(rf"([1-9]\d{{0,2}}(?:{group}\d{{3}})+|\d+)?(?:{point}(\d*))?")


def read_dates(texts: Sequence[str], day_first: bool | None) -> tuple[Array | None, bool | None]:
    """Return days since 1970 if some distinct texts are dates, and whether these start with the day, if that shows."""
    found = [DATE.fullmatch(text.strip()) for text in texts]
    dates = [one.groups() for one in found if one is not None]
    others = [text for text, one in zip(texts, found, strict=True) if one is None]
    if not dates or len({mark for _, mark, _, _ in dates}) > 1 or not all(_tidy(t).casefold() in CODES for t in others):
        return None, day_first
    first, second = (max(int(one[k]) for one in dates) for k in (0, 2))
    (mark,) = {one[1] for one in dates}
    if all(len(one[0]) == 4 for one in dates):
        order = f"%Y{mark}%m{mark}%d"
    else:
        day_first = True if mark == "." or first > 12 else False if second > 12 else day_first
        year = "%Y" if all(len(one[3]) == 4 for one in dates) else "%y"
        order = f"%d{mark}%m{mark}{year}" if day_first else f"%m{mark}%d{mark}{year}"
    if day_first is None and not order.startswith("%Y"):
        return None, None
    pd = import_module("pandas")
    cells = pd.Series(list(texts), dtype=object).str.strip()
    times = pd.to_datetime(cells, format=order, errors="coerce").to_numpy("datetime64[s]")
    is_date = ~np.isnat(times)
    if is_date.sum() < len(dates):
        return None, day_first
    return np.where(is_date, times.astype(np.int64) / SECONDS_PER_DAY, np.nan), None if mark == "." else day_first


def convert_texts(
    columns: Mapping[str, Sequence[str]], given: CellFormat, has_points: bool = False
) -> tuple[dict[str, Array], CellFormat, list[str]]:
    """Return the columns of texts that are numbers or dates, with the format of the table and remarks.

    Parameters
    ----------
    columns : mapping
        Distinct texts of each column, without missing ones.
    given : CellFormat
    has_points : bool
        Whether other columns are numbers with decimal points.

    Returns
    -------
    dict of ndarray
        Numbers of the distinct texts, for each column that has one meaning.
    CellFormat
    list of str
    """
    dates: dict[str, Array] = {}
    readings: dict[str, Reading] = {}
    for name, texts in columns.items():
        if not texts or not all(map(_may_be_value, texts[:FIRST])):
            continue
        days, day_first = read_dates(texts, given.day_first)
        if days is not None:
            dates[name] = days
            given = replace(given, day_first=day_first if given.day_first is None else given.day_first)
        elif (reading := read_numbers(texts, given)) is not None:
            readings[name] = reading
    formats = [one for one in given.list_formats() if all(one in reading.values for reading in readings.values())]
    formats = [one for one in formats if one[0] == "." and has_points] or formats or given.list_formats()
    numbers = {name: values for name, one in readings.items() if (values := one.choose(formats)) is not None}
    used = [one for one in formats if numbers and all(one in readings[name].values for name in numbers)]
    decimals, groups = ({one[k] for one in used} for k in (0, 1))
    decimal, thousands = (some.pop() if len(some) == 1 else None for some in (decimals, groups))
    given = replace(given, decimal=given.decimal or decimal, thousands=given.thousands or thousands)
    remarks = [describe_dates([*dates])] if dates else []
    if numbers:
        examples = [f"{name!r} (such as {find_example(columns[name])!r})" for name in numbers]
        remarks.append(f"read as numbers: {join_texts(examples)}")
    codes = {name: readings[name].codes for name in numbers if readings[name].codes}
    remarks += [f"{name!r}: {join_names(texts, 5)} read as missing" for name, texts in codes.items()]
    return dates | numbers, given, remarks


def describe_dates(names: Sequence[str]) -> str:
    """Return a remark about columns of dates."""
    return f"{join_names(names)}: dates are used as days since 1970-01-01"


def is_unclear(texts: Sequence[str]) -> bool:
    """Return whether distinct texts are numbers whose separators may be decimal or separate thousands."""
    return bool(texts) and all(map(_may_be_value, texts[:FIRST])) and read_numbers(texts, CellFormat()) is not None


def find_example(texts: Sequence[str]) -> str:
    """Return the text with the most signs other than digits, of the first ones."""
    first = [text.strip()[:30] for text in texts[:FIRST]]
    return max(first, key=lambda text: (text.casefold() not in CODES, sum(not sign.isdigit() for sign in text)))


def _may_be_value(text: str) -> bool:
    cell = _tidy(text)
    return bool(NUMBER.fullmatch(cell) or DATE.fullmatch(cell)) or cell.casefold() in CODES
