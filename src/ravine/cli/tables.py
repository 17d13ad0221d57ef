"""Tables from files of any kind: CSV and the like, gzip, Parquet, Feather, NumPy; told from their first bytes."""

from __future__ import annotations

import codecs
import gzip
import io
import sys
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from ravine.cli.errors import DataError
from ravine.cli.sniff import Layout, find_encoding, find_layout, not_encoded

__all__ = ["Reading", "read_table"]

HEAD = 1 << 18
Say = Callable[[str], None]


@dataclass(frozen=True)
class Reading:
    """How a table is to be read; None is found out.

    Attributes
    ----------
    delimiter, encoding : str or None
    header : bool or None
        Whether the first line holds names.
    decimal : str
        The decimal sign.
    as_text : tuple of str
        Columns that are kept as they are written.
    """

    delimiter: str | None = None
    encoding: str | None = None
    header: bool | None = None
    decimal: str = "."
    as_text: tuple[str, ...] = ()


def read_table(source: str, reading: Reading, say: Say) -> Any:
    """A pyarrow table from a file, or from standard input for "-".

    Parameters
    ----------
    source : str
    reading : Reading
    say : callable
        Told what was found out.
    """
    name, content = _open(source)
    head = _head(content)
    if head[:2] == b"\x1f\x8b":
        content = _unzipped(content, name)
        head = content[:HEAD]
    if not head.strip():
        raise DataError(f"{name} is empty: it needs a line of names and rows of numbers.")
    if head[:4] == b"PAR1":
        table = _arrow("pyarrow.parquet", content, name, "Parquet", say)
    elif head[:6] == b"ARROW1" or head[:4] == b"FEA1":
        table = _arrow("pyarrow.feather", content, name, "Feather", say)
    elif head[:6] == b"\x93NUMPY":
        table = _numpy(content, name, say)
    elif head[:4] == b"PK\x03\x04" or head[:8] == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
        raise DataError(f"{name} is a zip or Excel file: save the sheet as CSV and give that.")
    else:
        table = _text(content, head, name, reading, say)
    _check_names(table.column_names, name)
    if not table.num_rows:
        raise DataError(f"{name} has names of columns but no rows.")
    return table


def _open(source: str) -> tuple[str, Path | bytes]:
    if source == "-":
        return "standard input", sys.stdin.buffer.read()
    path = Path(source)
    if path.is_dir():
        raise DataError(f"{source!r} is a folder: give a file in it.")
    if not path.exists():
        raise DataError(f"{source!r} does not exist: check its name.")
    if not path.is_file():  # a pipe can be read only once
        return path.name, path.read_bytes()
    return path.name, path


def _head(content: Path | bytes) -> bytes:
    if isinstance(content, bytes):
        return content[:HEAD]
    with content.open("rb") as stream:
        return stream.read(HEAD)


def _unzipped(content: Path | bytes, name: str) -> bytes:
    stream: Any = io.BytesIO(content) if isinstance(content, bytes) else content
    try:
        with gzip.open(stream) as unzipped:
            return unzipped.read()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{name} is a damaged gzip file ({error}): get it again.") from error


def _arrow(module: str, content: Path | bytes, name: str, kind: str, say: Say) -> Any:
    pa = import_module("pyarrow")  # has no types
    source = pa.BufferReader(content) if isinstance(content, bytes) else str(content)
    try:
        table = import_module(module).read_table(source)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise DataError(f"{name} is a damaged {kind} file ({_first_line(error)}): write it again.") from error
    say(f"{name}: {_size(table)}; {kind}")
    return table


def _size(table: Any) -> str:
    return f"{table.num_rows} rows, {table.num_columns} columns"


