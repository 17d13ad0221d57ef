"""Functions that the estimators share: constraints and defaults of parameters, the start of a fit, predictions."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from importlib.metadata import metadata
from importlib.util import find_spec
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import HasMethods, Interval

from ravine.checks import restore_on_failure
from ravine.rows import Rows, limit_library_threads
from ravine.rows.inputs import validate_rows
from ravine.rows.scales import ScaleWarning, describe_hidden_features

# Bases of estimators with the callbacks of scikit-learn.
CALLBACKS: Any = ()
with_callbacks: Any = None
if find_spec("sklearn.callback") is not None:  # from scikit-learn 1.9 on
    from sklearn.callback import CallbackSupportMixin, with_callbacks  # type: ignore[no-redef]

    CALLBACKS = (CallbackSupportMixin,)

Callback = Callable[[Any], object]


class Number(Interval):
    """Finite numbers in an interval; truth values are none."""

    def is_satisfied_by(self, val: Any) -> bool:
        """Return whether the value of a parameter is valid."""
        if isinstance(val, bool | np.bool_) or not super().is_satisfied_by(val):
            return False
        try:
            return math.isfinite(float(val))
        except OverflowError:
            return False


class Splitting(HasMethods):
    """Objects that split rows; strings and estimators, which have a method of this name, do not."""

    def __init__(self) -> None:
        super().__init__(["split"])

    def is_satisfied_by(self, val: Any) -> bool:
        """Return whether the value of a parameter is valid."""
        return not isinstance(val, str | BaseEstimator) and bool(super().is_satisfied_by(val))


def at_least(low: int) -> Number:
    """Allow integers from a number on."""
    return Number(Integral, low, None, closed="left")


def between(low: float, high: float | None, closed: str = "both") -> Number:
    """Allow real numbers."""
    return Number(Real, low, high, closed=closed)


def get_feature_names(estimator: Any) -> tuple[str, ...] | None:
    """Return the names of the features seen in a fit; None if they have none."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else tuple(names.tolist())


def insert_default(estimator: Any, name: str, make_default: Callable[[], Any], parameters: Mapping[str, Any]) -> None:
    """Put the default object in place of None if some parameters of it, such as "hyperplane__bandwidth", are set."""
    is_missing = getattr(estimator, name) is None and name not in parameters
    if is_missing and any(key.startswith(f"{name}__") for key in parameters):
        setattr(estimator, name, make_default())


@cache
def find_documentation() -> str:
    """Return the address of the description of the public names; empty if the package states none."""
    entries = [entry.split(", ", 1) for entry in metadata("ravine").get_all("Project-URL") or []]
    found = [address for name, address in entries if name == "Documentation"]
    return f"{found[0]}/api.md" if found else ""


@contextmanager
def start_fit(estimator: Any, X: Any) -> Iterator[Callable[[Callback | None], Callback | None]]:
    """Delete the attributes of an earlier fit; restore them if the body raises.

    Yields
    ------
    callable
        Returns a function that reports a step to the callbacks of scikit-learn and then calls a callback.
    """
    with _run_callbacks(estimator, X) as watch, restore_on_failure(estimator), limit_library_threads():
        for name in [name for name in vars(estimator) if name.endswith("_")]:
            delattr(estimator, name)
        yield watch


@contextmanager
def _run_callbacks(estimator: Any, X: Any) -> Iterator[Callable[[Callback | None], Callback | None]]:
    """Report start and end of a fit to the callbacks of scikit-learn, which are closed also if the body raises."""
    if with_callbacks is None or not hasattr(estimator, "_skl_callbacks"):
        yield lambda callback: callback
        return
    task = estimator._init_callback_context(max_subtasks=None)
    try:
        task.call_on_fit_task_begin(estimator=estimator, X=X)
        yield partial(partial, _report_step, estimator, task)
        task.call_on_fit_task_end(estimator=estimator, X=X)
    finally:
        with_callbacks(lambda estimator: None)(estimator)


def _report_step(estimator: Any, task: Any, callback: Callback | None, state: Any) -> None:
    step = task.subcontext(task_name="step")
    step.call_on_fit_task_begin(estimator=estimator)
    if callback is not None:
        callback(state)
    step.call_on_fit_task_end(estimator=estimator)


def warn_of_scales(estimator: Any, rows: Rows) -> None:
    """Warn if some features of X hide others; to be called by `fit`."""
    message = describe_hidden_features(rows, getattr(estimator, "feature_names_in_", None))
    if message:
        advice = (
            "Standardise X, for example by StandardScaler in a pipeline; ignore this if all features have one unit."
        )
        warnings.warn(f"{message} {advice}", ScaleWarning, stacklevel=3)


def apply_to_rows(estimator: Any, function: Callable[[Any], NDArray[Any]], X: ArrayLike) -> NDArray[Any]:
    """Apply a function of arrays to X, wherever its rows are."""
    return validate_rows(estimator, X, reset=False).apply(function)  # type: ignore[no-any-return]
