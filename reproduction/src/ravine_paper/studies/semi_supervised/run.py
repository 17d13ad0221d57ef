"""Semi-supervised study from data to tables and figures."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Unpack

from ravine_paper.datasets import load
from ravine_paper.studies.engine.errors import StudyError, translate_data_errors
from ravine_paper.studies.engine.options import RunOptions
from ravine_paper.studies.engine.runner import run_tasks
from ravine_paper.studies.engine.store import ResultStore
from ravine_paper.studies.engine.study import Study, write_study
from ravine_paper.studies.semi_supervised.figures import FIGURES, draw_errors, draw_ranks
from ravine_paper.studies.semi_supervised.methods import choose_label_methods
from ravine_paper.studies.semi_supervised.report import (
    format_errors_csv,
    format_errors_markdown,
    format_label_summary,
    format_ranks_csv,
)
from ravine_paper.studies.semi_supervised.tasks import (
    PROTOCOL,
    SIZES,
    choose_label_sets,
    make_label_tasks,
    make_pairs,
    read_errors,
)

__all__ = ["run_semisupervised"]


def run_semisupervised(
    out: str | os.PathLike[str],
    *,
    size: str = "default",
    sets: str | None = None,
    methods: str | None = None,
    folder: str | None = None,
    **options: Unpack[RunOptions],
) -> Study:
    """Run or continue the semi-supervised study of the paper, and write its tables and figures.

    Parameters
    ----------
    out : path-like
        Folder of the results, created if it does not exist.
    size : {"quick", "default", "full"}, default="default"
        3 splits and 2 pairs of classes for each set with more than two, 10 and 10, or 30 and all as in the paper. In
        the same folder ``"full"`` reuses the results of ``"default"``. Results of ``"quick"`` are not reused by other
        sizes, since splits are stored in blocks of 10.
    sets, methods : str, optional
        Names separated by commas; all by default.
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
    if size not in SIZES:
        raise StudyError(f"size must be one of {', '.join(SIZES)}, got {size!r}.")
    names, chosen = choose_label_sets(sets), choose_label_methods(methods)
    with translate_data_errors():
        problems = make_pairs(names, SIZES[size], folder)
        for name in names:
            load(name, folder)
    store = ResultStore(out, "semisupervised", PROTOCOL)
    run_tasks(make_label_tasks(problems, chosen, SIZES[size], folder), store, **options)
    results = read_errors(store, problems, chosen, SIZES[size])
    errors = results.errors
    table = format_errors_markdown(errors, chosen)
    texts = {
        "errors.csv": format_errors_csv(errors, chosen),
        "errors.md": table,
        "ranks.csv": format_ranks_csv(results, chosen),
        "summary.md": format_label_summary(results, chosen, store.runs, size),
    }

    def draw() -> list[Path]:
        return [*draw_errors(errors, chosen, store.folder), draw_ranks(errors, chosen, store.folder)]

    return write_study(store, table, texts, draw, FIGURES)
