"""Everything that a run leaves behind."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from ravine.cli.extras import FIGURE_NAMES, write_figures, write_report
from ravine.cli.result import Result
from ravine.cli.voice import Voice

__all__ = ["RESULTS", "labels_table", "write_csv", "write_outputs"]

LABELS, MODEL, REPORT, SUMMARY, FIGURES = "labels.csv", "model.ravine", "report.html", "summary.json", "figures"
# Everything that any run writes, by name: what an earlier one left must not be taken for a result of this one.
RESULTS = (LABELS, MODEL, REPORT, SUMMARY, *(f"{FIGURES}/{name}.png" for name in FIGURE_NAMES))


def write_outputs(stage: Path, result: Result, voice: Voice, figures: bool = True) -> list[str]:
    """Write labels, model, figures, report and summary into a folder; return their names.

    Parameters
    ----------
    stage : Path
        An empty folder.
    result : Result
    voice : Voice
    figures : bool
        Whether pictures and report are wanted.
    """
    from ravine.models import save

    with voice.working("writing"):
        with (stage / LABELS).open("wb") as stream:
            write_csv(labels_table(result), stream)
        save(result.model, stage / MODEL)
    if figures:
        with voice.working("drawing"):
            write_figures(stage / FIGURES, result)
            write_report(stage / REPORT, result)
    names = sorted(str(path.relative_to(stage)) for path in stage.rglob("*") if path.is_file())
    result.summary |= {
        "notes": list(voice.notes),
        "files": [*names, SUMMARY],
        "seconds": {k: round(s, 3) for k, s in voice.seconds.items()},
    }
    text = json.dumps(result.summary, ensure_ascii=False, allow_nan=False, indent=1, default=str)
    (stage / SUMMARY).write_text(text + "\n", encoding="utf-8")
    return list(result.summary["files"])


def labels_table(result: Result) -> Any:
    """One row for each of the input's: what names it, what was found and what was known."""
    word = {"cluster": "cluster", "classify": "class"}[result.command]
    columns: dict[str, Any] = {result.key_name: result.keys}

    def free(name: str) -> str:
        return name if name not in columns else free(f"ravine_{name}")

    columns[free(word)] = _for_all_rows(result.found, result.kept)
    if result.probability is not None:
        columns[free("probability")] = _for_all_rows(result.probability.round(4), result.kept)
    if result.given is not None:
        columns[free("given")] = import_module("pyarrow").array(result.given.tolist())
    return import_module("pyarrow").table(columns)


def _for_all_rows(values: Any, kept: Any) -> Any:
    """Values of the rows that were used as a column of all, empty for the others."""
    import numpy as np

    pa = import_module("pyarrow")
    column = pa.array(values.tolist() if values.dtype.kind == "O" else values)
    if kept is None:
        return column
    places = np.cumsum(kept) - 1
    return column.take(pa.array(places, mask=~kept))


def write_csv(table: Any, stream: BinaryIO) -> None:
    """A table as CSV."""
    csv = import_module("pyarrow.csv")
    csv.write_csv(table, stream, csv.WriteOptions(quoting_style="needed"))
