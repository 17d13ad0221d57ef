"""From the columns of a table to the numbers that an estimator sees, remembered so that new tables get the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array

__all__ = ["MISSING", "SCALES", "Preparation", "TableModel"]

SCALES = ("standard", "robust", "none")
MISSING = ("error", "drop", "impute-median")
# Rows that are looked at together, so that no second copy of the table is needed.
BLOCK = 1 << 16


@dataclass(frozen=True, eq=False)
class Preparation:
    """Which columns of a table are used, and how they become numbers.

    Attributes
    ----------
    columns : tuple of str
        Columns of the table, in the order in which they are used.
    categories : dict
        For columns of text: the categories, each of which becomes a feature of zeros and ones.
    missing : {"error", "drop", "impute-median"}
        What is done with missing cells.
    scaling : {"standard", "robust", "none"}
        What the features are divided by: the standard deviation, the interquartile range (over 1.349, so that normal
        data would give the standard deviation), or nothing.
    medians, centre, scale : ndarray of shape (n_features,)
        Of the table it was fitted to; a missing cell becomes its median if ``missing`` says so, and a feature x becomes
        (x - centre) / scale. For the features of a column of text the "medians" are those of its commonest category, so
        that a row with a missing cell has one category, as others do.
    """

    columns: tuple[str, ...]
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    missing: str = "error"
    scaling: str = "standard"
    medians: Array = field(default_factory=lambda: np.empty(0))
    centre: Array = field(default_factory=lambda: np.empty(0))
    scale: Array = field(default_factory=lambda: np.empty(0))

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features: of a column, or "column=category"."""
        names: list[str] = []
        for column in self.columns:
            texts = self.categories.get(column)
            names += [column] if texts is None else [f"{column}={text}" for text in texts]
        return tuple(names)

    def matrix(self, table: Mapping[str, Any]) -> Array:
        """The features as they are in a table, NaN where cells are missing.

        Parameters
        ----------
        table : mapping
            Columns by name: a data frame, a table of pyarrow or a dictionary of arrays.
        """
        check_columns(table, self.columns)
        columns = [np.asarray(table[name]) for name in self.columns]
        names = self.feature_names
        out = np.empty((len(columns[0]) if columns else 0, len(names)))
        at = 0
        for name, values in zip(self.columns, columns, strict=True):
            texts = self.categories.get(name)
            if texts is None:
                out[:, at] = numbers(name, values)
                at += 1
            else:
                out[:, at : at + len(texts)] = _indicators(name, values, texts)
                at += len(texts)
        return out

    def fitted(self, raw: Array) -> Preparation:
        """The same preparation with the medians, centres and scales of a table's features (NaN is left out).

        Parameters
        ----------
        raw : ndarray of shape (n, n_features)
            From `matrix`; at least one value in each column.
        """
        p = raw.shape[1]
        medians, centre, scale = self._typical(raw), np.zeros(p), np.ones(p)
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
                    # A normal curve has its quartiles at 0.6745 standard deviations.
                    scale[j] = (high - low) / 1.349 or values.std()
                extent = np.abs(values - centre[j]).max() / (scale[j] or 1.0)
            if not np.isfinite([centre[j], scale[j], extent]).all():
                raise ValueError(
                    f"column {self.feature_names[j]!r} holds values as large as {np.abs(values).max():.3g}, which "
                    "cannot be scaled: correct them, use a larger unit, or leave that column out."
                )
        # A spread below the rounding of the values is none.
        scale[~(scale > 4.0 * np.finfo(float).eps * np.abs(centre))] = 1.0
        known = {"columns": self.columns, "categories": self.categories, "missing": self.missing}
        return Preparation(**known, scaling=self.scaling, medians=medians, centre=centre, scale=scale)  # type: ignore[arg-type]

    def _typical(self, raw: Array) -> Array:
        """What missing cells become: medians, or the commonest category; NaN if they are not filled in."""
        typical = np.full(raw.shape[1], np.nan)
        if self.missing != "impute-median":
            return typical
        at = 0
        for name in self.columns:
            texts = self.categories.get(name)
            width = 1 if texts is None else len(texts)
            part = raw[:, at : at + width]
            if texts is None:
                typical[at] = np.nanmedian(part)
            else:
                typical[at : at + width] = np.arange(width) == np.nansum(part, axis=0).argmax()
            at += width
        return typical

    def finish(self, raw: Array) -> Array:
        """Features as the estimator sees them: gaps filled if so wished, centred and scaled, in place."""
        for start in range(0, len(raw), BLOCK):
            part = raw[start : start + BLOCK]
            if self.missing == "impute-median":
                rows, columns = np.nonzero(np.isnan(part))
                part[rows, columns] = self.medians[columns]
            if self.scaling != "none":
                part -= self.centre
                part /= self.scale
        return raw

    def missing_counts(self, raw: Array) -> dict[str, int]:
        """How many cells are missing, for the features that have any."""
        counts = np.zeros(raw.shape[1], dtype=np.intp)
        for start in range(0, len(raw), BLOCK):
            counts += np.isnan(raw[start : start + BLOCK]).sum(axis=0)
        return {name: int(n) for name, n in zip(self.feature_names, counts.tolist(), strict=True) if n}


