"""Tables: read from files of any kind, with their columns chosen and prepared as features of an estimator."""

from ravine.tables.columns import (
    ColumnChoices,
    PreparedTable,
    apply_remedy,
    fit_table,
    read_labels,
    resolve_columns,
    select_columns,
    transform_table,
)  # fmt: skip
from ravine.tables.imputer import (
    Consensus,
    MultipleImputer,
    average_memberships,
    choose_consensus,
    fit_consensus,
    vote,
)  # fmt: skip
from ravine.tables.mixed_scaler import MixedScaler, join_names
from ravine.tables.read import ReadOptions, TableError, is_number, read_table

__all__ = [
    "ColumnChoices", "Consensus", "MixedScaler", "MultipleImputer", "PreparedTable", "ReadOptions",
    "TableError", "apply_remedy", "average_memberships", "choose_consensus", "fit_consensus",
    "fit_table", "is_number", "join_names", "read_labels", "read_table", "resolve_columns",
    "select_columns", "transform_table", "vote",
]  # fmt: skip
