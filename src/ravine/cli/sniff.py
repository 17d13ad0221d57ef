"""What a text file looks like: its encoding, the sign between cells, and whether its first line holds names."""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from dataclasses import dataclass

from ravine.cli.errors import DataError

__all__ = ["ABSENT", "Layout", "find_encoding", "find_layout"]

# Cells that are read as missing (those of pyarrow).
ABSENT = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "N/A", "NA", "NULL",
    "NaN", "n/a", "nan", "null",
)  # fmt: skip
MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "space"}
# Rows of the beginning that are looked at.
MOST_ROWS = 200


@dataclass(frozen=True)
class Layout:
    """How a text file is to be read.

    Attributes
    ----------
    delimiter : str
    names : tuple of str
        Of the columns.
    has_header : bool
        Whether the names come from the file.
    n_header_lines : int
        Lines before the first row of data.
    """

    delimiter: str
    names: tuple[str, ...]
    has_header: bool
    n_header_lines: int

    @property
    def sign(self) -> str:
        """The delimiter in words."""
        return DELIMITERS.get(self.delimiter, repr(self.delimiter))


def find_encoding(head: bytes, name: str, wanted: str | None) -> str:
    """The encoding: as told, as the byte order mark says, or else UTF-8, if it is that."""
    encoding = wanted or next((found for mark, found in MARKS if head.startswith(mark)), "utf-8")
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
    except LookupError as error:
        raise DataError(f"--encoding {encoding}: there is no such encoding; try latin-1, cp1252 or utf-16.") from error
    try:
        text = decoder.decode(head)
    except UnicodeDecodeError as error:
        raise DataError(not_encoded(name, encoding, error)) from error
    if "\0" in text:
        raise DataError(
            f"{name} holds zero bytes: it is no text, or UTF-16 without a mark; for that give --encoding utf-16-le."
        )
    return encoding


def not_encoded(name: str, encoding: str, error: UnicodeDecodeError | None = None) -> str:
    """The message about a file in another encoding."""
    where = "" if error is None else f" (byte 0x{error.object[error.start]:02x} at {error.start})"
    other = "latin-1" if encoding.replace("_", "-").lower() in ("utf-8", "utf8") else "utf-8"
    return f"{name} is not encoded as {encoding}{where}: give its encoding, for example --encoding {other}."


def find_layout(text: str, complete: bool, name: str, delimiter: str | None, header: bool | None) -> Layout:
    """Delimiter and header of a text, from its beginning.

    Parameters
    ----------
    text : str
        The beginning of the file.
    complete : bool
        Whether that is all of it.
    name : str
        For messages.
    delimiter : str or None
    header : bool or None
        None where it is to be found out.
    """
    if not complete:
        text = text[: text.rfind("\n") + 1] or text
    if not text.strip():
        raise DataError(f"{name} is empty: it needs a line of names and rows of numbers.")
    delimiter = _delimiter(text) if delimiter is None else delimiter
    rows, n_lines = _rows(text, delimiter)
    has_header = _looks_like_header(rows) if header is None else header
    first = [cell.strip() for cell in rows[0]]
    if not has_header:
        return Layout(delimiter, tuple(f"x{j}" for j in range(len(first))), False, 0)
    return Layout(delimiter, tuple(first), True, n_lines)


def _rows(text: str, delimiter: str) -> tuple[list[list[str]], int]:
    """The first rows, and the lines that the very first takes (with empty ones before it)."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows: list[list[str]] = []
    n_lines = 0
    try:
        for row in reader:
            if not row:
                continue
            rows.append(row)
            n_lines = n_lines or reader.line_num
            if len(rows) >= MOST_ROWS:
                break
    except csv.Error:  # a quote that never ends: the reader of the whole file will say so
        pass
    return rows or [[text.strip()]], n_lines or 1


def _delimiter(text: str) -> str:
    """The sign that splits most rows into the same number of cells, the more the better."""
    best, best_score = ",", (0.0, 0)
    for sign in DELIMITERS:
        counts = Counter(len(row) for row in _rows(text, sign)[0])
        n_cells, n_rows = max(counts.items(), key=lambda item: (item[1], item[0]))
        score = (n_rows / counts.total(), n_cells) if n_cells > 1 else (0.0, 0)
        if sign == " ":
            score = (0.5 * score[0], score[1])  # only where nothing else fits
        if score > best_score:
            best, best_score = sign, score
    return best


def is_number(cell: str) -> bool:
    """Whether a cell is a number, perhaps with a decimal comma."""
    try:
        float(cell.strip().replace(",", "."))
    except ValueError:
        return False
    return True


def _looks_like_header(rows: list[list[str]]) -> bool:
    """Names on top of numbers, or nothing but text in the first line."""
    first, rest = rows[0], rows[1:]
    for j, cell in enumerate(first):
        below = [row[j] for row in rest if j < len(row) and row[j].strip() not in ABSENT]
        if below and not is_number(cell) and cell.strip() not in ABSENT and all(map(is_number, below)):
            return True
    return not any(is_number(cell) for cell in first)
