"""Format of a text file: its encoding, its delimiter, and whether it has a header."""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from dataclasses import dataclass
from typing import Any

from ravine.tables.table_error import TableError

__all__ = [
    "Layout",
    "describe_wrong_encoding",
    "detect_encoding",
    "detect_layout",
    "is_missing",
    "is_number",
]

# Cells that are read as missing, the same as those of pyarrow.
MISSING_CELLS = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "N/A", "NA", "NULL",
    "NaN", "n/a", "nan", "null",
)  # fmt: skip
BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "space"}
# Rows at the beginning of a file that are inspected.
MAX_ROWS = 200


@dataclass(frozen=True)
class Layout:
    """Layout of a text file.

    Attributes
    ----------
    delimiter : str
    names : tuple of str
        Names of the columns.
    has_header : bool
        Whether the names come from the file.
    n_header_lines : int
        Number of lines before the first row of data.
    """

    delimiter: str
    names: tuple[str, ...]
    has_header: bool
    n_header_lines: int

    @property
    def delimiter_name(self) -> str:
        """Name of the delimiter, for messages."""
        return DELIMITERS.get(self.delimiter, repr(self.delimiter))


def detect_encoding(head: bytes, name: str, encoding: str | None) -> str:
    """Return the given encoding, else that of the byte order mark, else UTF-8; the text must be valid in it."""
    encoding = encoding or next((found for mark, found in BYTE_ORDER_MARKS if head.startswith(mark)), "utf-8")
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
    except LookupError as error:
        raise TableError(f"--encoding {encoding}: unknown encoding. Try latin-1, cp1252 or utf-16.") from error
    try:
        text = decoder.decode(head)
    except UnicodeDecodeError as error:
        raise TableError(describe_wrong_encoding(name, encoding, error)) from error
    if "\0" in text:
        raise TableError(
            f"{name} contains zero bytes: it is not a text file, or it is UTF-16 without a byte order mark (then use "
            "--encoding utf-16-le)."
        )
    return encoding


def describe_wrong_encoding(name: str, encoding: str, error: UnicodeDecodeError | None = None) -> str:
    """Return the message about a file that is not valid in an encoding."""
    where = "" if error is None else f" (byte 0x{error.object[error.start]:02x} at position {error.start})"
    other = "latin-1" if encoding.replace("_", "-").lower() in ("utf-8", "utf8") else "utf-8"
    return f"{name} is not valid {encoding}{where}: set its encoding, for example --encoding {other}."


def detect_layout(text: str, complete: bool, name: str, delimiter: str | None, header: bool | None) -> Layout:
    """Detect the delimiter and the header of a text file from its beginning.

    Parameters
    ----------
    text : str
        Beginning of the file.
    complete : bool
        Whether it is the whole file.
    name : str
        Name of the file, for messages.
    delimiter : str or None
    header : bool or None
        Whether the first line holds names; None to detect it.
    """
    if not complete:
        text = text[: text.rfind("\n") + 1] or text
    if not text.strip():
        raise TableError(f"{name} is empty: it needs a header and rows of numbers.")
    delimiter = _detect_delimiter(text) if delimiter is None else delimiter
    rows, n_lines = _read_first_rows(text, delimiter)
    has_header = _has_header(rows) if header is None else header
    first = [cell.strip() for cell in rows[0]]
    if not has_header:
        return Layout(delimiter, tuple(f"x{j}" for j in range(len(first))), False, 0)
    return Layout(delimiter, tuple(first), True, n_lines)


def _read_first_rows(text: str, delimiter: str) -> tuple[list[list[str]], int]:
    """Return the first rows, and the number of lines up to the end of the very first."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows: list[list[str]] = []
    n_lines = 0
    try:
        for row in reader:
            if not row:
                continue
            rows.append(row)
            n_lines = n_lines or reader.line_num
            if len(rows) >= MAX_ROWS:
                break
    except csv.Error:  # an unclosed quote: reported when the whole file is read
        pass
    return rows or [[text.strip()]], n_lines or 1


def _detect_delimiter(text: str) -> str:
    """Return the delimiter that splits most rows into the same number of cells; more cells win a tie."""
    best, best_score = ",", (0.0, 0)
    for delimiter in DELIMITERS:
        counts = Counter(len(row) for row in _read_first_rows(text, delimiter)[0])
        n_cells, n_rows = max(counts.items(), key=lambda item: (item[1], item[0]))
        score = (n_rows / counts.total(), n_cells) if n_cells > 1 else (0.0, 0)
        if delimiter == " ":
            score = (0.5 * score[0], score[1])  # spaces also occur inside cells
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
