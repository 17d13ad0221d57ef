"""What results depend on, as text: with every parameter, also those left at their defaults."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

__all__ = ["default_arguments", "settings_text"]


def settings_text(thing: Any) -> str:
    """An estimator (or any settings) in full: two of them have the same text if they have the same parameters.

    The representation of an estimator leaves out what equals its defaults, so it stays the same when a default changes.
    """
    if isinstance(thing, type):
        return f"{thing.__module__}.{thing.__qualname__}"
    if hasattr(thing, "get_params"):
        return f"{type(thing).__name__}({_named(thing.get_params(deep=False))})"
    if is_dataclass(thing):
        return f"{type(thing).__name__}({_named({f.name: getattr(thing, f.name) for f in fields(thing)})})"
    if isinstance(thing, Mapping):
        return f"{{{_named(thing)}}}"
    if isinstance(thing, np.ndarray):
        return f"array{thing.shape}{settings_text(thing.tolist())}"
    if isinstance(thing, set | frozenset):
        return f"set({', '.join(sorted(map(settings_text, thing)))})"
    if isinstance(thing, Sequence) and not isinstance(thing, str | bytes):
        return f"[{', '.join(map(settings_text, thing))}]"
    if callable(thing):
        return f"{thing.__module__}.{thing.__qualname__}" if hasattr(thing, "__qualname__") else type(thing).__name__
    return repr(thing)


def _named(parameters: Mapping[Any, Any]) -> str:
    return ", ".join(f"{name}={settings_text(parameters[name])}" for name in sorted(parameters, key=str))


def default_arguments(function: Callable[..., Any]) -> dict[str, Any]:
    """The arguments of a function that have defaults."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}
