"""Transformers of single columns that scikit-learn does not have."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.preprocessing import OneHotEncoder, RobustScaler

from ravine._typing import Array
from ravine.checks import is_missing_value

# Name of the group of rare categories.
OTHER = "other"


class CategoryEncoder(OneHotEncoder):
    """One-hot encoding of one column in which missing cells stay missing; infrequent categories are called "other"."""

    def fit(self, X: Any, y: object = None) -> CategoryEncoder:
        """Find the categories of the cells that are not missing."""
        cells, known = _split_missing(X)
        super().fit(cells[known])
        self.n_features_in_ = 1
        return self

    def transform(self, X: Any) -> Array:
        """Return the indicators of the categories; all are NaN for a missing cell."""
        cells, known = _split_missing(X)
        out = np.full((len(cells), len(self.list_names())), np.nan)
        if known.any():
            out[known] = super().transform(cells[known])
        return out

    def list_rare(self) -> tuple[str, ...]:
        """Return the categories of the group "other"."""
        rare = self.infrequent_categories_[0] if self.min_frequency is not None else None
        return () if rare is None else tuple(rare.tolist())

    def list_names(self) -> tuple[str, ...]:
        """Return the categories in the order of the features; the group "other" is the last."""
        rare = self.list_rare()
        names = [name for name in self.categories_[0].tolist() if name not in set(rare)]
        group = OTHER
        while group in names:
            group += " (rare)"
        return (*names, group) if rare else tuple(names)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return "column=category" for each feature."""
        column = "x0" if input_features is None else input_features[0]
        return np.array([f"{column}={name}" for name in self.list_names()], dtype=object)


def _split_missing(X: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    cells = np.asarray(X, dtype=object)
    return cells, np.array([not is_missing_value(cell) for cell in cells[:, 0].tolist()], dtype=bool)


class ShareScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Scaling of indicators to (indicator - share) / √share, as in the factor analysis of mixed data.

    Parameters
    ----------
    min_share : float, default=0.0
        Lower bound on the share under the root.
    """

    def __init__(self, min_share: float = 0.0) -> None:
        self.min_share = min_share

    def fit(self, X: Array, y: object = None) -> ShareScaler:
        """Compute the shares of the categories; NaN is ignored."""
        self.n_features_in_ = X.shape[1]
        self.mean_ = np.nanmean(X, axis=0)
        self.scale_ = np.sqrt(np.maximum(self.mean_, max(self.min_share, 1.0 / len(X))))
        return self

    def transform(self, X: Array) -> Array:
        """Return the scaled indicators."""
        return np.asarray((X - self.mean_) / self.scale_)


class QuartileScaler(RobustScaler):
    """Robust scaling that uses the standard deviation of features whose quartiles are equal."""

    def fit(self, X: Any, y: object = None) -> QuartileScaler:
        """Compute medians and ranges of quartiles; NaN is ignored."""
        super().fit(X)
        values = np.asarray(X, dtype=np.float64)
        low, high = np.nanpercentile(values, [25.0, 75.0], axis=0)
        spread = np.nanstd(values, axis=0)
        flat = (high - low < 10.0 * np.finfo(np.float64).eps) & (spread > 0.0)
        self.scale_[flat] = spread[flat]
        return self
