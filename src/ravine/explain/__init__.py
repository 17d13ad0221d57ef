"""Explanations of a fitted estimator that plotting, report and command line share."""

from ravine.explain.effects import EffectSizes, GroupMoments, compare_with_rest
from ravine.explain.labels import encode_any_labels
from ravine.explain.names import name_features
from ravine.explain.text import clean_text, format_count, format_plural, shorten

__all__ = [
    "EffectSizes",
    "GroupMoments",
    "clean_text",
    "compare_with_rest",
    "encode_any_labels",
    "format_count",
    "format_plural",
    "name_features",
    "shorten",
]
