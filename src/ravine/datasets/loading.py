"""Find a data set: a folder first, then the cache, then its archive."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import Any

from ravine.checks import check_flag
from ravine.datasets import download as archive
from ravine.datasets.archives import Parsed
from ravine.datasets.card import Card
from ravine.datasets.catalogue import CARDS
from ravine.datasets.content import check_content
from ravine.datasets.dataset import Dataset
from ravine.datasets.errors import CorruptDatasetError, DatasetNotFoundError, UnknownDatasetError
from ravine.datasets.folder import existing_folder, file_in, read_csv

__all__ = ["describe", "list_datasets", "load", "place"]


def list_datasets() -> tuple[str, ...]:
    """Names of the data sets: the fourteen of the paper's Table 2 in alphabetical order, then S1.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> from ravine.datasets import list_datasets
    >>> len(list_datasets()), list_datasets()[-2:]
    (15, ('yeast', 's1'))
    """
    return tuple(CARDS)


def describe(name: str) -> Card:
    """The card of a data set: size, classes, source, licence, citation, preprocessing.

    Parameters
    ----------
    name : str
        One of `list_datasets`.

    Returns
    -------
    Card

    Examples
    --------
    >>> from ravine.datasets import describe
    >>> describe("optidigits").paper
    '5620 rows; the paper prints 5618 and does not say which two it leaves out'
    """
    if isinstance(name, str) and name in CARDS:
        return CARDS[name]
    near = difflib.get_close_matches(str(name).lower().replace("-", "_").replace(" ", "_"), CARDS, n=2, cutoff=0.6)
    guess = f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are {', '.join(CARDS)}."
    raise UnknownDatasetError(f"There is no data set {name!r}: {guess}")


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
        Where ``NAME.csv.gz`` is: a header row, the features, last a column ``label``. Nothing else is tried then. With
        None, the folder in the environment variable RAVINE_DATA is tried first, if it is set.
    download : bool, default=True
        Whether to ask the archive for what neither folder nor cache (RAVINE_CACHE, by default the user's) has. Needs
        the package pooch, which the extra ``app`` brings.
    check : bool, default=True
        Whether to refuse content that is not that of the card. False allows a file of your own under this name.

    Returns
    -------
    Dataset

    Raises
    ------
    DatasetError
        With one sentence on what is wrong and what to do; a subclass says which kind it is.

    Examples
    --------
    >>> from ravine.datasets import load
    >>> wine = load("wine")  # doctest: +SKIP
    >>> wine.standardised().data.shape, wine.classes  # doctest: +SKIP
    ((178, 13), {'1': 59, '2': 71, '3': 48})
    """
    card = describe(name)
    download, check = check_flag("download", download), check_flag("check", check)
    found = _local_file(card, folder)
    if found is not None:
        return _dataset(card, read_csv(found), str(found), check)
    if folder is not None:
        raise DatasetNotFoundError(
            f"{Path(folder) / f'{name}.csv.gz'} does not exist: put it there, or name no folder to download it."
        )
    return _from_archive(card, download, check)


def place(name: str) -> tuple[str, str]:
    """Where `load` would look: ("folder", file), ("cache", file or folder) or ("archive", addresses)."""
    card = describe(name)
    cache = archive.cache_folder()
    found = _local_file(card, None)
    if found is not None:
        return ("cache" if found.parent == cache else "folder"), str(found)
    if archive.cached(card):
        return "cache", str(cache / "archives" / name)
    return "archive", ", ".join(source.url for source in card.sources)


def _local_file(card: Card, folder: Any) -> Path | None:
    if folder is not None:
        if not isinstance(folder, str | os.PathLike):
            raise TypeError(f"folder must be the path of a folder, got {folder!r} of type {type(folder).__name__}.")
        return file_in(existing_folder(Path(folder).expanduser(), "folder"), card.name)
    chosen = os.environ.get("RAVINE_DATA")
    if chosen:
        found = file_in(existing_folder(Path(chosen).expanduser(), "RAVINE_DATA"), card.name)
        if found is not None:
            return found
    return file_in(archive.cache_folder(), card.name)


def _from_archive(card: Card, download: bool, check: bool) -> Dataset:
    origin = ", ".join(source.url for source in card.sources)
    if archive.cached(card):
        try:
            return _dataset(card, archive.open_sources(card), origin, check)
        except CorruptDatasetError:
            if not download:
                raise
            archive.forget(card)  # the archive still has a good copy
    elif not download:
        raise DatasetNotFoundError(
            f"{card.name} is neither in the folder of RAVINE_DATA nor in the cache {str(archive.cache_folder())!r}: "
            f"put {card.name}.csv.gz there, or allow the download."
        )
    archive.fetch(card)
    try:
        return _dataset(card, archive.open_sources(card), origin, check)
    except CorruptDatasetError:
        archive.forget(card)
        raise


def _dataset(card: Card, parsed: Parsed, origin: str, check: bool) -> Dataset:
    data, target, names = parsed
    if check:
        check_content(card, data, target, origin)
    return Dataset(card.name, data, target, names, card, origin, check)
