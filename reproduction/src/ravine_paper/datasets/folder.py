"""Data sets in a folder: a file ``NAME.csv.gz`` with a header, the features and, last, a column ``label``."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np

from ravine_paper._files import replace_file
from ravine_paper.datasets.dataset import Dataset
from ravine_paper.datasets.dataset_errors import CorruptDatasetError, DatasetNotFoundError, UnreadableDatasetError
from ravine_paper.datasets.parsers import Parsed
from ravine_paper.datasets.text import (
    TextError,
    decode,
    gunzip,
    parse_numbers,
    read_rows,
    split_column,
    try_read_matrix,
)

__all__ = ["check_folder", "find_file", "read_bytes", "read_csv", "write_csv"]

SUFFIXES = (".csv.gz", ".csv")
MISSING_CELLS = frozenset({"", "?", "NA", "NaN", "nan"})


def check_folder(path: Path, option: str) -> Path:
    """Return the folder; an error names it and the option that it comes from."""
    try:
        if path.is_dir():
            return path
        exists = path.exists()
    except OSError as error:
        raise UnreadableDatasetError(f"{option}={str(path)!r} cannot be read: {error.strerror}.") from error
    if exists:
        raise DatasetNotFoundError(f"{option}={str(path)!r} is a file: choose the folder that contains NAME.csv.gz.")
    raise DatasetNotFoundError(f"{option}={str(path)!r} does not exist: choose the folder that contains NAME.csv.gz.")


def find_file(folder: Path, name: str) -> Path | None:
    """Return the file of a data set in a folder, or None."""
    candidates = [folder / f"{name}{suffix}" for suffix in SUFFIXES]
    try:
        return next((path for path in candidates if path.is_file()), None)
    except OSError as error:
        raise UnreadableDatasetError(
            f"The folder {str(folder)!r} cannot be read ({error.strerror}): check its permissions."
        ) from error


def read_bytes(path: Path) -> bytes:
    """Return the content of a file; an error states why it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UnreadableDatasetError(f"{path} cannot be read ({error.strerror}): check its permissions.") from error


def read_csv(path: Path) -> Parsed:
    """Return features, classes and feature names; an empty cell is missing."""
    content = read_bytes(path)
    try:
        return _parse_csv(gunzip(content, str(path)) if path.suffix == ".gz" else content, str(path))
    except TextError as error:
        raise CorruptDatasetError(str(error)) from error


def _parse_csv(content: bytes, file: str) -> Parsed:
    text = decode(content, file)
    lines = text.splitlines()
    first = next((i for i, line in enumerate(lines) if line.strip()), len(lines))
    if not any(line.strip() for line in lines[first + 1 :]):
        raise TextError(f"{file} has no rows: get a new copy.")
    header = read_rows(lines[first].encode(), file, separator=",")[0][1]
    if len(header) < 2 or header[-1].lower() != "label":
        raise TextError(f"{file}: the last column must be 'label', but the header ends with {header[-1]!r}.")
    names, labels = tuple(header[:-1]), []
    data = None
    if '"' not in text:
        parts = [line.rpartition(",") for line in lines[first + 1 :] if line.strip()]
        labels = [label.strip() for _, _, label in parts]
        data = try_read_matrix((values for values, _, _ in parts), ",")
    if data is None or data.shape != (len(labels), len(names)):
        lines[first] = ""  # keeps the line numbers of messages right
        rows, labels = split_column(read_rows("\n".join(lines).encode(), file, separator=",", width=len(header)), -1)
        data = parse_numbers(rows, file, names=names, missing=MISSING_CELLS)
    if not all(labels):
        raise TextError(f"{file}, row {labels.index('') + 1}: the label is missing. Get a new copy.")
    return data, np.array(labels, dtype=np.str_), names


def write_csv(dataset: Dataset, folder: str | os.PathLike[str]) -> Path:
    """Write ``NAME.csv.gz`` into a folder, completely or not at all.

    Parameters
    ----------
    dataset : Dataset
    folder : path-like
        Created if it does not exist.

    Returns
    -------
    Path
        The file. The same data give the same bytes.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from ravine_paper.datasets import Dataset, describe, write_csv
    >>> wine = Dataset("wine", np.array([[1.0, 5.0], [3.0, 5.0]]), np.array(["1", "2"]), ("x", "y"), describe("wine"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_csv(wine, folder).name
    'wine.csv.gz'
    """
    folder = Path(folder)
    path = folder / f"{dataset.name}.csv.gz"
    lines = [",".join([*dataset.feature_names, "label"])]
    for row, label in zip(dataset.data.tolist(), dataset.target.tolist(), strict=True):
        lines.append(",".join([*map(_format_cell, row), label]))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with replace_file(path) as temporary:
            temporary.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode(), mtime=0))
    except OSError as error:
        raise UnreadableDatasetError(f"{path} cannot be written ({error.strerror}): choose another folder.") from error
    return path


def _format_cell(value: float) -> str:
    """Return the shortest text that reads back as the same number; empty for NaN."""
    if value != value:
        return ""
    text = repr(value)
    return text.removesuffix(".0")
