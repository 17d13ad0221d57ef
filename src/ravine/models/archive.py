"""Zip archive of one JSON document and plain arrays. All memory is counted before it is allocated."""

from __future__ import annotations

import errno
import io
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ravine._files import replace_file
from ravine.models.budget import Budget
from ravine.models.members import KINDS, parse_document, read_array
from ravine.models.model_file_error import CHECK_NAME, ModelFileError

__all__ = ["MAX_BYTES", "Arrays", "read_archive", "write_archive"]

DOCUMENT = "model.json"
# A model has a few dozen arrays.
MAX_MEMBERS = 200
# Limit on the memory that reading takes, unless the caller allows more: the labels of 60 million rows.
MAX_BYTES = 1 << 30
MAX_DOCUMENT_BYTES = 1 << 26
# Memory of an array and of what is checked and built from it, in sizes of the array.
ARRAY_COPIES = 2
# End of the list of members: signature, number of members, size and place of the list, length of a comment.
LIST_END = struct.Struct("<4s6xHIIH")
LONGEST_LIST = 1 << 17
# Signature and size of the record before it in files of more than 2 GB, which could give other numbers.
LARGE_FILE_RECORD, LARGE_FILE_RECORD_SIZE, LARGE_FILE = b"PK\x06\x07", 20, 1 << 31
# A constant date, so that the same model gives the same bytes.
DATE = (1980, 1, 1, 0, 0, 0)


class Arrays:
    """Arrays of a file; each is taken once, with its expected type and shape.

    Parameters
    ----------
    arrays : mapping
        Arrays by name.
    budget : Budget
        Memory that decoding may take.
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]], budget: Budget) -> None:
        self._arrays = dict(arrays)
        self.budget = budget

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def put(self, name: str, array: NDArray[Any]) -> None:
        """Add an array; used to upgrade files of an older schema."""
        self._arrays[name] = array

    def count_dimensions(self, name: str) -> int:
        """Return the number of dimensions of an array."""
        return self._arrays[name].ndim

    def take(self, name: str, kinds: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
        """Take an array of one of some kinds of numbers; None in the shape allows any length."""
        if name not in self._arrays:
            raise ModelFileError(f"array {name!r} is missing")
        array = self._arrays.pop(name)
        fits = array.ndim == len(shape) and all(
            want is None or have == want for have, want in zip(array.shape, shape, strict=True)
        )
        if array.dtype.kind not in kinds or not fits:
            raise ModelFileError(f"array {name!r} has unexpected type {array.dtype} or shape {array.shape}")
        return array

    def take_floats(self, name: str, shape: tuple[int | None, ...]) -> NDArray[np.float64]:
        """Take an array of float64."""
        return self._take_exactly(name, np.dtype("<f8"), shape).astype(np.float64, copy=False)

    def take_integers(self, name: str, shape: tuple[int | None, ...], low: int, high: int) -> NDArray[np.intp]:
        """Take an array of integers that are at least ``low`` and below ``high``."""
        array = self._take_exactly(name, np.dtype("<i8"), shape)
        if array.size and (array.min() < low or array.max() >= high):
            raise ModelFileError(f"array {name!r} has values outside {low} to {high - 1}")
        return array.astype(np.intp, copy=False)

    def _take_exactly(self, name: str, dtype: np.dtype[Any], shape: tuple[int | None, ...]) -> NDArray[Any]:
        array = self.take(name, dtype.kind, shape)
        if array.dtype != dtype:
            raise ModelFileError(f"array {name!r} has type {array.dtype} instead of {dtype}")
        return array

    def check_all_taken(self) -> None:
        """Raise an error if arrays are left that belong to no such model."""
        if self._arrays:
            raise ModelFileError(f"unexpected arrays: {', '.join(sorted(self._arrays)[:3])!r}")


def write_archive(
    path: str | os.PathLike[str], document: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write a document and its arrays, completely or not at all."""
    text = json.dumps(document, allow_nan=False, indent=1)
    with replace_file(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        archive.writestr(_make_member(DOCUMENT), text.encode("ascii"), compresslevel=6)
        for name, array in arrays.items():
            if array.dtype.kind not in KINDS:
                raise TypeError(f"{name}: an array of type {array.dtype} cannot be saved.")
            plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
            stream = io.BytesIO()
            npy.write_array(stream, plain, version=(1, 0), allow_pickle=False)
            archive.writestr(_make_member(f"{name}.npy"), stream.getbuffer(), compresslevel=1)


def _make_member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, DATE)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    return info


