"""The studies of the theory from beginning to end: S1, and the optimisers."""

from __future__ import annotations

import os
from pathlib import Path

from ravine.datasets import load
from ravine.studies.clustering import choose_sets
from ravine.studies.errors import StudyError
from ravine.studies.optimiser_report import draw_optimisers, runs_csv, runs_markdown
from ravine.studies.optimisers import PROTOCOL, choose_optimisers, optimiser_tasks, read_runs
from ravine.studies.runner import Notify, run
from ravine.studies.s1 import METHODS, VARIANTS, read_ends, tasks
from ravine.studies.s1_report import draw_index, draw_partitions, solutions_csv, summary_csv, summary_markdown
from ravine.studies.store import ResultStore
from ravine.studies.study import Study, finished, n_cores, readable_data

__all__ = ["run_optimisers", "run_s1"]


def run_s1(
    out: str | os.PathLike[str],
    *,
    n_starts: int = 100,
    seed: int = 0,
    variants: bool = True,
    n_jobs: int | None = None,
    folder: str | None = None,
    retry_failed: bool = False,
    notify: Notify = lambda name, done, total: None,
) -> Study:
    """Go from many random starts on S1 by SQP and by MDP², or go on with it, and write tables and figures.

    Parameters
    ----------
    out : path-like
        Folder of the results, made if it is not there.
    n_starts : int, default=100
    seed : int, default=0
        Of the starts.
    variants : bool, default=True
        Whether what decides the number of solutions is looked at, too: bandwidth, α, iterations, first step.
    n_jobs : int, optional
        Processes at a time; the number of cores by default.
    folder : str, optional
        With the data sets; by default that of ``RAVINE_DATA``, or the archives.
    retry_failed : bool, default=False
        Whether what failed before is tried again.
    notify : callable, optional
        Called with a task's name, the number of results so far, and that of all.

    Returns
    -------
    Study

    Raises
    ------
    StudyError
        If data are missing or damaged, or the folder cannot be used.
    """
    with readable_data():
        X = load("s1", folder).standardised().data
    names = (*METHODS, *VARIANTS) if variants else tuple(METHODS)
    store = ResultStore(out, "s1", {})
    run(
        tasks(names, n_starts, seed, folder), store, n_jobs=n_jobs or n_cores(), retry_failed=retry_failed,
        notify=notify,
    )  # fmt: skip
    found = read_ends(store, names, n_starts, seed)
    for name, method in METHODS.items():
        if isinstance(found[name], str):
            raise StudyError(f"{method.title} failed ({found[name]}): see {store.results}, then use --retry-failed.")
    table = summary_markdown(found, n_starts)
    texts = {"summary.md": table, "summary.csv": summary_csv(found), "solutions.csv": solutions_csv(found)}

    def draw() -> list[Path]:
        return [
            draw_partitions(found, X, store.folder / "partitions.png"),
            draw_index(found, store.folder / "index.png"),
        ]

    return finished(store, table, texts, draw)


def run_optimisers(
    out: str | os.PathLike[str],
    *,
    sets: str | None = None,
    optimisers: str | None = None,
    n_starts: int = 10,
    n_jobs: int | None = None,
    folder: str | None = None,
    retry_failed: bool = False,
    notify: Notify = lambda name, done, total: None,
) -> Study:
    """Minimise the index by every optimiser, or go on with it, and write a table and a figure.

    Parameters
    ----------
    out : path-like
        Folder of the results, made if it is not there.
    sets, optimisers : str, optional
        Names separated by commas; all by default.
    n_starts : int, default=10
        The first two are principal components, the others random directions.
    n_jobs : int, optional
        Processes at a time; the number of cores by default.
    folder : str, optional
        With the data sets; by default that of ``RAVINE_DATA``, or the archives.
    retry_failed : bool, default=False
        Whether what failed before is tried again.
    notify : callable, optional
        Called with a task's name, the number of results so far, and that of all.

    Returns
    -------
    Study

    Raises
    ------
    StudyError
        If names are unknown, data are missing or damaged, or the folder cannot be used.
    """
    names, chosen = choose_sets(sets), choose_optimisers(optimisers)
    with readable_data():
        sizes = {name: load(name, folder).data.size for name in names}
    store = ResultStore(out, "optimisers", PROTOCOL)
    work = optimiser_tasks(names, chosen, n_starts, folder, sizes)
    run(work, store, n_jobs=n_jobs or n_cores(), retry_failed=retry_failed, notify=notify)
    runs = read_runs(store, names, chosen, n_starts)
    table = runs_markdown(runs, names)

    def draw() -> list[Path]:
        path = draw_optimisers(runs, names, store.folder / "optimisers.png")
        return [] if path is None else [path]

    return finished(store, table, {"summary.md": table, "runs.csv": runs_csv(runs)}, draw)
