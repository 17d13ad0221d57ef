"""Standard streams: closed ones, and control characters on a terminal."""

from __future__ import annotations

import json
import os
import sys
import unicodedata

__all__ = ["cut_middle", "escape", "escape_json", "replace_closed_streams"]

# Length of a line above which its middle is left out.
LONGEST_LINE = 2000

# Control characters, surrogates, separators of lines and paragraphs, and invisible characters such as those that turn
# the direction of the text.
HIDDEN = ("Cc", "Cs", "Zl", "Zp", "Cf")
# Invisible characters that are part of words in some scripts, and of emoji.
JOINERS = "\u200c\u200d"


def replace_closed_streams() -> None:
    """Open the null device in place of closed standard streams, so that no file of the run takes their numbers.

    Messages are then lost. Standard input and output stay None: whoever needs them reports it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def escape(text: object) -> str:
    """Return text in one line; line breaks and other control characters are escaped as in Python."""
    return "".join(c.encode("unicode_escape").decode() if _is_hidden(c) else c for c in str(text))


def cut_middle(text: str) -> str:
    """Return text without its middle if it is very long, such as one that quotes a name of thousands of letters."""
    if len(text) <= LONGEST_LINE:
        return text
    return f"{text[: LONGEST_LINE // 2]} ... {text[-LONGEST_LINE // 4 :]}"


def escape_json(text: str) -> str:
    """Return JSON with invisible characters escaped; line breaks between its values stay."""
    return "".join(json.dumps(c)[1:-1] if _is_hidden(c) and c != "\n" else c for c in text)


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character) in HIDDEN and character not in JOINERS
