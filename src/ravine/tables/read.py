"""Tables from files: CSV and the like, gzip, Parquet, Feather and NumPy, recognised by their first bytes."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import math
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ravine._plurals import count, join_names
from ravine.checks import is_missing_value
from ravine.tables.cells import SECONDS_PER_DAY, CellFormat, convert_texts, describe_dates

# Bytes and rows at the beginning of a text file from which its delimiter and header are detected.
HEAD, MAX_ROWS = 1 << 18, 200
# Bytes that are unpacked at a time, and memory of a column beside its cells.
CHUNK_BYTES, COLUMN_BYTES = 1 << 24, 20_000
# First bytes of files that are not text.
MARKS = {
    b"PAR1": "Parquet", b"ARROW1": "Feather", b"FEA1": "Feather", b"\x93NUMPY": "NumPy", b"PK\x03\x04": "Excel",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "Excel",
}  # fmt: skip
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "space"}
# A file of JSON starts with an object, or a list of them.
JSON_START = re.compile(rb"\s*(\[\s*)?\{\s*[\"}]")
# The name that pandas gives to an unnamed index when it writes a data frame.
PANDAS_INDEX = re.compile(r"__index_level_\d+__")
# Receives a remark about what was detected or done.
Report = Callable[[str], None]


class TableError(ValueError):
    """Raised when a table cannot be read or used.

    Parameters
    ----------
    message : str
    **choices : object
        Values of `ReadOptions` and `ColumnChoices` that would help; ``auto=True`` if `apply_remedy` chooses the same.
    """

    def __init__(self, message: str, **choices: Any) -> None:
        super().__init__(message)
        self.choices = choices


@dataclass(frozen=True)
class ReadOptions:
    """Format of a table; None stands for "detect it".

    Attributes
    ----------
    delimiter, encoding : str or None
    header : bool or None
        Whether the first line holds names.
    cells : CellFormat
        Format of numbers, dates and missing values.
    as_text : tuple of str
        Columns whose cells are kept as written.
    max_size : float
        Limit on the size of a compressed table once it is unpacked, and on the memory of its columns, in gigabytes.
    """

    delimiter: str | None = None
    encoding: str | None = None
    header: bool | None = None
    cells: CellFormat = field(default_factory=CellFormat)
    as_text: tuple[str, ...] = ()
    max_size: float = 2.0


def read_table(source: str, options: ReadOptions, report: Report) -> tuple[Any, CellFormat]:
    """Read a data frame from a file, or from standard input for "-"; return it with the format of its cells.

    Parameters
    ----------
    source : str
    options : ReadOptions
    report : callable
        Receives what was detected.
    """
    pa = import_module("pyarrow")  # pyarrow has no type hints
    name, content = _read_bytes(source, options.max_size)
    if not content[:HEAD].strip():
        raise TableError(f"{name} is empty: it needs a header and rows of numbers.")
    kind = next((kind for mark, kind in MARKS.items() if content.startswith(mark)), "text")
    kind = "JSON" if kind == "text" and JSON_START.match(content) else kind
    try:
        if kind == "text":
            table, detail = _read_text(content, name, options, report)
        elif kind == "Excel":
            table, detail = _read_excel(content, name, options.max_size)
        elif kind == "JSON":
            table, detail = _read_json(content), kind
        elif kind == "NumPy":
            table, detail = _read_numpy(content)
        else:
            table, detail = _read_arrow(content, kind, name, options.max_size), kind
    except TableError:
        raise
    except (pa.ArrowException, EOFError, KeyError, OSError, ValueError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")[:200]
        raise TableError(f"{name} is a damaged {kind} file ({reason}): get a new copy, or correct it.") from error
    _check_unique(table.column_names, name)
    if not table.num_rows:
        raise TableError(f"{name} has a header but no rows.")
    report(f"{name}: {count(table.num_rows, 'row')}, {count(table.num_columns, 'column')}; {detail}")
    for column in filter(PANDAS_INDEX.fullmatch, table.column_names):
        if column not in options.as_text:
            table = table.drop_columns([column])
            report(f"{column!r}: index of a data frame, not used (as key it is copied to the results)")
    frame, found, remarks = make_frame(table, options.cells, options.as_text)
    if kind == "text" and found.decimal == "," and options.cells.decimal is None:  # numbers with points are others then
        table, _ = _read_text(content, name, replace(options, cells=replace(options.cells, decimal=",")), report)
        frame, found, more = make_frame(table, found, options.as_text)
        remarks += more
    for remark in dict.fromkeys(remarks):
        report(remark)
    return frame, found


def make_frame(
    table: Any, cells: CellFormat | None = None, as_text: tuple[str, ...] = ()
) -> tuple[Any, CellFormat, list[str]]:
    """Return a pyarrow table as a data frame, the format of its cells, and remarks about them.

    Texts that stand for missing values are missing, and texts and dates that are numbers are numbers, except in some
    columns. Floats are those of NumPy and texts those of pandas; all other types are those of pyarrow.
    """
    import pandas as pd

    pa = import_module("pyarrow")
    types, given = pa.types, cells or CellFormat()

    def is_text(kind: Any) -> bool:
        return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))

    def choose_type(kind: Any) -> Any:
        return None if types.is_floating(kind) else pd.StringDtype() if is_text(kind) else pd.ArrowDtype(kind)

    columns = dict(zip(table.column_names, table.columns, strict=True))
    codes_of_numbers = [float(text) for text in given.na if is_number(text)]
    dates, encoded, texts = [], {}, {}
    for name, column in columns.items():
        if types.is_dictionary(column.type):
            column = columns[name] = column.cast(column.type.value_type)
        if name not in as_text and (types.is_timestamp(column.type) or types.is_date(column.type)):
            times = column.cast(pa.timestamp("s"), safe=False)
            columns[name] = pa.array(times.cast(pa.int64()).to_numpy() / SECONDS_PER_DAY, from_pandas=True)
            dates.append(name)
        elif codes_of_numbers and (types.is_integer(column.type) or types.is_floating(column.type)):
            pc = import_module("pyarrow.compute")
            is_code = pc.is_in(column.cast(pa.float64(), safe=False), pa.array(codes_of_numbers, pa.float64()))
            columns[name] = pc.if_else(is_code, None, column)
        elif is_text(column.type):
            encoded[name] = column.combine_chunks().dictionary_encode()
            missing = {*given.na, *(() if name in as_text else list_missing_cells())}
            texts[name] = [None if text.strip() in missing else text for text in encoded[name].dictionary.to_pylist()]
    known = {name: [text for text in some if text is not None] for name, some in texts.items() if name not in as_text}
    found, given, remarks = convert_texts(known, given, any(map(_has_points, columns.values())))
    for name, codes in encoded.items():
        distinct = pa.array(texts[name], pa.string())
        if name in found:
            numbers = dict(zip(known[name], found[name].tolist(), strict=True))
            distinct = pa.array([numbers.get(text) for text in texts[name]], pa.float64(), from_pandas=True)
        columns[name] = distinct.take(codes.indices)
    frame = pa.table(columns).to_pandas(types_mapper=choose_type, ignore_metadata=True)
    return frame, given, [*([describe_dates(dates)] if dates else []), *remarks]


def _has_points(column: Any) -> bool:
    """Return whether numbers that were read with a decimal point cannot be groups of three digits."""
    if str(column.type) != "double":
        return False
    values = np.abs(column.to_numpy(zero_copy_only=False))
    with np.errstate(invalid="ignore", over="ignore"):
        short = values * 100.0
        return bool(((short == np.round(short)) & (values != np.round(values))).any())


def _read_bytes(source: str, max_size: float) -> tuple[str, bytes]:
    """Return the name of a source for messages, and its unpacked content."""
    if source == "-":
        if sys.stdin is None:
            raise TableError("standard input is closed: give the name of a file.")
        name, content = "standard input", sys.stdin.buffer.read()
    else:
        name, content = Path(source).name, Path(source).read_bytes()
    if not content.startswith(b"\x1f\x8b"):
        return name, content
    try:
        chunks, n_bytes = [], 0
        with gzip.open(io.BytesIO(content)) as stream:
            while chunk := stream.read(CHUNK_BYTES):
                chunks.append(chunk)
                n_bytes += len(chunk)
                _check_size(n_bytes, name, max_size)
        return name, b"".join(chunks)
    except (EOFError, OSError, zlib.error) as error:
        raise TableError(f"{name} is truncated or not a gzip file ({error}): get a new copy.") from error


def _check_size(n_bytes: float, name: str, max_size: float) -> None:
    if n_bytes > 1e9 * max_size:
        raise TableError(
            f"{name} takes more than {max_size:g} GB once it is unpacked: raise the limit if you trust it.",
            max_size=f"{max(2.0 * max_size, math.ceil(n_bytes / 1e9)):g}",
        )


def _read_arrow(content: bytes, kind: str, name: str, max_size: float) -> Any:
    """Read a Parquet or Feather file, whose cells may be compressed."""
    pa, n_bytes = import_module("pyarrow"), 0
    if kind == "Parquet":
        source = import_module("pyarrow.parquet").ParquetFile(pa.BufferReader(content))
        _check_size(8.0 * source.metadata.num_rows * source.metadata.num_columns, name, max_size)
        return source.read()
    if content.startswith(b"FEA1"):
        return import_module("pyarrow.feather").read_table(pa.BufferReader(content))
    source, batches = pa.ipc.open_file(pa.BufferReader(content)), []
    for k in range(source.num_record_batches):
        batches.append(source.get_batch(k))
        n_bytes += batches[-1].nbytes
        _check_size(n_bytes, name, max_size)
    return pa.Table.from_batches(batches, source.schema)


def _read_excel(content: bytes, name: str, max_size: float) -> tuple[Any, str]:
    """Return the first sheet of an Excel workbook, and a description."""
    import zipfile

    import pandas as pd

    pa = import_module("pyarrow")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
    except zipfile.BadZipFile:
        sizes = {}
    if "xl/workbook.xml" not in sizes:
        raise TableError(f"{name} is a zip file or an old Excel file (.xls): save the sheet as .xlsx or CSV.")
    _check_size(sum(sizes.values()), name, max_size)
    try:
        book = pd.ExcelFile(io.BytesIO(content), engine="openpyxl")
    except ImportError as error:
        raise TableError(f"{name} is an Excel file, which needs the package openpyxl: install it.") from error
    sheet, *others = book.sheet_names
    frame = pd.read_excel(book, sheet_name=sheet, keep_default_na=False, na_values=[""]).dropna(how="all")
    columns = {}
    for label, cells in frame.items():
        values = pa.array(cells, from_pandas=True) if cells.dtype != object else _join_types(pa, cells.tolist())
        columns[str(label)] = values
    more = f" of {1 + len(others)}" if others else ""
    return pa.table(columns), f"Excel, sheet {sheet!r}{more}"


def _join_types(pa: Any, cells: list[Any]) -> Any:
    """Return cells of one type as they are, and others as text."""
    kept = [None if is_missing_value(cell) or cell == "" else cell for cell in cells]
    try:
        return pa.array(kept)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if cell is None else str(cell) for cell in kept])


def _read_json(content: bytes) -> Any:
    """Read JSON lines, or a list of objects."""
    pa = import_module("pyarrow")
    if content.lstrip().startswith(b"["):
        return pa.Table.from_pylist(json.loads(content))
    return import_module("pyarrow.json").read_json(pa.BufferReader(content))


def _read_numpy(content: bytes) -> tuple[Any, str]:
    array = np.load(io.BytesIO(content), allow_pickle=False)
    if array.ndim not in (1, 2) or array.dtype.kind not in "biuf":
        raise ValueError(f"an array of shape {array.shape} and type {array.dtype}, not a matrix of numbers")
    columns = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("=")).reshape(len(array), -1).T)
    table = import_module("pyarrow").table({f"x{j}": column for j, column in enumerate(columns)})
    return table, f"NumPy, columns named x0 to x{len(columns) - 1}"


# ----------------------------------------------------------------------------------------------- text


def _read_text(content: bytes, name: str, options: ReadOptions, report: Report) -> tuple[Any, str]:
    """Return the table of a text file, and a description of its layout."""
    pa, arrow_csv = import_module("pyarrow"), import_module("pyarrow.csv")
    encoding, text = _decode(content, name, options.encoding)
    end = text.rfind("\n", 0, HEAD) + 1 or text.find("\n", HEAD) + 1 or len(text)  # a first line may be longer
    head = text if len(text) < HEAD else text[:end]
    delimiter = _detect_delimiter(head) if options.delimiter is None else options.delimiter
    rows, n_lines = _read_first_rows(head, delimiter)
    first = [cell.strip() for cell in rows[0]]
    _check_size(COLUMN_BYTES * len(first), f"{name}, with {count(len(first), 'column')},", options.max_size)
    if _has_header(rows) if options.header is None else options.header:
        names, header = [cell or f"column{j}" for j, cell in enumerate(first, start=1)], "with a header"
        unnamed = [f"column{j}" for j, cell in enumerate(first, start=1) if not cell]
        if unnamed:
            found = f"{count(len(unnamed), 'column')} without a name: called {join_names(unnamed, 5)}"
            report(f"{found} (if a column counts the rows, drop it or choose it as key)")
    else:
        names, n_lines = [f"x{j}" for j in range(len(first))], 0
        header = f"no header: columns named x0 to x{len(first) - 1}"
    _check_unique(names, name)  # pyarrow would silently keep one of two columns with the same name
    # Line breaks in quotes may come late, and pyarrow reads an unclosed quote up to the next quote without an error.
    is_quoted = '"' in text
    if is_quoted:
        _check_rows(text, delimiter, len(names), name)
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(text.encode()),
            read_options=arrow_csv.ReadOptions(column_names=names, skip_rows=n_lines, block_size=1 << 22),
            parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=is_quoted),
            convert_options=arrow_csv.ConvertOptions(
                column_types={column: pa.string() for column in options.as_text if column in names},
                null_values=[*list_missing_cells(), *options.cells.na],
                decimal_point=options.cells.decimal or ".", strings_can_be_null=False,
            ),
        )  # fmt: skip
    except pa.ArrowInvalid as error:
        if "Empty CSV" in str(error):
            return pa.table({column: [] for column in names}), ""
        _check_rows(text, delimiter, len(names), name)
        raise
    suffix = "" if encoding == "utf-8" else f"; {encoding}"
    return table, f"{DELIMITERS.get(delimiter, repr(delimiter))}-separated, {header}{suffix}"


def _decode(content: bytes, name: str, encoding: str | None) -> tuple[str, str]:
    """Return the encoding of a text file, by default that of its byte order mark or UTF-8, and its text."""
    is_utf_16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    encoding = encoding or ("utf-16" if is_utf_16 else "utf-8")
    try:
        text = content.decode(encoding).removeprefix("\ufeff")
    except (LookupError, UnicodeError) as error:
        other = "latin-1" if encoding.replace("_", "-").lower() in ("utf-8", "utf8") else "utf-8"
        raise TableError(f"{name} cannot be read as {encoding} ({error}): set its encoding.", encoding=other) from error
    if "\0" in text[:HEAD]:
        raise TableError(f"{name} contains zero bytes: it is not text, or UTF-16 without a mark.", encoding="utf-16-le")
    return encoding, text


def _read_first_rows(text: str, delimiter: str) -> tuple[list[list[str]], int]:
    """Return the first rows, and the number of lines up to the end of the very first."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows: list[tuple[list[str], int]] = []
    with suppress(csv.Error):  # an unclosed quote: reported when the whole file is read
        rows.extend((row, reader.line_num) for row in islice(filter(None, reader), MAX_ROWS))
    rows = rows or [([text.strip()], 1)]
    return [row for row, _ in rows], rows[0][1]