@dataclass(frozen=True, eq=False)
class TableModel:
    """A fitted estimator together with the preparation of the table it was fitted to.

    Attributes
    ----------
    estimator : MinimumDensityTree, MinimumDensityHyperplane or MinimumDensityClassifier
    preparation : Preparation
    label_column : str or None
        The column that held the labels.
    """

    estimator: Any
    preparation: Preparation
    label_column: str | None = None

    def transform(self, table: Mapping[str, Any]) -> Array:
        """The features as the estimator sees them; an error names columns with missing cells.

        Parameters
        ----------
        table : mapping
            Columns by name, for example a data frame.
        """
        raw = self.preparation.matrix(table)
        gaps = self.preparation.missing_counts(raw)
        if gaps and self.preparation.missing != "impute-median":
            raise ValueError(f"missing cells: {listed(gaps)}. Fill them, or drop the rows.")
        return self.preparation.finish(raw)

    def predict(self, table: Mapping[str, Any]) -> NDArray[Any]:
        """Cluster or class of each row of a table.

        Parameters
        ----------
        table : mapping
            Columns by name, for example a data frame.
        """
        return np.asarray(self.estimator.predict(self.transform(table)))


def check_columns(table: Any, wanted: Sequence[str]) -> None:
    """Refuse a table without some columns, naming them."""
    there = list(map(str, getattr(table, "column_names", table)))
    missing = [name for name in wanted if name not in there]
    if missing:
        raise ValueError(
            f"the table has no column {', '.join(map(repr, missing[:8]))}"
            + (f" (nor {len(missing) - 8} more)" if len(missing) > 8 else "")
            + f", which the model needs; it has {', '.join(map(repr, there[:8]))}"
            + (" and more." if len(there) > 8 else ".")
        )


def listed(counts: Mapping[str, int], most: int = 8) -> str:
    """Names with their counts, in words."""
    parts = [f"{name!r} {n}" for name, n in list(counts.items())[:most]]
    return ", ".join(parts) + (f" and {len(counts) - most} more" if len(counts) > most else "")


def numbers(name: str, values: NDArray[Any]) -> Array:
    """A column of numbers or truth values as float64, NaN where a cell is missing."""
    if values.dtype.kind in "biuf":
        return values.astype(np.float64, copy=False)
    try:
        if values.dtype.kind in "OT":
            return np.array([np.nan if _absent(value) else _number(value) for value in values.tolist()])
    except (TypeError, ValueError):
        pass
    raise ValueError(f"column {name!r} does not hold numbers.")


def _number(value: Any) -> float:
    if isinstance(value, str):
        raise TypeError("text")
    return float(value)


def _absent(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def _indicators(name: str, values: NDArray[Any], texts: Sequence[str]) -> Array:
    number = {text: k for k, text in enumerate(texts)}
    distinct: dict[Any, Array] = {}
    rows = []
    for value in values.tolist():
        if value not in distinct:
            row = np.zeros(len(texts))
            if _absent(value):
                row[:] = np.nan
            elif str(value) in number:
                row[number[str(value)]] = 1.0
            else:
                raise ValueError(f"column {name!r} holds {str(value)[:40]!r}, a category that the model does not know.")
            distinct[value] = row
        rows.append(distinct[value])
    return np.array(rows).reshape(-1, len(texts))
