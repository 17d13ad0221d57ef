"""Report of a fitted estimator as one HTML file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ravine._files import write_text
from ravine._typing import Array
from ravine.checks import check_integer
from ravine.estimators import MinimumDensityClassifier, MinimumDensityHyperplane, MinimumDensityTree
from ravine.explain import check_estimator, list_parameters, name_features, shorten
from ravine.report.findings import Findings, collect_findings
from ravine.report.narrative import list_caveats, list_versions, write_headline, write_story
from ravine.report.page import render_page
from ravine.report.payload import Budget, Naming, build_payload
from ravine.report.typical import find_typical_rows, render_typical_rows
from ravine.rows.inputs import validate_array

__all__ = ["write_report"]

MAX_BYTES, MAX_ROWS = 3_000_000, 20_000
# Limits for the notes of the caller.
MAX_NOTES, NOTE_CHARACTERS = 100, 600
SOURCE_CHARACTERS, VALUE_CHARACTERS = 120, 300


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
    feature_tests: bool = True,
) -> None:
    """Write a report of a fitted estimator: one self-contained HTML file that opens in any browser, without a network.

    The report describes the method and its result, shows the clusters (or classes) with the features that set them
    apart, the tree of splits with the projected density of each, a slider for the number of clusters where the tree
    allows it, the settings, and how to cite. It contains summaries of all rows and a sample of single rows, in at most
    3 MB for any number of rows. Densities, sizes and means count every row once, also where the estimator was fitted
    with weights.

    Parameters
    ----------
    path : path-like
        The file. It is written completely or not at all; an existing file is replaced.
    estimator : MinimumDensityTree, MinimumDensityHyperplane or MinimumDensityClassifier
        Fitted estimator.
    X : array-like of shape (n_samples, n_features)
        The rows of the fit, as passed to the estimator. Other rows are possible, and the report says so.
    feature_names : sequence of str, optional
        Names of the features; by default those seen in the fit, or x0, x1, ...
    labels_true : array-like of shape (n_samples,), optional
        Known labels; None, NaN or -1 for unlabelled rows. Clusters are compared with them; for a classifier they are
        the labels of the fit.
    label_name : str, default="label"
        Name of the labels.
    row_keys : array-like of shape (n_samples,), optional
        Names of the rows; by default their numbers from 0.
    key_name : str, default="row"
        Heading of the names of the rows.
    source : str, default="the data"
        Origin of the rows, for example the name of a file.
    settings : mapping, optional
        Settings of the run, listed beside the parameters of the estimator.
    notes : sequence of str, optional
        Further notes for the reader, for example on the treatment of missing values.
    centre, scale : array-like of shape (n_features,), optional
        If X was standardised, ``scale * X + centre`` must have the original units; means and rows are then shown in
        them.
    max_rows : int, default=2000
        Largest number of rows in the sample; never more than 20,000, and fewer if the file would be too large.
    feature_tests : bool, default=True
        Whether to show P-values of the features that set each cluster apart (:func:`ravine.compare_clusters`), which
        takes a fit of half of the rows.

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
    check_estimator(estimator)
    most = check_integer("max_rows", max_rows, low=1)
    rows = validate_array(estimator, X, reset=False)
    n, d = rows.shape
    naming = Naming(
        name_features(feature_names, d, estimator), _check_keys(row_keys, n), key_name, label_name,
        _check_vector("centre", centre, d, 0.0), _check_vector("scale", scale, d, 1.0),
    )  # fmt: skip
    if not naming.scale.all():
        raise ValueError(
            f"scale must not be zero, got zero for {naming.features[int(np.argmin(naming.scale != 0.0))]!r}."
        )
    if isinstance(notes, str):
        raise TypeError("notes must be a sequence of texts, not one text: put it in a list.")
    found = collect_findings(estimator, rows, labels_true, feature_tests=feature_tests)
    shown_notes = [shorten(note, NOTE_CHARACTERS) for note in notes[:MAX_NOTES]]
    write_text(
        path,
        _fit_page(found, naming, min(most, n, MAX_ROWS), shorten(source, SOURCE_CHARACTERS), settings, shown_notes),
    )


def _fit_page(
    found: Findings, naming: Naming, n_rows: int, source: str, settings: Mapping[str, Any] | None, notes: list[str]
) -> str:
    """Return the page with as many rows and names as the limit of its size allows."""
    given = [(str(name), shorten(value, VALUE_CHARACTERS)) for name, value in (settings or {}).items()]
    tables = [
        ("Settings of this run", given),
        (f"Parameters of {type(found.estimator).__name__}", list(list_parameters(found.estimator).items())),
        ("Versions", list_versions()),
    ]
    typical = render_typical_rows(find_typical_rows(found, naming), naming.key_name)
    budget = Budget(n_rows)
    while True:
        data = build_payload(found, naming, budget)
        text = render_page(
            data,
            title=write_headline(found, source),
            story=write_story(found, source),
            notes=[*notes, *list_caveats(found, len(data["sample"]["keys"]))],
            tables=tables,
            typical=typical,
        )
        if len(text.encode("utf-8")) <= MAX_BYTES or budget.rows == 0:
            return text
        budget = budget.halve()


def _check_keys(keys: ArrayLike | None, n_rows: int) -> NDArray[Any] | None:
    if keys is None:
        return None
    names = np.asarray(keys)
    if names.shape != (n_rows,):
        raise ValueError(f"row_keys must be {n_rows} names, one for each row of X, got shape {names.shape}.")
    return names


def _check_vector(name: str, given: ArrayLike | None, n_features: int, default: float) -> Array:
    """Return one finite number for each feature."""
    if given is None:
        return np.full(n_features, default)
    values = np.asarray(given, dtype=np.float64)
    if values.shape != (n_features,) or not np.isfinite(values).all():
        raise ValueError(f"{name} must be {n_features} finite numbers, one for each feature of X, got {given!r}.")
    return values
