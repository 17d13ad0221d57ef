"""Hyperplanes between two given groups of rows: by logistic regression, by a support vector machine, by a discriminant.

All have the same arguments, an array of rows and which of them are on the right, and return None if the rows are equal
or on one side. The normal points to the right.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.hyperplane import Hyperplane
from ravine.rows import center_and_scale
from ravine.tree import constants
from ravine.validity.directions import solve_shrunk

Mask = NDArray[np.bool_]


def separate_by_logistic_regression(x: Array, on_right: Mask) -> Hyperplane | None:
    """Return the hyperplane of equal odds."""
    from sklearn.linear_model import LogisticRegression

    z, center, scale = center_and_scale(x)
    unit = float(z.std(axis=0).max())
    if _is_single(on_right) or not unit > 0.0:
        return None
    model = LogisticRegression().fit(z / unit, on_right)
    return _make_hyperplane(model.coef_[0], float(model.intercept_[0]), center, scale * unit)


def separate_by_svm(x: Array, on_right: Mask, weights: Array) -> Hyperplane | None:
    """Return the hyperplane of widest margin with weighted rows; those on the wrong side are few."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import SVC

    center = center_and_scale(x)[1]
    z = x - center
    scale = float(np.abs(z).max())
    if _is_single(on_right) or not scale > 0.0:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # callers count the rows on wrong sides
        model = SVC(kernel="linear", C=constants.SVM_C, max_iter=constants.SVM_ITERATIONS).fit(
            z / scale, on_right, sample_weight=weights
        )
    return _make_hyperplane(model.coef_[0], float(model.intercept_[0]), center, scale)


def separate_by_discriminant(x: Array, on_right: Mask) -> Hyperplane | None:
    """Return the hyperplane midway between the means along their shrunk linear discriminant."""
    if _is_single(on_right):
        return None
    centers = x[~on_right].mean(axis=0), x[on_right].mean(axis=0)
    within = np.where(on_right[:, None], x - centers[1], x - centers[0])
    normal = solve_shrunk(within, centers[1] - centers[0])
    return _make_hyperplane(normal, 0.0, 0.5 * (centers[0] + centers[1]), 1.0)


def measure_overlap(x: Array, on_right: Mask) -> float:
    """Return the mean share of two groups on the wrong side of the hyperplane by their discriminant."""
    plane = separate_by_discriminant(x, on_right)
    if plane is None:
        return 0.5
    is_beyond = plane.distance(x) > 0.0
    return 0.5 * float(np.mean(is_beyond[~on_right]) + np.mean(~is_beyond[on_right]))


def _is_single(on_right: Mask) -> bool:
    return bool(on_right.all() or not on_right.any())


def _make_hyperplane(coefficients: Array, intercept: float, center: Array, scale: float) -> Hyperplane | None:
    """Return the hyperplane coefficients · z + intercept = 0 of rows z = (x - center) / scale."""
    length = float(np.linalg.norm(coefficients))
    if not length > 0.0:
        return None
    normal = coefficients / length
    point = center - (scale * intercept / length) * normal
    return Hyperplane(normal, float(normal @ point), point=point)
