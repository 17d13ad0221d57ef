"""Inputs of explanations: fitted estimators, names of features, and labels of any type as integer codes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ravine._typing import Array
from ravine.checks import check_feature_names, is_missing_value

# Values at which a preparation is examined, and the largest deviation of a linear one, as a share of the largest value.
PROBES, LINEAR = (-1000.0, 1000.0, 137.0, -811.0), 1e-6


@dataclass(frozen=True)
class Opened:
    """Last step of a pipeline, with X and the names of the features as this step receives them.

    Attributes
    ----------
    estimator : object
    X : array-like or None
    feature_names : sequence of str or None
    preparation : Pipeline or None
        The other steps; None for an estimator by itself.
    """

    estimator: Any
    X: Any = None
    feature_names: Any = None
    preparation: Any = None

    def find_units(self) -> tuple[Array, Array] | None:
        """Return center and scale of the features if the other steps standardise each by itself, else None.

        The transformed features times the scale, plus the center, are the features in their original units.
        """
        if self.preparation is None:
            return None
        d = self.estimator.n_features_in_
        signs = np.where(np.arange(d) % 2, -1.0, 1.0)  # so that no step that mixes the features looks linear in each
        probes = np.array(PROBES)[:, None] * np.array([signs, signs, np.ones(d), -signs])
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # the probes have no feature names
            try:
                low, high, *others = np.asarray(self.preparation.transform(probes), dtype=np.float64)
            except (TypeError, ValueError):
                return None
            if low.shape != (d,):
                return None
            slope = (high - low) / (probes[1] - probes[0])
            center = probes[1] - high / slope
            deviations = [found - (probe - center) * slope for found, probe in zip(others, probes[2:], strict=True)]
            limit = LINEAR * np.abs([low, high]).max(axis=0)
            is_linear = np.isfinite(center) & (np.abs(deviations) <= limit).all(axis=0) & (slope > 0.0)
        return (center, 1.0 / slope) if is_linear.all() else None


def open_pipeline(model: Any, X: Any = None, feature_names: Any = None) -> Opened:
    """Apply the first steps of a fitted pipeline to X, and return the last step; other models are returned as they are.

    Parameters
    ----------
    model : object
    X : array-like, optional
    feature_names : sequence of str, optional
        Names that the last step sees; by default those of the pipeline.
    """
    if not isinstance(model, Pipeline) or not hasattr(model[-1], "plot"):
        return Opened(model, X, feature_names)
    if len(model.steps) == 1:
        return Opened(model[-1], X, feature_names)
    preparation = model[:-1]
    if feature_names is None and hasattr(model, "feature_names_in_"):
        try:
            feature_names = preparation.get_feature_names_out().tolist()
        except (AttributeError, ValueError):  # a step does not name its features
            feature_names = None
    return Opened(model[-1], None if X is None else preparation.transform(X), feature_names, preparation)


def check_estimator(estimator: Any) -> None:
    """Raise an error unless the estimator is a fitted one of this library, which all have a method ``plot``."""
    if isinstance(estimator, type) or not (hasattr(estimator, "fit") and hasattr(estimator, "plot")):
        raise TypeError(
            "estimator must be a fitted MinimumDensityTree, MinimumDensityHyperplane or MinimumDensityClassifier, got "
            f"{type(estimator).__name__}; or a pipeline that ends with one."
        )
    check_is_fitted(estimator)


def encode_any_labels(labels: ArrayLike, n_rows: int, name: str = "y") -> tuple[NDArray[np.intp], list[Any]]:
    """Encode labels of any type as integers.

    Rows marked by -1, None or NaN are unlabelled and have the code -1. As for the classifier, labels that are nothing
    but -1 and +1 are two classes. Unlike a classifier, displays and reports accept any number of classes, even
    none, and labels of several types.

    Parameters
    ----------
    labels : array-like of shape (n_rows,)
    name : str, default="y"
        Name of the parameter for messages.

    Returns
    -------
    codes : ndarray of shape (n_rows,)
    classes : list
        The label of each code, sorted by type and value.
    """
    given = np.asarray(labels)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.shape != (n_rows,):
        raise ValueError(f"{name} must be one label for each of the {n_rows} rows of X, got shape {given.shape}.")
    values: list[Any]
    if given.dtype.kind in "iubU":
        different, places = np.unique(given, return_inverse=True)
        values = different.tolist()
    else:
        cells = [None if is_missing_value(cell) else cell for cell in given.tolist()]
        values = [None, *sorted(set(cells) - {None}, key=lambda value: (str(type(value)), value))]
        place = {value: k for k, value in enumerate(values)}
        places = np.array([place[cell] for cell in cells], dtype=np.intp)
    two_signs = set(values) - {None} == {-1, 1}
    unlabelled = np.array([value is None or (value == -1 and not two_signs) for value in values], dtype=bool)
    codes = np.where(unlabelled, -1, np.cumsum(~unlabelled) - 1)
    classes = [value for value, missing in zip(values, unlabelled, strict=True) if not missing]
    return codes[places].astype(np.intp), classes


def encode_classes(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return the position of each label in the sorted classes of a classifier, which contain all of them."""
    try:
        return np.searchsorted(classes, labels).astype(np.intp)
    except TypeError:  # labels of several types have no order
        place = {label: k for k, label in enumerate(classes.tolist())}
        return np.array([place[label] for label in labels.tolist()], dtype=np.intp)


def name_features(feature_names: Any, n_features: int, estimator: Any = None) -> list[str]:
    """Return the names of the features: those given, those seen in the fit, or x0, x1, ...

    Parameters
    ----------
    estimator : object, optional
        Fitted estimator, whose ``feature_names_in_`` are used if no names are given.

    Returns
    -------
    list of str
    """
    names = getattr(estimator, "feature_names_in_", None) if feature_names is None else feature_names
    return check_feature_names(names, n_features)
