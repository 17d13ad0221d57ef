"""What can go wrong with a data set: each error is also the builtin one that it resembles."""

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
    """A data set cannot be loaded; the message is one sentence on what to do."""


class UnknownDatasetError(DatasetError, ValueError):
    """There is no data set of this name."""


class DatasetNotFoundError(DatasetError, FileNotFoundError):
    """A folder, or the file of a data set in it, does not exist."""


class UnreadableDatasetError(DatasetError, OSError):
    """A file is there but cannot be read, or a folder cannot be written."""


class CorruptDatasetError(DatasetError, ValueError):
    """A file is truncated, malformed or not what its card says."""


class DownloadError(DatasetError, OSError):
    """The archive cannot be reached or does not give the file."""


class MissingDownloaderError(DatasetError, ModuleNotFoundError):
    """Downloads need the package pooch."""
