"""A zip of one JSON document and plain arrays, read with every size checked before memory is asked for."""

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

from ravine._files import replacing
from ravine.models.errors import ModelFileError

__all__ = ["MOST_BYTES", "Arrays", "read_archive", "write_archive"]

DOCUMENT = "model.json"
# A model holds a few dozen arrays.
MOST_MEMBERS = 200
# Unpacked, unless the caller allows more: the labels of 100 million rows.
MOST_BYTES = 1 << 30
MOST_BYTES_OF_DOCUMENT = 1 << 26
# Numbers, truth values and text; objects would need pickle.
KINDS = "biufU"
# The same model gives the same bytes.
DATE = (1980, 1, 1, 0, 0, 0)


class Arrays:
    """The arrays of a file, each taken once by who knows its type and shape."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._arrays = dict(arrays)

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def put(self, name: str, array: NDArray[Any]) -> None:
        """Add an array, for a file of an older schema."""
        self._arrays[name] = array

    def dimensions(self, name: str) -> int:
        """How many dimensions an array has."""
        return self._arrays[name].ndim

    def take(self, name: str, kinds: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
        """An array of one of some kinds of numbers; None in the shape is any length."""
        if name not in self._arrays:
            raise ModelFileError(f"the array {name!r} is missing")
        array = self._arrays.pop(name)
        fits = array.ndim == len(shape) and all(
            want is None or have == want for have, want in zip(array.shape, shape, strict=True)
        )
        if array.dtype.kind not in kinds or not fits:
            raise ModelFileError(f"the array {name!r} has the type {array.dtype} and the shape {array.shape}")
        return array

    def numbers(self, name: str, shape: tuple[int | None, ...]) -> NDArray[np.float64]:
        """An array of float64."""
        return self._exactly(self.take(name, "f", shape), np.dtype("<f8"), name).astype(np.float64, copy=False)

    def integers(self, name: str, shape: tuple[int | None, ...], low: int, high: int) -> NDArray[np.intp]:
        """An array of integers that are at least ``low`` and below ``high``."""
        array = self._exactly(self.take(name, "i", shape), np.dtype("<i8"), name)
        if array.size and (array.min() < low or array.max() >= high):
            raise ModelFileError(f"the array {name!r} has values outside {low} to {high - 1}")
        return array.astype(np.intp, copy=False)

    @staticmethod
    def _exactly(array: NDArray[Any], dtype: np.dtype[Any], name: str) -> NDArray[Any]:
        if array.dtype != dtype:
            raise ModelFileError(f"the array {name!r} has the type {array.dtype} instead of {dtype}")
        return array

    def finish(self) -> None:
        """Refuse arrays that nobody took."""
        if self._arrays:
            raise ModelFileError(f"there are arrays that no such model has: {', '.join(sorted(self._arrays)[:3])!r}")


def write_archive(
    path: str | os.PathLike[str], document: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write a document and its arrays, whole or not at all."""
    text = json.dumps(document, allow_nan=False, indent=1)
    with replacing(path) as part, zipfile.ZipFile(part, "w") as archive:
        archive.writestr(_member(DOCUMENT), text.encode("ascii"), compresslevel=6)
        for name, array in arrays.items():
            if array.dtype.kind not in KINDS:
                raise TypeError(f"{name}: an array of {array.dtype} cannot be saved.")
            plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
            stream = io.BytesIO()
            npy.write_array(stream, plain, version=(1, 0), allow_pickle=False)
            archive.writestr(_member(f"{name}.npy"), stream.getbuffer(), compresslevel=1)


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, DATE)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    return info


def read_archive(path: str | os.PathLike[str], most_bytes: int = MOST_BYTES) -> tuple[dict[str, Any], Arrays]:
    """Read a document and its arrays; anything that is not as `write_archive` leaves it is refused.

    Parameters
    ----------
    path : path-like
    most_bytes : int
        Refuse more than this, unpacked.
    """
    with Path(path).open("rb") as stream:
        if stream.read(4) != b"PK\x03\x04":
            raise ModelFileError("it is not a zip file, so no model written by ravine")
        try:
            with zipfile.ZipFile(stream) as archive:
                return _read(archive, most_bytes)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, UnicodeError) as error:
            # RuntimeError: an encrypted member; RecursionError, a kind of it: JSON nested without end.
            raise ModelFileError(f"it is damaged ({error})") from error


def _read(archive: zipfile.ZipFile, most_bytes: int) -> tuple[dict[str, Any], Arrays]:
    members = {info.filename: info for info in archive.infolist()}
    if len(members) != len(archive.infolist()) or len(members) > MOST_MEMBERS:
        raise ModelFileError("it holds too many files, or several of one name")
    if DOCUMENT not in members:
        raise ModelFileError(f"it holds no {DOCUMENT}, so it is no model written by ravine")
    total = sum(info.file_size for info in members.values())
    if total > most_bytes or members[DOCUMENT].file_size > min(MOST_BYTES_OF_DOCUMENT, most_bytes):
        raise ModelFileError(
            f"unpacked it takes {total / 1e6:.0f} MB, more than max_bytes={most_bytes}: if you trust it, give load a "
            "larger max_bytes"
        )
    document = _document(_content(archive, members.pop(DOCUMENT)))
    arrays = {}
    for name, info in members.items():
        if not name.endswith(".npy"):
            raise ModelFileError(f"it holds a file that no model has: {name!r}")
        arrays[name.removesuffix(".npy")] = _array(name, _content(archive, info))
    return document, Arrays(arrays)


def _content(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """What a member holds: as much as it says and not more, its checksum verified."""
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ModelFileError(f"it is packed in a way that no model is ({info.filename!r})")
    with archive.open(info) as stream:
        content = stream.read(info.file_size + 1)
    if len(content) != info.file_size:
        raise ModelFileError(f"it is damaged ({info.filename!r} has another size than it says)")
    return content


def _document(content: bytes) -> dict[str, Any]:
    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is not JSON")

    try:
        document = json.loads(content.decode("utf-8"), parse_constant=refuse)
    except ValueError as error:
        raise ModelFileError(f"its {DOCUMENT} is damaged ({error})") from error
    if not isinstance(document, dict):
        raise ModelFileError(f"its {DOCUMENT} is no model")
    return document


def _array(name: str, content: bytes) -> NDArray[Any]:
    """An array whose header agrees with the bytes that follow it."""
    stream = io.BytesIO(content)
    try:
        if npy.read_magic(stream) != (1, 0):
            raise ValueError("another version of the format")
        shape, fortran, dtype = npy.read_array_header_1_0(stream)
    except (ValueError, SyntaxError, TypeError, MemoryError) as error:
        raise ModelFileError(f"its array {name!r} is damaged ({str(error).splitlines()[0]})") from error
    left = len(content) - stream.tell()
    if dtype.hasobject or dtype.kind not in KINDS or dtype.itemsize == 0 or dtype.subdtype is not None or fortran:
        raise ModelFileError(f"its array {name!r} is of a type that no model has: {dtype}")
    if any(n < 0 for n in shape) or math.prod(shape) * dtype.itemsize != left:
        raise ModelFileError(f"its array {name!r} says it has the shape {shape}, but has {left} bytes")
    flat = np.frombuffer(content, dtype=dtype, offset=stream.tell())
    return flat.reshape(shape).astype(dtype.newbyteorder("="))  # a copy of its own, which may be changed
