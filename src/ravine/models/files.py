"""`save` and `load`: fitted estimators in files, exact to the bit."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ravine._files import replace_file
from ravine.models.archive import CHECK_NAME, MAX_BYTES, ModelFileError, read_archive, write_archive
from ravine.models.classes import ESTIMATORS, REGISTRY
from ravine.models.codec import Decoder, Encoder
from ravine.models.table_model import TableModel

FORMAT, SCHEMA = "ravine model", 4
LONGEST_TEXT = 300


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a file.

    The file is a zip of JSON and arrays and contains no code. It keeps everything that was fitted: hyperplanes, paths,
    trees, labels of the training rows, feature names. An existing file is replaced only once the new one is complete.

    Parameters
    ----------
    model : MinimumDensityHyperplane, MinimumDensityTree, MinimumDensityClassifier or TableModel
        Fitted model. Functions and generators among its parameters (``callback``, an object that splits, a callable
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
    if type(estimator) not in ESTIMATORS:
        names = ", ".join(kind.__name__ for kind in ESTIMATORS)
        raise TypeError(
            f"a {type(estimator).__name__} cannot be saved: only {names} can, not their subclasses. Of a pipeline save "
            "the last step."
        )
    check_is_fitted(estimator)
    encoder = Encoder(REGISTRY)
    try:
        encoder.encode(model)
    except TypeError as error:
        raise TypeError(
            f"a model file contains data, not code, so these parameters cannot be saved: {error}. The fitted model "
            "does not need them: replace them with set_params before saving."
        ) from error
    versions = {name: importlib.metadata.version(name) for name in ("ravine", "numpy", "scikit-learn")}
    header = {"format": FORMAT, "schema": SCHEMA, "versions": {**versions, "python": platform.python_version()}}
    with replace_file(path) as temporary:
        write_archive(temporary, {**header, "objects": encoder.objects}, encoder.make_arrays())
        _read(temporary, sys.maxsize)  # an existing file is replaced only by one that can be read


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
        document, arrays = read_archive(path, max_bytes)
        if document.get("format") != FORMAT:
            raise ModelFileError("it is not a ravine model", CHECK_NAME)
        versions = document.get("versions")
        texts = {str(k): str(v) for k, v in versions.items()} if isinstance(versions, dict) else {}
        if document.get("schema") != SCHEMA or type(document["schema"]) is not int:
            raise ModelFileError(
                f"it was written by another version of ravine ({texts.get('ravine', 'unknown')[:20]}): its schema is "
                f"{str(document.get('schema'))[:20]}, and this version reads schema {SCHEMA}",
                "Fit and save the model again, or install that version.",
            )
        model = Decoder(REGISTRY, arrays).decode_all(document.get("objects"))
        if type(model) not in (*ESTIMATORS, TableModel):
            raise ModelFileError("it does not end with a model")
        return ModelInfo(model, SCHEMA, texts)


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
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        damaged = ModelFileError(f"it is damaged ({_shorten(error)})")
        raise ModelFileError(f"{start}: {damaged}. {damaged.advice}") from error


def _shorten(error: Exception) -> str:
    """Return the text of an error in one line; texts of a damaged file may be long."""
    text = " ".join(str(error).split()).rstrip(".")
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}..."
