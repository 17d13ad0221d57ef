"""MDP²: the search for the hyperplane of lowest density.

Read `find_hyperplane` first. It takes a `Problem`: rows, weights and labels in working units, with `SearchSettings`.
"""

from ravine.search.hyperplane import Fit, find_hyperplane, fit_hyperplane, points_to_larger
from ravine.search.label_fit import predict_by_svm
from ravine.search.paths import Start, choose_best, follow_paths, screen_starts
from ravine.search.problem import Problem
from ravine.search.safe_separator import find_safe_separator
from ravine.search.separator import Evidence, Separator, find_separator
from ravine.search.settings import (
    BandwidthRule,
    LabelSettings,
    SearchSettings,
    check_bandwidth,
    check_penalty,
    check_representable,
    make_label_settings,
    make_settings,
    resolve_bandwidth,
)
from ravine.search.space import PathLog, WorkingSpace
from ravine.search.stages import Path, Stage, describe_stage, drive, polish
from ravine.search.starts import PrincipalAxes, choose_starts, draw_random_starts

__all__ = [
    "BandwidthRule",
    "Evidence",
    "Fit",
    "LabelSettings",
    "Path",
    "PathLog",
    "PrincipalAxes",
    "Problem",
    "SearchSettings",
    "Separator",
    "Stage",
    "Start",
    "WorkingSpace",
    "check_bandwidth",
    "check_penalty",
    "check_representable",
    "choose_best",
    "choose_starts",
    "describe_stage",
    "draw_random_starts",
    "drive",
    "find_hyperplane",
    "find_safe_separator",
    "find_separator",
    "fit_hyperplane",
    "follow_paths",
    "make_label_settings",
    "make_settings",
    "points_to_larger",
    "polish",
    "predict_by_svm",
    "resolve_bandwidth",
    "screen_starts",
]
