"""Checks of the constructor parameters that several estimators share."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ravine._typing import Array
from ravine.density import BalancePenalty
from ravine.estimators._validation import check_integer, check_number
from ravine.pursuit import BandwidthRule
from ravine.pursuit.levels import SUBSAMPLE

__all__ = [
    "MOST_ALPHAS",
    "check_bandwidth",
    "check_callback",
    "check_directions",
    "check_penalty",
    "check_subsample",
    "random_generator",
]

# More values of alpha than this are a slip of the pen.
MOST_ALPHAS = 10_000


def check_bandwidth(rule: Any) -> BandwidthRule:
    """A rule's name, a positive number or a callable."""
    if rule is None or (isinstance(rule, str) and rule != "silverman"):
        raise ValueError(f"bandwidth must be 'silverman', a positive number or a callable, got {rule!r}.")
    if not isinstance(rule, str) and not callable(rule):
        check_number("bandwidth", rule, low=0.0, open_low=True)
    return rule  # type: ignore[no-any-return]


def check_subsample(subsample: Any) -> int | None:
    """Rows of the first subsample; None for no subsamples."""
    if isinstance(subsample, str) and subsample != "auto":
        raise ValueError(f"subsample must be an integer >= 2, 'auto' or None, got {subsample!r}.")
    if subsample is None or isinstance(subsample, str):
        return SUBSAMPLE if subsample == "auto" else None
    return check_integer("subsample", subsample, low=2)


def check_callback(callback: Any) -> Any:
    """A callable or None."""
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable or None, got {callback!r}.")
    return callback


def check_penalty(eta: Any, epsilon: Any) -> BalancePenalty:
    """The balance penalty."""
    return BalancePenalty(
        check_number("eta", eta, low=0.0, open_low=True),
        check_number("epsilon", epsilon, low=0.0, high=1.0, open_low=True),
    )


def check_directions(init: Any, names: str, n_features: int) -> Array:
    """Directions given by the user as rows; ``names`` says what else init may be."""
    allowed = f"init must be {names} or finite directions of shape (k, {n_features})"
    if not np.iterable(init) or not list(init):
        raise ValueError(f"{allowed}, got {init!r}.")
    try:
        directions = np.array(init, dtype=np.float64, ndmin=2)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{allowed}, got {init!r} ({error}).") from error
    if directions.ndim != 2 or directions.shape[1] != n_features:
        raise ValueError(f"{allowed}, got an array of shape {directions.shape}.")
    if not np.isfinite(directions).all():
        raise ValueError(f"{allowed}, got NaN or infinity.")
    return directions


def random_generator(random_state: Any) -> np.random.Generator:
    """A generator from anything that scikit-learn takes as random_state; the global state is not used."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None:
        return np.random.default_rng()
    try:
        return np.random.default_rng(check_random_state(random_state).randint(0, 2**31, size=4))
    except ValueError as error:
        raise ValueError(
            f"random_state must be None, a non-negative integer, a RandomState or a Generator, got {random_state!r}."
        ) from error
