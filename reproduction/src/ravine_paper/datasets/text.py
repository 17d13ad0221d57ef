"""Plain text tables: commas, tabs or blanks, stray blank lines, either line end; errors name line and column."""

from __future__ import annotations

import csv
import gzip
import warnings
import zlib
from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np

from ravine_paper._typing import Array

__all__ = [
    "Row",
    "TextError",
    "decode",
    "gunzip",
    "parse_numbers",
    "read_matrix",
    "read_rows",
    "split_column",
    "try_read_matrix",
]

# Number of a line, from 1, and the cells of that line.
Row = tuple[int, list[str]]


class TextError(ValueError):
    """Raised for a file that is damaged or is not a table. The message names the place."""


def gunzip(content: bytes, file: str) -> bytes:
    """Return the content of a gzip file; a truncated or damaged one is rejected."""
    try:
        if not content:
            raise EOFError("it is empty")
        return gzip.decompress(content)
    except (EOFError, OSError, zlib.error) as error:
        raise TextError(f"{file} is truncated or not a gzip file ({error}): get a new copy.") from error


def decode(content: bytes, file: str) -> str:
    """Decode text in UTF-8, with or without a byte order mark."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TextError(f"{file} is not a text file (byte {error.start}): get a new copy.") from error
    if "\0" in text:
        raise TextError(f"{file} is not a text file (it contains NUL bytes): get a new copy.")
    return text


def read_rows(content: bytes, file: str, *, separator: str | None = None, width: int | None = None) -> list[Row]:
    """Return the cells of every line that is not blank.

    Blanks around cells and quotes are removed. Empty cells at the end of a long line are ignored.

    Parameters
    ----------
    content : bytes
    file : str
        Name of the file, for messages.
    separator : str or None
        None for any run of blanks and tabs.
    width : int or None
        Number of cells that every line must have; None for that of the first line.
    """
    lines = decode(content, file).splitlines()
    rows: list[Row] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        cells = line.split() if separator is None else _split(line, separator)
        width = len(cells) if width is None else width
        while len(cells) > width and not cells[-1]:
            cells.pop()
        if len(cells) != width:
            raise TextError(
                f"{file}, line {number}: expected {width} cells, got {len(cells)}. The file is truncated or was "
                "changed: get a new copy."
            )
        rows.append((number, cells))
    if not rows:
        raise TextError(f"{file} is empty: get a new copy.")
    return rows


def _split(line: str, separator: str) -> list[str]:
    if '"' not in line:
        return [cell.strip() for cell in line.split(separator)]
    return [cell.strip() for cell in next(csv.reader([line], delimiter=separator, skipinitialspace=True))]


def parse_numbers(
    rows: Sequence[Row],
    file: str,
    *,
    names: Sequence[str] | None = None,
    missing: Collection[str] = (),
    parse: Callable[[str], float] = float,
) -> Array:
    """Convert cells to a matrix; those in ``missing`` become NaN, all others must be finite numbers."""
    matrix = np.empty((len(rows), len(rows[0][1])))
    for i, (line, cells) in enumerate(rows):
        for j, cell in enumerate(cells):
            try:
                matrix[i, j] = np.nan if cell in missing else parse(cell)
            except (ValueError, KeyError):
                matrix[i, j] = np.inf
            if np.isinf(matrix[i, j]) or (np.isnan(matrix[i, j]) and cell not in missing):
                column = f"column {names[j]!r}" if names is not None else f"column {j + 1}"
                raise TextError(
                    f"{file}, line {line}, {column}: {cell[:40]!r} is not a number. The file is damaged or was "
                    "changed: get a new copy."
                )
    return matrix


def read_matrix(content: bytes, file: str, *, separator: str | None = None, width: int | None = None) -> Array:
    """Read a table of nothing but numbers: fast if it is valid, line by line to locate an error."""
    matrix = try_read_matrix(decode(content, file).splitlines(), separator)
    if matrix is not None and width in (None, matrix.shape[1]):
        return matrix
    return parse_numbers(read_rows(content, file, separator=separator, width=width), file)


def try_read_matrix(lines: Iterable[str], separator: str | None) -> Array | None:
    """Return the numbers in the lines, or None if any cell is not a finite number or the lines differ in length."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            matrix = np.loadtxt((line for line in lines if line.strip()), delimiter=separator, comments=None, ndmin=2)
    except (ValueError, UserWarning):
        return None
    return np.asarray(matrix, dtype=np.float64) if np.isfinite(matrix).all() else None


def split_column(rows: Sequence[Row], index: int) -> tuple[list[Row], list[str]]:
    """Return the rows without the column at ``index``, and the cells of that column."""
    column = [cells[index] for _, cells in rows]
    position = index % len(rows[0][1])
    return [(line, cells[:position] + cells[position + 1 :]) for line, cells in rows], column
