"""Directions to start from that labelled rows suggest."""

from __future__ import annotations

import math
import re
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ravine._typing import Array
from ravine.index import LabelledRows
from ravine.rows import Moments, as_rows, round_to_power_of_two
from ravine.search.starts import PrincipalAxes

__all__ = ["NAMED_STARTS", "parse_component", "predict_by_svm", "reduce_to_row_space", "suggest_starts"]

NAMED_STARTS = ("svm", "lda", "means")
# Smaller coordinates, in standard deviations, count as 0: liblinear never ends if squares of its gradient underflow.
SMALLEST_COORDINATE = 1e-100
# Fraction of the mean variance that is added to the covariance for "lda".
RIDGE = 0.01
# More labels than this cost time without improving a start.
MOST_LABELS = 10_000
# Larger values of C times the weights only slow down the solver.
MOST_WEIGHT = 1e13


def parse_component(name: str) -> int | None:
    """Return the k of "pc<k>"; None for other names."""
    match = re.fullmatch(r"pc([1-9]\d*)", name)
    return int(match[1]) if match else None


def suggest_starts(
    names: tuple[str, ...],
    labelled: LabelledRows,
    moments: Moments,
    axes: PrincipalAxes,
    *,
    n_features: int,
    C: float,
    rng: np.random.Generator,
) -> Array:
    """Return the unit vectors (rows) with these names, signed to agree with the labels.

    A direction that does not exist is left out.

    Parameters
    ----------
    names : tuple of str
        ``"svm"``: weights of a linear SVM, the rows scaled to a mean variance of 1 for each feature. ``"lda"``: the
        inverse of the covariance of all rows, with a ridge, times the difference of the class means.
        ``"means"``: that difference. ``"pc1"``, ``"pc2"``, ...: principal directions.
    labelled : LabelledRows
    moments : Moments
        Moments of all rows.
    axes : PrincipalAxes
    n_features : int
        Number of features of X, which may exceed the number of working coordinates.
    C : float
        Regularisation of the SVM.
    rng : numpy.random.Generator
        Draws a subset if there are very many labels.
    """
    positive = labelled.signs > 0.0
    means = [np.average(labelled.rows[side], axis=0, weights=labelled.weights[side]) for side in (positive, ~positive)]
    difference = means[0] - means[1]
    found = []
    for name in names:
        number = parse_component(name)
        if number is not None:
            direction = axes.directions[number - 1] if number <= len(axes.directions) else None
        elif name == "svm":
            direction = _fit_svm_weights(labelled, math.sqrt(moments.trace / n_features), C, rng)
        elif name == "lda":
            direction = moments.solve_ridge(RIDGE * moments.trace / n_features, difference)
        else:
            direction = difference
        length = 0.0 if direction is None else float(np.linalg.norm(direction))
        if direction is not None and length > 0.0:
            agrees = float(direction @ difference) >= 0.0 or name in ("svm", "lda")
            found.append(direction / (length if agrees else -length))
    # Two classes with the same mean suggest no direction: take any direction of the data.
    return np.ascontiguousarray(found if found else axes.directions[:1])


def predict_by_svm(
    X: Any, codes: NDArray[np.intp], weights: Array | None, C: float, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Predict the class of each row by linear SVMs, one against the rest, fitted to the labelled rows alone."""
    which = np.flatnonzero(codes >= 0)
    rows = as_rows(X).take(which).astype(np.float64)
    w = np.ones(len(which)) if weights is None else weights[which]
    center = np.average(rows, axis=0, weights=w)
    rows -= center
    unit = round_to_power_of_two(float(np.abs(rows).max(initial=0.0)))  # squares of large values overflow
    rows /= unit
    scale = math.sqrt(float(np.average(np.mean(rows**2, axis=1), weights=w))) or 1.0
    svm = _fit_linear_svm(rows / scale, codes[which], w, C, rng)
    normals = svm.coef_ / scale
    offsets = unit * svm.intercept_ - normals @ center

    def classes(rows: Any) -> NDArray[np.intp]:
        return np.asarray(svm.classes_[np.argmax(rows @ normals.T + offsets, axis=1)])

    return np.asarray(as_rows(X).apply(classes))


def _fit_svm_weights(labelled: LabelledRows, scale: float, C: float, rng: np.random.Generator) -> Array:
    return np.asarray(_fit_linear_svm(labelled.rows / scale, labelled.signs, labelled.weights, C, rng).coef_[0])


def _fit_linear_svm(
    rows: Array, targets: NDArray[Any], weights: Array | None, C: float, rng: np.random.Generator
) -> Any:
    from sklearn.svm import LinearSVC  # here, because it takes longer to load than the rest of the package

    if len(rows) > MOST_LABELS:
        some = np.sort(rng.choice(len(rows), MOST_LABELS, replace=False))
        if len(np.unique(targets[some])) == len(np.unique(targets)):
            rows, targets, weights = rows[some], targets[some], None if weights is None else weights[some]
    rows = np.where(np.abs(rows) < SMALLEST_COORDINATE, 0.0, rows)
    if weights is not None:
        total = C * float(weights.sum())
        weights = weights * (min(max(total, 1.0 / MOST_WEIGHT), MOST_WEIGHT) / total)
    # The solution lies in the space of the rows: with fewer rows than features, solve it in that many coordinates.
    inside, basis = reduce_to_row_space(rows) if len(rows) < rows.shape[1] else (rows, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a start need not be exact, only reproducible
        svm = LinearSVC(C=C, dual=False, tol=1e-10, max_iter=10_000).fit(inside, targets, sample_weight=weights)
    if basis is not None:
        svm.coef_ = svm.coef_ @ basis
    return svm


def reduce_to_row_space(rows: Array) -> tuple[Array, Array]:
    """Return coordinates with the same inner products as the rows, and their orthonormal basis (rows)."""
    values, vectors = np.linalg.eigh(rows @ rows.T)
    kept = values > values[-1] * len(values) * np.finfo(float).eps
    kept[-1] = True  # at least one, even if all rows are zero
    lengths = np.sqrt(np.maximum(values[kept], np.finfo(float).tiny))
    return vectors[:, kept] * lengths, (vectors[:, kept] / lengths).T @ rows
