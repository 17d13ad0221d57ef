"""Loading of data sets: from a folder, else from the cache, else from the archive."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import Any

from ravine.checks import check_flag
from ravine_paper.datasets import download as archive
from ravine_paper.datasets.card import Card
from ravine_paper.datasets.catalogue import CARDS
from ravine_paper.datasets.content import check_content
from ravine_paper.datasets.dataset import Dataset
from ravine_paper.datasets.dataset_errors import CorruptDatasetError, DatasetNotFoundError, UnknownDatasetError
from ravine_paper.datasets.folder import check_folder, find_file, read_csv
from ravine_paper.datasets.parsers import Parsed

__all__ = ["describe", "list_datasets", "load", "locate"]


def list_datasets() -> tuple[str, ...]:
    """Return the names of the data sets: the fourteen of the paper's Table 2 in alphabetical order, then S1.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> from ravine_paper.datasets import list_datasets
    >>> len(list_datasets()), list_datasets()[-2:]
    (15, ('yeast', 's1'))
    """
    return tuple(CARDS)


def describe(name: str) -> Card:
    """Return the card of a data set: size, classes, source, licence, citation, preprocessing.

    Parameters
    ----------
    name : str
        One of `list_datasets`.

    Returns
    -------
    Card

    Examples
    --------
    >>> from ravine_paper.datasets import describe
    >>> describe("optidigits").paper
    '5620 rows; the paper prints 5618 and does not say which two it leaves out'
    """
    if isinstance(name, str) and name in CARDS:
        return CARDS[name]
    near = difflib.get_close_matches(str(name).lower().replace("-", "_").replace(" ", "_"), CARDS, n=2, cutoff=0.6)
    guess = f"did you mean {' or '.join(map(repr, near))}?" if near else f"choose from {', '.join(CARDS)}."
    raise UnknownDatasetError(f"Unknown data set {name!r}: {guess}")


def load(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    download: bool = True,
    check: bool = True,
) -> Dataset:
    """Load a data set of the paper: from a folder, else from the cache, else from its archive.

    Parameters
    ----------
    name : str
        One of `list_datasets`.
    folder : path-like, default=None
        Folder with ``NAME.csv.gz``: a header, the features and, last, a column ``label``. No other place is tried.
        With None, the folder in the environment variable RAVINE_DATA is tried first, if it is set.
    download : bool, default=True
        Whether to download a data set that is neither in the folder nor in the cache (RAVINE_CACHE, by default the
        user's cache folder). Needs the package pooch, which is part of the extra ``app``.
    check : bool, default=True
        Whether to reject content that does not match the card. False allows a file of your own under this name.

    Returns
    -------
    Dataset

    Raises
    ------
    DatasetError
        If the data set cannot be loaded; the subclass tells why, and the message states what to do.

    Examples
    --------
    >>> from ravine_paper.datasets import load
    >>> wine = load("wine")  # doctest: +SKIP
    >>> wine.standardised().data.shape, wine.classes  # doctest: +SKIP
    ((178, 13), {'1': 59, '2': 71, '3': 48})
    """
    card = describe(name)
    download, check = check_flag("download", download), check_flag("check", check)
    found = _find_local_file(card, folder)
    if found is not None:
        return _make_dataset(card, read_csv(found), str(found), check)
    if folder is not None:
        raise DatasetNotFoundError(
            f"{Path(folder) / f'{name}.csv.gz'} does not exist: put it there, or omit the folder to download it."
        )
    return _load_from_archive(card, download, check)


def locate(name: str) -> tuple[str, str]:
    """Return where `load` would read: ("folder", file), ("cache", file or folder) or ("archive", URLs)."""
    card = describe(name)
    cache = archive.cache_folder()
    found = _find_local_file(card, None)
    if found is not None:
        return ("cache" if found.parent == cache else "folder"), str(found)
    if archive.is_cached(card):
        return "cache", str(cache / "archives" / name)
    return "archive", ", ".join(source.url for source in card.sources)


def _find_local_file(card: Card, folder: Any) -> Path | None:
    if folder is not None:
        if not isinstance(folder, str | os.PathLike):
            raise TypeError(f"folder must be a path, got {folder!r} of type {type(folder).__name__}.")
        return find_file(check_folder(Path(folder).expanduser(), "folder"), card.name)
    chosen = os.environ.get("RAVINE_DATA")
    if chosen:
        found = find_file(check_folder(Path(chosen).expanduser(), "RAVINE_DATA"), card.name)
        if found is not None:
            return found
    return find_file(archive.cache_folder(), card.name)


def _load_from_archive(card: Card, download: bool, check: bool) -> Dataset:
    origin = ", ".join(source.url for source in card.sources)
    if archive.is_cached(card):
        try:
            return _make_dataset(card, archive.parse_sources(card), origin, check)
        except CorruptDatasetError:
            if not download:
                raise
            archive.remove_cached(card)  # the archive may still have a valid copy
    elif not download:
        raise DatasetNotFoundError(
            f"{card.name} is neither in the folder of RAVINE_DATA nor in the cache {str(archive.cache_folder())!r}: "
            f"put {card.name}.csv.gz there, or allow downloads."
        )
    archive.download_sources(card)
    try:
        return _make_dataset(card, archive.parse_sources(card), origin, check)
    except CorruptDatasetError:
        archive.remove_cached(card)
        raise


def _make_dataset(card: Card, parsed: Parsed, origin: str, check: bool) -> Dataset:
    data, target, names = parsed
    if check:
        check_content(card, data, target, origin)
    return Dataset(card.name, data, target, names, card, origin, check)
