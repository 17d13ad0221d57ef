"""Constructor parameters of estimators, as arguments of the functions that check them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

__all__ = ["pick_parameters"]


def pick_parameters(estimator: Any, function: Callable[..., Any], *, exclude: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return those parameters of an estimator that a function takes, by their common names."""
    constructor: Callable[..., Any] = type(estimator)
    return {name: getattr(estimator, name) for name in _find_names(constructor, function) if name not in exclude}


@cache
def _find_names(constructor: Callable[..., Any], function: Callable[..., Any]) -> list[str]:
    """Return the names that the parameters of a constructor and of a function have in common."""
    return sorted(inspect.signature(constructor).parameters.keys() & inspect.signature(function).parameters.keys())
