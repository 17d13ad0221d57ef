"""Methods that a study compares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Method"]


@dataclass(frozen=True)
class Method:
    """Estimator with its settings.

    Attributes
    ----------
    name : str
        Name on the command line and in file names.
    title : str
        Name in tables and figures.
    make : callable
        Function from a seed to an unfitted estimator.
    settings : str
        Description of the settings.
    """

    name: str
    title: str
    make: Callable[[int], Any]
    settings: str
