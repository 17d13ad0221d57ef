"""Counts with their nouns."""

from __future__ import annotations

__all__ = ["count"]


def count(n: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun: "1 row", "3 rows"."""
    return f"{n} {noun if n == 1 else plural or f'{noun}s'}"
