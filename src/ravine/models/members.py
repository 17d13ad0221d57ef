"""Members of a model file: a JSON document and plain arrays, read piece by piece within a budget of memory."""

from __future__ import annotations

import json
import math
import re
import sys
from typing import IO, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ravine.models.budget import Budget
from ravine.models.model_file_error import ModelFileError

__all__ = ["KINDS", "parse_document", "read_array"]

# Numbers, booleans and text; objects would need pickle.
KINDS = "biufU"
# Upper limit of the memory of one value of a JSON document, with what is built from it.
VALUE_BYTES = 200
MAGIC = b"\x93NUMPY\x01\x00"
# Exactly what NumPy writes; its own reader executes a tokenizer and warns for other headers.
HEADER = re.compile(
    rb"\{'descr': '([<|][biufU]\d{1,9})', 'fortran_order': False, 'shape': \(((?:\d{1,15}, ?)*(?:\d{1,15})?)\), \} *\n"
)
PIECE = 1 << 20


def parse_document(content: bytes, budget: Budget) -> dict[str, Any]:
    """Parse a JSON object; the memory of its values is estimated from its punctuation first."""

    def reject(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is not JSON")

    budget.spend(len(content) + VALUE_BYTES * sum(map(content.count, (b",", b":", b"[", b"{"))))
    try:
        document = json.loads(content.decode("ascii"), parse_constant=reject)
    except ValueError as error:
        raise ModelFileError(f"model.json is damaged ({error})") from error
    if not isinstance(document, dict):
        raise ModelFileError("model.json does not describe a model")
    return document


def read_array(stream: IO[bytes], name: str, size: int) -> NDArray[Any]:
    """Read an array of a stated size in bytes, whose header agrees with that size."""
    start = stream.read(len(MAGIC) + 2)
    if start[:-2] != MAGIC:
        raise ModelFileError(f"array {name!r} is damaged (it is not in version 1.0 of NumPy's format)")
    header = stream.read(int.from_bytes(start[-2:], "little"))
    found = HEADER.fullmatch(header)
    if found is None:
        raise ModelFileError(f"array {name!r} is damaged (its header is not that of a plain array)")
    dtype = _make_dtype(name, found[1].decode())
    shape = tuple(int(length) for length in found[2].decode().replace(",", " ").split())
    left = size - len(start) - len(header)
    if math.prod(shape) * dtype.itemsize != left:
        raise ModelFileError(f"array {name!r} has stated shape {str(shape)[:60]}, but {left} bytes")
    array = np.empty(shape, dtype)
    _fill(array, stream, name)
    if sys.byteorder == "big":
        array = array.byteswap(inplace=True).view(dtype.newbyteorder("="))
    return array


def _make_dtype(name: str, text: str) -> np.dtype[Any]:
    try:
        dtype = np.dtype(text)
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"array {name!r} has unknown type {text!r}") from error
    if not dtype.itemsize:
        raise ModelFileError(f"array {name!r} has unexpected type {text!r}")
    return dtype


def _fill(array: NDArray[Any], stream: IO[bytes], name: str) -> None:
    """Read the bytes of an array, and the end of the stream."""
    target = array.reshape(-1).view(np.uint8)
    done = 0
    while piece := stream.read(PIECE):
        if done + len(piece) > len(target):
            break
        target[done : done + len(piece)] = np.frombuffer(piece, np.uint8)
        done += len(piece)
    if piece or done < len(target):
        raise ModelFileError(f"it is damaged ({name!r} does not have its stated size)")
