"""Comparison of the optimisers from data to a table and a figure."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Unpack

from ravine_paper.studies.clustering.tasks import choose_sets, count_values
from ravine_paper.studies.engine.options import RunOptions
from ravine_paper.studies.engine.runner import run_tasks
from ravine_paper.studies.engine.store import ResultStore
from ravine_paper.studies.engine.study import Study, write_study
from ravine_paper.studies.optimisers.figures import draw_optimisers
from ravine_paper.studies.optimisers.report import format_runs_csv, format_runs_markdown
from ravine_paper.studies.optimisers.tasks import PROTOCOL, choose_optimisers, make_optimiser_tasks, read_runs

__all__ = ["run_optimisers"]


def run_optimisers(
    out: str | os.PathLike[str],
    *,
    sets: str | None = None,
    optimisers: str | None = None,
    n_starts: int = 10,
    folder: str | None = None,
    **options: Unpack[RunOptions],
) -> Study:
    """Run or continue the comparison of the optimisers, and write a table and a figure.

    Parameters
    ----------
    out : path-like
        Folder of the results, created if it does not exist.
    sets, optimisers : str, optional
        Names separated by commas; all by default.
    n_starts : int, default=10
        Number of starts: the first two principal components, then random directions.
    folder : str, optional
        Folder of the data sets, as for `ravine_paper.datasets.load`.
    **options
        ``n_jobs``, ``retry_failed`` and ``notify``: see `RunOptions`.

    Returns
    -------
    Study

    Raises
    ------
    StudyError
        If names are unknown, data are missing or damaged, or the folder cannot be used.
    """
    names, chosen = choose_sets(sets), choose_optimisers(optimisers)
    sizes = count_values(names, folder)
    store = ResultStore(out, "optimisers", PROTOCOL)
    run_tasks(make_optimiser_tasks(names, chosen, n_starts, folder, sizes), store, **options)
    runs = read_runs(store, names, chosen, n_starts)
    table = format_runs_markdown(runs, names)

    def draw() -> list[Path]:
        path = draw_optimisers(runs, names, store.folder / "optimisers.png")
        return [] if path is None else [path]

    return write_study(store, table, {"summary.md": table, "runs.csv": format_runs_csv(runs)}, draw)
