"""Labels of any type as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["label_codes"]


def label_codes(labels: ArrayLike, n_rows: int) -> tuple[NDArray[np.intp], list[Any]]:
    """Codes of the labels and the values that they stand for.

    Missing labels (None, NaN and -1) have the code -1. As for the classifier, labels that are nothing but -1 and +1 are
    two classes.

    Parameters
    ----------
    labels : array-like of shape (n,)
    n_rows : int
    """
    given = np.asarray(labels)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.shape != (n_rows,):
        raise ValueError(f"labels_true must be one label for each of the {n_rows} rows of X, got shape {given.shape}.")
    if given.dtype.kind in "iubU":
        values, codes = np.unique(given, return_inverse=True)
        listed = values.tolist()
    else:
        place: dict[Any, int] = {}
        codes = np.array([place.setdefault(None if _missing(v) else v, len(place)) for v in given.tolist()], np.intp)
        order = sorted(place, key=lambda v: (str(type(v)), str(v)) if isinstance(v, str) else (str(type(v)), v or 0))
        rank = np.empty(len(order), dtype=np.intp)
        rank[[place[v] for v in order]] = np.arange(len(order))
        codes, listed = rank[codes], order
    two_classes = set(listed) - {None} == {-1, 1}
    gone = np.array([v is None or (v == -1 and not isinstance(v, str) and not two_classes) for v in listed], dtype=bool)
    number = np.where(gone, -1, np.cumsum(~gone) - 1)
    return number[codes].astype(np.intp), [v for v, missing in zip(listed, gone, strict=True) if not missing]


def _missing(label: Any) -> bool:
    return label is None or type(label).__name__ in ("NAType", "NaTType") or bool(label != label)