def read_archive(path: str | os.PathLike[str], max_bytes: int = MAX_BYTES) -> tuple[dict[str, Any], Arrays]:
    """Read a document and its arrays; anything that `write_archive` would not write is rejected.

    Parameters
    ----------
    path : path-like
    max_bytes : int
        Limit on the memory that reading takes.
    """
    with Path(path).open("rb") as stream:
        if stream.read(4) != b"PK\x03\x04":
            raise ModelFileError("it is not a zip file and so not a ravine model", CHECK_NAME)
        _check_list_end(stream)
        try:
            with zipfile.ZipFile(stream) as archive:
                return _read_members(archive, Budget(max_bytes))
        except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError) as error:
            # RuntimeError: an encrypted member; its subclass RecursionError: deeply nested JSON.
            raise ModelFileError(f"it is damaged ({error})") from error
        except OSError as error:
            if error.errno != errno.EINVAL:  # a member that begins before the file
                raise
            raise ModelFileError("it is damaged (the place of a member is outside the file)") from error


def _check_list_end(stream: IO[bytes]) -> None:
    """Check how many members the file lists, before zipfile reads the list."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - LIST_END.size - LARGE_FILE_RECORD_SIZE))
    tail = stream.read()
    stream.seek(0)
    if len(tail) < LIST_END.size:
        raise ModelFileError("it is truncated")
    signature, n_members, n_bytes, _, _ = LIST_END.unpack(tail[-LIST_END.size :])
    is_large = tail.startswith(LARGE_FILE_RECORD)
    if signature != b"PK\x05\x06" or (is_large and size < LARGE_FILE):
        raise ModelFileError("it is truncated or was changed (the list of its members is damaged)")
    if n_members > MAX_MEMBERS or n_bytes > LONGEST_LIST:
        raise ModelFileError("it contains too many files")


def _read_members(archive: zipfile.ZipFile, budget: Budget) -> tuple[dict[str, Any], Arrays]:
    members = {info.filename: info for info in archive.infolist()}
    if len(members) != len(archive.infolist()) or len(members) > MAX_MEMBERS:
        raise ModelFileError("it contains too many files, or two of the same name")
    if DOCUMENT not in members:
        raise ModelFileError(f"it contains no {DOCUMENT} and so is not a ravine model", CHECK_NAME)
    for name, info in members.items():
        if name != DOCUMENT and not name.endswith(".npy"):
            raise ModelFileError(f"it contains an unexpected file: {name[:60]!r}")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ModelFileError(f"{name[:60]!r} is compressed by an unexpected method")
        budget.spend(ARRAY_COPIES * info.file_size)
    text = members.pop(DOCUMENT)
    if text.file_size > MAX_DOCUMENT_BYTES:
        raise ModelFileError(f"{DOCUMENT} has {text.file_size} bytes, more than {MAX_DOCUMENT_BYTES}")
    with archive.open(text) as stream:
        content = stream.read(text.file_size + 1)  # without a limit, all of it would be unpacked at once
    if len(content) != text.file_size:
        raise ModelFileError(f"it is damaged ({DOCUMENT!r} does not have its stated size)")
    document = parse_document(content, budget)
    arrays = {}
    for name, info in members.items():
        with archive.open(info) as stream:
            arrays[name.removesuffix(".npy")] = read_array(stream, name[:60], info.file_size)
    return document, Arrays(arrays, budget)
