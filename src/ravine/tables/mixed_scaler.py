"""MixedScaler, a scikit-learn transformer of tables with numbers and categories."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ravine._plurals import count
from ravine._typing import Array
from ravine.checks import check_choice, check_number, is_missing_value
from ravine.rows.inputs import check_unique_names
from ravine.tables.categories import MIN_FREQUENCY, UNKNOWN, Categories, count_categories, group_rare, is_free_text
from ravine.tables.choose import describe_rare, join_names
from ravine.tables.prepare import Preparation, check_finite, join_counts

__all__ = ["MixedScaler"]

MISSING = ("error", "median", "keep")


class MixedScaler(TransformerMixin, BaseEstimator):
    """Scaling of numbers and categories to features with comparable variance.

    A numeric column is standardised. A column of categories becomes one feature for each category,
    (indicator - share) / √share, as in the factor analysis of mixed data (FAMD; Pagès 2004). The features of a column
    have the variance 1 along every direction in which they vary, as a number has: no column outweighs the others. A
    column of two categories is equivalent to a standardised column of zeros and ones.

    Parameters
    ----------
    categorical : "auto" or sequence, default="auto"
        Names, or positions, of the columns of categories. ``"auto"``: columns of text, categorical columns of pandas,
        polars and pyarrow, and columns of Python objects that are not all numbers. Columns of booleans are numbers.
    min_frequency : float, default=0.02
        Categories with a smaller share of the rows are rare. If a column has several, they are grouped as ``"other"``,
        with a warning that names them; a category of this name joins the group. A group or category that is still rare
        is divided by the root of this share, so that a few rows are not far from all others. 0 keeps all categories.
    handle_unknown : {"error", "other"}, default="error"
        Treatment of categories that the fit has not seen: an error that names the column and the category, or the group
        ``"other"``. In a column without this group, all features of such a cell are 0, their mean.
    missing : {"error", "median", "keep"}, default="error"
        Treatment of missing cells: an error that counts them for each column; the median, or the most frequent
        category; or NaN in all features of the column, for example to fill them with a :class:`MultipleImputer`.

    Attributes
    ----------
    categories_ : dict
        Categories of each column of categories, in the order of the features.
    rare_ : dict
        Categories that are grouped as ``"other"``, for each column that has any.
    mean_, scale_ : ndarray of shape (n_features_out,)
        A feature is (value - mean) / scale; for an indicator, these are the share of the category and its root.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in,)
        Only if all columns have names that are strings.

    See Also
    --------
    MinimumDensityTree : Clusters of the rows.

    References
    ----------
    J. Pagès (2004). Analyse factorielle de données mixtes. Revue de statistique appliquée 52, 93-111.

    Examples
    --------
    >>> import numpy as np
    >>> from ravine import MixedScaler
    >>> X = np.array([[1.0, "a"], [2.0, "b"], [3.0, "b"], [4.0, "b"]], dtype=object)
    >>> scaler = MixedScaler().fit(X)
    >>> scaler.get_feature_names_out()
    array(['x0', 'x1=a', 'x1=b'], dtype=object)
    >>> scaler.transform(X).round(2)
    array([[-1.34,  1.5 , -0.87],
           [-0.45, -0.5 ,  0.29],
           [ 0.45, -0.5 ,  0.29],
           [ 1.34, -0.5 ,  0.29]])
    """

    def __init__(
        self,
        *,
        categorical: str | Sequence[Any] = "auto",
        min_frequency: float = MIN_FREQUENCY,
        handle_unknown: str = "error",
        missing: str = "error",
    ) -> None:
        self.categorical = categorical
        self.min_frequency = min_frequency
        self.handle_unknown = handle_unknown
        self.missing = missing

    def fit(self, X: Any, y: object = None) -> MixedScaler:
        """Find the categories, means and scales of the columns.

        Parameters
        ----------
        X : data frame, pyarrow table or array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: object = None) -> Any:
        """Fit to X and return its features."""
        return self._finish(self._fit(X))

    def transform(self, X: Any) -> Any:
        """Return the features of X.

        Parameters
        ----------
        X : data frame, pyarrow table or array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
        """
        check_is_fitted(self)
        columns = self._read(X, reset=False)
        return self._finish(self._plan.matrix(columns))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the features: that of the column, or "column=category".

        Parameters
        ----------
        input_features : sequence of str, optional
            Names of the columns; must equal ``feature_names_in_`` if there are such.
        """
        check_is_fitted(self)
        names = list(self._plan.columns)
        if input_features is not None:
            names = [str(name) for name in input_features]
            known = getattr(self, "feature_names_in_", None)
            if known is not None and names != known.tolist():
                raise ValueError("input_features is not equal to feature_names_in_")
            if len(names) != self.n_features_in_:
                raise ValueError(f"input_features should have length equal to {self.n_features_in_}, got {len(names)}")
        out: list[str] = []
        for name, (_, texts, _) in zip(names, self._plan.list_features(), strict=True):
            out += [name] if texts is None else [f"{name}={text}" for text in texts]
        return np.array(out, dtype=object)

    # ------------------------------------------------------------------------------------------- inner parts

    def _fit(self, X: Any) -> Array:
        """Fit to X and return the features before they are scaled."""
        missing = check_choice("missing", self.missing, MISSING)
        unknown = check_choice("handle_unknown", self.handle_unknown, UNKNOWN)
        min_frequency = check_number("min_frequency", self.min_frequency, low=0.0, high=0.5)
        columns = self._read(X, reset=True)
        chosen = _choose_categorical(self.categorical, columns, _list_categorical(X))
        found = {name: columns[name] for name in chosen}
        categories = {name: _find_categories(name, values, min_frequency) for name, values in found.items()}
        names = {name: known.names for name, known in categories.items()}
        rare = {name: known.rare for name, known in categories.items() if known.rare}
        plan = Preparation(
            tuple(columns), names, "impute-median" if missing == "median" else "error",
            rare=rare, encoding="famd", unknown="error",
        )  # fmt: skip
        raw = plan.matrix(columns)
        check_finite(raw, plan.feature_names)
        _refuse_empty(raw, plan)
        self._refuse_missing(raw, plan)
        plan = plan.fitted(raw, min_frequency)
        # Last, so that a failed fit does not change them.
        self.categories_, self.rare_ = names, rare
        self.mean_, self.scale_ = plan.centre, plan.scale
        self._plan = replace(plan, unknown=unknown)
        if rare:
            listed = "; ".join(f"{name!r}: {describe_rare(categories[name])}" for name in rare)
            warnings.warn(f"rare categories are grouped as 'other' ({listed}).", UserWarning, stacklevel=3)
        return raw

    def _finish(self, raw: Array) -> Array:
        check_finite(raw, self._plan.feature_names)
        self._refuse_missing(raw, self._plan)
        return self._plan.finish(raw)

    def _refuse_missing(self, raw: Array, plan: Preparation) -> None:
        counts = plan.missing_counts(raw) if self.missing == "error" else {}
        if counts:
            raise ValueError(
                f"Input X contains NaN: missing cells in {join_counts(counts)}. Fill them, or set missing='median' or "
                "missing='keep'."
            )

    def _read(self, table: Any, reset: bool) -> dict[str, NDArray[Any]]:
        """Return the columns of a table by name."""
        if issparse(table):
            raise TypeError("MixedScaler does not accept sparse matrices: it scales columns of tables.")
        is_frame, is_arrow = hasattr(table, "columns"), hasattr(table, "column_names")
        if not is_frame and not is_arrow:
            dtype = None if hasattr(table, "__array__") else object  # lists of numbers and text are not all text
            values = validate_data(self, table, reset=reset, dtype=dtype, ensure_all_finite=False)
            return {f"x{j}": values[:, j] for j in range(values.shape[1])}
        names = list(table.column_names if is_arrow else table.columns)
        if not names or not len(table):
            raise ValueError(
                f"X has {count(len(table), 'row')} and {count(len(names), 'column')}: at least one of each is required."
            )
        if not is_arrow:
            check_unique_names(table)
            validate_data(self, table, reset=reset, skip_check_array=True)
        columns = {str(name): _to_array(table[name]) for name in names}
        if reset:
            self.n_features_in_ = len(columns)
        elif len(columns) != self.n_features_in_:
            raise ValueError(f"X has {len(columns)} features, but MixedScaler expects {self.n_features_in_} features.")
        return columns

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = self.missing != "error"
        return tags


def _to_array(column: Any) -> NDArray[Any]:
    """Return a column of a data frame or table as an array; categories as their values."""
    if hasattr(column, "to_pylist"):  # pyarrow
        if type(column.type).__name__ == "DictionaryType":
            column = column.cast(column.type.value_type)
        return np.asarray(column)
    return np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)


def _list_categorical(table: Any) -> list[str]:
    """Return the names of the columns of a data frame or table whose type is categorical, whatever their values are."""
    if hasattr(table, "column_names"):
        kinds = {str(name): table[name].type for name in table.column_names}
    else:
        kinds = {str(name): getattr(table[name], "dtype", None) for name in getattr(table, "columns", ())}
    kinds = {name: getattr(kind, "pyarrow_dtype", kind) for name, kind in kinds.items()}
    return [name for name, kind in kinds.items() if type(kind).__name__ in ("CategoricalDtype", "DictionaryType")]


def _choose_categorical(categorical: Any, columns: Mapping[str, NDArray[Any]], declared: Sequence[str]) -> list[str]:
    """Return the names of the columns of categories; by default those declared as such, and those without numbers."""
    names = list(columns)
    if isinstance(categorical, str):
        check_choice("categorical", categorical, ("auto",))
        return [name for name in names if name in declared or not _is_numeric(columns[name])]
    chosen = []
    for entry in categorical:
        if isinstance(entry, int | np.integer) and not isinstance(entry, bool) and -len(names) <= entry < len(names):
            chosen.append(names[entry])
        elif str(entry) in columns:
            chosen.append(str(entry))
        else:
            raise ValueError(f"categorical contains {entry!r}, but X has no such column: it has {join_names(names)}.")
    return chosen


def _is_numeric(values: NDArray[Any]) -> bool:
    """Return whether a column holds numbers: of a numeric type, or Python objects that are numbers or missing."""
    if values.dtype.kind in "biuf":
        return True
    if values.dtype.kind != "O":
        return False
    cells = [cell for cell in values.tolist() if not is_missing_value(cell)]
    for cell in cells:
        if isinstance(cell, dict | list | set | tuple):
            raise TypeError(f"argument must be a string or a number, got a {type(cell).__name__} in X.")
    return bool(cells) and all(isinstance(cell, bool | int | float | np.number | np.bool_) for cell in cells)


def _find_categories(name: str, values: NDArray[Any], min_frequency: float) -> Categories:
    if values.dtype.kind not in "OUSTbiuf":
        raise TypeError(f"column {name!r} holds values of the type {values.dtype}: convert them to numbers or text.")
    counts = count_categories(values.tolist())
    if not counts:
        raise ValueError(f"column {name!r}: all cells are missing. Leave the column out.")
    if len(counts) == 1:
        only = next(iter(counts))[:40]
        raise ValueError(f"column {name!r} has one category, {only!r}: it cannot separate rows. Leave the column out.")
    if min_frequency and is_free_text(counts, 0.0):
        raise ValueError(
            f"column {name!r} has {len(counts)} distinct texts, most of them only once: it is not categorical. Leave "
            "the column out."
        )
    return group_rare(counts, min_frequency)


def _refuse_empty(raw: Array, plan: Preparation) -> None:
    for name, _, place in plan.list_features():
        if np.isnan(raw[:, place.start]).all():
            raise ValueError(f"column {name!r}: all cells are missing. Leave the column out.")
