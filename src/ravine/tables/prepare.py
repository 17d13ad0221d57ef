"""Preparation of a table: from its columns to the features of an estimator, repeatable on new tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._plurals import count
from ravine._typing import Array
from ravine.checks import is_missing_value
from ravine.tables.categories import MIN_FREQUENCY, Categories
from ravine.tables.choose import ColumnChoices, choose_features, extract_columns, join_names, suggest_dropping
from ravine.tables.imputer import MultipleImputer
from ravine.tables.read import Report
from ravine.tables.table_error import TableError

__all__ = [
    "MISSING",
    "NORMALIZE",
    "SCALES",
    "Preparation",
    "PreparedTable",
    "check_finite",
    "fit_table",
    "join_counts",
    "transform_table",
]

SCALES = ("standard", "robust", "none")
NORMALIZE = ("none", "l2")
MISSING = ("error", "drop", "impute-median", "multiple")
# Rows that are processed together, so that the table is not copied.
BLOCK = 1 << 16
# The quartiles of a normal distribution are 1.349 standard deviations apart.
NORMAL_QUARTILES = 1.349


@dataclass(frozen=True, eq=False)
class Preparation:
    """Columns of a table that are used, and their conversion to features.

    Attributes
    ----------
    columns : tuple of str
        Columns of the table, in the order in which they are used.
    categories : dict
        Categories of each text column; each becomes a feature of zeros and ones.
    rare : dict
        Rare categories of text columns; they count as "other", the last of the categories.
    encoding : {"one-hot", "famd"}
        Scale of the features of text columns: ``scaling``, or (indicator - share) / √share, as in the factor analysis
        of mixed data.
    normalize : {"none", "l2"}
        Whether each row is divided by its Euclidean length before the features are scaled. Rows of zeros stay.
    imputer : MultipleImputer or None
        Fills missing cells of scaled features if ``missing`` is "multiple".
    unknown : {"error", "other"}
        Treatment of categories that the training table does not have: an error, or "other". If there is no such
        category, the features get the means of the training table.
    missing : {"error", "drop", "impute-median", "multiple"}
        Treatment of missing cells.
    scaling : {"standard", "robust", "none"}
        Divisor of the features: the standard deviation, the interquartile range (divided by 1.349, which makes it the
        standard deviation of normal data), or none.
    medians, centre, scale : ndarray of shape (n_features,)
        Statistics of the training table. A missing cell becomes its median if ``missing`` is "impute-median", and a
        feature x becomes (x - centre) / scale. The "medians" of the features of a text column encode its most frequent
        category, so that a row with a missing cell has exactly one category, too.
    """

    columns: tuple[str, ...]
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    missing: str = "error"
    scaling: str = "standard"
    medians: Array = field(default_factory=lambda: np.empty(0))
    centre: Array = field(default_factory=lambda: np.empty(0))
    scale: Array = field(default_factory=lambda: np.empty(0))
    rare: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    encoding: str = "one-hot"
    normalize: str = "none"
    imputer: MultipleImputer | None = None
    unknown: str = "error"

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features: that of the column, or "column=category"."""
        names: list[str] = []
        for column in self.columns:
            texts = self.categories.get(column)
            names += [column] if texts is None else [f"{column}={text}" for text in texts]
        return tuple(names)

    @property
    def is_scaled(self) -> bool:
        """Whether features are centred and scaled."""
        return self.scaling != "none" or (self.encoding == "famd" and bool(self.categories))

    def list_features(self) -> Iterator[tuple[str, tuple[str, ...] | None, slice]]:
        """Yield each column with its categories and the positions of its features."""
        start = 0
        for name in self.columns:
            texts = self.categories.get(name)
            end = start + (1 if texts is None else len(texts))
            yield name, texts, slice(start, end)
            start = end

    def matrix(self, table: Mapping[str, Any]) -> Array:
        """Return the features of a table before scaling, NaN where cells are missing.

        Parameters
        ----------
        table : mapping
            Columns by name: a data frame, a pyarrow table or a dictionary of arrays.
        """
        check_columns(table, self.columns)
        columns = {name: np.asarray(table[name]) for name in self.columns}
        n_rows = len(next(iter(columns.values()))) if columns else 0
        raw = np.empty((n_rows, len(self.feature_names)))
        for name, texts, place in self.list_features():
            if texts is None:
                raw[:, place.start] = _convert_to_floats(name, columns[name])
            else:
                unknown = self.centre[place].tolist() if self.unknown == "other" else None
                raw[:, place] = Categories(texts, self.rare.get(name, ())).encode(name, columns[name], unknown)
        return raw

    def fitted(self, raw: Array, least_share: float = MIN_FREQUENCY) -> Preparation:
        """Return this preparation with the medians, centres and scales of the given features (NaN is ignored).

        Parameters
        ----------
        raw : ndarray of shape (n, n_features)
            Features from `matrix`; every one needs at least one value.
        least_share : float
            Share of the rows by whose root the indicators of rarer categories are divided, if ``encoding`` is "famd".
        """
        p = raw.shape[1]
        medians, centre, scale = self._compute_medians(raw), np.zeros(p), np.ones(p)
        if self.normalize == "l2":
            raw = _divide_by_lengths(replace(self, medians=medians).fill(raw.copy()))
        for j in range(p):
            column = raw[:, j]
            gaps = np.isnan(column)
            values = column[~gaps] if gaps.any() else column
            if self.missing == "impute-median" and gaps.any():
                values = np.where(gaps, medians[j], column)
            with np.errstate(over="ignore", invalid="ignore"):
                if self.scaling == "standard":
                    centre[j], scale[j] = values.mean(), values.std()
                elif self.scaling == "robust":
                    low, centre[j], high = np.percentile(values, [25, 50, 75])
                    scale[j] = (high - low) / NORMAL_QUARTILES or values.std()
                extent = np.abs(values - centre[j]).max() / (scale[j] or 1.0)
            if not np.isfinite([centre[j], scale[j], extent]).all():
                raise ValueError(
                    f"column {self.feature_names[j]!r} contains values as large as {np.abs(values).max():.3g}, which "
                    "cannot be scaled: correct them, use a larger unit, or leave the column out."
                )
        # A spread below the rounding error of the values counts as none.
        scale[~(scale > 4.0 * np.finfo(float).eps * np.abs(centre))] = 1.0
        if self.encoding == "famd":
            self._scale_by_shares(raw, centre, scale, least_share)
        return replace(self, medians=medians, centre=centre, scale=scale)

    def _scale_by_shares(self, raw: Array, centre: Array, scale: Array, least_share: float) -> None:
        """Replace the scale of each indicator by the root of its share of the rows."""
        for _, texts, place in self.list_features():
            if texts is None:
                continue
            if self.scaling != "standard":
                centre[place] = np.nanmean(raw[:, place], axis=0)
            scale[place] = np.sqrt(np.maximum(centre[place], max(least_share, 1.0 / len(raw))))

    def _compute_medians(self, raw: Array) -> Array:
        """Return medians, or the most frequent category of text; NaN unless missing cells are imputed."""
        medians = np.full(raw.shape[1], np.nan)
        if self.missing != "impute-median":
            return medians
        for _, texts, place in self.list_features():
            if texts is None:
                with np.errstate(over="ignore"):  # values that are too large are refused below
                    medians[place] = np.nanmedian(raw[:, place])
            else:
                medians[place] = np.arange(len(texts)) == np.nansum(raw[:, place], axis=0).argmax()
        return medians

    def finish(self, raw: Array) -> Array:
        """Impute missing cells, if chosen, then centre and scale the features, in place."""
        for start in range(0, len(raw), BLOCK):
            block = self.fill(raw[start : start + BLOCK])
            if self.normalize == "l2":
                _divide_by_lengths(block)
            if self.is_scaled:
                block -= self.centre
                block /= self.scale
        return raw

    def fill(self, raw: Array) -> Array:
        """Impute missing cells by the medians, if chosen, in place."""
        if self.missing == "impute-median":
            rows, columns = np.nonzero(np.isnan(raw))
            raw[rows, columns] = self.medians[columns]
        return raw

    def missing_counts(self, raw: Array) -> dict[str, int]:
        """Return the number of missing cells of each column that has any."""
        counts = np.zeros(raw.shape[1], dtype=np.intp)
        for start in range(0, len(raw), BLOCK):
            counts += np.isnan(raw[start : start + BLOCK]).sum(axis=0)
        return {name: int(counts[place.start]) for name, _, place in self.list_features() if counts[place.start]}


