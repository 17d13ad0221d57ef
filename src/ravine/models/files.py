"""`save` and `load`: a fitted estimator in a file, equal to the bit when it comes back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ravine.models.archive import MOST_BYTES, Arrays, read_archive, write_archive
from ravine.models.errors import ModelFileError
from ravine.models.estimators import decode_estimator, encode_estimator
from ravine.models.parts import need
from ravine.models.preparation import MISSING, SCALES, Preparation, TableModel
from ravine.models.schema import stamp, upgrade

__all__ = ["ModelInfo", "inspect", "load", "save"]


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a file.

    The file is a zip of JSON and arrays; nothing in it can be executed. Everything that was fitted is kept:
    hyperplanes, paths, trees, labels of the training rows, names of the columns. What is at ``path`` is replaced at
    once, when the new file is complete.

    Parameters
    ----------
    model : MinimumDensityHyperplane, MinimumDensityTree, MinimumDensityClassifier or TableModel
        Fitted. Functions and generators among its parameters (``callback``, ``splitter``, a callable ``bandwidth`` or
        ``split_next``, a ``random_state`` that is no integer) cannot be saved: a TypeError names them.
    path : path-like
        By custom ending in ``.ravine``.

    See Also
    --------
    load : Read it again.

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
        prep = model.preparation
        table = {
            "columns": list(prep.columns),
            "categories": {name: list(texts) for name, texts in prep.categories.items()},
            "missing": prep.missing,
            "scaling": prep.scaling,
            "label_column": model.label_column,
        }
        arrays |= {f"table/{name}": getattr(prep, name) for name in ("medians", "centre", "scale")}
    write_archive(path, {**stamp(), **document, "table": table}, arrays)


def load(path: str | os.PathLike[str], *, max_bytes: int = MOST_BYTES) -> Any:
    """Read a model that `save` or the command `ravine` wrote.

    No code in the file is executed: it is JSON and plain arrays, all of whose sizes, types and values are checked.

    Parameters
    ----------
    path : path-like
    max_bytes : int, default=1073741824
        A file that would take more memory than this is refused.

    Returns
    -------
    MinimumDensityHyperplane, MinimumDensityTree, MinimumDensityClassifier or TableModel
        What was saved. The command saves a `TableModel`, which takes tables with named columns and prepares them as it
        did the first.

    Raises
    ------
    ModelFileError
        The file is no model, is damaged or was written by a newer version of ravine.

    See Also
    --------
    save : Write such a file.

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
    """What a model file says of itself.

    Attributes
    ----------
    model : object
        What `load` returns.
    schema : int
        Version of the file, as written.
    versions : dict
        Of the libraries that wrote it.
    """

    model: Any
    schema: int
    versions: dict[str, str]


def inspect(path: str | os.PathLike[str]) -> ModelInfo:
    """Read a model and what its file says of itself.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    ModelInfo
    """
    return _read(path, MOST_BYTES)


def _read(path: str | os.PathLike[str], max_bytes: int) -> ModelInfo:
    with _named(path):
        written, arrays = read_archive(path, max_bytes)
        document = upgrade(written, arrays)
        estimator = decode_estimator(document, arrays)
        table = need(document, "table", dict, type(None))
        model = estimator if table is None else _decode_table(table, arrays, estimator)
        arrays.finish()
        versions = written.get("versions")
        texts = {str(k): str(v) for k, v in versions.items()} if isinstance(versions, dict) else {}
        return ModelInfo(model, int(written["schema"]), texts)


@contextmanager
def _named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Errors begin with the name of the file."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{Path(path).name} cannot be read: {str(error).rstrip('.')}.") from error
    except MemoryError as error:
        raise ModelFileError(f"{Path(path).name} cannot be read: it needs more memory than there is.") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ModelFileError(f"{Path(path).name} cannot be read: it is damaged ({error}).") from error


def _decode_table(table: dict[str, Any], arrays: Arrays, estimator: Any) -> TableModel:
    columns, categories = _texts(need(table, "columns", list)), need(table, "categories", dict)
    missing, scaling = need(table, "missing", str), need(table, "scaling", str)
    if missing not in MISSING or scaling not in SCALES or not set(categories) <= set(columns):
        raise ModelFileError("the preparation of its table is damaged")
    known = Preparation(columns, {name: _texts(texts) for name, texts in categories.items()}, missing, scaling)
    d = estimator.n_features_in_
    if len(known.feature_names) != d:
        raise ModelFileError(f"its table has {len(known.feature_names)} features, its estimator {d}")
    medians, centre, scale = (arrays.numbers(f"table/{name}", (d,)) for name in ("medians", "centre", "scale"))
    filled = np.isfinite(medians).all() or missing != "impute-median"
    if not (filled and np.isfinite(centre).all() and np.isfinite(scale).all() and (scale > 0.0).all()):
        raise ModelFileError("the scales of its table are damaged")
    preparation = Preparation(columns, known.categories, missing, scaling, medians, centre, scale)
    return TableModel(estimator, preparation, need(table, "label_column", str, type(None)))


def _texts(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ModelFileError("the names of its columns are damaged")
    if len(set(values)) != len(values):
        raise ModelFileError("the names of its columns are not all different")
    return tuple(values)
