"""Text of the user and numbers, encoded for a page so that nothing can end a tag, a script or a string."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable
from typing import Any

from ravine.explain import clean_text

__all__ = ["embed_json", "encode_number", "escape_html", "round_by_spread", "round_figures"]

# Characters of JSON that could end the script or, in old browsers, the line.
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def escape_html(value: object) -> str:
    """Return text for the body or a quoted attribute of an HTML page."""
    return html.escape(clean_text(value), quote=True)


def embed_json(value: Any) -> str:
    """Return JSON that is safe in a script element whatever its strings hold; NaN and infinities are rejected."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_ESCAPES)


def encode_number(x: float) -> int | float | None:
    """Return a number for JSON: whole numbers without a decimal point, None for those that are not finite."""
    if not math.isfinite(x):
        return None
    return int(x) if x == int(x) and abs(x) < 1e15 else float(x)


def round_figures(values: Iterable[float], digits: int = 4) -> list[int | float | None]:
    """Round numbers to a few significant digits."""
    return [encode_number(float(f"{x:.{digits}g}")) for x in values]


def round_by_spread(x: float, spread: float) -> int | float | None:
    """Round a number to about a thousandth of the spread of its feature, so that a far origin costs no digits."""
    if not (math.isfinite(x) and math.isfinite(spread) and spread > 0.0):
        return encode_number(x)
    return encode_number(round(x, min(max(3 - math.floor(math.log10(spread)), -290), 320)))
