"""The scikit-learn estimators, and the same as functions.

Names are imported when they are first used (PEP 562), so that one estimator does not load the others. ``__init__.pyi``
lists them for type checkers.
"""

from importlib import import_module
from typing import Any

_NAMES = {
    "ravine.estimators.classifier": ["MinimumDensityClassifier"],
    "ravine.estimators.functions": [
        "make_search_settings",
        "minimum_density_hyperplane",
        "paper_settings",
        "valley_test",
    ],
    "ravine.estimators.hyperplane": ["MinimumDensityHyperplane", "PathSettings"],
    "ravine.estimators.tree": ["MinimumDensityTree"],
    "ravine.hyperplane": ["NoSplitWarning", "PathStep"],
    "ravine.rows.inputs": ["validate_array"],
    "ravine.validity": ["HalfTest", "ValleyTest"],
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'ravine.estimators' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
