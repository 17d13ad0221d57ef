"""From the columns of a table to the features of an estimator, repeatable on new tables."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._plurals import count
from ravine._typing import Array
from ravine.tables.columns import ColumnChoices, choose_features
from ravine.tables.imputer import MultipleImputer
from ravine.tables.mixed_scaler import MixedScaler, check_finite, count_missing, join_counts, join_names
from ravine.tables.read import Report, TableError

# Treatment of missing cells by the scaler, for each treatment of a table.
MISSING = {"error": "error", "drop": "keep", "impute-median": "median", "multiple": "keep"}
# Treatments to suggest, for the best of them.
FILLS = {"impute-median": ("impute-median",), "multiple": ("impute-median", "multiple")}
SCALES = {"standard": "standardised (mean 0, standard deviation 1)", "robust": "scaled by median and quartiles"}


@dataclass(frozen=True)
class PreparedTable:
    """Features of a table.

    Attributes
    ----------
    X : ndarray of shape (n_kept, n_features)
        NaN where cells are missing, if these are filled several times.
    kept : ndarray of bool of shape (n,) or None
        Mask of the rows that are used; None for all.
    scaler : MixedScaler
    imputer : MultipleImputer or None
        Fills missing cells of X.
    """

    X: Array
    kept: NDArray[np.bool_] | None
    scaler: MixedScaler
    imputer: MultipleImputer | None = None


def fit_table(table: Any, choices: ColumnChoices, report: Report, seed: int = 0) -> PreparedTable:
    """Choose the features of a table and scale them; an error names the columns that cannot be used."""
    names, texts = choose_features(table, choices, report)
    if choices.normalize == "l2" and (texts or choices.missing == "multiple"):
        problem = f"{join_names(texts)} {'is' if len(texts) == 1 else 'are'} text" if texts else "cells may be missing"
        raise TableError(
            f"rows can be divided by their lengths only if all cells are numbers, but {problem}.", normalize="l2"
        )
    rows, kept = _treat_missing(table[names], choices.missing, report, FILLS[choices.fill])
    if kept is not None and kept.sum() < 2:
        raise TableError("every row has a missing cell: fill them, or drop the emptiest columns.")
    encode = "famd" if choices.encode == "famd" else "one-hot"
    scaler = MixedScaler(
        categorical=texts, encode=encode, scale=choices.scale, normalize=choices.normalize,
        missing=MISSING[choices.missing],
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # rare categories are reported below
        X = scaler.fit_transform(rows)
    _report_categories(scaler, report)
    features = scaler.get_feature_names_out()
    constant = features[(X[0] == X).all(axis=0)].tolist()
    if len(constant) == len(features):
        raise TableError("all rows are equal: there is nothing to separate.")
    if constant:
        report(f"{join_names(constant)} {'is' if len(constant) == 1 else 'are'} constant and cannot separate anything")
    if choices.normalize == "l2":
        report("each row is divided by its length before the features are scaled")
    report(f"{count(len(features), 'feature')}, {SCALES.get(choices.scale, 'not scaled')}")
    imputer = MultipleImputer(random_state=seed).fit(X) if choices.missing == "multiple" else None
    return PreparedTable(X, kept, scaler, imputer)


def _report_categories(scaler: MixedScaler, report: Report) -> None:
    how = "and scaled as in FAMD" if scaler.encode == "famd" else "as zeros and ones"
    for name, texts in scaler.categories_.items():
        rare = scaler.rare_.get(name, ())
        n = len(texts) + len(rare) - bool(rare)
        report(f"{name!r} has {n} categories, encoded {how}: {join_names(texts, 5)}")
        if rare:
            report(f"{name!r}: rare categories count as {texts[-1]!r}: {join_names(rare, 5)}")


def transform_table(
    table: Any, scaler: MixedScaler, missing: str, report: Report, imputer: MultipleImputer | None = None
) -> PreparedTable:
    """Prepare a new table as the one that a model was fitted to."""
    if missing == "impute-median" and scaler.missing != "median":
        raise TableError("the model has no medians: fit it to filled cells, or leave these rows out.", missing=missing)
    if missing == "multiple" and imputer is None:
        raise TableError("the model has no rows to fill cells with: fit it with the same treatment.", missing=missing)
    select_columns(table, scaler._columns)
    rows, kept = _treat_missing(table[list(scaler._columns)], missing, report)
    X = scaler.transform(rows) if kept is None or kept.any() else np.empty((0, len(scaler.mean_)))
    return PreparedTable(X, kept, scaler, imputer)


def _treat_missing(
    table: Any, missing: str, report: Report, fills: Sequence[str] = ()
) -> tuple[Any, NDArray[np.bool_] | None]:
    """Return the rows to use, and their mask (None for all)."""
    check_finite(table)
    counts = count_missing(table)
    if not counts:
        return table, None
    if missing == "error":
        raise TableError(
            f"missing cells: {join_counts(counts)}. Leave these rows out{', or fill the cells' if fills else ''}.",
            missing=("drop", *fills),
        )
    if missing == "drop":
        kept = table.notna().all(axis=1).to_numpy()
        report(f"{int((~kept).sum())} of {len(kept)} rows have missing cells and get no label: {join_counts(counts)}")
        return table[kept], kept
    medians = "with medians (text: the most frequent category)"
    how = "several times with values of similar rows" if missing == "multiple" else medians
    report(f"missing cells filled {how}: {join_counts(counts)}")
    return table, None


def select_columns(table: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return columns of any table; raise an error that names those it does not have."""
    known = list(map(str, getattr(table, "column_names", table)))
    missing = [name for name in names if name not in known]
    if missing:
        raise ValueError(
            f"the table has no column {join_names(missing)}, which the model needs; it has {join_names(known)}."
        )
    return {name: table[name] for name in names}
