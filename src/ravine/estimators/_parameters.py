"""Validation of constructor parameters, which each estimator declares once in ``_parameter_constraints``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import HasMethods, Interval, make_constraint, validate_parameter_constraints


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
    cls: Any = type(estimator)
    for name, allowed in _make_constraints(cls).items():
        value = getattr(estimator, name)
        if not any(constraint.is_satisfied_by(value) for constraint in allowed):
            validate_parameter_constraints(cls._parameter_constraints, {name: value}, caller_name=cls.__name__)


@cache
def _make_constraints(cls: Any) -> dict[str, list[Any]]:
    """Make the constraints of a class once; scikit-learn makes them whenever it validates."""
    given = cls._parameter_constraints
    return {name: list(map(make_constraint, some)) for name, some in given.items() if some != "no_validation"}


def insert_default(estimator: Any, name: str, make_default: Callable[[], Any], parameters: Mapping[str, Any]) -> None:
    """Put the default object in place of None if some parameters of it, such as "hyperplane__bandwidth", are set."""
    is_missing = getattr(estimator, name) is None and name not in parameters
    if is_missing and any(key.startswith(f"{name}__") for key in parameters):
        setattr(estimator, name, make_default())
