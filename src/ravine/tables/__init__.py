"""Tables: read from files of any kind, with their columns chosen and prepared as features of an estimator."""

from ravine.tables.automatic import apply_remedy
from ravine.tables.choose import ColumnChoices, choose_features, join_names, read_labels, resolve_columns
from ravine.tables.consensus import Consensus, average_memberships, choose_consensus, fit_consensus, vote
from ravine.tables.imputer import MultipleImputer
from ravine.tables.mixed_scaler import MixedScaler
from ravine.tables.prepare import Preparation, PreparedTable, fit_table, join_counts, transform_table
from ravine.tables.read import ReadOptions, read_table
from ravine.tables.sniff import is_number
from ravine.tables.table_error import TableError

__all__ = [
    "ColumnChoices",
    "Consensus",
    "MixedScaler",
    "MultipleImputer",
    "Preparation",
    "PreparedTable",
    "ReadOptions",
    "TableError",
    "apply_remedy",
    "average_memberships",
    "choose_consensus",
    "choose_features",
    "fit_consensus",
    "fit_table",
    "is_number",
    "join_counts",
    "join_names",
    "read_labels",
    "read_table",
    "resolve_columns",
    "transform_table",
    "vote",
]
