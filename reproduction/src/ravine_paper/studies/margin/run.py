"""Convergence to the maximum margin, from simulated rows to a table and a figure."""

from __future__ import annotations

import os
from pathlib import Path

from ravine_paper._files import write_text
from ravine_paper.studies.engine.errors import translate_file_errors
from ravine_paper.studies.engine.study import Study
from ravine_paper.studies.margin.figures import draw_convergence
from ravine_paper.studies.margin.report import format_path_csv, format_summary
from ravine_paper.studies.margin.tasks import follow_path

__all__ = ["run_margin"]


def run_margin(out: str | os.PathLike[str], *, seed: int = 0) -> Study:
    """Draw the convergence of minimum density hyperplanes to the maximum margin hyperplane.

    Parameters
    ----------
    out : path-like
        Folder for ``margin.png`` and ``path.csv``, created if it does not exist.
    seed : int, default=0
        Seed of the simulated rows.

    Returns
    -------
    Study
        Its table describes the first and the last step of the path.

    Raises
    ------
    StudyError
        If the folder cannot be used.
    """
    folder = Path(out)
    with translate_file_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        found = follow_path(seed)
        write_text(folder / "path.csv", format_path_csv(found))
        draw_convergence(found, folder / "margin.png")
    return Study(format_summary(found), (folder / "path.csv", folder / "margin.png"))
