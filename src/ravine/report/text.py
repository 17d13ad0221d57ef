"""Text of the user and numbers, made safe for a page: nothing here can end a tag, a script or a string."""

from __future__ import annotations

import html
import json
import math
import re
import unicodedata
from collections.abc import Iterable
from typing import Any

__all__ = ["clean", "count", "embedded_json", "escaped", "figures", "plain_number", "rounded", "shortened"]

# Other spaces, such as the narrow ones in numbers, stay.
_BREAKS = re.compile("[ \t\n\r\f\v\x85\u2028\u2029]+")
# In JSON inside a page: what could end the script or, in old browsers, the line.
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def clean(value: object) -> str:
    """Any value as one line of text; control characters and halves of surrogate pairs become visible marks."""
    text = _BREAKS.sub(" ", str(value)).strip()
    if text.isascii() and text.isprintable():
        return text
    return "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cs", "Co", "Cn") else c for c in text)


def shortened(value: object, most: int) -> str:
    """A name of at most ``most`` characters; both of its ends are kept."""
    text = clean(value)
    if len(text) <= most:
        return text
    tail = (most - 1) // 3
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"


def escaped(value: object) -> str:
    """Text for the body or a quoted attribute of an HTML page."""
    return html.escape(clean(value), quote=True)


def embedded_json(value: Any) -> str:
    """JSON that can stand in a script element whatever its strings hold; NaN and infinities are refused."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_ESCAPES)


def plain_number(x: float) -> int | float | None:
    """A number for JSON: whole ones without a point, None for what is not finite."""
    if not math.isfinite(x):
        return None
    return int(x) if x == int(x) and abs(x) < 1e15 else float(x)


def figures(values: Iterable[float], digits: int = 4) -> list[int | float | None]:
    """Numbers with a few significant digits."""
    return [plain_number(float(f"{x:.{digits}g}")) for x in values]


def rounded(x: float, spread: float) -> int | float | None:
    """A number to about a thousandth of the spread of its feature, so that a far origin costs no digits."""
    if not (math.isfinite(x) and math.isfinite(spread) and spread > 0.0):
        return plain_number(x)
    return plain_number(round(x, min(max(3 - math.floor(math.log10(spread)), -290), 320)))


def count(n: int) -> str:
    """A number of things, its thousands set apart by a narrow space."""
    return f"{n:,}".replace(",", "\u202f")
