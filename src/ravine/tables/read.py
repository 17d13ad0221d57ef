"""Tables from files: CSV and the like, gzip, Parquet, Feather and NumPy, recognised by their first bytes."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ravine._plurals import count
from ravine.tables.quotes import find_open_quote
from ravine.tables.sniff import Layout, describe_wrong_encoding, detect_encoding, detect_layout
from ravine.tables.table_error import TableError

__all__ = ["ReadOptions", "Report", "read_table"]

# Bytes at the beginning of a file from which its format is detected.
HEAD = 1 << 18
# Receives a remark about what was detected or done.
Report = Callable[[str], None]


@dataclass(frozen=True)
class ReadOptions:
    """Format of a table; None stands for "detect it".

    Attributes
    ----------
    delimiter, encoding : str or None
    header : bool or None
        Whether the first line holds names.
    decimal : str
        Decimal separator.
    as_text : tuple of str
        Columns whose cells are kept as written.
    """

    delimiter: str | None = None
    encoding: str | None = None
    header: bool | None = None
    decimal: str = "."
    as_text: tuple[str, ...] = ()


def read_table(source: str, options: ReadOptions, report: Report) -> Any:
    """Read a pyarrow table from a file, or from standard input for "-".

    Parameters
    ----------
    source : str
    options : ReadOptions
    report : callable
        Receives what was detected.
    """
    name, content = _open(source)
    head = _read_head(content)
    if head[:2] == b"\x1f\x8b":
        content = _gunzip(content if isinstance(content, bytes) else content.read_bytes(), name)
        head = content[:HEAD]
    if not head.strip():
        raise TableError(f"{name} is empty: it needs a header and rows of numbers.")
    if head[:4] == b"PAR1":
        table = _read_arrow("pyarrow.parquet", content, name, "Parquet", report)
    elif head[:6] == b"ARROW1" or head[:4] == b"FEA1":
        table = _read_arrow("pyarrow.feather", content, name, "Feather", report)
    elif head[:6] == b"\x93NUMPY":
        table = _read_numpy(content, name, report)
    elif head[:4] == b"PK\x03\x04" or head[:8] == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
        raise TableError(f"{name} is a zip or Excel file: export the sheet as CSV and use that.")
    else:
        table = _read_text(content, head, name, options, report)
    _check_unique(table.column_names, name)
    if not table.num_rows:
        raise TableError(_describe_no_rows(name))
    return table


def _gunzip(content: bytes, name: str) -> bytes:
    """Return the content of a gzip file."""
    try:
        return gzip.decompress(content)
    except (EOFError, OSError, zlib.error) as error:
        raise TableError(f"{name} is truncated or not a gzip file ({error}): get a new copy.") from error


def _open(source: str) -> tuple[str, Path | bytes]:
    """Return the name of a source for messages, and its path or, if it can be read only once, its content."""
    if source == "-":
        if sys.stdin is None:
            raise TableError("standard input is closed: give the name of a file.")
        return "standard input", sys.stdin.buffer.read()
    path = Path(source)
    if path.is_dir():
        raise TableError(f"{source!r} is a folder: choose a file in it.")
    if not path.exists():
        raise TableError(f"{source!r} does not exist: check the name.")
    return path.name, path if path.is_file() else path.read_bytes()


def _read_head(content: Path | bytes) -> bytes:
    if isinstance(content, bytes):
        return content[:HEAD]
    with content.open("rb") as stream:
        return stream.read(HEAD)


def _read_arrow(module: str, content: Path | bytes, name: str, kind: str, report: Report) -> Any:
    pa = import_module("pyarrow")  # pyarrow has no type hints
    try:
        table = import_module(module).read_table(_as_arrow_source(content))
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise TableError(f"{name} is a damaged {kind} file ({_first_line(error)}): get a new copy.") from error
    report(f"{name}: {_describe_size(table)}; {kind}")
    return table


def _as_arrow_source(content: Path | bytes) -> Any:
    return import_module("pyarrow").BufferReader(content) if isinstance(content, bytes) else str(content)


def _describe_size(table: Any) -> str:
    return f"{count(table.num_rows, 'row')}, {count(table.num_columns, 'column')}"


def _describe_no_rows(name: str) -> str:
    return f"{name} has a header but no rows."


def _read_numpy(content: Path | bytes, name: str, report: Report) -> Any:
    pa = import_module("pyarrow")
    try:
        array = np.load(io.BytesIO(content) if isinstance(content, bytes) else content, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise TableError(f"{name} cannot be read ({_first_line(error)}): save an array of numbers.") from error
    if array.dtype.names is not None and array.ndim == 1:
        table = pa.table({column: np.ascontiguousarray(array[column]) for column in array.dtype.names})
        report(f"{name}: {_describe_size(table)}; NumPy")
        return table
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise TableError(
            f"{name} holds an array of shape {array.shape} and type {array.dtype}: save a two-dimensional array of "
            "numbers."
        )
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    table = pa.table({f"x{j}": np.ascontiguousarray(array[:, j]) for j in range(array.shape[1])})
    report(f"{name}: {_describe_size(table)}; NumPy, columns named x0 to x{array.shape[1] - 1}")
    return table


# ----------------------------------------------------------------------------------------------- text


def _read_text(content: Path | bytes, head: bytes, name: str, options: ReadOptions, report: Report) -> Any:
    pa = import_module("pyarrow")
    encoding = detect_encoding(head, name, options.encoding)
    complete = len(head) < HEAD
    beginning = codecs.getincrementaldecoder(encoding)().decode(head).removeprefix("\ufeff")
    layout = detect_layout(beginning, complete, name, options.delimiter, options.header)
    names = _fill_names(layout, report)
    # pyarrow would silently keep one of two columns with the same name.
    _check_unique(names, name)
    # Line breaks in quotes may come late, and pyarrow may misread a block that begins within quotes without an error.
    quoted = '"' in beginning or (not complete and _contains(content, b'"'))
    # pyarrow reads an unclosed quote up to the next quote, or to the end of the file, without an error.
    n_quotes, n_lines = _count_quotes_and_lines(content, encoding) if quoted else (0, 0)
    if n_quotes % 2:
        _refuse_open_quote(content, encoding, layout, name)
    try:
        table = _parse_csv(content, encoding, layout, names, options, quoted)
    except UnicodeDecodeError as error:
        raise TableError(describe_wrong_encoding(name, encoding, error)) from error
    except pa.ArrowInvalid as error:
        if "invalid UTF8" in str(error):
            raise TableError(describe_wrong_encoding(name, encoding)) from error
        if "Empty CSV" in str(error):
            raise TableError(_describe_no_rows(name)) from error
        raise TableError(_find_bad_line(content, encoding, layout, name, error)) from error
    if table.num_rows + layout.has_header < n_lines:  # quotes join lines
        _refuse_open_quote(content, encoding, layout, name)
    if any(pa.types.is_binary(column.type) for column in table.schema):
        raise TableError(describe_wrong_encoding(name, encoding))
    header = (
        "with a header"
        if layout.has_header
        else f"no header: columns named x0 to x{len(names) - 1} (use --header if the first line holds names)"
    )
    suffix = "" if encoding == "utf-8" else f"; {encoding}"
    report(f"{name}: {_describe_size(table)}; {layout.delimiter_name}-separated, {header}{suffix}")
    return table


def _parse_csv(
    content: Path | bytes, encoding: str, layout: Layout, names: Sequence[str], options: ReadOptions, quoted: bool
) -> Any:
    pa, arrow_csv = import_module("pyarrow"), import_module("pyarrow.csv")
    return arrow_csv.read_csv(
        _as_arrow_source(content),
        read_options=arrow_csv.ReadOptions(
            column_names=list(names), skip_rows=layout.n_header_lines, encoding=encoding, block_size=1 << 22
        ),
        parse_options=arrow_csv.ParseOptions(delimiter=layout.delimiter, newlines_in_values=quoted),
        convert_options=arrow_csv.ConvertOptions(
            column_types={column: pa.string() for column in options.as_text if column in names},
            decimal_point=options.decimal,
            strings_can_be_null=False,
        ),
    )


def _contains(content: Path | bytes, character: bytes) -> bool:
    if isinstance(content, bytes):
        return character in content
    with content.open("rb") as stream:
        return any(character in block for block in iter(lambda: stream.read(1 << 22), b""))


def _open_text(content: Path | bytes, encoding: str, newline: str | None = None) -> io.TextIOWrapper:
    raw: Any = io.BytesIO(content) if isinstance(content, bytes) else content.open("rb")
    return io.TextIOWrapper(raw, encoding=encoding, errors="replace", newline=newline)


def _count_quotes_and_lines(content: Path | bytes, encoding: str) -> tuple[int, int]:
    n_quotes = n_lines = 0
    with _open_text(content, encoding) as stream:
        for block in iter(lambda: stream.read(1 << 22), ""):
            n_quotes += block.count('"')
            n_lines += block.count("\n")
    return n_quotes, n_lines


def _refuse_open_quote(content: Path | bytes, encoding: str, layout: Layout, name: str) -> None:
    """Raise an error if a quote is never closed."""
    with _open_text(content, encoding) as stream:
        line = find_open_quote((line.removeprefix("\ufeff").rstrip("\n") for line in stream), layout.delimiter)
    if line is not None:
        raise TableError(f"{name}, line {line}: a quote opens there and is never closed. Close it, or remove it.")


def _fill_names(layout: Layout, report: Report) -> tuple[str, ...]:
    """Return the names of the columns, with "column3" for a third column without a name."""
    for j, column in enumerate(layout.names, start=1):
        if not column:
            report(f"column {j} has no name: called 'column{j}' (if it counts the rows, use --drop or --key column{j})")
    return tuple(column or f"column{j}" for j, column in enumerate(layout.names, start=1))


def _check_unique(names: Sequence[str], file: str) -> None:
    repeated = [column for column, n in Counter(names).items() if n > 1]
    if repeated:
        raise TableError(
            f"{file} has several columns named {', '.join(map(repr, repeated[:5]))}: give every column its own name "
            "(or use --no-header if the first line holds no names)."
        )


def _find_bad_line(content: Path | bytes, encoding: str, layout: Layout, name: str, error: Exception) -> str:
    """Return a message with the number of the line that cannot be read."""
    width, first, hint = len(layout.names), 1, ""
    with _open_text(content, encoding, newline="") as stream:
        reader = csv.reader(stream, delimiter=layout.delimiter)
        try:
            for row in reader:
                if row and len(row) != width:
                    return (
                        f"{name}, line {first}: {count(len(row), 'cell')} instead of {width}{hint}. Correct that line, "
                        f"or set the delimiter with --delimiter (detected: {layout.delimiter_name})."
                    )
                is_long = reader.line_num > first
                hint = f" (quotes join the lines {first} to {reader.line_num} before it)" if is_long else ""
                first = reader.line_num + 1
        except csv.Error as problem:
            return f"{name}, line {reader.line_num}: {problem}. Correct that line."
    return f"{name} cannot be read: {_first_line(error)}."


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")[:200]
