"""Reproduction of the paper "Minimum Density Hyperplanes" (JMLR 2016): studies, baselines, data sets and theory.

Public names are imported when they are first used (PEP 562). Importing the package registers the comparison optimisers
with ravine.
"""

from importlib import import_module
from typing import Any

import ravine_paper.optimise  # noqa: F401

__version__ = "0.1.0"

_NAMES = {
    "ravine_paper.direct": ["solve_directly"],
    "ravine_paper.optimise": ["GradientCheck", "check_gradient"],
    "ravine_paper.theory": [
        "BandwidthPath",
        "BandwidthStep",
        "MaximumMarginHyperplane",
        "Stationarity",
        "bandwidth_path",
        "stationarity",
    ],
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'ravine_paper' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
