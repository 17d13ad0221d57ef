"""Tables from files: CSV and the like, gzip, Parquet, Feather and NumPy, recognised by their first bytes."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ravine._plurals import count

# Bytes at the beginning of a file from which its format is detected.
HEAD = 1 << 18
# Rows at the beginning of a file from which its delimiter and header are detected.
MAX_ROWS = 200
# Cells that are read as missing, the same as those of pyarrow.
MISSING_CELLS = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "N/A", "NA", "NULL",
    "NaN", "n/a", "nan", "null",
)  # fmt: skip
BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "space"}
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
        columns = {column: array[column] for column in array.dtype.names}
    elif array.ndim in (1, 2) and array.dtype.kind in "biuf":
        array = array.astype(array.dtype.newbyteorder("="), copy=False).reshape(len(array), -1)
        columns = {f"x{j}": array[:, j] for j in range(array.shape[1])}
    else:
        raise TableError(
            f"{name} holds an array of shape {array.shape} and type {array.dtype}: save a matrix of numbers."
        )
    table = pa.table({column: np.ascontiguousarray(values) for column, values in columns.items()})
    report(f"{name}: {_describe_size(table)}; NumPy, columns named {next(iter(columns))} to {[*columns][-1]}")
    return table


# ----------------------------------------------------------------------------------------------- text


@dataclass(frozen=True)
class Layout:
    """Layout of a text file: its encoding, its delimiter, and the lines of its header.

    Attributes
    ----------
    encoding, delimiter : str
    names : tuple of str
        Names of the columns.
    n_header_lines : int
        Number of lines before the first row of data; 0 if the names are not from the file.
    """

    encoding: str
    delimiter: str
    names: tuple[str, ...]
    n_header_lines: int

    @property
    def delimiter_name(self) -> str:
        """Name of the delimiter, for messages."""
        return DELIMITERS.get(self.delimiter, repr(self.delimiter))


def _read_text(content: Path | bytes, head: bytes, name: str, options: ReadOptions, report: Report) -> Any:
    pa = import_module("pyarrow")
    layout = _detect_layout(head, name, options, report)
    encoding = layout.encoding
    _check_unique(layout.names, name)  # pyarrow would silently keep one of two columns with the same name
    # Line breaks in quotes may come late, and pyarrow may misread a block that begins within quotes without an error.
    quoted = b'"' in head or _contains(content, b'"')
    if quoted:  # pyarrow reads an unclosed quote up to the next quote, or to the end of the file, without an error
        with _open_text(content, encoding) as stream:
            line = find_open_quote((line.removeprefix("\ufeff").rstrip("\n") for line in stream), layout.delimiter)
        if line is not None:
            raise TableError(f"{name}, line {line}: a quote opens there and is never closed. Close it, or remove it.")
    try:
        table = _parse_csv(content, layout, options, quoted)
    except UnicodeDecodeError as error:
        raise _make_encoding_error(name, encoding, error) from error
    except pa.ArrowInvalid as error:
        if "invalid UTF8" in str(error):
            raise _make_encoding_error(name, encoding) from error
        if "Empty CSV" in str(error):
            raise TableError(_describe_no_rows(name)) from error
        raise TableError(_find_bad_line(content, layout, name, error)) from error
    if any(pa.types.is_binary(column.type) for column in table.schema):
        raise _make_encoding_error(name, encoding)
    header = "with a header" if layout.n_header_lines else f"no header: columns named x0 to x{len(layout.names) - 1}"
    suffix = "" if encoding == "utf-8" else f"; {encoding}"
    report(f"{name}: {_describe_size(table)}; {layout.delimiter_name}-separated, {header}{suffix}")
    return table


def _parse_csv(content: Path | bytes, layout: Layout, options: ReadOptions, quoted: bool) -> Any:
    pa, arrow_csv = import_module("pyarrow"), import_module("pyarrow.csv")
    return arrow_csv.read_csv(
        _as_arrow_source(content),
        read_options=arrow_csv.ReadOptions(
            column_names=layout.names, skip_rows=layout.n_header_lines, encoding=layout.encoding, block_size=1 << 22
        ),
        parse_options=arrow_csv.ParseOptions(delimiter=layout.delimiter, newlines_in_values=quoted),
        convert_options=arrow_csv.ConvertOptions(
            column_types={column: pa.string() for column in options.as_text if column in layout.names},
            decimal_point=options.decimal,
            strings_can_be_null=False,
        ),
    )


def _detect_layout(head: bytes, name: str, options: ReadOptions, report: Report) -> Layout:
    """Detect the encoding, the delimiter and the header of a text file from its beginning."""
    marked = next((found for mark, found in BYTE_ORDER_MARKS if head.startswith(mark)), "utf-8")
    encoding = options.encoding or marked
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(head).removeprefix("\ufeff")
    except LookupError as error:
        raise TableError(f"{encoding!r} is an unknown encoding: try latin-1, cp1252 or utf-16.") from error
    except UnicodeDecodeError as error:
        raise _make_encoding_error(name, encoding, error) from error
    if "\0" in text:
        raise TableError(
            f"{name} contains zero bytes: it is not a text file, or it is UTF-16 without a byte order mark.",
            encoding="utf-16-le",
        )
    if len(head) == HEAD:  # the last line may be incomplete
        text = text[: text.rfind("\n") + 1] or text
    if not text.strip():
        raise TableError(f"{name} is empty: it needs a header and rows of numbers.")
    delimiter = _detect_delimiter(text) if options.delimiter is None else options.delimiter
    rows, n_lines = _read_first_rows(text, delimiter)
    first = [cell.strip() for cell in rows[0]]
    if not (_has_header(rows) if options.header is None else options.header):
        return Layout(encoding, delimiter, tuple(f"x{j}" for j in range(len(first))), 0)
    for j, column in enumerate(first, start=1):
        if not column:
            report(f"column {j} has no name: called 'column{j}' (if it counts the rows, drop it or choose it as key)")
    return Layout(encoding, delimiter, tuple(cell or f"column{j}" for j, cell in enumerate(first, start=1)), n_lines)


def _make_encoding_error(name: str, encoding: str, error: UnicodeDecodeError | None = None) -> TableError:
    where = "" if error is None else f" (byte 0x{error.object[error.start]:02x} at position {error.start})"
    other = "latin-1" if encoding.replace("_", "-").lower() in ("utf-8", "utf8") else "utf-8"
    return TableError(f"{name} is not valid {encoding}{where}: set its encoding.", encoding=other)


def _read_first_rows(text: str, delimiter: str) -> tuple[list[list[str]], int]:
    """Return the first rows, and the number of lines up to the end of the very first."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows: list[list[str]] = []
    n_lines = 1
    try:
        for row in filter(None, reader):
            n_lines = n_lines if rows else reader.line_num
            rows.append(row)
            if len(rows) >= MAX_ROWS:
                break
    except csv.Error:  # an unclosed quote: reported when the whole file is read
        pass
    return rows or [[text.strip()]], n_lines


