"""The report of a fitted estimator."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ravine._files import write_text
from ravine._typing import Array
from ravine.checks import check_integer
from ravine.estimators import MinimumDensityClassifier, MinimumDensityHyperplane, MinimumDensityTree
from ravine.explain import name_features
from ravine.report.findings import find
from ravine.report.pack import Budget, Naming, pack
from ravine.report.page import render
from ravine.report.text import shortened
from ravine.report.words import headline, parameters, story, versions, warnings_of
from ravine.rows.inputs import validate_array

__all__ = ["write_report"]

MOST_BYTES, MOST_ROWS = 3_000_000, 20_000
# Of what the caller adds: notes, and characters of each.
MOST_NOTES, NOTE_CHARACTERS = 100, 600


def write_report(
    path: str | os.PathLike[str],
    estimator: MinimumDensityTree | MinimumDensityHyperplane | MinimumDensityClassifier,
    X: ArrayLike,
    *,
    feature_names: Sequence[str] | None = None,
    labels_true: ArrayLike | None = None,
    label_name: str = "label",
    row_keys: ArrayLike | None = None,
    key_name: str = "row",
    source: str = "the data",
    settings: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
    centre: ArrayLike | None = None,
    scale: ArrayLike | None = None,
    max_rows: int = 2000,
) -> None:
    """Write a report that opens in any browser: one HTML file that needs nothing else, no network either.

    It tells what was done, shows the clusters (or classes) with the features that set them apart, the tree to click
    through with the projected density of every split, a slider for the number of clusters where the tree allows it, the
    settings, and how to cite. It holds summaries of all rows and a sample of them, at most 3 MB for any number of rows.
    Where the estimator was fitted with weights, densities, sizes and means are nevertheless of rows, not of weights.

    Parameters
    ----------
    path : path-like
        The file; it is written whole or not at all, and replaced if it is there.
    estimator : MinimumDensityTree, MinimumDensityHyperplane or MinimumDensityClassifier
        Fitted.
    X : array-like of shape (n_samples, n_features)
        The rows of the fit, as the estimator saw them. Others are possible, and the report says so.
    feature_names : sequence of str, optional
        By default those seen in the fit, or x0, x1, ...
    labels_true : array-like of shape (n_samples,), optional
        Known labels (None, NaN or -1 where there is none): for clusterings to compare with, for a classifier those of
        the fit.
    label_name : str, default="label"
        What the labels are called.
    row_keys : array-like of shape (n_samples,), optional
        What names the rows; by default their numbers from 0.
    key_name : str, default="row"
        What that is called.
    source : str, default="the data"
        Where the rows are from, for example the name of a file.
    settings : mapping, optional
        Settings of the run to be listed beside the parameters of the estimator.
    notes : sequence of str, optional
        What else a reader should know, for example how missing values were treated.
    centre, scale : array-like of shape (n_features,), optional
        If X was standardised: ``scale * X + centre`` has the original units, in which means and rows are then shown.
    max_rows : int, default=2000
        Most rows of the sample; never more than 20,000, and fewer if the file would be too large.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import make_blobs
    >>> from ravine import MinimumDensityTree
    >>> from ravine.report import write_report
    >>> X, y = make_blobs([60, 50, 40], centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> mdt = MinimumDensityTree(n_clusters=3, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "report.html"
    ...     write_report(path, mdt, X, feature_names=["length", "width"], source="blobs")
    ...     "3 clusters in blobs" in path.read_text(encoding="utf-8")
    True
    """
    if not isinstance(estimator, MinimumDensityTree | MinimumDensityHyperplane | MinimumDensityClassifier):
        raise TypeError(
            "estimator must be a fitted MinimumDensityTree, MinimumDensityHyperplane or MinimumDensityClassifier, got "
            f"{type(estimator).__name__}. Of a pipeline take the last step, and X as the other steps transform it."
        )
    check_is_fitted(estimator)
    most = check_integer("max_rows", max_rows, low=1)
    rows = validate_array(estimator, X, reset=False)
    n, d = rows.shape
    budget = Budget(min(most, n, MOST_ROWS))
    naming = Naming(
        name_features(feature_names, d, estimator), _keys(row_keys, n), key_name, label_name,
        _column("centre", centre, d, 0.0), _column("scale", scale, d, 1.0),
    )  # fmt: skip
    if not (naming.scale != 0.0).all():
        raise ValueError(
            f"scale must not be zero, as it is for {naming.features[int(np.argmin(naming.scale != 0.0))]!r}."
        )
    if isinstance(notes, str):
        raise TypeError("notes must be a sequence of texts, not one text: put it in a list.")
    origin = shortened(source, 120)
    found = find(estimator, rows, labels_true)
    run, mine = parameters(estimator, settings)
    said = [shortened(note, NOTE_CHARACTERS) for note in notes[:MOST_NOTES]]
    while True:
        data = pack(found, naming, budget)
        text = render(
            data,
            title=headline(found, origin),
            story=story(found, origin),
            notes=[*warnings_of(found, len(data["sample"]["keys"])), *said],
            tables=[
                ("Settings of this run", run),
                (f"Parameters of {type(estimator).__name__}", mine),
                ("Versions", versions()),
            ],
        )
        if len(text.encode("utf-8")) <= MOST_BYTES or budget.rows == 0:
            break
        budget = budget.halved()
    write_text(path, text)


def _keys(given: ArrayLike | None, n_rows: int) -> Any:
    if given is None:
        return None
    keys = np.asarray(given)
    if keys.shape != (n_rows,):
        raise ValueError(f"row_keys must be {n_rows} names, one for each row of X, got shape {keys.shape}.")
    return keys


def _column(name: str, given: ArrayLike | None, n_features: int, default: float) -> Array:
    """One number for each feature."""
    if given is None:
        return np.full(n_features, default)
    values = np.asarray(given, dtype=np.float64)
    if values.shape != (n_features,) or not np.isfinite(values).all():
        raise ValueError(f"{name} must be {n_features} finite numbers, one for each column of X, got {given!r}.")
    return values
