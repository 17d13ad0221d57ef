"""Checks of the constructor parameters of the classifier."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ravine._typing import Array
from ravine.estimators._parameters import (
    check_bandwidth,
    check_callback,
    check_directions,
    check_penalty,
    check_subsample,
    random_generator,
)
from ravine.estimators._validation import check_choice, check_flag, check_integer, check_number, thread_count
from ravine.estimators.label_starts import NAMED_STARTS, principal_number
from ravine.estimators.separator import SeparatorOptions
from ravine.index import LabelPenalty
from ravine.pursuit import PursuitSettings

__all__ = ["pair_options"]

INITS = "names out of 'svm', 'lda', 'means', 'pc1', 'pc2', ..."


def pair_options(estimator: Any, n_features: int) -> dict[str, Any]:
    """Parameters of a classifier, checked, as the arguments of `fit_pairs`."""
    return {
        "options": _separator_options(estimator, n_features),
        "gated": check_choice("multi_class", estimator.multi_class, ("gated", "ovo")) == "gated",
        "n_rounds": check_integer("n_rounds", estimator.n_rounds, low=1),
        "voting": check_choice("voting", estimator.voting, ("soft", "hard")),
        "calibration_C": check_number("calibration_C", estimator.calibration_C, low=0.0, open_low=True),
        "n_threads": thread_count(estimator.n_jobs),
        "rng": random_generator(estimator.random_state),
        "callback": check_callback(estimator.callback),
    }


def _separator_options(estimator: Any, n_features: int) -> SeparatorOptions:
    """Parameters of the separation of two classes, checked."""
    alpha_max = _increasing("alpha_max", estimator.alpha_max, high=1e6)
    settings = PursuitSettings(
        alpha_min=check_number("alpha_min", estimator.alpha_min, low=0.0, high=alpha_max[0], high_name="alpha_max"),
        alpha_max=alpha_max,
        n_alpha=check_integer("n_alpha", estimator.n_alpha, low=1),
        gammas=_increasing("gamma", estimator.gamma),
        max_iter=check_integer("max_iter", estimator.max_iter, low=1),
        select="final",
        every_start=check_choice("select_start", estimator.select_start, ("final", "initial")) == "final",
        polish=check_flag("polish", estimator.polish),
        tolerance=check_number("tol", estimator.tol, low=0.0),
        penalty=check_penalty(estimator.eta, estimator.epsilon),
    )
    form = check_choice("label_penalty", estimator.label_penalty, ("mean", "sum"))
    return SeparatorOptions(
        bandwidth=check_bandwidth(estimator.bandwidth),
        bandwidth_factor=check_number("bandwidth_factor", estimator.bandwidth_factor, low=0.0, open_low=True),
        init=_starts(estimator.init, n_features),
        settings=settings,
        label_penalty=LabelPenalty(form, check_number("margin", estimator.margin, low=0.0)),  # type: ignore[arg-type]
        standard_errors=check_number("alpha_standard_errors", estimator.alpha_standard_errors, low=0.0),
        start_C=check_number("start_C", estimator.start_C, low=0.0, open_low=True),
        start_ridge=check_number("start_ridge", estimator.start_ridge, low=0.0, open_low=True),
        subsample=check_subsample(estimator.subsample),
    )


def _starts(init: Any, n_features: int) -> tuple[str, ...] | Array:
    given = [init] if isinstance(init, str) else init
    if isinstance(given, list | tuple) and given and all(isinstance(name, str) for name in given):
        for name in given:
            if name not in NAMED_STARTS and principal_number(str(name)) is None:
                raise ValueError(f"init must be {INITS}, got {name!r}.")
        return tuple(map(str, given))
    return check_directions(init, INITS, n_features)


def _increasing(name: str, given: Any, *, high: float = np.inf) -> tuple[float, ...]:
    """One positive number, or several in increasing order."""
    values = [given] if np.ndim(given) == 0 else list(given)
    checked = tuple(check_number(name, value, low=0.0, high=high, open_low=True) for value in values)
    if not checked or any(later <= earlier for earlier, later in pairwise(checked)):
        raise ValueError(f"{name} must be a positive number or several in increasing order, got {given!r}.")
    return checked
