"""Data sets of the paper and other public tables for the benchmarks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from ravine_paper.datasets import load

__all__ = ["MIXED_TABLES", "TABLES", "load_columns", "load_standardised", "load_table"]

# KEEL and UCI tables, which the paper does not use. Rules and defaults may be chosen on the first group; the second
# is for the frozen rule only.
TABLES = {
    "development": (
        "australian", "bands", "bupa", "crx", "german", "heart", "iris", "mammographic", "monk-2", "mushroom", "pima",
        "ring", "saheart", "vowel", "tic-tac-toe", "titanic", "contraceptive", "led7digit", "hayes-roth",
    ),
    "confirmation": (
        "splice", "chess", "marketing", "tae", "breast", "haberman", "new-thyroid1", "page-blocks0", "ecoli1", "ecoli3",
        "glass-0-1-2-3_vs_4-5-6", "glass1", "cleveland-0_vs_4", "car-good", "shuttle-c0-vs-c4", "winequality-red-4",
        "abalone9-18", "yeast1", "yeast3", "flare-F",
    ),
}  # fmt: skip

# Those of them that have columns of text.
MIXED_TABLES = {
    "development": ("crx", "german", "mushroom", "saheart", "tic-tac-toe"),
    "confirmation": ("splice", "chess", "breast", "car-good", "abalone9-18", "flare-F"),
}


def load_standardised(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Load standardised features and classes of a set, from the folder RAVINE_DATA or the archives."""
    loaded = load(name).standardised()
    return loaded.data, loaded.target


def load_table(name: str, folder: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Load standardised features and classes of a public table, from the folder `tables` in RAVINE_DATA.

    Text is one-hot encoded. Missing cells get the median of a numeric column, and the most frequent text of another.
    Constant features are dropped. The column `label` has the classes.
    """
    import pandas as pd

    table = _read_table(name, folder)
    y = np.unique(table.pop("label").astype(str), return_inverse=True)[1]
    numeric = table.select_dtypes("number")
    texts = table.drop(columns=numeric.columns)
    parts = [numeric.fillna(numeric.median())]
    if texts.shape[1]:
        parts.append(pd.get_dummies(texts.fillna(texts.mode().iloc[0])))
    X = pd.concat(parts, axis=1).to_numpy(dtype=float)
    X = X[:, np.ptp(X, axis=0) > 0.0]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def load_columns(name: str, folder: str | None = None) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Load the columns, as numbers or text, and the classes of a public table without missing cells."""
    table = _read_table(name, folder)
    y = np.unique(table.pop("label").astype(str), return_inverse=True)[1]
    numeric = set(table.select_dtypes("number").columns)
    columns = {
        str(column): table[column].to_numpy(dtype=float if column in numeric else object) for column in table.columns
    }
    return {column: values for column, values in columns.items() if len(set(values.tolist())) > 1}, y


def _read_table(name: str, folder: str | None) -> Any:
    import pandas as pd

    root = folder or os.environ.get("RAVINE_DATA")
    if root is None:
        raise FileNotFoundError("set RAVINE_DATA to the folder that contains tables/NAME.csv.gz.")
    # "None" and "NA" are categories; only empty cells are missing.
    return pd.read_csv(Path(root) / "tables" / f"{name}.csv.gz", keep_default_na=False, na_values=[""])
