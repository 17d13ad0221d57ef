"""Files of the original archives, downloaded by pooch with pinned checksums and kept in a cache."""

from __future__ import annotations

import hashlib
import io
import logging
import os
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from ravine_paper.datasets.card import Card, Member, Source
from ravine_paper.datasets.dataset_errors import (
    CorruptDatasetError,
    DownloadError,
    MissingDownloaderError,
    UnreadableDatasetError,
)
from ravine_paper.datasets.folder import read_bytes
from ravine_paper.datasets.parsers import Parsed, parse_files

__all__ = ["cache_folder", "download_sources", "is_cached", "parse_sources", "remove_cached"]

TIMEOUT_SECONDS = 60
RETRIES = 1
MAX_MEMBER_BYTES = 1 << 30


def cache_folder() -> Path:
    """Return the folder of downloads: that in RAVINE_CACHE, else the user's cache.

    Returns
    -------
    Path
        The folder, which need not exist.

    Examples
    --------
    >>> from ravine_paper.datasets import cache_folder
    >>> cache_folder().is_absolute()
    True
    """
    chosen = os.environ.get("RAVINE_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    try:
        import pooch
    except ModuleNotFoundError:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return Path(base) / "ravine"
    return Path(pooch.os_cache("ravine"))


def _get_path(card: Card, source: Source) -> Path:
    return cache_folder() / "archives" / card.name / source.name


def is_cached(card: Card) -> bool:
    """Return whether all files of a data set are in the cache."""
    try:
        return all(_get_path(card, source).is_file() for source in card.sources)
    except OSError as error:
        raise UnreadableDatasetError(
            f"The cache {str(cache_folder())!r} cannot be read ({error.strerror}): set RAVINE_CACHE to another folder."
        ) from error


def download_sources(card: Card) -> None:
    """Download the files of a data set that are not in the cache or have a wrong checksum there."""
    for source in card.sources:
        _download(source, _get_path(card, source))


def _download(source: Source, path: Path) -> None:
    pooch = _import_pooch()
    keeper = pooch.create(
        path=path.parent,
        base_url="",
        registry={path.name: f"sha256:{source.sha256}" if source.sha256 else None},
        urls={path.name: source.url},
        retry_if_failed=RETRIES,
    )
    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        keeper.fetch(path.name, downloader=pooch.HTTPDownloader(timeout=TIMEOUT_SECONDS))
    except ValueError as error:
        if not str(error).startswith(("SHA256 hash", "MD5 hash", "SHA1 hash")):
            raise DownloadError(f"{source.url} cannot be downloaded: {error}") from error
        raise CorruptDatasetError(
            f"{source.url} does not have the pinned SHA-256: the download is damaged or the archive changed the file; "
            f"try again, or put {path.parent.name}.csv.gz in a folder and set RAVINE_DATA to it."
        ) from error
    except PermissionError as error:
        raise UnreadableDatasetError(
            f"The cache {str(path.parent)!r} cannot be written: set RAVINE_CACHE to a writable folder."
        ) from error
    except OSError as error:  # includes all connection errors
        raise DownloadError(_describe_failure(source, path, error)) from error
    finally:
        logger.setLevel(level)


def _describe_failure(source: Source, path: Path, error: OSError) -> str:
    response = getattr(error, "response", None)
    if response is not None:
        reason = f"the server answered {response.status_code} {response.reason}"
    elif error.errno is not None and error.strerror:
        reason = f"{error.strerror}: {path.parent}"
    elif "Timeout" in type(error).__name__:
        reason = f"no answer within {TIMEOUT_SECONDS} seconds"
    else:
        reason = "no connection to the server"
    return (
        f"{source.url} cannot be downloaded ({reason}): try again later, or put {path.parent.name}.csv.gz in a folder "
        "and set RAVINE_DATA to it."
    )


def _import_pooch() -> Any:
    try:
        import pooch
    except ModuleNotFoundError as error:
        raise MissingDownloaderError("Downloads need the package 'pooch': run  pip install pooch") from error
    return pooch


def parse_sources(card: Card) -> Parsed:
    """Parse the cached files of a data set."""
    files: dict[str, bytes] = {}
    for source in card.sources:
        path = _get_path(card, source)
        content = read_bytes(path)
        if source.sha256:
            _check_hash(content, (source.sha256,), str(path))
        if not source.members:
            files[source.name] = content
        for member in source.members:
            files[member.name] = _extract(content, member, str(path))
    return parse_files(card.name, files)


def remove_cached(card: Card) -> None:
    """Remove the files of a data set from the cache."""
    for source in card.sources:
        with suppress(OSError):
            _get_path(card, source).unlink()


def _check_hash(content: bytes, allowed: tuple[str, ...], file: str) -> None:
    if allowed and hashlib.sha256(content).hexdigest() not in allowed:
        raise CorruptDatasetError(f"{file} does not have the pinned SHA-256, so it is damaged: get a new copy.")


def _extract(content: bytes, member: Member, file: str) -> bytes:
    """Return a file of a zip archive or of the one zip archive inside it."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            found = [info for info in archive.infolist() if f"/{info.filename}".endswith(f"/{member.path}")]
            found = [info for info in found if "__MACOSX" not in info.filename]
            if found:
                if found[0].file_size > MAX_MEMBER_BYTES:
                    raise CorruptDatasetError(f"{member.path} in {file} is too large: get a new copy of the archive.")
                inside = archive.read(found[0])
                _check_hash(inside, member.sha256, f"{member.path} in {file}")
                return inside
            nested = [info for info in archive.infolist() if info.filename.lower().endswith(".zip")]
            if len(nested) == 1 and nested[0].file_size <= MAX_MEMBER_BYTES:
                return _extract(archive.read(nested[0]), member, f"{nested[0].filename} in {file}")
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise CorruptDatasetError(f"{file} is truncated or not a zip archive ({error}): get a new copy.") from error
    raise CorruptDatasetError(f"{file} does not contain {member.path}: the archive has changed.")
