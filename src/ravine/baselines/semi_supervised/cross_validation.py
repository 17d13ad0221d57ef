"""Choosing the parameters of a method by cross-validation on the labelled rows alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.checks import check_integer, check_number

__all__ = ["check_grid", "check_sizes", "label_folds", "nearest_first", "select"]

# Up to here every label is left out once; with more there are five stratified folds.
LEAVE_ONE_OUT = 10
N_FOLDS = 5
# Parameters are chosen with at most this many labels.
MOST_LABELS = 1000

Fold = tuple[NDArray[np.intp], NDArray[np.intp]]
T = TypeVar("T")


def check_grid(name: str, value: Any, *, low: float = 0.0, open_low: bool = True) -> tuple[float, ...]:
    """One number, or several to choose from."""
    return _one_or_several(name, value, lambda n, v: check_number(n, v, low=low, open_low=open_low), "a number")


def check_sizes(name: str, value: Any) -> tuple[int, ...] | None:
    """One positive integer, several to choose from, or None."""
    if value is None:
        return None
    return _one_or_several(name, value, lambda n, v: check_integer(n, v, low=1), "None, an integer")


def _one_or_several(name: str, value: Any, check: Callable[[str, Any], T], kind: str) -> tuple[T, ...]:
    if isinstance(value, str) or not np.iterable(value):
        return (check(name, value),)
    values = tuple(check(f"{name}[{i}]", v) for i, v in enumerate(value))
    if not values:
        raise ValueError(f"{name} must be {kind} or a sequence to choose from, got {value!r}.")
    return tuple(dict.fromkeys(values))


def nearest_first(grid: Sequence[float], default: float) -> list[float]:
    """The values in the order of their ratio to the default; zero comes last."""
    return sorted(grid, key=lambda value: abs(math.log(value / default)) if value > 0.0 else math.inf)


def label_folds(signs: Array, rng: np.random.Generator) -> list[Fold]:
    """Training and test parts of labelled rows, none if a class has a single label.

    Parameters
    ----------
    signs : ndarray of shape (l,)
        +1 or -1.
    rng : numpy.random.Generator
        Shuffles.
    """
    classes = [rng.permutation(np.flatnonzero(signs == sign)) for sign in (-1.0, 1.0)]
    if min(map(len, classes)) < 2:
        return []
    if len(signs) > MOST_LABELS:
        shares = [max(2, round(MOST_LABELS * len(rows) / len(signs))) for rows in classes]
        classes = [rows[:share] for rows, share in zip(classes, shares, strict=True)]
    order = np.concatenate(classes)
    n_folds = len(order) if len(order) <= LEAVE_ONE_OUT else N_FOLDS
    fold = np.arange(len(order)) % n_folds  # rows of a class follow each other, so the folds are stratified
    return [(order[fold != k], order[fold == k]) for k in range(n_folds)]


def select(n_candidates: int, signs: Array, folds: Sequence[Fold], scores: Callable[[int], Array]) -> tuple[int, float]:
    """Number and cross-validated error of the best candidate, the first of several; (0, NaN) without a choice.

    Parameters
    ----------
    n_candidates : int
        In the order of preference.
    signs : ndarray of shape (l,)
    folds : sequence of pairs of index arrays
    scores : callable
        Decision values of all candidates for the test rows of the fold of this number, of shape (n_test, n_candidates).
    """
    if n_candidates == 1 or not folds:
        return 0, math.nan
    wrong = np.zeros(n_candidates)
    for k, (_, test) in enumerate(folds):
        wrong += ((scores(k) > 0.0) != (signs[test] > 0.0)[:, None]).sum(axis=0)
    best = int(np.argmin(wrong))
    return best, float(wrong[best]) / sum(len(test) for _, test in folds)
