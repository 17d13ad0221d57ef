"""Counts with their nouns, lists of names and P-values, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

# Smallest P-value that is shown as a number; the floor of the tests is below it.
SMALLEST_PVALUE = 1e-300

__all__ = ["Lines", "count", "format_pvalue", "join_counts", "join_names", "join_texts"]


class Lines(str):
    """Text that consoles and notebooks show line by line, also without ``print``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def count(n: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun: "1 row", "3 rows"."""
    return f"{n} {noun if n == 1 else plural or f'{noun}s'}"


def format_pvalue(p: float) -> str:
    """Return a P-value with two digits, such as "P = 0.012"; "no P" for NaN, for what was not tested."""
    if p != p:
        return "no P"
    return f"P = {p:.2g}" if p >= SMALLEST_PVALUE else f"P < {SMALLEST_PVALUE:g}"


def join_names(names: Sequence[str], most: int = 8) -> str:
    """Return the first names as text, with the number of those left out."""
    return join_texts(list(map(repr, names)), most)


def join_counts(counts: Mapping[str, int]) -> str:
    """Return the first names with their counts as text, and the number of those left out."""
    return join_texts([f"{name!r} {n}" for name, n in counts.items()])


def join_texts(parts: Sequence[str], most: int = 8) -> str:
    """Return the first texts, with the number of those left out."""
    return ", ".join(parts[:most]) + (f" and {len(parts) - most} more" if len(parts) > most else "")
