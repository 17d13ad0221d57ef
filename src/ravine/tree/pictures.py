"""The way up to the pictures, for the shortcuts named ``plot``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["displays"]


def displays() -> Any:
    """The module `ravine.plotting`, found by its name when a picture is asked for.

    Pictures are made of trees and estimators, so their layer lies above both, and nothing below imports it: a fit never
    loads it, nor matplotlib. A method ``plot`` is only a shortcut for the user and looks its display up here.
    """
    return import_module("ravine.plotting")
