"""Names, counts and evidence as text for people to read."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Any

__all__ = ["clean_text", "describe_evidence", "format_count", "format_plural", "shorten"]

# Other spaces, such as the narrow ones in numbers, stay.
_BREAKS = re.compile("[ \t\n\r\f\v\x85\u2028\u2029]+")
# The number of rows at the hyperplane fell by at least this factor, in logarithms: by a fifth.
CLEAR_DECREASE = -math.log(0.8)


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


def describe_evidence(classifier: Any) -> str | None:
    """Say how far the unlabelled rows moved the hyperplanes of a fitted classifier, and how many rows are at them.

    It describes the density, not the accuracy: whether a move is right, only more labels can tell.

    Parameters
    ----------
    classifier : MinimumDensityClassifier

    Returns
    -------
    str or None
        None if the classifier did not start from the labels (``method="paper"``, or an older model file).
    """
    evidence = getattr(classifier, "density_evidence_", None)
    if evidence is None:
        return None
    emptier = evidence[:, 0] - evidence[:, 1] >= CLEAR_DECREASE
    if len(evidence) > 1:
        return (
            f"In {int(emptier.sum())} of {len(evidence)} pairs of classes the unlabelled rows moved the hyperplane of "
            "the labels to where there are clearly fewer rows. In the others it stayed near that of the labels."
        )
    first, last, angle = evidence[0].tolist()
    moved = f"moved the hyperplane of the labels by {_format_angle(angle)}"
    if emptier[0]:
        return (
            f"The unlabelled rows {moved}, to where there are clearly fewer rows: {_format_share(last)} as many as a "
            f"normal curve would have, instead of {_format_share(first)}."
        )
    if last <= -CLEAR_DECREASE:
        return (
            f"The unlabelled rows {moved}, which is already in a gap: there are {_format_share(last)} as many rows at "
            "it as a normal curve would have."
        )
    return (
        f"The unlabelled rows {moved}: they show no gap nearby. There are {_format_share(last)} as many rows at it as "
        "a normal curve would have."
    )


def _format_angle(angle: float) -> str:
    return f"{angle:.0f} degree{'' if round(angle) == 1 else 's'}"


def _format_share(log_ratio: float) -> str:
    return f"{100.0 * math.exp(log_ratio):.0f} %"
