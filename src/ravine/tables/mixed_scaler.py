"""MixedScaler: numbers and categories of a table as scaled features, by transformers of scikit-learn."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Normalizer, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from ravine._plurals import join_counts, join_names, join_texts
from ravine._typing import Array
from ravine.checks import check_choice, check_number, is_missing_value, require, restore_on_failure
from ravine.rows.inputs import check_unique_names
from ravine.tables.read import TableError

CHOICES = {
    "encode": ("famd", "one-hot"),
    "scale": ("standard", "robust", "none"),
    "normalize": ("none", "l2"),
    "handle_unknown": ("error", "other"),
    "missing": ("error", "median", "keep"),
}
# Share of the rows below which a category is rare: divided by the root of its share, it would put a few rows far from
# all others.
MIN_FREQUENCY = 0.02
# A column is free text, not categories, if more than this share of its cells have a text that is rare or unique.
MOST_RARE = 0.5
# Name of the group of rare categories.
OTHER = "other"
# Floats below this have the digits of an integer; larger ones are rounded.
LARGEST_INTEGER = 2.0**53

Columns = dict[str, NDArray[Any]]


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
    encode : {"famd", "one-hot"}, default="famd"
        Scale of the indicators of categories: the root of their share, or the one that ``scale`` gives to numbers.
    scale : {"standard", "robust", "none"}, default="standard"
        Scale of numbers: their standard deviation, the range of their quartiles (with the factor that makes it the
        standard deviation of normal data; the standard deviation where the quartiles are equal), or none.
    normalize : {"none", "l2"}, default="none"
        Whether each row is divided by its Euclidean length before it is scaled. Needs a table without categories.
    min_frequency : float, default=0.02
        Categories with a smaller share of the rows are rare. If a column has several, they are grouped as ``"other"``,
        with a warning that names them. A group or category that is still rare is divided by the root of this share, so
        that a few rows are not far from all others. 0 keeps all categories. Not used by ``encode="one-hot"``.
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
    fill_ : dict
        Value that replaces the missing cells of each column; empty unless ``missing="median"``.
    transformer_ : ColumnTransformer
        Imputers, encoders and scalers of the columns, for an array of the columns: it does not check cells. The
        features of numbers come first.
    mean_, scale_ : ndarray of shape (n_features_out,)
        A feature is (value - mean) / scale; with ``encode="famd"``, these are the share of a category and its root.
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

    categories_: dict[str, tuple[str, ...]]
    rare_: dict[str, tuple[str, ...]]
    fill_: dict[str, float | str]
    mean_: Array
    scale_: Array
    _columns: tuple[str, ...]

    def __init__(
        self,
        *,
        categorical: str | Sequence[Any] = "auto",
        encode: str = "famd",
        scale: str = "standard",
        normalize: str = "none",
        min_frequency: float = MIN_FREQUENCY,
        handle_unknown: str = "error",
        missing: str = "error",
    ) -> None:
        self.categorical = categorical
        self.encode = encode
        self.scale = scale
        self.normalize = normalize
        self.min_frequency = min_frequency
        self.handle_unknown = handle_unknown
        self.missing = missing

    def fit(self, X: Any, y: object = None) -> MixedScaler:
        """Find the categories, means and scales of the columns.

        Parameters
        ----------
        X : data frame, pyarrow table, mapping of names to columns, or array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: object = None) -> Any:
        """Fit to X and return its features."""
        self._check_parameters()
        with restore_on_failure(self):
            columns, declared = self._read(X, reset=True)
            chosen = _choose_categorical(self.categorical, columns, declared)
            columns = {name: _convert(name, cells, name in chosen) for name, cells in columns.items()}
            empty = [name for name, cells in columns.items() if find_missing(cells).all()]
            if empty:
                raise ValueError(f"column {empty[0]!r}: all cells are missing. Leave the column out.")
            bad = chosen or list(count_missing(columns) if self.missing == "keep" else ())
            if self.normalize == "l2" and bad:
                raise TableError(f"normalize='l2' needs a number in each cell of {join_names(bad)}.", normalize="l2")
            self._check_cells(columns)
            self._columns = tuple(columns)
            self._group_categories({name: count_categories(columns[name].tolist()) for name in chosen})
            cells = _stack(columns)
            with np.errstate(over="ignore", invalid="ignore"):
                self.transformer_ = self._make_transformer().fit(cells)
            parts = self._list_parts()
            self.fill_ = {}
            for pipeline, names in parts if self.missing == "median" else ():
                self.fill_ |= zip(names, pipeline["impute"].statistics_.tolist(), strict=True)
            self.mean_, self.scale_ = np.empty((2, sum(len(pipeline[-1].scale_) for pipeline, _ in parts)))
            for pipeline, names in parts:
                places = self._find_places(names)
                self.mean_[places], self.scale_[places] = pipeline[-1].center_, pipeline[-1].scale_
            with np.errstate(over="ignore", invalid="ignore"):
                Z = self._apply(cells)
            is_finite = np.isfinite(self.mean_) & np.isfinite(self.scale_) & ~np.isinf(Z).any(axis=0)
            if not is_finite.all():
                name = self.get_feature_names_out()[~is_finite][0]
                raise ValueError(f"column {name!r} has values that are too large: use a larger unit, or leave it out.")
        if self.rare_:
            listed = "; ".join(f"{name!r}: {join_names(texts, 5)}" for name, texts in self.rare_.items())
            warnings.warn(f"rare categories are grouped as {OTHER!r} ({listed}).", UserWarning, stacklevel=3)
        return Z

    def transform(self, X: Any) -> Any:
        """Return the features of X.

        Parameters
        ----------
        X : data frame, pyarrow table, mapping of names to columns, or array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
        """
        check_is_fitted(self)
        known = {name: {*texts, *self.rare_.get(name, ())} for name, texts in self.categories_.items()}
        columns = {name: _convert(name, cells, name in known) for name, cells in self._read(X, reset=False)[0].items()}
        self._check_cells(columns)
        Z = self._apply(_stack(columns))
        places = {name: place for name, _, place in self.list_features()}
        for name, texts in known.items():
            cells = columns[name]
            unknown = np.array([cell not in texts for cell in cells.tolist()]) & ~find_missing(cells)
            if unknown.any() and self.handle_unknown == "error":
                cell = cells[unknown][0][:40]
                raise ValueError(f"column {name!r} contains {cell!r}, a category unknown to the model.")
            if name not in self.rare_:  # no group takes them in
                Z[unknown, places[name]] = 0.0
        return Z

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the features: that of the column, or "column=category".

        Parameters
        ----------
        input_features : sequence of str, optional
            Names of the columns; must equal ``feature_names_in_`` if there are such.
        """
        names = OneToOneFeatureMixin.get_feature_names_out(self, input_features)
        names = self._columns if input_features is None else names
        features = zip(names, self.list_features(), strict=True)
        out = [[name] if texts is None else [f"{name}={text}" for text in texts] for name, (_, texts, _) in features]
        return np.array(list(chain.from_iterable(out)), dtype=object)

    def list_features(self) -> Iterator[tuple[str, tuple[str, ...] | None, slice]]:
        """Yield the name of each column with its categories, None for numbers, and the positions of its features."""
        start = 0
        for name in self._columns:
            texts = self.categories_.get(name)
            end = start + (1 if texts is None else len(texts))
            yield name, texts, slice(start, end)
            start = end

    # ------------------------------------------------------------------------------------------- inner parts

    def __getstate__(self) -> dict[str, Any]:
        # The state of a ColumnTransformer differs between versions of scikit-learn.
        return {name: value for name, value in super().__getstate__().items() if name != "transformer_"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "categories_"):
            self._restore()

    def _check_parameters(self) -> None:
        for name, choices in CHOICES.items():
            check_choice(name, getattr(self, name), choices)
        check_number("min_frequency", self.min_frequency, low=0.0, high=0.5)

    def validate(self) -> None:
        """Raise an error if columns, categories and statistics contradict each other."""
        names = (self._columns, *self.categories_.values(), *self.rare_.values())
        require(all(len(set(some)) == len(some) for some in names), "columns or categories")
        require({*self.rare_} <= {*self.categories_} <= {*self._columns}, "columns")
        require(self.missing != "median" or {*self.fill_} == {*self._columns}, "fill_")
        require(len(self._columns) == self.n_features_in_, "n_features_in_")
        require(self.mean_.shape == self.scale_.shape == self.get_feature_names_out().shape, "shapes")

    def _group_categories(self, counts: Mapping[str, Mapping[str, int]]) -> None:
        """Find the categories of columns, and the rare ones if a column has several; refuse columns without any."""
        self.categories_, self.rare_ = {}, {}
        for name, cells in counts.items():
            problem = judge_texts(cells, 0.0)
            if problem and (self.min_frequency or len(cells) == 1):
                raise ValueError(f"column {name!r}: {problem}. Leave the column out.")
            least = self.min_frequency * sum(cells.values()) if self.encode == "famd" else 0.0
            rare = tuple(text for text, n in cells.items() if n < least)
            self.categories_[name] = tuple(cells)
            if len(rare) > 1:
                texts = [text for text in cells if text not in rare]
                group = OTHER
                while group in texts:
                    group += " (rare)"
                self.categories_[name], self.rare_[name] = (*texts, group), rare

    def _make_transformer(self) -> ColumnTransformer:
        """Make the unfitted transformer: one pipeline for all numbers, and one for all columns of categories."""
        parts = []
        for is_text in (False, True):
            places = [k for k, name in enumerate(self._columns) if (name in self.categories_) is is_text]
            steps: list[tuple[str, Any]] = []
            if self.missing == "median":
                steps.append(("impute", SimpleImputer(strategy="most_frequent" if is_text else "median")))
            if self.normalize == "l2":  # squares of large and small values overflow and vanish
                steps += [("bound", Normalizer("max")), ("normalize", Normalizer("l2"))]
            if is_text:
                names = [self._columns[k] for k in places]
                known = [self.categories_[name] for name in names], [self.rare_.get(name, ()) for name in names]
                steps.append(("encode", CategoryEncoder(*known)))
            rule = "famd" if is_text and self.encode == "famd" else self.scale
            steps.append(("scale", FeatureScaler(rule, self.min_frequency)))
            if places:
                parts.append(("texts" if is_text else "numbers", Pipeline(steps), places))
        return ColumnTransformer(parts, verbose_feature_names_out=False).set_output(transform="default")

    def _list_parts(self) -> list[tuple[Pipeline, list[str]]]:
        """Return the fitted pipelines with the names of their columns."""
        return [(part, [self._columns[k] for k in places]) for _, part, places in self.transformer_.transformers_]

    def _find_places(self, names: Sequence[str]) -> NDArray[np.intp]:
        """Return the positions of the features of some columns."""
        places = {name: np.arange(place.start, place.stop) for name, _, place in self.list_features()}
        return np.concatenate([places[name] for name in names])

    def _apply(self, cells: NDArray[Any]) -> Array:
        """Return the features of cells in the order of the columns."""
        out = np.empty((len(cells), len(self.mean_)))
        order = np.concatenate([self._find_places(names) for _, names in self._list_parts()])
        out[:, order] = self.transformer_.transform(cells)
        return out

    def _restore(self) -> None:
        """Fit the transformer to one row, and set its statistics."""
        self._check_parameters()
        row = {name: np.array(texts[:1], dtype=object) for name, texts in self.categories_.items()}
        row = {name: row.get(name, np.zeros(1)) for name in self._columns}
        self.transformer_ = self._make_transformer().fit(_stack(row))
        for pipeline, names in self._list_parts():
            if self.missing == "median":
                imputer = pipeline["impute"]
                imputer.statistics_ = np.array([self.fill_[n] for n in names], dtype=imputer.statistics_.dtype)
            places = self._find_places(names)
            pipeline[-1].center_, pipeline[-1].scale_ = self.mean_[places], self.scale_[places]

    def _check_cells(self, columns: Columns) -> None:
        """Refuse infinite values, and missing cells unless they are allowed."""
        check_finite(columns)
        counts = count_missing(columns) if self.missing == "error" else {}
        if counts:
            raise ValueError(
                f"Input X contains NaN: missing cells in {join_counts(counts)}. Fill them, or set missing."
            )

    def _read(self, table: Any, reset: bool) -> tuple[Columns, list[str]]:
        """Return the columns of a table by name, and the names of those whose type is categorical."""
        if issparse(table):
            raise TypeError("MixedScaler does not accept sparse matrices: it scales columns of tables.")
        if hasattr(table, "to_pandas"):  # of polars or pyarrow
            table = table.to_pandas()
        elif isinstance(table, Mapping):
            import pandas as pd

            cells = {name: getattr(column, "to_pandas", lambda c=column: c)() for name, column in table.items()}
            try:
                table = pd.DataFrame(cells)
            except (TypeError, ValueError) as error:  # single values, or columns of different lengths
                problem = f"X is a mapping, but not one of names to columns ({str(error).rstrip('.')})"
                raise ValueError(f"{problem}: give lists or arrays of the same length.") from error
        if not hasattr(table, "columns"):
            dtype = None if hasattr(table, "__array__") else object  # lists of numbers and text are not all text
            values = validate_data(self, table, reset=reset, dtype=dtype, ensure_all_finite=False)
            return {f"x{j}": values[:, j] for j in range(values.shape[1])}, []
        check_unique_names(table)
        validate_data(self, table, reset=reset, skip_check_array=True)
        if not all(table.shape):
            raise ValueError(f"X has the shape {table.shape}: at least one row and one column are required.")
        kinds = table.dtypes.items()
        declared = [str(name) for name, kind in kinds if str(kind).startswith(("category", "dictionary"))]
        return {str(name): table[name].to_numpy() for name in table.columns}, declared

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.input_tags.allow_nan = self.missing != "error"
        return tags


class CategoryEncoder(TransformerMixin, BaseEstimator):
    """Indicators of the categories of columns; all are NaN for a missing cell.

    Parameters
    ----------
    categories : sequence of sequence of str
        Categories of each column. The last one stands for all others if some are rare.
    rare : sequence of sequence of str
        Rare categories of each column.
    """

    def __init__(self, categories: Sequence[Sequence[str]], rare: Sequence[Sequence[str]]) -> None:
        self.categories = categories
        self.rare = rare

    def set_output(self, *, transform: str | None = None) -> CategoryEncoder:
        """Do nothing: features are always an array."""
        return self

    def fit(self, X: Any, y: object = None) -> CategoryEncoder:
        """Do nothing: the categories are given."""
        return self

    def transform(self, X: Any) -> Array:
        """Return the indicators."""
        cells = np.asarray(X, dtype=object)
        out, start = np.zeros((len(cells), sum(map(len, self.categories)))), 0
        for column, texts, rare in zip(cells.T, self.categories, self.rare, strict=True):
            known = {text: k for k, text in enumerate(texts)}
            other = len(texts) - 1 if rare else -1  # of a category that is not known
            codes = np.array([known.get(cell, other) for cell in column.tolist()])
            rows = np.flatnonzero(codes >= 0)
            out[rows, start + codes[rows]] = 1.0
            out[find_missing(column), start : start + len(texts)] = np.nan
            start += len(texts)
        return out


class FeatureScaler(RobustScaler):
    """Scaling of features by one of several rules; NaN is ignored.

    Parameters
    ----------
    rule : {"standard", "robust", "famd", "none"}
        Mean and standard deviation; median and range of the quartiles, or standard deviation where the quartiles are
        equal; share of an indicator and its root; or 0 and 1.
    min_share : float
        Smallest share whose root is a scale.
    """

    def __init__(self, rule: str, min_share: float = 0.0) -> None:
        super().__init__(unit_variance=True)
        self.rule = rule
        self.min_share = min_share

    def fit(self, X: Any, y: object = None) -> FeatureScaler:
        """Compute ``center_`` and ``scale_``."""
        values = np.asarray(X, dtype=np.float64)
        self.n_features_in_ = values.shape[1]
        self.center_, self.scale_ = np.zeros(values.shape[1]), np.ones(values.shape[1])
        if self.rule == "robust":
            super().fit(values)
            low, high = np.nanpercentile(values, [25.0, 75.0], axis=0)
            spread = np.nanstd(values, axis=0)
            flat = (high - low < 10.0 * np.finfo(np.float64).eps) & (spread > 0.0)
            self.scale_[flat] = spread[flat]
        elif self.rule != "none":
            standard = StandardScaler().fit(values)
            share = np.maximum(standard.mean_, max(self.min_share, 1.0 / len(values)))
            self.center_, self.scale_ = standard.mean_, np.sqrt(share) if self.rule == "famd" else standard.scale_
        return self


# ----------------------------------------------------------------------------------------------- cells


def _stack(columns: Columns) -> NDArray[Any]:
    """Return columns as an array: of numbers, or of objects if there are texts."""
    is_text = any(cells.dtype.kind == "O" for cells in columns.values())
    return np.column_stack([cells.astype(object if is_text else np.float64) for cells in columns.values()])


def _convert(name: str, values: NDArray[Any], is_text: bool) -> NDArray[Any]:
    """Return a column of numbers as floats, or one of categories as text; missing cells are NaN."""
    if values.dtype.kind not in "OTUSbiuf":
        raise TypeError(f"column {name!r} holds values of the type {values.dtype}: convert them to numbers or text.")
    if values.dtype.kind in "biuf" and not is_text:
        return values.astype(np.float64)
    convert = name_category if is_text else float
    try:
        cells = [np.nan if is_missing_value(cell) else convert(cell) for cell in values.tolist()]
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {name!r} is not numeric: {error}.") from error
    return np.array(cells, dtype=object if is_text else np.float64)


def name_category(cell: Any) -> str:
    """Return the text of a cell; whole floats are written as integers, which become floats where cells are missing."""
    if type(cell) is str:
        return cell
    number = float(cell) if isinstance(cell, float | np.floating) else math.nan
    return str(int(number)) if number.is_integer() and abs(number) < LARGEST_INTEGER else str(cell)


def count_categories(cells: Iterable[Any]) -> dict[str, int]:
    """Return the number of cells of each category, in the order of their names; missing cells are not counted."""
    cells, counts = list(cells), Counter[str]()
    for (_, cell), n in Counter(zip(map(type, cells), cells, strict=True)).items():  # 1, 1.0 and True are equal
        if not is_missing_value(cell):
            counts[name_category(cell)] += n
    return dict(sorted(counts.items()))


def judge_texts(counts: Mapping[str, int], min_frequency: float = MIN_FREQUENCY) -> str:
    """Return why texts are not categories: one for all cells, or names, identifiers and sentences; else empty."""
    total, needed = sum(counts.values()), max(2.0, min_frequency * sum(counts.values()))
    if len(counts) == 1:
        return f"it has one category, {next(iter(counts))[:40]!r}"
    is_free = sum(n for n in counts.values() if n < needed) > MOST_RARE * total
    return f"it has {len(counts)} distinct texts, most of them rare: they are not categories" if is_free else ""


def count_missing(columns: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of missing cells of each column, of a mapping or data frame, that has any."""
    counts = {name: int(find_missing(cells).sum()) for name, cells in columns.items()}
    return {name: n for name, n in counts.items() if n}


