"""`save` and `load`: fitted estimators in files, exact to the bit."""

from __future__ import annotations

import importlib.metadata
import io
import json
import os
import platform
import struct
import sys
import warnings
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ravine._files import replace_file
from ravine._plurals import join_names
from ravine.explain import open_pipeline
from ravine.models.codec import ESTIMATORS, PREPARATIONS, Decoder, Encoder, ModelFileError
from ravine.models.table_model import TableModel

FORMAT, SCHEMA = "ravine model", 6
DOCUMENT = "model.json"
CHECK_NAME = "Check the name of the file."
# Record at the end of a zip file without a comment: signature and size of the list of members.
DIRECTORY_END = struct.Struct("<4s8xI6x")
# A file has one member for each type of numbers and each length of text, and the document: about 50 bytes for each.
MAX_DIRECTORY_BYTES = 1 << 13
# Default limit on the memory that reading takes: enough for the labels of 60 million rows.
MAX_BYTES = 1 << 30
MAX_DOCUMENT_BYTES = 1 << 26
# Memory of an array while it is checked, in sizes of the array.
ARRAY_COPIES = 2
# Upper bound on the memory of one JSON value and of the object that is built from it.
VALUE_BYTES = 200
# A constant date, so that the same model gives the same bytes.
DATE = (1980, 1, 1, 0, 0, 0)
LONGEST_TEXT = 300


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a file.

    The file is a zip of JSON and arrays and contains no code. It keeps everything that was fitted: hyperplanes, paths,
    trees, labels of the training rows, feature names. An existing file is replaced only once the new one is complete.

    Parameters
    ----------
    model : MinimumDensityHyperplane, MinimumDensityTree, MinimumDensityClassifier, TableModel or Pipeline
        Fitted model. The other steps of a pipeline may be scikit-learn's StandardScaler, RobustScaler, MinMaxScaler,
        MaxAbsScaler and Normalizer, and :class:`MixedScaler`. Functions and generators among the parameters
        (``callback``, an object that splits, a callable ``bandwidth``, a ``random_state`` that is not an integer)
        cannot be saved: a TypeError names them.
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
    estimator = model.estimator if isinstance(model, TableModel) else open_pipeline(model).estimator
    if type(estimator) not in ESTIMATORS:
        names = ", ".join(kind.__name__ for kind in ESTIMATORS)
        raise TypeError(f"a {type(estimator).__name__} cannot be saved: only {names} can, not their subclasses.")
    for name, step in model.steps[:-1] if isinstance(model, Pipeline) else ():
        if type(step) not in PREPARATIONS:
            names = ", ".join(kind.__name__ for kind in PREPARATIONS)
            raise TypeError(
                f"step {name!r} of the pipeline is a {type(step).__name__}, which cannot be saved: the first steps may "
                f"be {names}. Save the last step alone, or pickle the pipeline."
            )
    check_is_fitted(estimator)
    encoder = Encoder()
    try:
        encoder.encode(model)
    except TypeError as error:
        raise TypeError(
            f"a model file contains no code, so this parameter cannot be saved: {error}. The fitted model does not "
            "need it: replace it with set_params before saving."
        ) from error
    versions = {name: importlib.metadata.version(name) for name in ("ravine", "numpy", "scikit-learn")}
    header = {"format": FORMAT, "schema": SCHEMA, "versions": {**versions, "python": platform.python_version()}}
    with replace_file(path) as temporary:
        _write_archive(temporary, {**header, "objects": encoder.objects}, encoder.make_arrays())
        load(temporary, max_bytes=sys.maxsize)  # an existing file is replaced only by one that can be read


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
    MinimumDensityHyperplane, MinimumDensityTree, MinimumDensityClassifier, TableModel or Pipeline
        The saved model. The command saves a `TableModel`, which takes tables with named columns and prepares them as
        it did the training table.

    Raises
    ------
    ModelFileError
        If the file is not a model, is damaged or was written by another version of ravine.

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
    return inspect(path, max_bytes=max_bytes).model


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


