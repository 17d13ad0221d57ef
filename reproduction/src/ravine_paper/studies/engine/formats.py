"""Tables as Markdown and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence

__all__ = ["format_count", "format_csv", "format_markdown_table"]


def format_markdown_table(corner: str, columns: Sequence[str], rows: Mapping[str, Sequence[str]]) -> str:
    """Return a Markdown table. Vertical bars and line ends in cells are replaced."""
    lines = [_format_line([corner, *columns]), "|---" * (len(columns) + 1) + "|"]
    lines += [_format_line([name, *cells]) for name, cells in rows.items()]
    return "\n".join(lines) + "\n"


def _format_line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.replace("|", "/").split()) for cell in cells) + " |"


def format_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a CSV file as text."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()


def format_count(n: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{n} {noun}{'' if n == 1 else 's'}"
