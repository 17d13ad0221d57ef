"""Finished studies: their table and the files that were written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ravine_paper._files import write_text
from ravine_paper.studies.engine.store import ResultStore

__all__ = ["Study", "write_study"]


@dataclass(frozen=True)
class Study:
    """Finished study.

    Attributes
    ----------
    table : str
        Main table, in Markdown.
    files : tuple of Path
        Files that were written.
    """

    table: str
    files: tuple[Path, ...]


def write_study(
    store: ResultStore,
    table: str,
    texts: Mapping[str, str],
    draw: Callable[[], Iterable[Path]],
    figure_names: Iterable[str] = (),
) -> Study:
    """Write texts and figures to the folder of the results.

    Parameters
    ----------
    store : ResultStore
    table : str
        Main table.
    texts : mapping
        Contents of the text files, by file name.
    draw : callable
        Draws the figures and returns their paths.
    figure_names : iterable of str
        All figures that the study can draw. Those that this run does not draw are removed: they belong to an earlier
        run.

    Returns
    -------
    Study
    """
    with store.translate_errors():
        for name, text in texts.items():
            write_text(store.folder / name, text)
        figures = list(draw())
        for name in set(figure_names) - {path.name for path in figures}:
            (store.folder / name).unlink(missing_ok=True)
    return Study(table, (*(store.folder / name for name in texts), *figures))
