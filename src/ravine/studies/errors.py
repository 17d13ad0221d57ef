"""What can go wrong in a study, as its reader sees it."""

from __future__ import annotations

__all__ = ["StudyError"]


class StudyError(Exception):
    """A study cannot be run or finished; the message says what to do."""
