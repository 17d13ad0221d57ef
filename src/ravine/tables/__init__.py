"""Tables: read from files of any kind, with their columns chosen and prepared as features of an estimator."""

from ravine.tables.cells import CellFormat
from ravine.tables.columns import ColumnChoices, apply_remedy, fit_table, read_labels, resolve_columns, transform_table
from ravine.tables.imputer import Consensus, MultipleImputer, average_memberships, choose_consensus, fit_consensus, vote
from ravine.tables.mixed_scaler import MixedScaler
from ravine.tables.read import ReadOptions, TableError, is_number, read_table

__all__ = [
    "CellFormat", "ColumnChoices", "Consensus", "MixedScaler", "MultipleImputer", "ReadOptions", "TableError",
    "apply_remedy", "average_memberships", "choose_consensus", "fit_consensus", "fit_table", "is_number", "read_labels",
    "read_table", "resolve_columns", "transform_table", "vote",
]  # fmt: skip
