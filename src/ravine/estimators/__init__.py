"""The scikit-learn estimators, and the same as functions.

Names are imported when they are first used (PEP 562), so that one estimator does not load the others. ``__init__.pyi``
lists them for type checkers.
"""

from ravine._imports import attach_names

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
    "ravine.rows.scales": ["ScaleWarning"],
    "ravine.validity": ["HalfTest", "ValleyTest"],
}
__all__, __getattr__, __dir__ = attach_names(__name__, _NAMES)
