"""Preparation of a table as a document and arrays, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine.models.archive import Arrays
from ravine.models.model_file_error import ModelFileError
from ravine.models.table_model import TableModel
from ravine.models.values import check_count, get_field
from ravine.tables.categories import ENCODINGS, OTHER
from ravine.tables.imputer import MultipleImputer
from ravine.tables.prepare import MISSING, NORMALIZE, SCALES, Preparation

__all__ = ["decode_table", "encode_table"]

VECTORS = ("medians", "centre", "scale")
MOST_IMPUTATIONS = 10_000
IMPUTER_FLOATS, IMPUTER_FLAGS = ("donors", "mean", "scale"), ("donor_gaps", "repeated")


def encode_table(model: TableModel) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Encode the preparation of a table model."""
    plan = model.preparation
    table: dict[str, Any] = {
        "columns": list(plan.columns),
        "categories": {name: list(texts) for name, texts in plan.categories.items()},
        "rare": {name: list(texts) for name, texts in plan.rare.items()},
        "encoding": plan.encoding,
        "normalize": plan.normalize,
        "missing": plan.missing,
        "scaling": plan.scaling,
        "label_column": model.label_column,
    }
    arrays = {f"table/{name}": getattr(plan, name) for name in VECTORS}
    if plan.imputer is not None:
        imputer = plan.imputer
        table["imputer"] = {
            "n_imputations": imputer.n_imputations, "n_neighbors": imputer.n_neighbors, "seed": imputer.seed_,
        }  # fmt: skip
        arrays |= {f"table/imputer/{name}": getattr(imputer, f"{name}_") for name in IMPUTER_FLOATS}
        arrays |= {f"table/imputer/{name}": getattr(imputer, f"{name}_").astype("<i8") for name in IMPUTER_FLAGS}
    return table, arrays


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
    imputer = _decode_imputer(table.get("imputer"), arrays, d)
    if (imputer is None) != (missing != "multiple"):
        raise ModelFileError("the rows that fill missing cells are damaged")
    preparation = Preparation(
        columns, names, missing, scaling, medians, centre, scale, rare, encoding, normalize, imputer
    )
    return TableModel(estimator, preparation, get_field(table, "label_column", str, type(None)))


def _decode_imputer(value: Any, arrays: Arrays, d: int) -> MultipleImputer | None:
    """Build the imputer of missing cells; None if there is none."""
    if value is None:
        return None
    n_imputations = get_field(value, "n_imputations", int)
    n_neighbors = get_field(value, "n_neighbors", int, type(None))
    if not 1 <= n_imputations <= MOST_IMPUTATIONS or (n_neighbors is not None and n_neighbors < 1):
        raise ModelFileError("the number of completions is damaged")
    imputer = MultipleImputer(n_imputations, n_neighbors=n_neighbors)
    imputer.seed_ = check_count(get_field(value, "seed", int), "seed")
    imputer.donors_ = arrays.take_floats("table/imputer/donors", (None, d))
    imputer.mean_, imputer.scale_ = (arrays.take_floats(f"table/imputer/{name}", (d,)) for name in ("mean", "scale"))
    imputer.donor_gaps_ = arrays.take_integers("table/imputer/donor_gaps", (len(imputer.donors_), d), 0, 2).astype(bool)
    imputer.repeated_ = arrays.take_integers("table/imputer/repeated", (d,), 0, 2).astype(bool)
    imputer.n_features_in_ = d
    numbers = (imputer.donors_, imputer.mean_, imputer.scale_)
    known = not imputer.donor_gaps_.all(axis=0).any() and len(imputer.donors_) > 0
    if not (known and all(np.isfinite(array).all() for array in numbers) and (imputer.scale_ > 0.0).all()):
        raise ModelFileError("the rows that fill missing cells are damaged")
    return imputer


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
