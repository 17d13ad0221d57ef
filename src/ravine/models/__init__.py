"""Model files: fitted estimators as a zip of JSON and arrays. Reading one executes no code."""

from ravine.models.codec import ModelFileError
from ravine.models.files import ModelInfo, inspect, load, save
from ravine.models.table_model import TableModel, describe_rules

__all__ = ["ModelFileError", "ModelInfo", "TableModel", "describe_rules", "inspect", "load", "save"]
