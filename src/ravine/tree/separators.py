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

Mask = NDArray[np.bool_]


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


def find_margin(x: Array, on_right: Mask) -> Array | None:
    """Return the unit normal of the hyperplane with the least squared hinge loss; its offset is up to the caller."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    center = center_and_scale(x)[1]
    z = x - center
    scale = float(np.sqrt(np.mean(z * z)))
    if _is_single(on_right) or not scale > 0.0:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LinearSVC(dual=False, max_iter=constants.MARGIN_ITERATIONS).fit(z / scale, on_right)
    plane = _make_hyperplane(model.coef_[0], 0.0, center, scale)
    return None if plane is None else plane.normal


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
