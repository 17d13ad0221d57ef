"""Zip archive of a JSON document and plain arrays. All memory is counted before it is allocated."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import struct
import sys
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

DOCUMENT = "model.json"
CHECK_NAME = "Check the name of the file."
# A file has one member for each type of numbers and each length of text, and the document.
MAX_MEMBERS = 50
# Default limit on the memory that reading takes: enough for the labels of 60 million rows.
MAX_BYTES = 1 << 30
MAX_DOCUMENT_BYTES = 1 << 26
# Memory of an array while it is checked, in sizes of the array.
ARRAY_COPIES = 2
# Upper bound on the memory of one JSON value and of the object that is built from it.
VALUE_BYTES = 200
# End of the zip directory: signature, number of members, size and place of the directory, length of a comment.
DIRECTORY_END = struct.Struct("<4s6xHIIH")
LONGEST_DIRECTORY = 1 << 16
# Exactly the headers that NumPy writes; its own reader executes a tokenizer and warns for others.
MAGIC = b"\x93NUMPY\x01\x00"
HEADER = re.compile(rb"\{'descr': '([<|][biufU]\d{1,9})', 'fortran_order': False, 'shape': \((\d{1,15}),\), \} *\n")
# Bytes that are unpacked at a time.
PIECE = 1 << 20
# A constant date, so that the same model gives the same bytes.
DATE = (1980, 1, 1, 0, 0, 0)


class ModelFileError(ValueError):
    """Raised when a file is not a model, is damaged, or was written by another version of ravine.

    Parameters
    ----------
    problem : str
    advice : str, default="Get a new copy of the file, or save the model again."
    """

    def __init__(self, problem: str, advice: str = "Get a new copy of the file, or save the model again.") -> None:
        super().__init__(problem)
        self.advice = advice


class Budget:
    """Memory that reading a file may take, counted before it is allocated."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes, self.spent = max_bytes, 0

    def spend(self, n_bytes: int) -> None:
        """Count memory that is about to be allocated; raise an error if it exceeds the limit."""
        self.spent += n_bytes
        if self.spent > self.max_bytes:
            raise ModelFileError(
                f"reading it takes at least {self.spent / 1e6:.0f} MB, more than max_bytes={self.max_bytes}",
                "If you trust the file, pass a larger max_bytes to load.",
            )


def write_archive(path: Path, document: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a document and one-dimensional arrays."""
    contents = {DOCUMENT: json.dumps(document, allow_nan=False, indent=1).encode("ascii")}
    for name, array in arrays.items():
        stream = io.BytesIO()
        npy.write_array(stream, array.astype(array.dtype.newbyteorder("<"), copy=False), (1, 0), allow_pickle=False)
        contents[f"{name}.npy"] = stream.getvalue()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            info = zipfile.ZipInfo(name, DATE)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(info, content, compresslevel=6 if name == DOCUMENT else 1)


def read_archive(path: str | os.PathLike[str], max_bytes: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read a document and its arrays; anything that `write_archive` would not write is rejected."""
    with Path(path).open("rb") as stream:
        if stream.read(4) != b"PK\x03\x04":
            raise ModelFileError("it is not a zip file and so not a ravine model", CHECK_NAME)
        _check_directory(stream)
        try:
            with zipfile.ZipFile(stream) as archive:
                return _read_members(archive, Budget(max_bytes))
        except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError) as error:
            # RuntimeError: an encrypted member; its subclass RecursionError: deeply nested JSON.
            raise ModelFileError(f"it is damaged ({error})") from error
        except OSError as error:
            if error.errno != errno.EINVAL:  # a member that begins before the file
                raise
            raise ModelFileError("it is damaged (a member lies outside the file)") from error


def _check_directory(stream: IO[bytes]) -> None:
    """Check the number of members, and the size of the directory, before zipfile reads it."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - DIRECTORY_END.size))
    end = stream.read()
    stream.seek(0)
    if len(end) < DIRECTORY_END.size or not end.startswith(b"PK\x05\x06"):
        raise ModelFileError("it is truncated, or the list of its members is damaged")
    _, n_members, n_bytes, start, _ = DIRECTORY_END.unpack(end)
    # Files of more than 4 GB have another record before the end, which gives other numbers.
    if start + n_bytes + DIRECTORY_END.size != size and size < 1 << 31:
        raise ModelFileError("the list of its members is damaged")
    if n_members > MAX_MEMBERS or n_bytes > LONGEST_DIRECTORY:
        raise ModelFileError("it contains too many files")


def _read_members(archive: zipfile.ZipFile, budget: Budget) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
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
    document, arrays = _parse_document(content, budget), {}
    for name, info in members.items():
        with archive.open(info) as stream:
            arrays[name.removesuffix(".npy")] = _read_array(stream, name[:60], info.file_size)
    return document, arrays


def _parse_document(content: bytes, budget: Budget) -> dict[str, Any]:
    """Parse a JSON object; the memory of its values is estimated from its punctuation first."""

    def reject(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is not JSON")

    budget.spend(len(content) + VALUE_BYTES * sum(map(content.count, (b",", b":", b"[", b"{"))))
    try:
        document = json.loads(content.decode("ascii"), parse_constant=reject)
    except ValueError as error:
        raise ModelFileError(f"{DOCUMENT} is damaged ({error})") from error
    if not isinstance(document, dict):
        raise ModelFileError(f"{DOCUMENT} does not describe a model", CHECK_NAME)
    return document


def _read_array(stream: IO[bytes], name: str, size: int) -> NDArray[Any]:
    """Read a one-dimensional array whose header agrees with its stated size in bytes."""
    start = stream.read(len(MAGIC) + 2)
    header = stream.read(int.from_bytes(start[-2:], "little"))
    found = HEADER.fullmatch(header)
    if start[:-2] != MAGIC or found is None:
        raise ModelFileError(f"array {name!r} is damaged (its header is not that of a plain array)")
    try:
        dtype = np.dtype(found[1].decode())
    except TypeError as error:
        raise ModelFileError(f"array {name!r} has an unknown type") from error
    length, n_bytes = int(found[2]), size - len(start) - len(header)
    if not dtype.itemsize or length * dtype.itemsize != n_bytes:
        raise ModelFileError(f"array {name!r} has {length} values of type {dtype}, but {n_bytes} bytes")
    array = np.empty(length, dtype)
    target, done = array.view(np.uint8), 0
    while done < n_bytes and (piece := stream.read(min(PIECE, n_bytes - done))):
        target[done : done + len(piece)] = np.frombuffer(piece, np.uint8)
        done += len(piece)
    if done < n_bytes or stream.read(1):
        raise ModelFileError(f"it is damaged ({name!r} does not have its stated size)")
    return array.byteswap(inplace=True).view(dtype.newbyteorder("=")) if sys.byteorder == "big" else array
