"""Model files: fitted estimators as a zip of JSON and arrays, read without executing anything."""

from __future__ import annotations

from ravine.models.errors import ModelFileError
from ravine.models.files import ModelInfo, inspect, load, save
from ravine.models.preparation import Preparation, TableModel

__all__ = ["ModelFileError", "ModelInfo", "Preparation", "TableModel", "inspect", "load", "save"]