def check_columns(table: Any, columns: Sequence[str]) -> None:
    """Raise an error that names the columns missing from a table."""
    names = list(map(str, getattr(table, "column_names", table)))
    missing = [name for name in columns if name not in names]
    if missing:
        raise ValueError(
            f"the table has no column {join_names(missing)}, which the model needs; it has {join_names(names)}."
        )


def _divide_by_lengths(rows: Array) -> Array:
    """Divide rows by their Euclidean lengths, in place; rows of zeros stay."""
    largest = np.abs(rows).max(axis=1, keepdims=True)
    rows /= np.where(largest > 0.0, largest, 1.0)  # squares of large and small values overflow and vanish
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    rows /= np.where(lengths > 0.0, lengths, 1.0)
    return rows


def join_counts(counts: Mapping[str, int], most: int = 8) -> str:
    """Return the first names with their counts as text, and the number of those left out."""
    parts = [f"{name!r} {n}" for name, n in list(counts.items())[:most]]
    return ", ".join(parts) + (f" and {len(counts) - most} more" if len(counts) > most else "")


def _convert_to_floats(name: str, values: NDArray[Any]) -> Array:
    """Convert a column of numbers or booleans to float64, NaN where a cell is missing."""
    if values.dtype.kind in "biuf":
        return values.astype(np.float64, copy=False)
    try:
        if values.dtype.kind in "OT":
            cells = values.tolist()
            return np.array([np.nan if is_missing_value(cell) else _convert_to_float(cell) for cell in cells])
    except (TypeError, ValueError):
        pass
    raise ValueError(f"column {name!r} is not numeric.")


