"""Minimum density hyperplanes: find the low-density ravines between clusters.

Public names are imported when they are first used (PEP 562).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "GradientCheck": "ravine.optimise",
    "Hyperplane": "ravine.hyperplane",
    "MinimumDensityClassifier": "ravine.estimators",
    "MinimumDensityHyperplane": "ravine.estimators",
    "NoSplitWarning": "ravine.estimators",
    "PathStep": "ravine.estimators",
    "ProjectedDensity": "ravine.density",
    "check_gradient": "ravine.optimise",
    "minimum_density_hyperplane": "ravine.estimators",
    "paper_settings": "ravine.estimators",
}

if TYPE_CHECKING:
    from ravine.density import ProjectedDensity
    from ravine.estimators import (
        MinimumDensityClassifier,
        MinimumDensityHyperplane,
        NoSplitWarning,
        PathStep,
        minimum_density_hyperplane,
        paper_settings,
    )
    from ravine.hyperplane import Hyperplane
    from ravine.optimise import GradientCheck, check_gradient

__all__ = [
    "GradientCheck",
    "Hyperplane",
    "MinimumDensityClassifier",
    "MinimumDensityHyperplane",
    "NoSplitWarning",
    "PathStep",
    "ProjectedDensity",
    "check_gradient",
    "minimum_density_hyperplane",
    "paper_settings",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'ravine' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
