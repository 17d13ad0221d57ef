"""Preparation of a table as a document and arrays, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine.models.archive import Arrays
from ravine.models.model_file_error import ModelFileError
from ravine.models.table_model import TableModel
from ravine.models.values import get_field
from ravine.tables.categories import ENCODINGS, OTHER
from ravine.tables.prepare import MISSING, NORMALIZE, SCALES, Preparation

__all__ = ["decode_table", "encode_table"]

VECTORS = ("medians", "centre", "scale")


def encode_table(model: TableModel) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Encode the preparation of a table model."""
    plan = model.preparation
    table = {
        "columns": list(plan.columns),
        "categories": {name: list(texts) for name, texts in plan.categories.items()},
        "rare": {name: list(texts) for name, texts in plan.rare.items()},
        "encoding": plan.encoding,
        "normalize": plan.normalize,
        "missing": plan.missing,
        "scaling": plan.scaling,
        "label_column": model.label_column,
    }
    return table, {f"table/{name}": getattr(plan, name) for name in VECTORS}


def decode_table(table: dict[str, Any], arrays: Arrays, estimator: Any) -> TableModel:
    """Build the table model that `encode_table` encoded."""
    columns, categories = _check_texts(get_field(table, "columns", list)), get_field(table, "categories", dict)
    missing, scaling = get_field(table, "missing", str), get_field(table, "scaling", str)
    if missing not in MISSING or scaling not in SCALES or not set(categories) <= set(columns):
        raise ModelFileError("the preparation of the table is damaged")
    names = {name: _check_texts(texts) for name, texts in categories.items()}
    rare, encoding = _decode_rare(table, names)
    known = Preparation(columns, names, missing, scaling)
    d = estimator.n_features_in_
    if len(known.feature_names) != d:
        raise ModelFileError(f"the table has {len(known.feature_names)} features, but the estimator has {d}")
    medians, centre, scale = (arrays.take_floats(f"table/{name}", (d,)) for name in VECTORS)
    filled = np.isfinite(medians).all() or missing != "impute-median"
    if not (filled and np.isfinite(centre).all() and np.isfinite(scale).all() and (scale > 0.0).all()):
        raise ModelFileError("the scales of the table are damaged")
    normalize = get_field({"normalize": "none", **table}, "normalize", str)
    if normalize not in NORMALIZE:
        raise ModelFileError(f"unknown treatment of rows {normalize[:40]!r}")
    preparation = Preparation(columns, names, missing, scaling, medians, centre, scale, rare, encoding, normalize)
    return TableModel(estimator, preparation, get_field(table, "label_column", str, type(None)))


def _decode_rare(
    table: dict[str, Any], categories: dict[str, tuple[str, ...]]
) -> tuple[dict[str, tuple[str, ...]], str]:
    """Return the rare categories of the columns and the encoding; files before schema 3 have neither."""
    if "encoding" not in table:
        return {}, "one-hot"
    encoding = get_field(table, "encoding", str)
    rare = {name: _check_texts(texts) for name, texts in get_field(table, "rare", dict).items()}
    for name, texts in rare.items():
        if OTHER not in categories.get(name, ()) or set(texts) & set(categories[name]):
            raise ModelFileError("the rare categories of the table are damaged")
    if encoding not in ENCODINGS:
        raise ModelFileError(f"unknown encoding {encoding[:40]!r}")
    return rare, encoding


def _check_texts(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ModelFileError("the names of the columns are damaged")
    if len(set(values)) != len(values):
        raise ModelFileError("the names of the columns are not unique")
    return tuple(values)
