"""Versions of the model file, and how files of older ones are read.

Schema 2 is the current one. Schema 1 is a smaller form that is read, too: one hyperplane or a tree, without the path,
the valley test, classifiers and the preparation of tables.
"""

from __future__ import annotations

import importlib.metadata
import platform
from typing import Any

import numpy as np

from ravine.models.archive import Arrays
from ravine.models.errors import ModelFileError
from ravine.models.parts import COUNTS, FLAGS, NUMBERS, need
from ravine.models.values import decode_number

__all__ = ["FORMAT", "SCHEMA", "stamp", "upgrade"]

FORMAT = "ravine model"
SCHEMA = 2


def stamp() -> dict[str, Any]:
    """What every document begins with."""
    names = ("ravine", "numpy", "scikit-learn")
    versions = {name: importlib.metadata.version(name) for name in names}
    return {"format": FORMAT, "schema": SCHEMA, "versions": {**versions, "python": platform.python_version()}}


def upgrade(document: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
    """The document in the current schema; arrays are renamed in place."""
    if document.get("format") != FORMAT:
        raise ModelFileError("it is no model written by ravine")
    schema = need(document, "schema", int)
    if schema > SCHEMA:
        versions = document.get("versions")
        writer = versions.get("ravine") if isinstance(versions, dict) else None
        raise ModelFileError(
            f"it was written by a newer version of ravine ({str(writer)[:20]}, schema {schema}; this one reads up to "
            f"{SCHEMA}): upgrade ravine"
        )
    if schema < 1:
        raise ModelFileError(f"its schema {schema} is unknown")
    while schema < SCHEMA:
        document = UPGRADES[schema](document, arrays)
        schema += 1
    return document


def _from_1_to_2(old: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
    kind, d = need(old, "class", str), need(old, "features", int)
    fitted: dict[str, Any] = {"n_features": d, "feature_names": old.get("columns"), "n_iter": 1}
    if "hyperplane" in old:
        known = need(old, "hyperplane", dict)
        numbers = [[decode_number(need(known, name, int, float, dict), name) for name in NUMBERS]]
        arrays.put("hyperplanes/normal", arrays.numbers("normal", (d,))[None])
        arrays.put("hyperplanes/point", arrays.numbers("point", (d,))[None])
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
        "parameters": need(old, "params", dict),
        "fitted": fitted,
        "table": None,
    }


UPGRADES = {1: _from_1_to_2}
