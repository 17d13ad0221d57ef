"""Reader of files written by R's ``save``: lists of matrices, vectors and factors.

The format is described in "R Internals", section "Serialization Formats": after the magic ``RDX2`` or ``RDX3`` and a
header come items, each a 32-bit word of type and flags followed by its content in big-endian (XDR) order.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ravine_paper.datasets.dataset_errors import CorruptDatasetError

__all__ = ["RValue", "read_rdata"]

# Types of items, and type codes that stand for a whole item.
SYMBOL, PAIRS, CHARS, LOGICALS, INTEGERS, REALS, STRINGS, LIST = 1, 2, 9, 10, 13, 14, 16, 19
REFERENCE, NIL = 255, 254
SINGLETONS = frozenset({242, 251, 252, 253, NIL})

# A file nested more deeply is damaged.
MAX_DEPTH = 200


@dataclass(frozen=True)
class RValue:
    """Vector or list of R with its attributes.

    Attributes
    ----------
    content : ndarray or list
        Numbers as an array; strings (None for NA) and lists as a list.
    attributes : dict of str to RValue
        Attributes of R: "dim", "names", "levels", ...
    """

    content: Any
    attributes: dict[str, RValue] = field(default_factory=dict)

    def as_matrix(self) -> Any:
        """Return a matrix, which R stores by columns, or the columns of a data frame."""
        if "dim" not in self.attributes and isinstance(self.content, list):
            return np.column_stack([column.content for column in self.content])
        shape = tuple(int(size) for size in self.attributes["dim"].content)
        return np.asarray(self.content).reshape(shape, order="F")

    def get_element(self, name: str) -> RValue:
        """Return the element of a list by its name."""
        found: RValue = self.content[self.attributes["names"].content.index(name)]
        return found

    def as_strings(self) -> list[str]:
        """Return the levels of a factor, or the content as strings; integers have no decimal point."""
        if "levels" in self.attributes:
            levels = self.attributes["levels"].content
            return [str(levels[int(code) - 1]) if code > 0 else "NA" for code in self.content]
        if isinstance(self.content, list):
            return [str(word) for word in self.content]
        return [f"{value:.17g}" for value in np.asarray(self.content, dtype=float)]


def read_rdata(content: bytes, file: str) -> dict[str, RValue]:
    """Return the objects in a file written by R's ``save`` by their names.

    Parameters
    ----------
    content : bytes
        Content of the file, uncompressed or compressed by gzip, bzip2 or xz.
    file : str
        Name of the file, for messages.
    """
    try:
        plain = _decompress(content)
        if plain[:5] not in (b"RDX2\n", b"RDX3\n") or plain[5:7] != b"X\n":
            raise ValueError("it does not begin like a file written by R's save()")
        reader = _Reader(plain, 7)
        version = reader.read_integer()
        reader.read_integer(), reader.read_integer()  # versions of R that wrote the file and that can read it
        if version == 3:
            reader.take(reader.read_integer())  # encoding of the strings
        item = reader.read_item(0)
        if not isinstance(item, dict):
            raise ValueError("it contains no named objects")
    except (ValueError, EOFError, OSError, struct.error, zlib.error, lzma.LZMAError, IndexError, KeyError) as error:
        raise CorruptDatasetError(f"{file} is truncated or damaged ({error}): get a new copy.") from error
    return item


def _decompress(content: bytes) -> bytes:
    for magic, unpack in ((b"\x1f\x8b", gzip.decompress), (b"BZh", bz2.decompress), (b"\xfd7zXZ", lzma.decompress)):
        if content.startswith(magic):
            return unpack(content)
    return content


class _Reader:
    """Position in the file, and the symbols read so far."""

    def __init__(self, data: bytes, start: int) -> None:
        self.data, self.at = data, start
        self.symbols: list[str] = []

    def take(self, size: int) -> bytes:
        if size < 0 or self.at + size > len(self.data):
            raise EOFError("it ends too early")
        self.at += size
        return self.data[self.at - size : self.at]

    def read_integer(self) -> int:
        return int(struct.unpack(">i", self.take(4))[0])

    def _read_array(self, dtype: str, size: int) -> Any:
        length = self.read_integer()
        return np.frombuffer(self.take(length * size), dtype=dtype).astype(dtype[1:])

    def read_item(self, depth: int) -> Any:
        """Read the next item: None, a str, an RValue, or a dict for a pairlist."""
        if depth > MAX_DEPTH:
            raise ValueError("it is nested too deeply")
        word = self.read_integer()
        kind, has_attributes, has_tag = word & 0xFF, bool(word & 0x200), bool(word & 0x400)
        if kind in SINGLETONS:
            return None
        if kind == REFERENCE:
            index = word >> 8 or self.read_integer()
            return self.symbols[index - 1]
        if kind == SYMBOL:
            self.symbols.append(str(self.read_item(depth + 1)))
            return self.symbols[-1]
        if kind == CHARS:
            length = self.read_integer()
            return None if length == -1 else self.take(length).decode("utf-8", "replace")
        if kind == PAIRS:
            return self._read_pairs(word, has_attributes, has_tag, depth)
        readers: dict[int, Callable[[], Any]] = {
            LOGICALS: lambda: self._read_array(">i4", 4),
            INTEGERS: lambda: self._read_array(">i4", 4),
            REALS: lambda: self._read_array(">f8", 8),
            STRINGS: lambda: [self.read_item(depth + 1) for _ in range(self._read_length())],
            LIST: lambda: [self.read_item(depth + 1) for _ in range(self._read_length())],
        }
        if kind not in readers:
            raise ValueError(f"it contains an object of R's type {kind}, which is not data")
        content = readers[kind]()
        return RValue(content, (self.read_item(depth + 1) or {}) if has_attributes else {})

    def _read_length(self) -> int:
        length = self.read_integer()
        if not 0 <= length <= len(self.data):
            raise ValueError("a list has an impossible length")
        return length

    def _read_pairs(self, word: int, has_attributes: bool, has_tag: bool, depth: int) -> dict[str, Any]:
        """Read a linked list of attributes, tag and value, without a recursion for each element."""
        pairs: dict[str, Any] = {}
        while True:
            if has_attributes:
                self.read_item(depth + 1)
            tag = self.read_item(depth + 1) if has_tag else str(len(pairs))
            pairs[str(tag)] = self.read_item(depth + 1)
            word = self.read_integer()
            if word & 0xFF != PAIRS:
                if word & 0xFF != NIL:
                    raise ValueError("a list is not terminated")
                return pairs
            has_attributes, has_tag = bool(word & 0x200), bool(word & 0x400)
