"""Clustering study from data to tables and figures."""

from __future__ import annotations

import os
from typing import Unpack

from ravine_paper.studies.clustering.figures import draw_boxplots
from ravine_paper.studies.clustering.methods import choose_methods
from ravine_paper.studies.clustering.report import format_scores_csv, format_scores_markdown, format_summary
from ravine_paper.studies.clustering.tasks import PROTOCOL, choose_sets, count_values, make_tasks, read_cells
from ravine_paper.studies.engine.options import RunOptions
from ravine_paper.studies.engine.runner import run_tasks
from ravine_paper.studies.engine.store import ResultStore
from ravine_paper.studies.engine.study import Study, write_study

__all__ = ["run_table2"]


def run_table2(
    out: str | os.PathLike[str],
    *,
    sets: str | None = None,
    methods: str | None = None,
    n_seeds: int = 10,
    folder: str | None = None,
    **options: Unpack[RunOptions],
) -> Study:
    """Run or continue the clustering study of the paper, and write its tables and figures.

    Parameters
    ----------
    out : path-like
        Folder of the results, created if it does not exist.
    sets, methods : str, optional
        Names separated by commas; all by default.
    n_seeds : int, default=10
        Number of seeds of the random methods.
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
    names, chosen = choose_sets(sets), choose_methods(methods)
    sizes = count_values(names, folder)
    store = ResultStore(out, "table2", PROTOCOL)
    run_tasks(make_tasks(names, chosen, n_seeds, folder, sizes), store, **options)
    cells = read_cells(store, names, chosen, n_seeds)
    table = format_scores_markdown(cells, names, chosen)
    texts = {
        "table.csv": format_scores_csv(cells, names, chosen),
        "table.md": table,
        "summary.md": format_summary(cells, names, chosen, store.runs, n_seeds),
    }
    return write_study(store, table, texts, lambda: draw_boxplots(cells, names, chosen, store.folder))
