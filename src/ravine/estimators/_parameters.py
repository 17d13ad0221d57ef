"""Validation of constructor parameters, which each estimator declares once in ``_parameter_constraints``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import HasMethods, Interval, validate_parameter_constraints


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


def validate(estimator: Any) -> None:
    """Raise an error that names the first parameter of an estimator that is not valid, and what is allowed."""
    constraints = estimator._parameter_constraints
    values = {name: getattr(estimator, name) for name in constraints}
    validate_parameter_constraints(constraints, values, caller_name=type(estimator).__name__)


def insert_default(estimator: Any, name: str, make_default: Callable[[], Any], parameters: Mapping[str, Any]) -> None:
    """Put the default object in place of None if some parameters of it, such as "hyperplane__bandwidth", are set."""
    is_missing = getattr(estimator, name) is None and name not in parameters
    if is_missing and any(key.startswith(f"{name}__") for key in parameters):
        setattr(estimator, name, make_default())
