"""Loaded data set: features, classes, names and the card that describes it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ravine_paper._typing import Array
from ravine_paper.datasets.card import Card

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Dataset"]


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Features and classes of a data set (immutable).

    Attributes
    ----------
    name : str
        One of `list_datasets`.
    data : ndarray of shape (n, d)
        Features as float64, not scaled; missing cells are NaN. Read-only.
    target : ndarray of shape (n,)
        Class of each row as a string. Read-only.
    feature_names : tuple of str
        Names of the features.
    card : Card
        Size, source, licence, citation and preprocessing.
    origin : str
        File or URL that the data were read from.
    checked : bool
        Whether the content was compared with the card.

    Examples
    --------
    >>> import numpy as np
    >>> from ravine_paper.datasets import Dataset, describe
    >>> toy = Dataset("wine", np.array([[1.0, 5.0], [3.0, 5.0]]), np.array(["a", "b"]), ("x", "y"), describe("wine"))
    >>> toy.standardised().data
    array([[-1.],
           [ 1.]])
    """

    name: str
    data: Array
    target: NDArray[np.str_]
    feature_names: tuple[str, ...]
    card: Card
    origin: str = ""
    checked: bool = field(default=False)

    def __post_init__(self) -> None:
        for part in ("data", "target"):
            frozen = np.array(getattr(self, part), order="C", copy=True)
            frozen.flags.writeable = False
            object.__setattr__(self, part, frozen)

    def __repr__(self) -> str:
        n, d = self.data.shape
        return f"Dataset({self.name!r}: {n} rows, {d} columns, {len(self.classes)} classes, from {self.origin!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        values = (self.name, self.data, self.target, self.feature_names, self.card, self.origin, self.checked)
        return Dataset, values

    @property
    def classes(self) -> dict[str, int]:
        """Sorted classes with their numbers of rows."""
        names, counts = np.unique(self.target, return_counts=True)
        return {str(name): int(count) for name, count in zip(names, counts, strict=True)}

    @property
    def n_missing(self) -> int:
        """Number of missing cells."""
        return int(np.isnan(self.data).sum())

    def standardised(self) -> Dataset:
        """Standardise the features as for Table 2 of the paper.

        Missing cells are replaced by the median of their feature, constant features are dropped, and every feature gets
        mean 0 and (population) variance 1.

        Returns
        -------
        Dataset
            Data set with new ``data`` and ``feature_names``.
        """
        X = self.data
        missing = np.isnan(X)
        empty = np.flatnonzero(missing.all(axis=0))
        if len(empty):
            raise ValueError(f"Feature {self.feature_names[empty[0]]!r} of {self.name} has no value: drop it first.")
        if missing.any():
            X = np.where(missing, np.nanmedian(X, axis=0), X)
        varies = X.max(axis=0) > X.min(axis=0)
        if not varies.any():
            raise ValueError(f"All features of {self.name} are constant: there is nothing to standardise.")
        X = X[:, varies]
        names = tuple(name for name, keep in zip(self.feature_names, varies, strict=True) if keep)
        return replace(self, data=(X - X.mean(axis=0)) / X.std(axis=0), feature_names=names)

    def to_frame(self) -> DataFrame:
        """Return a pandas data frame of the features and, last, a column ``label``."""
        import pandas as pd

        frame = pd.DataFrame(self.data.copy(), columns=list(self.feature_names))
        return frame.assign(label=self.target)
