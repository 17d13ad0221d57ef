"""Studies from beginning to end."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ravine._files import write_text
from ravine.datasets import DatasetError, load
from ravine.studies.clustering import PROTOCOL, choose_sets, clustering_tasks, collect
from ravine.studies.errors import StudyError
from ravine.studies.figures import draw_boxplots
from ravine.studies.label_figures import PICTURES, draw_errors, draw_ranks
from ravine.studies.label_methods import choose_label_methods
from ravine.studies.label_report import errors_csv, errors_markdown, label_summary, ranks_csv
from ravine.studies.methods import choose_methods
from ravine.studies.runner import Notify, run
from ravine.studies.semisupervised import SIZES, choose_label_sets, collect_errors, label_tasks, problems
from ravine.studies.store import ResultStore
from ravine.studies.table2 import csv_text, markdown_text, summary_text

__all__ = ["Study", "finished", "n_cores", "readable_data", "run_semisupervised", "run_table2"]


@dataclass(frozen=True)
class Study:
    """A finished study.

    Attributes
    ----------
    table : str
        In Markdown.
    files : tuple of Path
        What was written.
    """

    table: str
    files: tuple[Path, ...]


def run_table2(
    out: str | os.PathLike[str],
    *,
    sets: str | None = None,
    methods: str | None = None,
    n_seeds: int = 10,
    n_jobs: int | None = None,
    folder: str | None = None,
    retry_failed: bool = False,
    notify: Notify = lambda name, done, total: None,
) -> Study:
    """Run the paper's clustering study, or go on with it, and write its tables and figures.

    Parameters
    ----------
    out : path-like
        Folder of the results, made if it is not there.
    sets, methods : str, optional
        Names separated by commas; all by default.
    n_seeds : int, default=10
        For the methods that use chance.
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
    names, chosen = choose_sets(sets), choose_methods(methods)
    with readable_data():
        sizes = {name: load(name, folder).data.size for name in names}  # a damaged file is found before the work begins
    store = ResultStore(out, "table2", PROTOCOL)
    tasks = clustering_tasks(names, chosen, n_seeds, folder, sizes)
    run(tasks, store, n_jobs=n_jobs or n_cores(), retry_failed=retry_failed, notify=notify)
    cells = collect(store, names, chosen, n_seeds)
    table = markdown_text(cells, names, chosen)
    texts = {
        "table.csv": csv_text(cells, names, chosen),
        "table.md": table,
        "summary.md": summary_text(cells, names, chosen, store.runs, n_seeds),
    }
    return finished(store, table, texts, lambda: draw_boxplots(cells, names, chosen, store.folder))


def run_semisupervised(
    out: str | os.PathLike[str],
    *,
    size: str = "default",
    sets: str | None = None,
    methods: str | None = None,
    n_jobs: int | None = None,
    folder: str | None = None,
    retry_failed: bool = False,
    notify: Notify = lambda name, done, total: None,
) -> Study:
    """Run the paper's semi-supervised study, or go on with it, and write its tables and figures.

    Parameters
    ----------
    out : path-like
        Folder of the results, made if it is not there.
    size : {"quick", "default", "full"}, default="default"
        3 splits and 2 pairs of classes for each set of more than two, 10 and 10, or 30 and all as in the paper. In the
        same folder ``"full"`` goes on from the results of ``"default"``; those of ``"quick"`` serve no other size,
        since splits are kept in blocks of 10.
    sets, methods : str, optional
        Names separated by commas; all by default.
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
    if size not in SIZES:
        raise StudyError(f"size must be one of {', '.join(SIZES)}, got {size!r}.")
    names, chosen = choose_label_sets(sets), choose_label_methods(methods)
    with readable_data():
        of_two_classes = problems(names, SIZES[size], folder)
        for name in names:
            load(name, folder)
    store = ResultStore(out, "semisupervised", {"columns": "standardised for each problem"})
    tasks = label_tasks(of_two_classes, chosen, SIZES[size], folder)
    run(tasks, store, n_jobs=n_jobs or n_cores(), retry_failed=retry_failed, notify=notify)
    results = collect_errors(store, of_two_classes, chosen, SIZES[size])
    errors = results.errors
    table = errors_markdown(errors, chosen)
    texts = {
        "errors.csv": errors_csv(errors, chosen),
        "errors.md": table,
        "ranks.csv": ranks_csv(results, chosen),
        "summary.md": label_summary(results, chosen, store.runs, size),
    }

    def draw() -> list[Path]:
        return [*draw_errors(errors, chosen, store.folder), draw_ranks(errors, chosen, store.folder)]

    return finished(store, table, texts, draw, PICTURES)


@contextmanager
def readable_data() -> Iterator[None]:
    """Errors of the data sets as errors of the study."""
    try:
        yield
    except DatasetError as error:
        raise StudyError(str(error)) from error


def n_cores() -> int:
    """Processes at a time where nobody said."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def finished(
    store: ResultStore,
    table: str,
    texts: Mapping[str, str],
    draw: Callable[[], list[Path]],
    pictures_of_study: Iterable[str] = (),
) -> Study:
    """Write texts and pictures to the folder of the results.

    Pictures that the study may make but this run did not are removed: they would show an earlier run.
    """
    with store.explaining():
        for name, text in texts.items():
            write_text(store.folder / name, text)
        pictures = draw()
        for name in set(pictures_of_study) - {path.name for path in pictures}:
            (store.folder / name).unlink(missing_ok=True)
    return Study(table, (*(store.folder / name for name in texts), *pictures))