def _detect_delimiter(text: str) -> str:
    """Return the delimiter that splits most rows into the same number of cells; more cells win a tie."""
    best, best_score = ",", (0.0, 0)
    for delimiter in DELIMITERS:
        counts = Counter(len(row) for row in _read_first_rows(text, delimiter)[0])
        n_cells, n_rows = max(counts.items(), key=lambda item: (item[1], item[0]))
        weight = 0.5 if delimiter == " " else 1.0  # spaces also occur inside cells
        score = (weight * n_rows / counts.total(), n_cells) if n_cells > 1 else (0.0, 0)
        if score > best_score:
            best, best_score = delimiter, score
    return best


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
    return cell is None or cell != cell or (isinstance(cell, str) and cell.strip() in MISSING_CELLS)


def find_open_quote(lines: Iterable[str], delimiter: str) -> int | None:
    """Return the number of the line where a quote opens that is not closed at the end of a cell; None if all are.

    A quote opens at the start of a cell. Inside quotes, two quotes stand for one. Text after a closing quote is ignored
    unless the quotes join several lines.
    """
    is_open, opened = False, 0
    for number, line in enumerate(lines, start=1):
        if not is_open and '"' not in line:
            continue
        is_closed = False  # whether the last quote closed a cell
        *before, rest = line.split('"')
        for k, text in enumerate(before):
            if is_open:
                is_open, is_closed = False, True
            elif is_closed and not text:
                is_open, is_closed = True, False
            elif is_closed and opened < number and not text.startswith(delimiter):
                return opened
            elif text.endswith(delimiter) or (k == 0 and not text):
                is_open, opened = True, number
            else:
                is_closed = False
        if is_closed and opened < number and rest and not rest.startswith(delimiter):
            return opened
    return opened if is_open else None


def _contains(content: Path | bytes, character: bytes) -> bool:
    if isinstance(content, bytes):
        return character in content
    with content.open("rb") as stream:
        return any(character in block for block in iter(lambda: stream.read(1 << 22), b""))


def _open_text(content: Path | bytes, encoding: str, newline: str | None = None) -> io.TextIOWrapper:
    raw: Any = io.BytesIO(content) if isinstance(content, bytes) else content.open("rb")
    return io.TextIOWrapper(raw, encoding=encoding, errors="replace", newline=newline)


def _check_unique(names: Sequence[str], file: str) -> None:
    repeated = [column for column, n in Counter(names).items() if n > 1]
    if repeated:
        shown = ", ".join(map(repr, repeated[:5]))
        advice = "give every column its own name, or read the first line as data."
        raise TableError(f"{file} has several columns named {shown}: {advice}", header=False)


def _find_bad_line(content: Path | bytes, layout: Layout, name: str, error: Exception) -> str:
    """Return a message with the number of the line that cannot be read."""
    width, first, hint = len(layout.names), 1, ""
    with _open_text(content, layout.encoding, newline="") as stream:
        reader = csv.reader(stream, delimiter=layout.delimiter)
        try:
            for row in reader:
                if row and len(row) != width:
                    return (
                        f"{name}, line {first}: {count(len(row), 'cell')} instead of {width}{hint}. Correct that line, "
                        f"or set the delimiter (detected: {layout.delimiter_name})."
                    )
                is_long = reader.line_num > first
                hint = f" (quotes join the lines {first} to {reader.line_num} before it)" if is_long else ""
                first = reader.line_num + 1
        except csv.Error as problem:
            return f"{name}, line {reader.line_num}: {problem}. Correct that line."
    return f"{name} cannot be read: {_first_line(error)}."


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")[:200]