def _convert_to_float(value: Any) -> float:
    if isinstance(value, str):
        raise TypeError("text")
    return float(value)


# ----------------------------------------------------------------------------------------------- whole tables


@dataclass(frozen=True)
class PreparedTable:
    """Features of a table.

    Attributes
    ----------
    X : ndarray of shape (n_kept, n_features)
        NaN where cells are missing, if these are filled several times.
    kept : ndarray of bool of shape (n,) or None
        Mask of the rows that are used; None for all.
    preparation : Preparation
    """

    X: NDArray[Any]
    kept: NDArray[np.bool_] | None
    preparation: Preparation


def fit_table(table: Any, choices: ColumnChoices, report: Report, seed: int = 0) -> PreparedTable:
    """Choose the features of a table and scale them; an error names the columns that cannot be used."""
    columns, categories = choose_features(table, choices, report)
    if choices.missing == "multiple" and choices.normalize == "l2":
        raise TableError("--normalize l2 needs complete rows: use --missing drop or --missing impute-median with it.")
    if categories and choices.normalize == "l2":
        raise TableError(
            f"--normalize l2 needs columns of numbers that share a unit, but {join_names(list(categories))} "
            f"{'is' if len(categories) == 1 else 'are'} text: leave the option out, or drop these columns."
        )
    plan = Preparation(
        columns,
        {name: known.names for name, known in categories.items()},
        choices.missing,
        choices.scale,
        rare={name: known.rare for name, known in categories.items() if known.rare},
        encoding="famd" if choices.encode == "famd" else "one-hot",
        normalize=choices.normalize,
    )
    can_repeat = choices.fill == "multiple"
    raw, kept = _read_features(
        table, plan, report, "the median of their column",
        f"Use {'--missing multiple to fill them with values of similar rows, ' * can_repeat}--missing drop "
        "to leave these rows out, --missing impute-median to fill the cells with the median of their column, or --drop "
        "for a column with many.",
    )  # fmt: skip
    if kept is not None and kept.sum() < 2:
        raise TableError("every row has a missing cell: use --missing impute-median, or --drop the emptiest columns.")
    _refuse_empty_columns(raw, plan)
    plan = plan.fitted(raw)
    constant = [name for j, name in enumerate(plan.feature_names) if (raw[:, j] == raw[0, j]).all()]
    X = plan.finish(raw)
    if choices.missing == "multiple":
        plan = replace(plan, imputer=MultipleImputer(random_state=seed).fit(X))
    if len(constant) == len(plan.feature_names):
        raise TableError("all rows are equal: there is nothing to separate.")
    if constant:
        report(f"{join_names(constant)} {'is' if len(constant) == 1 else 'are'} constant and cannot separate anything")
    if choices.normalize == "l2":
        report("each row is divided by its length before the features are scaled (--normalize l2)")
    how = {"standard": "standardised (mean 0, standard deviation 1)", "robust": "scaled by median and quartiles"}
    report(f"{count(len(plan.feature_names), 'feature')}, {how.get(choices.scale, 'not scaled (--scale none)')}")
    return PreparedTable(X, kept, plan)


