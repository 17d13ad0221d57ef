"""Tables: read from files of any kind, with their columns chosen and prepared as features of an estimator."""

from ravine.tables.columns import ColumnChoices, Remedy, apply_remedy, choose_features, read_labels, resolve_columns
from ravine.tables.consensus import Consensus, average_memberships, choose_consensus, fit_consensus, vote
from ravine.tables.imputer import MultipleImputer
from ravine.tables.mixed_scaler import MixedScaler, join_counts, join_names
from ravine.tables.prepare import PreparedTable, fit_table, select_columns, transform_table
from ravine.tables.read import ReadOptions, TableError, is_number, read_table

__all__ = [
    "ColumnChoices", "Consensus", "MixedScaler", "MultipleImputer", "PreparedTable", "ReadOptions", "Remedy",
    "TableError", "apply_remedy", "average_memberships", "choose_consensus", "choose_features", "fit_consensus",
    "fit_table", "is_number", "join_counts", "join_names", "read_labels", "read_table", "resolve_columns",
    "select_columns", "transform_table", "vote",
]  # fmt: skip
