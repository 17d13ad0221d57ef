"""Names and counts as text for people to read."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["clean_text", "format_count", "format_plural", "shorten"]

# Other spaces, such as the narrow ones in numbers, stay.
_BREAKS = re.compile("[ \t\n\r\f\v\x85\u2028\u2029]+")


def clean_text(value: object) -> str:
    """Return any value as one line of text, with control characters and lone surrogates replaced by visible marks."""
    text = _BREAKS.sub(" ", str(value)).strip()
    if text.isascii() and text.isprintable():
        return text
    return "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cs", "Co", "Cn") else c for c in text)


def shorten(value: object, most: int) -> str:
    """Return a name as one line of at most ``most`` characters; both of its ends are kept."""
    text = clean_text(value)
    if len(text) <= most:
        return text
    tail = (most - 1) // 3
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"


def format_count(n: int) -> str:
    """Format a whole number with a narrow space between thousands."""
    return f"{n:,}".replace(",", "\u202f")


def format_plural(n: int, singular: str, plural: str | None = None) -> str:
    """Format a count with its noun: "1 cluster", "3 clusters"."""
    return f"{format_count(n)} {singular if n == 1 else plural or singular + 's'}"
