"""Errors of data sets. Each is also a subclass of the builtin error it resembles."""

from __future__ import annotations

__all__ = [
    "CorruptDatasetError",
    "DatasetError",
    "DatasetNotFoundError",
    "DownloadError",
    "MissingDownloaderError",
    "UnknownDatasetError",
    "UnreadableDatasetError",
]


class DatasetError(Exception):
    """Base class: a data set cannot be loaded. The message states what to do.

    Examples
    --------
    >>> from ravine_paper import datasets
    >>> try:
    ...     datasets.load("whine")
    ... except datasets.DatasetError as error:
    ...     print(type(error).__name__)
    UnknownDatasetError
    """


class UnknownDatasetError(DatasetError, ValueError):
    """Raised for a name that is not that of a data set."""


class DatasetNotFoundError(DatasetError, FileNotFoundError):
    """Raised when a folder, or the file of a data set in it, does not exist."""


class UnreadableDatasetError(DatasetError, OSError):
    """Raised when a file cannot be read or a folder cannot be written."""


class CorruptDatasetError(DatasetError, ValueError):
    """Raised when a file is truncated, malformed or does not match its card."""


class DownloadError(DatasetError, OSError):
    """Raised when the archive cannot be reached or does not deliver the file."""


class MissingDownloaderError(DatasetError, ModuleNotFoundError):
    """Raised when the package pooch, which downloads need, is not installed."""
