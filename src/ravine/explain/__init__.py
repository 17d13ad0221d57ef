"""Explanations of fitted trees and hyperplanes: memberships, outliers, boundaries, effects and tests of features.

Names are imported when they are first used (PEP 562), so that a fit loads only what it uses. ``__init__.pyi`` lists
them for type checkers.
"""

from ravine._imports import attach_names

_NAMES = {
    "ravine.explain.boundaries": [
        "Boundary",
        "BoundaryFinder",
        "find_boundaries",
        "format_evidence",
        "get_known_evidence",
    ],
    "ravine.explain.density_curves": ["DensitySummary", "place_points", "summarise_density"],
    "ravine.explain.effects": ["EffectSizes", "GroupMoments", "compare_with_rest"],
    "ravine.explain.facts": [
        "Suggestion",
        "clean_text",
        "describe_completions",
        "describe_evidence",
        "describe_groups",
        "describe_outliers",
        "find_suggestion",
        "format_count",
        "format_plural",
        "list_parameters",
        "shorten",
    ],
    "ravine.explain.feature_tests": ["FeatureTests", "compare_clusters"],
    "ravine.explain.inputs": [
        "check_estimator",
        "encode_any_labels",
        "encode_classes",
        "name_features",
        "open_pipeline",
    ],
}
__all__, __getattr__, __dir__ = attach_names(__name__, _NAMES)
