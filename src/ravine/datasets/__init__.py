"""Data sets of the paper, loaded from a folder, a cache or their archives, each with a card."""

from ravine.datasets.card import Card, Member, Source
from ravine.datasets.content import fingerprint
from ravine.datasets.dataset import Dataset
from ravine.datasets.dataset_errors import (
    CorruptDatasetError,
    DatasetError,
    DatasetNotFoundError,
    DownloadError,
    MissingDownloaderError,
    UnknownDatasetError,
    UnreadableDatasetError,
)
from ravine.datasets.download import cache_folder
from ravine.datasets.folder import write_csv
from ravine.datasets.loading import describe, list_datasets, load

__all__ = [
    "Card",
    "CorruptDatasetError",
    "Dataset",
    "DatasetError",
    "DatasetNotFoundError",
    "DownloadError",
    "Member",
    "MissingDownloaderError",
    "Source",
    "UnknownDatasetError",
    "UnreadableDatasetError",
    "cache_folder",
    "describe",
    "fingerprint",
    "list_datasets",
    "load",
    "write_csv",
]
