"""Explanations of a fitted estimator that plotting, report and command line share."""

from ravine.explain.boundaries import (
    Boundary,
    BoundaryFinder,
    find_boundaries,
    format_evidence,
    get_known_evidence,
)
from ravine.explain.density_curves import DensitySummary, place_points, summarise_density
from ravine.explain.effects import EffectSizes, GroupMoments, compare_with_rest
from ravine.explain.facts import (
    Suggestion,
    describe_completions,
    describe_evidence,
    describe_groups,
    describe_outliers,
    describe_shape,
    find_suggestion,
    list_parameters,
)
from ravine.explain.feature_tests import FeatureTests, compare_clusters
from ravine.explain.inputs import check_estimator, encode_any_labels, encode_classes, name_features
from ravine.explain.text import clean_text, format_count, format_plural, shorten

__all__ = [
    "Boundary",
    "BoundaryFinder",
    "DensitySummary",
    "EffectSizes",
    "FeatureTests",
    "GroupMoments",
    "Suggestion",
    "check_estimator",
    "clean_text",
    "compare_clusters",
    "compare_with_rest",
    "describe_completions",
    "describe_evidence",
    "describe_groups",
    "describe_outliers",
    "describe_shape",
    "encode_any_labels",
    "encode_classes",
    "find_boundaries",
    "find_suggestion",
    "format_count",
    "format_evidence",
    "format_plural",
    "get_known_evidence",
    "list_parameters",
    "name_features",
    "place_points",
    "shorten",
    "summarise_density",
]
