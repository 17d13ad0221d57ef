"""Zip archive of one JSON document and plain arrays. All sizes are checked before memory is allocated."""

from __future__ import annotations

import io
import json
import math
import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ravine._files import replace_file

__all__ = ["MAX_BYTES", "Arrays", "ModelFileError", "read_archive", "write_archive"]

DOCUMENT = "model.json"
# A model has a few dozen arrays.
MAX_MEMBERS = 200
# Limit on the unpacked size, unless the caller allows more: the labels of 100 million rows.
MAX_BYTES = 1 << 30
MAX_DOCUMENT_BYTES = 1 << 26
# Numbers, booleans and text; objects would need pickle.
KINDS = "biufU"
# A constant date, so that the same model gives the same bytes.
DATE = (1980, 1, 1, 0, 0, 0)
CHECK_NAME = "Check the name of the file."


class ModelFileError(ValueError):
    """Raised when a file is not a model, is damaged, or was written by a newer version of ravine.

    Parameters
    ----------
    problem : str
        Problem with the file.
    advice : str, default="Get a new copy of the file, or save the model again."
        Advice to the user.
    """

    def __init__(self, problem: str, advice: str = "Get a new copy of the file, or save the model again.") -> None:
        super().__init__(problem)
        self.advice = advice


class Arrays:
    """Arrays of a file; each is taken once, with its expected type and shape."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._arrays = dict(arrays)

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
        Limit on the unpacked size.
    """
    with Path(path).open("rb") as stream:
        if stream.read(4) != b"PK\x03\x04":
            raise ModelFileError("it is not a zip file and so not a ravine model", CHECK_NAME)
        try:
            with zipfile.ZipFile(stream) as archive:
                return _read_members(archive, max_bytes)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, UnicodeError) as error:
            # RuntimeError: an encrypted member; its subclass RecursionError: deeply nested JSON.
            raise ModelFileError(f"it is damaged ({error})") from error


def _read_members(archive: zipfile.ZipFile, max_bytes: int) -> tuple[dict[str, Any], Arrays]:
    members = {info.filename: info for info in archive.infolist()}
    if len(members) != len(archive.infolist()) or len(members) > MAX_MEMBERS:
        raise ModelFileError("it contains too many files, or two of the same name")
    if DOCUMENT not in members:
        raise ModelFileError(f"it contains no {DOCUMENT} and so is not a ravine model", CHECK_NAME)
    total = sum(info.file_size for info in members.values())
    if total > max_bytes or members[DOCUMENT].file_size > min(MAX_DOCUMENT_BYTES, max_bytes):
        raise ModelFileError(
            f"unpacked it takes {total / 1e6:.0f} MB, more than max_bytes={max_bytes}",
            "If you trust the file, pass a larger max_bytes to load.",
        )
    document = _parse_document(_unpack(archive, members.pop(DOCUMENT)))
    arrays = {}
    for name, info in members.items():
        if not name.endswith(".npy"):
            raise ModelFileError(f"it contains an unexpected file: {name!r}")
        arrays[name.removesuffix(".npy")] = _parse_array(name, _unpack(archive, info))
    return document, Arrays(arrays)


def _unpack(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Return the content of a member: not more than its stated size, with its checksum verified."""
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ModelFileError(f"{info.filename!r} is compressed by an unexpected method")
    with archive.open(info) as stream:
        content = stream.read(info.file_size + 1)
    if len(content) != info.file_size:
        raise ModelFileError(f"it is damaged ({info.filename!r} does not have its stated size)")
    return content


def _parse_document(content: bytes) -> dict[str, Any]:
    def reject(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is not JSON")

    try:
        document = json.loads(content.decode("utf-8"), parse_constant=reject)
    except ValueError as error:
        raise ModelFileError(f"{DOCUMENT} is damaged ({error})") from error
    if not isinstance(document, dict):
        raise ModelFileError(f"{DOCUMENT} does not describe a model")
    return document


def _parse_array(name: str, content: bytes) -> NDArray[Any]:
    """Return an array whose header agrees with the bytes that follow it."""
    stream = io.BytesIO(content)
    try:
        if npy.read_magic(stream) != (1, 0):
            raise ValueError("unknown version of the npy format")
        shape, fortran, dtype = npy.read_array_header_1_0(stream)
    except (ValueError, SyntaxError, TypeError, MemoryError) as error:
        raise ModelFileError(f"array {name!r} is damaged ({str(error).splitlines()[0]})") from error
    left = len(content) - stream.tell()
    if dtype.hasobject or dtype.kind not in KINDS or dtype.itemsize == 0 or dtype.subdtype is not None or fortran:
        raise ModelFileError(f"array {name!r} has unexpected type {dtype}")
    if any(n < 0 for n in shape) or math.prod(shape) * dtype.itemsize != left:
        raise ModelFileError(f"array {name!r} has stated shape {shape}, but {left} bytes")
    flat = np.frombuffer(content, dtype=dtype, offset=stream.tell())
    return flat.reshape(shape).astype(dtype.newbyteorder("="))  # a writable copy