def transform_table(table: Any, plan: Preparation, report: Report) -> PreparedTable:
    """Prepare a new table as the one that a model was fitted to."""
    if plan.missing == "impute-median" and np.isnan(plan.medians).any():
        raise TableError("the model has no medians: fit it with --missing impute-median, or use --missing drop.")
    if plan.missing == "multiple" and plan.imputer is None:
        raise TableError("the model has no rows to fill cells with: fit it with --missing multiple.")
    raw, kept = _read_features(
        table, plan, report, "the medians of the training table",
        "Fill them, or use --missing drop to leave these rows unlabelled.",
    )  # fmt: skip
    return PreparedTable(plan.finish(raw), kept, plan)


def _read_features(
    table: Any, plan: Preparation, report: Report, medians: str, advice: str
) -> tuple[Array, NDArray[np.bool_] | None]:
    """Return the unscaled features of the rows to use, and the mask of these rows (None for all)."""
    check_columns(table, plan.columns)
    raw = plan.matrix(extract_columns(table, plan.columns))
    check_finite(raw, plan.feature_names)
    counts = plan.missing_counts(raw)
    if not counts:
        return raw, None
    if plan.missing == "multiple":
        report(f"missing cells filled several times with values of similar rows: {join_counts(counts)}")
        return raw, None
    if plan.missing == "error":
        raise TableError(f"missing cells: {join_counts(counts)}. {advice}")
    if plan.missing == "impute-median":
        of_text = " (text: with the most frequent category)" if plan.categories else ""
        report(f"missing cells filled with {medians}{of_text}: {join_counts(counts)}")
        return raw, None
    kept: NDArray[np.bool_] = np.logical_not(np.isnan(raw).any(axis=1))
    report(f"{int((~kept).sum())} of {len(kept)} rows have missing cells and get no label: {join_counts(counts)}")
    return raw[kept], kept


def _refuse_empty_columns(raw: Array, plan: Preparation) -> None:
    for name, _, place in plan.list_features():
        if len(raw) and np.isnan(raw[:, place.start]).all():
            raise TableError(f"{name!r}: all cells are empty. Leave out with {suggest_dropping([name])}.")


def check_finite(raw: NDArray[Any], names: Sequence[str]) -> None:
    """Raise an error that names all columns with an infinite value, and the first row of each."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(raw.sum()):  # neither infinite nor missing values
            return
    infinite = np.isinf(raw)
    found = [f"{names[j]!r} (row {infinite[:, j].argmax() + 1})" for j in np.flatnonzero(infinite.any(axis=0)).tolist()]
    end = "Rows are counted from 1, without the header."
    if len(found) == 1:
        raise TableError(f"column {found[0]} contains an infinite value: correct or empty that cell. {end}")
    if found:
        more = f" and {len(found) - 8} more" if len(found) > 8 else ""
        listed = f"{', '.join(found[:8])}{more}"
        raise TableError(f"columns {listed} contain infinite values: correct or empty these cells. {end}")
