"""Text tables as archives keep them: commas, tabs or blanks, stray blank lines, either line end."""

from __future__ import annotations

import csv
import gzip
import warnings
import zlib
from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np

from ravine._typing import Array
from ravine.datasets.errors import CorruptDatasetError

__all__ = ["MISSING", "Row", "decode", "gunzip", "matrix_of", "numbers", "read_matrix", "read_rows", "split_label"]

MISSING = frozenset({"", "?", "NA", "NaN", "nan"})

# A line number, from 1, and the cells of that line.
Row = tuple[int, list[str]]


def gunzip(content: bytes, file: str) -> bytes:
    """The content of a gzip file; a truncated or broken one is refused."""
    try:
        if not content:
            raise EOFError("it is empty")
        return gzip.decompress(content)
    except (EOFError, OSError, zlib.error) as error:
        raise CorruptDatasetError(f"{file} is truncated or not a gzip file ({error}): get it again.") from error


def decode(content: bytes, file: str) -> str:
    """Text in UTF-8, with or without a byte order mark."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CorruptDatasetError(f"{file} is not a text file (byte {error.start}): get it again.") from error
    if "\0" in text:
        raise CorruptDatasetError(f"{file} is not a text file (it has NUL bytes): get it again.")
    return text


def read_rows(content: bytes, file: str, *, separator: str | None = None, width: int | None = None) -> list[Row]:
    """Cells of every line that is not blank; ``separator=None`` is any run of blanks and tabs.

    Cells lose the blanks around them and their quotes. All lines must have ``width`` cells (by default as many as the
    first); empty cells at the end of a longer line do not count.
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
            raise CorruptDatasetError(
                f"{file}, line {number}: {len(cells)} cells where {width} are expected; the file is truncated or "
                "changed, get it again."
            )
        rows.append((number, cells))
    if not rows:
        raise CorruptDatasetError(f"{file} is empty: get it again.")
    return rows


def _split(line: str, separator: str) -> list[str]:
    if '"' not in line:
        return [cell.strip() for cell in line.split(separator)]
    return [cell.strip() for cell in next(csv.reader([line], delimiter=separator, skipinitialspace=True))]


def numbers(
    rows: Sequence[Row],
    file: str,
    *,
    names: Sequence[str] | None = None,
    missing: Collection[str] = (),
    value: Callable[[str], float] = float,
) -> Array:
    """A matrix of the cells; those in ``missing`` become NaN, others must be finite numbers to ``value``."""
    matrix = np.empty((len(rows), len(rows[0][1])))
    for i, (line, cells) in enumerate(rows):
        for j, cell in enumerate(cells):
            try:
                matrix[i, j] = np.nan if cell in missing else value(cell)
            except (ValueError, KeyError):
                matrix[i, j] = np.inf
            if np.isinf(matrix[i, j]) or (np.isnan(matrix[i, j]) and cell not in missing):
                column = f"column {names[j]!r}" if names is not None else f"column {j + 1}"
                raise CorruptDatasetError(
                    f"{file}, line {line}, {column}: {cell[:40]!r} is not a number; the file is damaged or changed, "
                    "get it again."
                )
    return matrix


def read_matrix(
    content: bytes,
    file: str,
    *,
    separator: str | None = None,
    names: Sequence[str] | None = None,
    missing: Collection[str] = (),
    width: int | None = None,
) -> Array:
    """A table of numbers only: fast, and told line by line where it is wrong."""
    matrix = matrix_of(decode(content, file).splitlines(), separator)
    if matrix is not None and width in (None, matrix.shape[1]):
        return matrix
    return numbers(read_rows(content, file, separator=separator, width=width), file, names=names, missing=missing)


def matrix_of(lines: Iterable[str], separator: str | None) -> Array | None:
    """The numbers in the lines, or None if anything is not as it should be."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            matrix = np.loadtxt((line for line in lines if line.strip()), delimiter=separator, comments=None, ndmin=2)
    except (ValueError, UserWarning):
        return None
    return np.asarray(matrix, dtype=np.float64) if np.isfinite(matrix).all() else None


def split_label(rows: Sequence[Row], index: int) -> tuple[list[Row], list[str]]:
    """The rows without the cell at ``index``, and these cells: the classes."""
    labels = [cells[index] for _, cells in rows]
    position = index % len(rows[0][1])
    return [(line, cells[:position] + cells[position + 1 :]) for line, cells in rows], labels
