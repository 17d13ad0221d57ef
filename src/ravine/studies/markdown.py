"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["grid"]


def grid(corner: str, columns: Sequence[str], rows: Mapping[str, Sequence[str]]) -> str:
    """A table; vertical bars and line ends in cells are replaced."""
    lines = [_line([corner, *columns]), "|---" * (len(columns) + 1) + "|"]
    lines += [_line([name, *cells]) for name, cells in rows.items()]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.replace("|", "/").split()) for cell in cells) + " |"
