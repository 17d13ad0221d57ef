"""Checks of the constructor parameters of the classifier."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ravine._typing import Array
from ravine.checks import (
    check_callback,
    check_choice,
    check_flag,
    check_integer,
    check_number,
    count_threads,
    make_generator,
)
from ravine.index import LabelPenalty
from ravine.optimise import OPTIMISERS
from ravine.search import PursuitSettings
from ravine.search.label_starts import NAMED_STARTS, principal_number
from ravine.search.separator import SeparatorOptions
from ravine.search.settings import MOST_ALPHAS, check_bandwidth, check_directions, check_penalty, check_subsample

__all__ = ["pair_options"]

INITS = "one or several of 'svm', 'lda', 'means', 'pc1', 'pc2', ..."


def pair_options(estimator: Any, n_features: int) -> dict[str, Any]:
    """Parameters of a classifier, checked, as the arguments of `fit_pairs`."""
    return {
        "options": _separator_options(estimator, n_features),
        "gated": check_choice("multi_class", estimator.multi_class, ("gated", "ovo")) == "gated",
        "n_rounds": check_integer("n_rounds", estimator.n_rounds, low=1),
        "voting": check_choice("voting", estimator.voting, ("soft", "hard")),
        "calibration_C": check_number("calibration_C", estimator.calibration_C, low=1e-12, high=1e12),
        "n_threads": count_threads(estimator.n_jobs),
        "rng": make_generator(estimator.random_state),
        "callback": check_callback(estimator.callback),
    }


def _separator_options(estimator: Any, n_features: int) -> SeparatorOptions:
    """Parameters of the separation of two classes, checked."""
    alpha_max = _increasing("alpha_max", estimator.alpha_max, high=1e6)
    settings = PursuitSettings(
        alpha_min=check_number("alpha_min", estimator.alpha_min, low=0.0, high=alpha_max[0], high_name="alpha_max"),
        alpha_max=alpha_max,
        n_alpha=check_integer("n_alpha", estimator.n_alpha, low=1, high=MOST_ALPHAS),
        gammas=_increasing("gamma", estimator.gamma, high=1e100),
        max_iter=check_integer("max_iter", estimator.max_iter, low=1),
        select="final",
        every_start=check_choice("select_start", estimator.select_start, ("final", "initial")) == "final",
        polish=check_flag("polish", estimator.polish),
        tolerance=check_number("tol", estimator.tol, low=0.0),
        penalty=check_penalty(estimator.eta, estimator.epsilon),
        optimiser=check_choice("optimiser", estimator.optimiser, tuple(OPTIMISERS)),
    )
    form = check_choice("label_penalty", estimator.label_penalty, ("mean", "sum"))
    return SeparatorOptions(
        bandwidth=check_bandwidth(estimator.bandwidth),
        bandwidth_factor=check_number("bandwidth_factor", estimator.bandwidth_factor, low=1e-6, high=1e6),
        init=_starts(estimator.init, n_features),
        settings=settings,
        label_penalty=LabelPenalty(form, check_number("margin", estimator.margin, low=0.0, high=1e6)),  # type: ignore[arg-type]
        standard_errors=check_number("alpha_standard_errors", estimator.alpha_standard_errors, low=0.0),
        index_factor=check_number("alpha_index_factor", estimator.alpha_index_factor, low=1.0),
        start_C=check_number("start_C", estimator.start_C, low=1e-12, high=1e12),
        start_ridge=check_number("start_ridge", estimator.start_ridge, low=1e-12, high=1e12),
        subsample=check_subsample(estimator.subsample),
    )


def _starts(init: Any, n_features: int) -> tuple[str, ...] | Array:
    given = [init] if isinstance(init, str) else init.tolist() if isinstance(init, np.ndarray) else init
    if not isinstance(given, list | tuple) or not any(isinstance(name, str) for name in given):
        return check_directions(init, INITS, n_features)
    for name in given:
        if name not in NAMED_STARTS and (not isinstance(name, str) or principal_number(name) is None):
            raise ValueError(f"init must be {INITS}, got {name!r}.")
    if all((principal_number(name) or 0) > n_features for name in given):
        raise ValueError(f"init is {init!r}, but X has only {n_features} columns.")
    return tuple(given)


def _increasing(name: str, given: Any, *, high: float) -> tuple[float, ...]:
    """One positive number, or several in increasing order."""
    allowed = f"{name} must be a positive number (at most {high:g}) or several in increasing order, got {given!r}"
    try:
        values = list(given) if np.iterable(given) and not isinstance(given, str) else [given]
        checked = tuple(check_number(name, value, low=0.0, high=high, open_low=True) for value in values)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{allowed}.") from error
    if not checked or any(later <= earlier for earlier, later in pairwise(checked)):
        raise ValueError(f"{allowed}.")
    return checked
