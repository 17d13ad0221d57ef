"""Names given to a command, separated by commas."""

from __future__ import annotations

from collections.abc import Iterable

from ravine.studies.errors import StudyError

__all__ = ["chosen_names"]


def chosen_names(text: str | None, known: Iterable[str], what: str) -> tuple[str, ...]:
    """Names from a list separated by commas, each once; all of them for None.

    Parameters
    ----------
    text : str or None
    known : iterable of str
    what : str
        What is chosen, for messages: "data set", "method".

    Raises
    ------
    StudyError
        If a name is not known, or there is none.
    """
    known = tuple(known)
    if text is None:
        return known
    chosen = tuple(dict.fromkeys(filter(None, (part.strip().lower() for part in text.split(",")))))
    unknown = [name for name in chosen if name not in known]
    if unknown or not chosen:
        problem = f"Unknown {what} {unknown[0]!r}" if unknown else f"No {what} was named"
        raise StudyError(f"{problem}. The {what}s of this study are: {', '.join(known)}.")
    return chosen