def find_missing(cells: Any) -> Any:
    """Return which cells of an array or series are missing."""
    cells = _get_floats(cells)
    return cells.isna() if hasattr(cells, "isna") else np.asarray(cells != cells, dtype=bool)


def _get_floats(cells: Any) -> Any:
    """Return a column of NumPy's floats as an array, and others as they are: a call of pandas takes far longer."""
    return np.asarray(cells) if isinstance(cells.dtype, np.dtype) and cells.dtype.kind == "f" else cells


def check_finite(columns: Mapping[str, Any]) -> None:
    """Raise an error that names all columns with an infinite value, and the first row of each."""
    infinite = {name: np.isinf(_get_floats(cells)) for name, cells in columns.items() if cells.dtype.kind == "f"}
    found = [f"{name!r} (row {flags.argmax() + 1})" for name, flags in infinite.items() if flags.any()]
    if found:
        raise TableError(f"infinite values in {join_texts(found)}: correct or empty these cells (rows count from 1).")


def _choose_categorical(categorical: Any, columns: Mapping[str, NDArray[Any]], declared: Sequence[str]) -> list[str]:
    """Return the names of the columns of categories; by default those declared as such, and those without numbers."""
    names = list(columns)
    if isinstance(categorical, str):
        check_choice("categorical", categorical, ("auto",))
        return [name for name in names if name in declared or not _is_numeric(columns[name])]
    places = dict(enumerate(names, -len(names))) | dict(enumerate(names))
    chosen = [places.get(entry, str(entry)) for entry in categorical]
    if not {*chosen} <= {*names}:
        raise ValueError(f"categorical contains {chosen}, but X has no such column: it has {join_names(names)}.")
    return chosen


def _is_numeric(values: NDArray[Any]) -> bool:
    """Return whether a column holds numbers: of a numeric type, or Python objects that are numbers or missing."""
    if values.dtype.kind != "O":
        return values.dtype.kind in "biuf"
    kinds = {type(cell) for cell in values.tolist() if not is_missing_value(cell)}
    if kinds & {dict, list, set, tuple}:
        raise TypeError("argument must be a string or a number: X contains a dict, list, set or tuple.")
    return bool(kinds) and all(issubclass(kind, bool | int | float | np.number | np.bool_) for kind in kinds)
