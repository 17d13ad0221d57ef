"""Versions of the model file, and the upgrade of older files.

Schema 3 is the current version. Schema 2 has no rare categories, no encoding other than zeros and ones, and no
memberships, outliers, exemplars and centres of clusters. Schema 1 is smaller: a hyperplane or a tree, without path,
valley test, classifiers and the preparation of tables.
"""

from __future__ import annotations

import importlib.metadata
import platform
from typing import Any

import numpy as np

from ravine.models.archive import Arrays
from ravine.models.components import COUNTS, FLAGS, NUMBERS
from ravine.models.model_file_error import CHECK_NAME, ModelFileError
from ravine.models.values import decode_number, get_field

__all__ = ["FORMAT", "SCHEMA", "make_header", "upgrade"]

FORMAT = "ravine model"
SCHEMA = 3


def make_header() -> dict[str, Any]:
    """Return the fields that every document begins with: format, schema, versions."""
    names = ("ravine", "numpy", "scikit-learn")
    versions = {name: importlib.metadata.version(name) for name in names}
    return {"format": FORMAT, "schema": SCHEMA, "versions": {**versions, "python": platform.python_version()}}


def upgrade(document: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
    """Return the document in the current schema; arrays are renamed in place."""
    if document.get("format") != FORMAT:
        raise ModelFileError("it is not a ravine model", CHECK_NAME)
    schema = get_field(document, "schema", int)
    if schema > SCHEMA:
        versions = document.get("versions")
        writer = versions.get("ravine") if isinstance(versions, dict) else None
        raise ModelFileError(
            f"it was written by a newer version of ravine ({str(writer)[:20]}, schema {schema}; this version reads up "
            f"to schema {SCHEMA})",
            "Upgrade ravine.",
        )
    if schema < 1:
        raise ModelFileError(f"unknown schema {schema}")
    while schema < SCHEMA:
        document = UPGRADES[schema](document, arrays)
        schema += 1
    return document


def _upgrade_1_to_2(old: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
    kind, d = get_field(old, "class", str), get_field(old, "features", int)
    fitted: dict[str, Any] = {"n_features": d, "feature_names": old.get("columns"), "n_iter": 1}
    if "hyperplane" in old:
        known = get_field(old, "hyperplane", dict)
        numbers = [[decode_number(get_field(known, name, int, float, dict), name) for name in NUMBERS]]
        arrays.put("hyperplanes/normal", arrays.take_floats("normal", (d,))[None])
        arrays.put("hyperplanes/point", arrays.take_floats("point", (d,))[None])
        arrays.put("hyperplanes/numbers", np.array(numbers))
        path: dict[str, Any] = {name: [] for name in ("hyperplane", *FLAGS, *COUNTS, "gamma", "pair")}
        fitted |= {"hyperplane": 0, "path": path, "valley_test": None}
    else:
        for name, width in (("normal", d), ("point", d), ("numbers", len(NUMBERS))):
            arrays.put(f"hyperplanes/{name}", np.empty((0, max(width, 0))))
    return {
        "format": FORMAT,
        "schema": 2,
        "versions": old.get("versions", {}),
        "kind": kind,
        "parameters": get_field(old, "params", dict),
        "fitted": fitted,
        "table": None,
    }


def _upgrade_2_to_3(old: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
    """Return the document unchanged: fields that schema 3 adds have a default where they are read."""
    return {**old, "schema": 3}


UPGRADES = {1: _upgrade_1_to_2, 2: _upgrade_2_to_3}