def _detect_delimiter(text: str) -> str:
    """Return the delimiter that splits most rows into the same number of cells; more cells win a tie."""
    scores = {",": (0.0, 1)}
    for delimiter in DELIMITERS:
        counts = Counter(len(row) for row in _read_first_rows(text, delimiter)[0])
        n_cells, n_rows = max(counts.items(), key=lambda item: (item[1], item[0]))
        weight = 0.5 if delimiter == " " else 1.0  # spaces also occur inside cells
        if n_cells > 1:
            scores[delimiter] = (weight * n_rows / counts.total(), n_cells)
    return max(scores, key=scores.__getitem__)


def _has_header(rows: list[list[str]]) -> bool:
    """Return whether some name stands above a column of numbers, or the first line has no number at all."""
    first, rest = rows[0], rows[1:]
    for j, cell in enumerate(first):
        below = [row[j] for row in rest if j < len(row) and not is_missing(row[j])]
        if below and not is_number(cell) and not is_missing(cell) and all(map(is_number, below)):
            return True
    return not any(is_number(cell) for cell in first)


def is_number(cell: str) -> bool:
    """Return whether a cell is a number, possibly with a decimal comma."""
    try:
        float(cell.strip().replace(",", "."))
    except ValueError:
        return False
    return True


def is_missing(cell: Any) -> bool:
    """Return whether a cell is None, NaN or a text that stands for a missing value."""
    return is_missing_value(cell) or (isinstance(cell, str) and cell.strip() in list_missing_cells())


@cache
def list_missing_cells() -> list[str]:
    """Return the texts that pyarrow reads as missing values."""
    return list(import_module("pyarrow.csv").ConvertOptions().null_values)


def _check_unique(names: list[str], file: str) -> None:
    repeated = [column for column, n in Counter(names).items() if n > 1]
    if repeated:
        problem = f"{file} has several columns named {join_names(repeated, 5)}"
        raise TableError(f"{problem}: give each its own name, or read the first line as data.", header=False)


def _check_rows(text: str, delimiter: str, width: int, name: str) -> None:
    """Raise an error that names the first line with another number of cells, or with a quote that is not closed."""
    first = 1
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if row and len(row) != width:
                problem = f"{name}, line {first}: {count(len(row), 'cell')} instead of {width}"
                raise TableError(f"{problem}. Correct that line, or set a delimiter other than {delimiter!r}.")
            first = reader.line_num + 1
    except csv.Error as error:
        is_long = "field limit" in str(error)
        other = f"a cell has more than {csv.field_size_limit()} characters" if is_long else "text follows it"
        raise TableError(f"{name}, line {first}: a quote is not closed, or {other}. Correct that line.") from error
