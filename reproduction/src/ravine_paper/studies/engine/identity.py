"""Settings on which results depend, as text with every parameter, defaults included."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

__all__ = ["describe_settings", "get_default_arguments"]


def describe_settings(thing: Any) -> str:
    """Return an estimator, or other settings, as text; equal parameters give equal text.

    The representation of an estimator omits parameters that equal their defaults, so it would not change with a
    default. Stored results are recognised by this text.
    """
    if isinstance(thing, type):
        return f"{thing.__module__}.{thing.__qualname__}"
    if hasattr(thing, "get_params"):
        return f"{type(thing).__name__}({_describe_items(thing.get_params(deep=False))})"
    if is_dataclass(thing):
        return f"{type(thing).__name__}({_describe_items({f.name: getattr(thing, f.name) for f in fields(thing)})})"
    if isinstance(thing, Mapping):
        return f"{{{_describe_items(thing)}}}"
    if isinstance(thing, np.ndarray):
        return f"array{thing.shape}{describe_settings(thing.tolist())}"
    if isinstance(thing, set | frozenset):
        return f"set({', '.join(sorted(map(describe_settings, thing)))})"
    if isinstance(thing, Sequence) and not isinstance(thing, str | bytes):
        return f"[{', '.join(map(describe_settings, thing))}]"
    if callable(thing):
        return f"{thing.__module__}.{thing.__qualname__}" if hasattr(thing, "__qualname__") else type(thing).__name__
    return repr(thing)


def _describe_items(parameters: Mapping[Any, Any]) -> str:
    return ", ".join(f"{name}={describe_settings(parameters[name])}" for name in sorted(parameters, key=str))


def get_default_arguments(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the arguments of a function that have defaults."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}
