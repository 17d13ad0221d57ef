"""Data sets in a folder: one ``NAME.csv.gz`` each, a header row, the features, last the column ``label``."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np

from ravine._files import replacing
from ravine.datasets.archives import Parsed
from ravine.datasets.dataset import Dataset
from ravine.datasets.errors import CorruptDatasetError, DatasetNotFoundError, UnreadableDatasetError
from ravine.datasets.tables import MISSING, decode, gunzip, matrix_of, numbers, read_rows, split_label

__all__ = ["existing_folder", "file_in", "read_bytes", "read_csv", "write_csv"]

SUFFIXES = (".csv.gz", ".csv")


def existing_folder(path: Path, what: str) -> Path:
    """The folder, or an error that names it and who asked for it."""
    try:
        if path.is_dir():
            return path
        exists = path.exists()
    except OSError as error:
        raise UnreadableDatasetError(f"{what}={str(path)!r} cannot be read: {error.strerror}.") from error
    if exists:
        raise DatasetNotFoundError(f"{what}={str(path)!r} is a file: name the folder that holds NAME.csv.gz.")
    raise DatasetNotFoundError(f"{what}={str(path)!r} does not exist: name the folder that holds NAME.csv.gz.")


def file_in(folder: Path, name: str) -> Path | None:
    """The file of a data set in a folder, if it is there."""
    candidates = [folder / f"{name}{suffix}" for suffix in SUFFIXES]
    try:
        return next((path for path in candidates if path.is_file()), None)
    except OSError as error:
        raise UnreadableDatasetError(
            f"The folder {str(folder)!r} cannot be read ({error.strerror}): check its permissions."
        ) from error


def read_bytes(path: Path) -> bytes:
    """The content of a file, or an error that says why it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UnreadableDatasetError(f"{path} cannot be read ({error.strerror}): check its permissions.") from error


def read_csv(path: Path) -> Parsed:
    """Features, classes and names of columns; an empty cell is missing."""
    file, content = str(path), read_bytes(path)
    if path.suffix == ".gz":
        content = gunzip(content, file)
    text = decode(content, file)
    del content
    quoted = '"' in text
    lines = text.splitlines()
    first = next((i for i, line in enumerate(lines) if line.strip()), len(lines))
    if not any(line.strip() for line in lines[first + 1 :]):
        raise CorruptDatasetError(f"{file} has no rows: get it again.")
    header = read_rows(lines[first].encode(), file, separator=",")[0][1]
    if len(header) < 2 or header[-1].lower() != "label":
        raise CorruptDatasetError(f"{file}: the last column must be 'label', but the header ends with {header[-1]!r}.")
    names, labels = tuple(header[:-1]), []
    data = None
    if not quoted:
        parts = [line.rpartition(",") for line in lines[first + 1 :] if line.strip()]
        labels = [label.strip() for _, _, label in parts]
        data = matrix_of((values for values, _, _ in parts), ",")
    if data is None or data.shape != (len(labels), len(names)):
        lines[first] = ""  # so that messages count lines as the file does
        rows, labels = split_label(read_rows("\n".join(lines).encode(), file, separator=",", width=len(header)), -1)
        data = numbers(rows, file, names=names, missing=MISSING)
    if not all(labels):
        raise CorruptDatasetError(f"{file} has a row without a label: row {labels.index('') + 1}; get it again.")
    return data, np.array(labels, dtype=np.str_), names


def write_csv(dataset: Dataset, folder: str | os.PathLike[str]) -> Path:
    """Write ``NAME.csv.gz`` into a folder, whole or not at all.

    Parameters
    ----------
    dataset : Dataset
    folder : path-like
        Made if it does not exist.

    Returns
    -------
    Path
        The file; the same data give the same bytes.
    """
    folder = Path(folder)
    path = folder / f"{dataset.name}.csv.gz"
    lines = [",".join([*dataset.feature_names, "label"])]
    for row, label in zip(dataset.data.tolist(), dataset.target.tolist(), strict=True):
        lines.append(",".join([*map(_cell, row), label]))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(path) as part:
            part.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode(), mtime=0))
    except OSError as error:
        raise UnreadableDatasetError(f"{path} cannot be written ({error.strerror}): name another folder.") from error
    return path


def _cell(value: float) -> str:
    """The shortest text that reads back as the same number; nothing for a missing one."""
    if value != value:
        return ""
    text = repr(value)
    return text.removesuffix(".0")
