"""Constructor parameters of estimators, as arguments of the functions that check them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["pick_parameters"]


def pick_parameters(estimator: Any, function: Callable[..., Any], *, exclude: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return those parameters of an estimator that a function takes, by their common names."""
    names = inspect.signature(function).parameters.keys() & estimator.get_params(deep=False).keys()
    return {name: getattr(estimator, name) for name in sorted(names - set(exclude))}
