"""Validation of parameters and weights: each check returns the value in one type or raises an error."""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ravine._plurals import count
from ravine._typing import Array

__all__ = [
    "check_callback",
    "check_choice",
    "check_cluster_count",
    "check_enough_rows",
    "check_feature_names",
    "check_flag",
    "check_integer",
    "check_number",
    "check_weights",
    "count_threads",
    "is_missing_value",
    "make_generator",
    "require",
    "restore_on_failure",
]

# Least share of a row in the sum of all weights; below it, fourth moments of whitened rows may overflow.
LEAST_SHARE = 1e-100


def require(valid: Any, what: str) -> None:
    """Raise an error that names an invalid part of an object."""
    if not valid:
        raise ValueError(f"{what} is not valid.")


@contextmanager
def restore_on_failure(estimator: Any) -> Iterator[None]:
    """Restore all attributes of an estimator, feature names included, if the body raises."""
    before = estimator.__dict__.copy()
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


def check_number(
    name: str,
    value: Any,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    open_low: bool = False,
    high_name: str | None = None,
) -> float:
    """Return a real number in [low, high], or (low, high] with ``open_low``.

    ``high_name`` is the name of the parameter that sets ``high``; errors mention it.
    """
    upper = f"{high_name}={high:g}" if high_name else f"{high:g}"
    allowed = f"a number in {'(' if open_low else '['}{low:g}, {upper}{')' if math.isinf(high) else ']'}"
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be {allowed}, got {value!r} of type {type(value).__name__}.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isnan(number) or number < low or number > high or (open_low and number == low) or math.isinf(number):
        raise ValueError(f"{name} must be {allowed}, got {value!r}.")
    return number


def check_integer(name: str, value: Any, *, low: int, high: int | None = None) -> int:
    """Return an integer that is at least ``low`` and, if given, at most ``high``."""
    allowed = f"an integer >= {low}" if high is None else f"an integer from {low} to {high}"
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be {allowed}, got {value!r} of type {type(value).__name__}.")
    if int(value) < low or (high is not None and int(value) > high):
        raise ValueError(f"{name} must be {allowed}, got {value!r}.")
    return int(value)


def check_cluster_count(value: Any, names: tuple[str, ...] = ("auto",)) -> int | None:
    """Return the parameter ``n_clusters``, a positive integer, or None for one of some names."""
    if isinstance(value, str) and value in names:
        return None
    if isinstance(value, str) or value is None:
        allowed = " or ".join(map(repr, names))
        raise ValueError(f"n_clusters must be an integer >= 1 or {allowed}, got {value!r}.")
    return check_integer("n_clusters", value, low=1)


def check_enough_rows(n_clusters: int | None, n_rows: int) -> None:
    """Raise an error if there are fewer rows than clusters; None stands for "auto"."""
    if n_clusters is not None and n_clusters > n_rows:
        raise ValueError(f"n_clusters={n_clusters} is more than the {count(n_rows, 'row')} of X (n_samples={n_rows}).")


def check_feature_names(feature_names: Any, n_features: int) -> list[str]:
    """Return the names of the features as text; x0, x1, ... for None."""
    if feature_names is None:
        return [f"x{j}" for j in range(n_features)]
    names = [str(name) for name in feature_names]
    if isinstance(feature_names, str) or len(names) != n_features:
        got = repr(feature_names) if isinstance(feature_names, str) else len(names)
        raise ValueError(f"feature_names must be {n_features} names, one for each feature of X, got {got}.")
    return names


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Return a string that must be one of ``choices``."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}.")
    return value


def check_flag(name: str, value: Any) -> bool:
    """Return a boolean; integers are rejected."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def count_threads(n_jobs: Any) -> int:
    """Return the number of threads for scikit-learn's ``n_jobs``: None means 1, -1 all cores."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or n_jobs == 0:
        raise ValueError(f"n_jobs must be None or an integer other than 0, got {n_jobs!r}.")
    n = int(n_jobs)
    return n if n > 0 else max(1, (os.cpu_count() or 1) + 1 + n)


def check_weights(sample_weight: ArrayLike | None, n_rows: int) -> Array | None:
    """Return weights as a float64 vector: one for each row, finite, non-negative, not all zero."""
    if sample_weight is None:
        return None
    given = np.asarray(sample_weight)
    try:
        if np.iscomplexobj(given):
            raise TypeError("complex numbers are not weights")
        weights = np.asarray(given, dtype=np.float64, order="C")
    except (ValueError, TypeError) as error:
        raise ValueError(f"sample_weight must be real numbers, one for each row of X: {error}") from error
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must be one-dimensional with one weight for each of the {n_rows} rows of X, "
            f"got shape {weights.shape}."
        )
    if not np.isfinite(weights).all():
        raise ValueError(f"sample_weight contains NaN or infinity (row {int(np.argmin(np.isfinite(weights)))}).")
    if (weights < 0).any():
        raise ValueError(f"sample_weight must be non-negative, got {weights.min():g} in row {int(np.argmin(weights))}.")
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if total == 0.0:
        raise ValueError("sample_weight must contain at least one non-zero number.")
    if not 1e-250 < total < 1e100:
        raise ValueError(f"sample_weight sums to {total:g}: rescale it, since its sum counts as the number of rows.")
    smallest = float(weights[weights > 0.0].min())
    if smallest < LEAST_SHARE * total:
        raise ValueError(
            f"sample_weight contains {smallest:g}, less than {LEAST_SHARE:g} of its sum {total:g}: set such weights to "
            "0."
        )
    return weights


def check_callback(callback: Any) -> Any:
    """Return a callable or None."""
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable or None, got {callback!r}.")
    return callback


def is_missing_value(value: Any) -> bool:
    """Return whether a value is None, NaN of any type, or NA or NaT of pandas."""
    # The last two have no truth value for the comparison with themselves.
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def make_generator(random_state: Any) -> np.random.Generator:
    """Make a generator from anything that scikit-learn accepts as random_state, without using the global state."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None:
        return np.random.default_rng()
    try:
        is_number = isinstance(random_state, numbers.Integral)
        return np.random.default_rng(_expand_seed(random_state) if is_number else _draw_seeds(random_state))
    except ValueError as error:
        raise ValueError(
            f"random_state must be None, a non-negative integer, a RandomState or a Generator, got {random_state!r}."
        ) from error


def _draw_seeds(random_state: Any) -> list[int]:
    from sklearn.utils import check_random_state  # here, so that the bottom layer loads without scikit-learn

    return check_random_state(random_state).randint(0, 2**31, size=4).tolist()  # type: ignore[no-any-return]


# A RandomState takes a tenth of a millisecond to seed, and few seeds are used again and again.
_expand_seed = lru_cache(maxsize=16)(_draw_seeds)
