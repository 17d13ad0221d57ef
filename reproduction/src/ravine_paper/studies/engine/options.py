"""Options of the studies: how the tasks are run, and names separated by commas."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypedDict

from ravine_paper.studies.engine.errors import StudyError

__all__ = ["Notify", "RunOptions", "choose_names"]

Notify = Callable[[str, int, int], object]


class RunOptions(TypedDict, total=False):
    """Keyword arguments that every study passes on to `run_tasks`.

    Attributes
    ----------
    n_jobs : int or None
        Number of processes; by default the number of cores.
    retry_failed : bool
        Whether to compute failed results again; by default they are kept.
    notify : callable
        Called with the name of a finished task, the number of results so far, and the number of all results.
    """

    n_jobs: int | None
    retry_failed: bool
    notify: Notify


def choose_names(text: str | None, known: Iterable[str], kind: str) -> tuple[str, ...]:
    """Return the names in a comma-separated list, each once; all known names for None.

    Parameters
    ----------
    text : str or None
    known : iterable of str
    kind : str
        Kind of name, for messages: "data set", "method".

    Raises
    ------
    StudyError
        If a name is unknown, or the list is empty.
    """
    known = tuple(known)
    if text is None:
        return known
    chosen = tuple(dict.fromkeys(filter(None, (part.strip().lower() for part in text.split(",")))))
    unknown = [name for name in chosen if name not in known]
    if unknown or not chosen:
        problem = f"Unknown {kind} {unknown[0]!r}" if unknown else f"No {kind} is named"
        raise StudyError(f"{problem}. The {kind}s of this study are: {', '.join(known)}.")
    return chosen