def _numpy(content: Path | bytes, name: str, say: Say) -> Any:
    import numpy as np

    pa = import_module("pyarrow")
    try:
        array = np.load(io.BytesIO(content) if isinstance(content, bytes) else content, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise DataError(f"{name} cannot be read ({_first_line(error)}): save an array of numbers.") from error
    if array.dtype.names is not None and array.ndim == 1:
        table = pa.table({column: np.ascontiguousarray(array[column]) for column in array.dtype.names})
        say(f"{name}: {_size(table)}; NumPy")
        return table
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise DataError(f"{name} holds an array of shape {array.shape} and type {array.dtype}: give rows of numbers.")
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    table = pa.table({f"x{j}": np.ascontiguousarray(array[:, j]) for j in range(array.shape[1])})
    say(f"{name}: {_size(table)}; NumPy, the columns are named x0 to x{array.shape[1] - 1}")
    return table


# ----------------------------------------------------------------------------------------------- text


def _text(content: Path | bytes, head: bytes, name: str, reading: Reading, say: Say) -> Any:
    pa, csv = import_module("pyarrow"), import_module("pyarrow.csv")
    encoding = find_encoding(head, name, reading.encoding)
    complete = len(head) < HEAD
    beginning = _decode_head(head, encoding)
    layout = find_layout(beginning, complete, name, reading.delimiter, reading.header)
    names = _full_names(layout, say)
    # pyarrow keeps one of two equal names silently.
    _check_names(names, name)
    # A line break in quotes may come late, and a block that begins within quotes may be misread without any error.
    quoted = '"' in beginning or (not complete and _holds(content, b'"'))
    source = pa.BufferReader(content) if isinstance(content, bytes) else str(content)
    try:
        table = csv.read_csv(
            source,
            read_options=csv.ReadOptions(
                column_names=list(names), skip_rows=layout.n_header_lines, encoding=encoding, block_size=1 << 22
            ),
            parse_options=csv.ParseOptions(delimiter=layout.delimiter, newlines_in_values=quoted),
            convert_options=csv.ConvertOptions(
                column_types={column: pa.string() for column in reading.as_text if column in names},
                decimal_point=reading.decimal,
                strings_can_be_null=False,
            ),
        )
    except UnicodeDecodeError as error:
        raise DataError(not_encoded(name, encoding, error)) from error
    except pa.ArrowInvalid as error:
        if "invalid UTF8" in str(error):
            raise DataError(not_encoded(name, encoding)) from error
        if "Empty CSV" in str(error):
            raise DataError(f"{name} has names of columns but no rows.") from error
        raise DataError(_why_not(content, encoding, layout, name, error)) from error
    if any(pa.types.is_binary(column.type) for column in table.schema):
        raise DataError(not_encoded(name, encoding))
    kind = f"names in the first line, {layout.sign} between cells" if layout.has_header else ""
    say(
        f"{name}: {_size(table)}; "
        + (kind or f"{layout.sign} between cells, no names in the first line: x0 to x{len(names) - 1} (else --header)")
        + ("" if encoding == "utf-8" else f"; {encoding}")
    )
    return table


def _holds(content: Path | bytes, sign: bytes) -> bool:
    if isinstance(content, bytes):
        return sign in content
    with content.open("rb") as stream:
        return any(sign in block for block in iter(lambda: stream.read(1 << 22), b""))


def _decode_head(head: bytes, encoding: str) -> str:
    return codecs.getincrementaldecoder(encoding)().decode(head).removeprefix("\ufeff")


def _full_names(layout: Layout, say: Say) -> tuple[str, ...]:
    """Names of the columns, also of those that have none."""
    unnamed = [j for j, column in enumerate(layout.names) if not column]
    for j in unnamed:
        say(f"column {j + 1} has no name: called 'column{j + 1}' (--drop or --key column{j + 1} if it counts rows)")
    return tuple(column or f"column{j + 1}" for j, column in enumerate(layout.names))


def _check_names(names: Any, where: str) -> None:
    twice = [column for column, n in Counter(names).items() if n > 1]
    if twice:
        raise DataError(
            f"{where} has several columns named {', '.join(map(repr, twice[:5]))}: rename them, so that each name is "
            "there once (or give --no-header if the first line holds no names)."
        )


def _why_not(content: Path | bytes, encoding: str, layout: Layout, name: str, error: Exception) -> str:
    """Find the line that cannot be read."""
    import csv

    width = len(layout.names)
    raw: Any = io.BytesIO(content) if isinstance(content, bytes) else content.open("rb")
    with raw, io.TextIOWrapper(raw, encoding=encoding, errors="replace", newline="") as stream:
        reader = csv.reader(stream, delimiter=layout.delimiter)
        try:
            for row in reader:
                if row and len(row) != width:
                    return (
                        f"{name}, line {reader.line_num}: {len(row)} cells instead of {width}. Correct that line, or "
                        f"give the right --delimiter (here {layout.sign})."
                    )
        except csv.Error as problem:
            return f"{name}, line {reader.line_num}: {problem}. Correct that line."
    return f"{name} cannot be read: {_first_line(error)}."


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")[:200]
