"""Model of a table: a fitted estimator with the preparation of its columns, and its rules in the units of the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._plurals import Lines
from ravine._typing import Array
from ravine.checks import check_integer
from ravine.explain import open_pipeline
from ravine.tables import CellFormat, MixedScaler, MultipleImputer, vote
from ravine.tables.columns import MISSING, select_columns
from ravine.tree.text import describe_cluster, express_splits

# Categories of a column that are shown, those with the largest amounts.
MOST_CATEGORIES = 5


@dataclass(frozen=True, eq=False)
class TableModel:
    """Fitted estimator together with the preparation of the table it was fitted to.

    Attributes
    ----------
    estimator : MinimumDensityTree, MinimumDensityHyperplane or MinimumDensityClassifier
    preparation : MixedScaler
        Preparation of the columns of the table.
    label_column : str or None
        Column that held the labels.
    imputer : MultipleImputer or None
        Fills missing cells several times.
    cells : CellFormat
        Format of numbers, dates and missing values in the file of the table.
    """

    estimator: Any
    preparation: MixedScaler
    label_column: str | None = None
    imputer: MultipleImputer | None = None
    cells: CellFormat = field(default_factory=CellFormat)

    @property
    def missing(self) -> str:
        """Treatment of missing cells: "error", "drop", "impute-median" or "multiple"."""
        same = (name for name, treatment in MISSING.items() if treatment == self.preparation.missing)
        return next(same) if self.imputer is None else "multiple"

    def transform(self, table: Mapping[str, Any]) -> Array:
        """Return the features that the estimator sees; if cells are filled several times, those of the first time.

        Parameters
        ----------
        table : mapping
            Columns by name, for example a data frame.
        """
        return np.asarray(self._complete(table)[0])

    def predict(self, table: Mapping[str, Any]) -> NDArray[Any]:
        """Return the cluster or class of each row of a table; if cells are filled several times, the most frequent one.

        Parameters
        ----------
        table : mapping
            Columns by name, for example a data frame.
        """
        completions = self._complete(table)
        return vote(self.estimator, completions)[0] if self.imputer else self.estimator.predict(completions[0])

    def _complete(self, table: Mapping[str, Any]) -> Any:
        """Return the features of a table, as often as missing cells are filled."""
        X = self.preparation.transform(select_columns(table, self.preparation._columns))
        return [X] if self.imputer is None else self.imputer.impute(X)

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
            raise TypeError(f"rules needs a MinimumDensityTree, not a {type(self.estimator).__name__}.")
        number = check_integer("cluster", cluster, low=0, high=tree.n_clusters - 1)

        def express(k: int) -> tuple[str, float]:
            terms, threshold = express_split(tree.normal[k], tree.offset[k], self.preparation)
            hidden = terms[n_columns:]
            rest = f" (and {len(hidden)} columns of smaller weight, at their means)" if hidden else ""
            return " ".join(map(str, terms[:n_columns])) + rest, threshold - sum(term.mean for term in hidden)

        return describe_cluster(tree, number, express)


def describe_rules(model: Any, cluster: int | None = None, *, n_features: int = 3) -> str:
    """Describe the splits that lead to the clusters of a tree, in the original units of the features.

    Parameters
    ----------
    model : MinimumDensityTree, Pipeline or TableModel
        Fitted tree, or a pipeline that ends with one: its rules are in the original units if the other steps scale each
        feature by itself, else in those of the features that the tree receives.
    cluster : int, optional
        Number of the cluster; by default all.
    n_features : int, default=3
        Number of features of largest weight to show for each split.

    Returns
    -------
    str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from ravine import MinimumDensityTree, describe_rules
    >>> X = load_iris().data[:, 2:3]
    >>> pipeline = make_pipeline(StandardScaler(), MinimumDensityTree(2, random_state=0)).fit(X)
    >>> describe_rules(pipeline, 1).splitlines()[0]
    'A row belongs to cluster 1 (50 of 150 rows) if'
    """
    opened = open_pipeline(model)
    if len(getattr(opened.preparation, "steps", ())) == 1 and isinstance(opened.preparation[0], MixedScaler):
        model = TableModel(opened.estimator, opened.preparation[0])
    tree = getattr(model.estimator if isinstance(model, TableModel) else opened.estimator, "tree_", None)
    if tree is None:
        raise TypeError(f"rules need a fitted MinimumDensityTree, got a {type(opened.estimator).__name__}.")
    numbers = list(range(tree.n_clusters))
    if cluster is not None:
        numbers = [check_integer("cluster", cluster, low=0, high=tree.n_clusters - 1)]
    if isinstance(model, TableModel):
        return Lines("\n\n".join(model.rules(k, n_features) for k in numbers))
    express = express_splits(tree, opened.feature_names, n_features, opened.find_units())
    return Lines("\n\n".join(describe_cluster(tree, k, express) for k in numbers))


@dataclass(frozen=True)
class Term:
    """Contribution of a column to the left side of the inequality of a split.

    Attributes
    ----------
    column : str
    weight : float or dict
        Factor of a number, or the amount that each category adds.
    mean : float
        Mean contribution over the rows of the training table; 0 for categories.
    """

    column: str
    weight: float | dict[str, float]
    mean: float = 0.0

    def __str__(self) -> str:
        """Return the term as text."""
        if not isinstance(self.weight, dict):
            return f"{self.weight:+.3g}·{self.column}"
        by_size = sorted(self.weight.items(), key=lambda item: -abs(item[1]))
        parts = [f"{amount:+.2f} if {self.column} is {name}" for name, amount in by_size[:MOST_CATEGORIES]]
        more = len(by_size) - len(parts)
        return f"({', '.join(parts)}{f', less for {more} others' if more else ''})"


def express_split(normal: Sequence[float], offset: float, scaler: MixedScaler) -> tuple[list[Term], float]:
    """Return the terms of a split and its threshold in the units of a table, the most important column first.

    A row is on the positive side if the sum of its terms exceeds the threshold. Its cells have one category of each
    column, so the mean amount of a column, over the rows of the training table, is moved to the threshold.

    Parameters
    ----------
    normal : sequence of float
        Normal of the hyperplane, in scaled features.
    offset : float
    scaler : MixedScaler
    """
    scaled, weights = np.asarray(normal), np.asarray(normal) / scaler.scale_
    threshold = float(offset) + float(weights @ scaler.mean_)
    terms = []
    for column, texts, place in scaler.list_features():
        mean = float(weights[place] @ scaler.mean_[place])
        term = Term(column, float(weights[place.start]), mean)
        if texts is not None:
            mean = mean if scaler.mean_[place].any() else float(weights[place].mean())
            threshold -= mean
            term = Term(column, dict(zip(texts, (weights[place] - mean).tolist(), strict=True)))
        terms.append((float(np.linalg.norm(scaled[place])), term))
    return [term for _, term in sorted(terms, key=lambda pair: -pair[0])], threshold
