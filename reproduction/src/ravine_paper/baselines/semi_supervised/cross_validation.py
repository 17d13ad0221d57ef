"""Choice of parameters by cross-validation on the labelled rows alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ravine.checks import check_integer, check_number
from ravine_paper._typing import Array

__all__ = ["Fold", "check_grid", "check_sizes", "select_best", "sort_by_nearness", "split_labels"]

# Up to this many labels each is left out once; with more there are five stratified folds.
LEAVE_ONE_OUT = 10
N_FOLDS = 5
# Parameters are chosen with at most this many labels.
MOST_LABELS = 1000

Fold = tuple[NDArray[np.intp], NDArray[np.intp]]
T = TypeVar("T")


def check_grid(name: str, value: Any, *, low: float = 0.0, open_low: bool = True) -> tuple[float, ...]:
    """Validate one number, or several to choose from."""
    return _check_each(name, value, lambda n, v: check_number(n, v, low=low, open_low=open_low), "a number")


def check_sizes(name: str, value: Any) -> tuple[int, ...] | None:
    """Validate one positive integer, several to choose from, or None."""
    if value is None:
        return None
    return _check_each(name, value, lambda n, v: check_integer(n, v, low=1), "None, an integer")


def _check_each(name: str, value: Any, check: Callable[[str, Any], T], kind: str) -> tuple[T, ...]:
    if isinstance(value, str) or not np.iterable(value):
        return (check(name, value),)
    values = tuple(check(f"{name}[{i}]", v) for i, v in enumerate(value))
    if not values:
        raise ValueError(f"{name} must be {kind} or a sequence to choose from, got {value!r}.")
    return tuple(dict.fromkeys(values))


def sort_by_nearness(grid: Sequence[float], default: float) -> tuple[float, ...]:
    """Sort values by their ratio to the default, the nearest first; zero is last."""
    return tuple(sorted(grid, key=lambda value: abs(math.log(value / default)) if value > 0.0 else math.inf))


def split_labels(signs: Array, rng: np.random.Generator) -> list[Fold]:
    """Split labelled rows into training and test sets; there are none if a class has a single label.

    Parameters
    ----------
    signs : ndarray of shape (l,)
        +1 or -1.
    rng : numpy.random.Generator
        Shuffles the rows.
    """
    classes = [rng.permutation(np.flatnonzero(signs == sign)) for sign in (-1.0, 1.0)]
    if min(map(len, classes)) < 2:
        return []
    if len(signs) > MOST_LABELS:
        shares = [max(2, round(MOST_LABELS * len(indices) / len(signs))) for indices in classes]
        classes = [indices[:share] for indices, share in zip(classes, shares, strict=True)]
    order = np.concatenate(classes)
    n_folds = len(order) if len(order) <= LEAVE_ONE_OUT else N_FOLDS
    fold = np.arange(len(order)) % n_folds  # rows of a class are consecutive, so the folds are stratified
    return [(order[fold != k], order[fold == k]) for k in range(n_folds)]


def select_best(
    n_candidates: int, signs: Array, folds: Sequence[Fold], decide: Callable[[int], Array]
) -> tuple[int, float]:
    """Select the first candidate with the smallest cross-validated error.

    Parameters
    ----------
    n_candidates : int
        In order of preference.
    signs : ndarray of shape (l,)
    folds : sequence of pairs of index arrays
    decide : callable
        Takes the number of a fold and returns the decision values of all candidates for its test rows, of shape
        (n_test, n_candidates).

    Returns
    -------
    best : int
        0 if there is only one candidate or no fold.
    error : float
        NaN in these cases.
    """
    if n_candidates == 1 or not folds:
        return 0, math.nan
    wrong = np.zeros(n_candidates)
    for k, (_, test) in enumerate(folds):
        wrong += ((decide(k) > 0.0) != (signs[test] > 0.0)[:, None]).sum(axis=0)
    best = int(np.argmin(wrong))
    return best, float(wrong[best]) / sum(len(test) for _, test in folds)
