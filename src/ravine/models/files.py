"""`save` and `load`: fitted estimators in files, exact to the bit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ravine.models.archive import MAX_BYTES, read_archive, write_archive
from ravine.models.estimators import decode_estimator, encode_estimator
from ravine.models.model_file_error import ModelFileError
from ravine.models.preparations import decode_table, encode_table
from ravine.models.schema import make_header, upgrade
from ravine.models.table_model import TableModel
from ravine.models.values import get_field

__all__ = ["ModelInfo", "inspect", "load", "save"]

LONGEST_TEXT = 300


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a file.

    The file is a zip of JSON and arrays and contains no code. It keeps everything that was fitted: hyperplanes, paths,
    trees, labels of the training rows, feature names. An existing file is replaced only once the new one is complete.

    Parameters
    ----------
    model : MinimumDensityHyperplane, MinimumDensityTree, MinimumDensityClassifier or TableModel
        Fitted model. Functions and generators among its parameters (``callback``, ``splitter``, a callable
        ``bandwidth`` or ``split_next``, a ``random_state`` that is not an integer) cannot be saved: a TypeError names
        them.
    path : path-like
        File to write, by convention ending in ``.ravine``.

    See Also
    --------
    load : Read the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import make_blobs
    >>> from ravine import MinimumDensityTree
    >>> from ravine.models import load, save
    >>> X, y = make_blobs([60, 50, 40], centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> mdt = MinimumDensityTree(3, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(mdt, Path(folder) / "model.ravine")
    ...     again = load(Path(folder) / "model.ravine")
    >>> bool((again.predict(X) == mdt.labels_).all())
    True
    """
    estimator = model.estimator if isinstance(model, TableModel) else model
    document, arrays = encode_estimator(estimator)
    table = None
    if isinstance(model, TableModel):
        table, more = encode_table(model)
        arrays |= more
    write_archive(path, {**make_header(), **document, "table": table}, arrays)


def load(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Any:
    """Read a model written by `save` or by the command `ravine`.

    Reading executes no code: the file consists of JSON and plain arrays whose sizes, types and values are all checked.

    Parameters
    ----------
    path : path-like
    max_bytes : int, default=1073741824
        Limit on the memory that reading takes, estimated before it is allocated: twice the unpacked arrays, and 200
        bytes for each value of the JSON document. Files that take more are rejected.

    Returns
    -------
    MinimumDensityHyperplane, MinimumDensityTree, MinimumDensityClassifier or TableModel
        The saved model. The command saves a `TableModel`, which takes tables with named columns and prepares them as
        it did the training table.

    Raises
    ------
    ModelFileError
        If the file is not a model, is damaged or was written by a newer version of ravine.

    See Also
    --------
    save : Write the file.

    Examples
    --------
    >>> from ravine.models import ModelFileError, load
    >>> try:
    ...     load(__file__)
    ... except ModelFileError as error:
    ...     print("it is not a zip file" in str(error))
    True
    """
    return _read(path, max_bytes).model


@dataclass(frozen=True)
class ModelInfo:
    """Content and origin of a model file.

    Attributes
    ----------
    model : object
        The model, as returned by `load`.
    schema : int
        Version of the file format.
    versions : dict
        Versions of the libraries that wrote the file.
    """

    model: Any
    schema: int
    versions: dict[str, str]


def inspect(path: str | os.PathLike[str]) -> ModelInfo:
    """Read a model together with the versions that wrote it.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    ModelInfo
    """
    return _read(path, MAX_BYTES)


def _read(path: str | os.PathLike[str], max_bytes: int) -> ModelInfo:
    with _name_file(path), np.errstate(all="ignore"):  # values are checked
        written, arrays = read_archive(path, max_bytes)
        document = upgrade(written, arrays)
        estimator = decode_estimator(document, arrays)
        table = get_field(document, "table", dict, type(None))
        model = estimator if table is None else decode_table(table, arrays, estimator)
        arrays.check_all_taken()
        versions = written.get("versions")
        texts = {str(k): str(v) for k, v in versions.items()} if isinstance(versions, dict) else {}
        return ModelInfo(model, int(written["schema"]), texts)


@contextmanager
def _name_file(path: str | os.PathLike[str]) -> Iterator[None]:
    """Add the name of the file and advice to errors."""
    start = f"{Path(path).name} cannot be read"
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{start}: {_shorten(error)}. {error.advice}") from error
    except MemoryError as error:
        raise ModelFileError(f"{start}: it needs more memory than is available.") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        damaged = ModelFileError(f"it is damaged ({_shorten(error)})")
        raise ModelFileError(f"{start}: {damaged}. {damaged.advice}") from error


def _shorten(error: Exception) -> str:
    """Return the text of an error in one line; texts of a damaged file may be long."""
    text = " ".join(str(error).split()).rstrip(".")
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}..."