def inspect(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> ModelInfo:
    """Read a model together with the versions that wrote it.

    Parameters
    ----------
    path : path-like
    max_bytes : int, default=1073741824
        Limit on the memory, as in `load`.

    Returns
    -------
    ModelInfo
    """
    with Path(path).open("rb") as stream, np.errstate(all="ignore"), warnings.catch_warnings():  # values are checked
        warnings.simplefilter("ignore")
        try:
            _check_members(stream)
            with zipfile.ZipFile(stream) as archive:
                return _decode(*_read_archive(archive, max_bytes))
        except Exception as error:  # of NumPy, zipfile, zlib and json
            problem = "it needs more memory than is available" if isinstance(error, MemoryError) else str(error)
            problem = " ".join(problem.split()).rstrip(".")[:LONGEST_TEXT]  # texts of a damaged file may be long
            advice = getattr(error, "advice", ModelFileError.advice)
            raise ModelFileError(f"{Path(path).name} cannot be read: {problem}. {advice}") from error


def _decode(document: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> ModelInfo:
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
    model = Decoder(arrays).decode_all(document.get("objects"))
    if type(model) not in (*ESTIMATORS, TableModel, Pipeline):
        raise ModelFileError("it does not end with a model")
    return ModelInfo(model, SCHEMA, texts)


# ----------------------------------------------------------------------------------------------- archive


def _write_archive(path: Path, document: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a document and one-dimensional arrays; the same content gives the same bytes."""
    contents = {DOCUMENT: json.dumps(document, allow_nan=False, indent=1).encode("ascii")}
    for name, array in arrays.items():
        stream = io.BytesIO()
        npy.write_array(stream, array.astype(array.dtype.newbyteorder("<"), copy=False), allow_pickle=False)
        contents[f"{name}.npy"] = stream.getvalue()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            info = zipfile.ZipInfo(name, DATE)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(info, content, compresslevel=6 if name == DOCUMENT else 1)


def _check_members(stream: IO[bytes]) -> None:
    """Refuse other files, and long lists of members before zipfile reads them into memory."""
    if stream.read(2) != b"PK":
        raise ModelFileError("it is not a zip file and so not a ravine model", CHECK_NAME)
    stream.seek(-min(DIRECTORY_END.size, stream.seek(0, os.SEEK_END)), os.SEEK_END)
    end = stream.read()
    if not end.startswith(b"PK\x05\x06"):
        raise ModelFileError("it is a damaged zip file: its end is missing")
    if DIRECTORY_END.unpack(end)[1] > MAX_DIRECTORY_BYTES:
        raise ModelFileError("it contains too many files, or files with long names", CHECK_NAME)


def _read_archive(archive: zipfile.ZipFile, max_bytes: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return a document and its arrays; all memory is estimated before it is allocated."""
    members = {info.filename: info for info in archive.infolist()}
    others = [name[:60] for name in members if not name.endswith(".npy")]
    if others != [DOCUMENT]:
        raise ModelFileError(f"it should contain arrays and {DOCUMENT}, not {join_names(others, 3)}", CHECK_NAME)
    size = members.pop(DOCUMENT).file_size
    if size > MAX_DOCUMENT_BYTES:
        raise ModelFileError(f"{DOCUMENT} has {size} bytes, more than {MAX_DOCUMENT_BYTES}")
    n_bytes = size + ARRAY_COPIES * sum(info.file_size for info in members.values())
    _check_memory(n_bytes, max_bytes)
    with archive.open(DOCUMENT) as stream:
        content = stream.read(size)  # without a limit, all of it would be unpacked at once
    _check_memory(n_bytes + VALUE_BYTES * sum(map(content.count, (b",", b":", b"[", b"{"))), max_bytes)
    document, arrays = json.loads(content.decode("ascii")), {}
    for name in members:
        with archive.open(name) as stream:
            array = npy.read_array(stream, allow_pickle=False)
            if array.ndim != 1 or array.dtype.kind not in "biufU" or not array.dtype.itemsize or stream.read(1):
                raise ModelFileError(f"{name[:60]!r} is not a plain array")
        arrays[name.removesuffix(".npy")] = array.astype(array.dtype.newbyteorder("="), copy=False)
    return document if isinstance(document, dict) else {}, arrays


def _check_memory(n_bytes: int, max_bytes: int) -> None:
    if n_bytes > max_bytes:
        raise ModelFileError(
            f"reading it takes at least {n_bytes / 1e6:.0f} MB, more than max_bytes={max_bytes}",
            "If you trust the file, pass a larger max_bytes to load.",
        )
