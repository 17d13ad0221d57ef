"""Data sets of the paper, loaded from a folder, a cache or their archives, each with a card."""

from ravine_paper.datasets.card import Card, Member, Source
from ravine_paper.datasets.content import fingerprint
from ravine_paper.datasets.dataset import Dataset
from ravine_paper.datasets.dataset_errors import (
    CorruptDatasetError,
    DatasetError,
    DatasetNotFoundError,
    DownloadError,
    MissingDownloaderError,
    UnknownDatasetError,
    UnreadableDatasetError,
)
from ravine_paper.datasets.download import cache_folder
from ravine_paper.datasets.folder import write_csv
from ravine_paper.datasets.loading import describe, list_datasets, load

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
