"""Study of S1 from data to tables and figures."""

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
from ravine_paper.studies.s1.figures import draw_index, draw_partitions
from ravine_paper.studies.s1.report import format_solutions_csv, format_summary_csv, format_summary_markdown
from ravine_paper.studies.s1.solutions import read_ends
from ravine_paper.studies.s1.tasks import make_tasks
from ravine_paper.studies.s1.variants import METHODS, VARIANTS

__all__ = ["run_s1"]


def run_s1(
    out: str | os.PathLike[str],
    *,
    n_starts: int = 100,
    seed: int = 0,
    variants: bool = True,
    folder: str | None = None,
    **options: Unpack[RunOptions],
) -> Study:
    """Run or continue SQP and MDP² from many random starts on S1, and write tables and figures.

    Parameters
    ----------
    out : path-like
        Folder of the results, created if it does not exist.
    n_starts : int, default=100
    seed : int, default=0
        Seed of the starts.
    variants : bool, default=True
        Whether to run variants that show what determines the number of solutions: bandwidth, α, iterations, first step.
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
        If data are missing or damaged, or the folder cannot be used.
    """
    with translate_data_errors():
        X = load("s1", folder).standardised().data
    names = (*METHODS, *VARIANTS) if variants else tuple(METHODS)
    store = ResultStore(out, "s1", {})
    run_tasks(make_tasks(names, n_starts, seed, folder), store, **options)
    found = read_ends(store, names, n_starts, seed)
    for name, method in METHODS.items():
        if isinstance(found[name], str):
            raise StudyError(f"{method.title} failed ({found[name]}): see {store.results}, then use --retry-failed.")
    table = format_summary_markdown(found, n_starts)
    texts = {
        "summary.md": table,
        "summary.csv": format_summary_csv(found),
        "solutions.csv": format_solutions_csv(found),
    }

    def draw() -> list[Path]:
        return [
            draw_partitions(found, X, store.folder / "partitions.png"),
            draw_index(found, store.folder / "index.png"),
        ]

    return write_study(store, table, texts, draw)
