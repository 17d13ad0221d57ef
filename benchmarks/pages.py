"""Tables of measurements in Markdown, and their places in a page of the documentation."""

from __future__ import annotations

import datetime
import os
import platform
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import scipy
import sklearn

from bars import Measurement
from measure import format_number
from ravine import _kernels

__all__ = ["describe_machine", "format_measurement", "format_table", "is_met", "update_page"]


def is_met(row: Measurement, values: Sequence[float]) -> bool:
    """Return whether all values of a row are within their limits."""
    return all(v >= x if row.at_least else v <= x for v, x in zip(values, row.limits, strict=True))


def format_measurement(row: Measurement, values: Sequence[float], note: str) -> list[str]:
    """Return the cells of a row: measure, before, now, limit, whether it is met."""
    now = " / ".join(map(format_number, values)) + (f" ({note})" if note else "")
    sign = "≥" if row.at_least else "≤"
    limits = " / ".join(f"{sign} {x:g}" for x in row.limits)
    return [row.measure, row.before, now, limits, "yes" if is_met(row, values) else "**no**"]


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines).replace("| --- ", "|---").replace("--- |", "---|")


def describe_machine() -> str:
    """Return one sentence about date, processor, versions and other load."""
    cores = Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*: (.*)", cores.read_text()) if cores.exists() else []
    processor = names[0] if names else platform.machine()
    versions = f"NumPy {np.__version__}, SciPy {scipy.__version__}, scikit-learn {sklearn.__version__}"
    return (
        f"Measured on {datetime.date.today():%d %B %Y}: {processor}, {os.cpu_count()} cores, instruction set "
        f"{_kernels.instruction_set()}, Python {platform.python_version()}, {versions}; load average before the run "
        f"{os.getloadavg()[0]:.1f}."
    )


def update_page(text: str, name: str, table: str, note: str, *, keep: bool = True) -> str:
    """Replace the table between the markers `<!-- name -->` and `<!-- end of name -->` of a page.

    The note precedes the table. Rows of the old table that are not in the new one are kept, so that single rows can be
    measured again, unless ``keep`` is False.
    """
    start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    if start not in text or end not in text:
        raise ValueError(f"the page lacks the markers {start.strip()} and {end}.")
    before, rest = text.split(start, 1)
    old, after = rest.split(end, 1)
    new = _index_by_first_cell(table)
    kept = _index_by_first_cell(old)
    merged = "".join({**kept, **new}.values()) if keep and list(kept)[:2] == list(new)[:2] else table
    return f"{before}{start}\n{note}\n\n{merged}\n{end}{after}"


def _index_by_first_cell(table: str) -> dict[str, str]:
    lines = [line for line in table.splitlines(keepends=True) if line.startswith("|")]
    return {line.split("|")[1].strip(): line for line in lines}
