"""Counts with their nouns, and P-values, as text."""

from __future__ import annotations

__all__ = ["count", "format_pvalue"]


def count(n: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun: "1 row", "3 rows"."""
    return f"{n} {noun if n == 1 else plural or f'{noun}s'}"


def format_pvalue(p: float) -> str:
    """Return a P-value with two digits: "P = 0.012"."""
    return f"P = {p:.2g}"
