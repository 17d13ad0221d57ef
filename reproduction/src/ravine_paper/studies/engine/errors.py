"""Errors of the studies, and the translation of other errors into them."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ravine_paper.datasets import DatasetError

__all__ = ["StudyError", "translate_data_errors", "translate_file_errors"]


class StudyError(Exception):
    """Raised when a study cannot be run or finished. The message says what to do."""


@contextmanager
def translate_data_errors() -> Iterator[None]:
    """Raise errors of the data sets as errors of the study."""
    try:
        yield
    except DatasetError as error:
        raise StudyError(str(error)) from error


@contextmanager
def translate_file_errors(folder: Path, results: Path | None = None) -> Iterator[None]:
    """Raise errors of the file system as errors of the study.

    Parameters
    ----------
    folder : Path
        Output folder, reported if the error does not name a file.
    results : Path, optional
        Folder of the results that the next run reuses.
    """
    try:
        yield
    except OSError as error:
        name = error.filename or folder
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            kept = f" Finished results are kept in {results}." if results else ""
            raise StudyError(
                f"The disk is full ({name}).{kept} Free some space and run the same command again."
            ) from error
        raise StudyError(f"Cannot write {name}: {error.strerror}. Choose another --out.") from error
