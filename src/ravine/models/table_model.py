"""Model of a table: a fitted estimator with the preparation of its columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.checks import check_integer
from ravine.models.table_rules import write_rule
from ravine.tables import Preparation, join_counts, vote

__all__ = ["TableModel"]


@dataclass(frozen=True, eq=False)
class TableModel:
    """Fitted estimator together with the preparation of the table it was fitted to.

    Attributes
    ----------
    estimator : MinimumDensityTree, MinimumDensityHyperplane or MinimumDensityClassifier
    preparation : Preparation
    label_column : str or None
        Column that held the labels.
    """

    estimator: Any
    preparation: Preparation
    label_column: str | None = None

    def transform(self, table: Mapping[str, Any]) -> Array:
        """Return the features that the estimator sees; an error names columns with missing cells.

        If cells are filled several times, these are the features of the first completion.

        Parameters
        ----------
        table : mapping
            Columns by name, for example a data frame.
        """
        raw = self.preparation.matrix(table)
        counts = self.preparation.missing_counts(raw)
        if self.preparation.imputer is not None and self.preparation.missing == "multiple":
            return self.preparation.imputer.transform(self.preparation.finish(raw))
        if counts and self.preparation.missing != "impute-median":
            raise ValueError(f"missing cells: {join_counts(counts)}. Fill them, or drop the rows.")
        return self.preparation.finish(raw)

    def predict(self, table: Mapping[str, Any]) -> NDArray[Any]:
        """Return the cluster or class of each row of a table; if cells are filled several times, the most frequent one.

        Parameters
        ----------
        table : mapping
            Columns by name, for example a data frame.
        """
        plan = self.preparation
        if plan.imputer is not None and plan.missing == "multiple":
            return vote(self.estimator, plan.imputer.impute(plan.finish(plan.matrix(table))))[0]
        return np.asarray(self.estimator.predict(self.transform(table)))

    def rules(self, cluster: int, n_columns: int = 3) -> str:
        """Describe the splits that lead to a cluster of a tree, in the units of the table and with categories by name.

        Parameters
        ----------
        cluster : int
        n_columns : int
            Number of columns of largest weight to show for each split.
        """
        tree = getattr(self.estimator, "tree_", None)
        if tree is None:
            raise TypeError(
                f"rules needs a MinimumDensityTree, but the estimator is a {type(self.estimator).__name__}."
            )
        number = check_integer("cluster", cluster, low=0, high=tree.n_clusters - 1)
        return write_rule(tree, number, self.preparation, n_columns)
