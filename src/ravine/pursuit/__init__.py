"""MDP²: minimising the index over the sphere, for an increasing alpha, from several starts."""

from ravine.pursuit.bandwidth import BandwidthRule, resolve_bandwidth
from ravine.pursuit.columns import go_on_in_all_columns, orthonormal_rows
from ravine.pursuit.direct import follow_directly
from ravine.pursuit.driver import drive
from ravine.pursuit.levels import subsample_levels
from ravine.pursuit.narrowing import narrow
from ravine.pursuit.path import Path, Stage, polish
from ravine.pursuit.pursue import Pursuit, pursue
from ravine.pursuit.settings import PursuitSettings
from ravine.pursuit.starts import PrincipalAxes, choose_starts, random_starts, unusual_starts
from ravine.pursuit.stationarity import ClarkeSample, sample_clarke

__all__ = [
    "BandwidthRule",
    "ClarkeSample",
    "Path",
    "PrincipalAxes",
    "Pursuit",
    "PursuitSettings",
    "Stage",
    "choose_starts",
    "drive",
    "follow_directly",
    "go_on_in_all_columns",
    "narrow",
    "orthonormal_rows",
    "polish",
    "pursue",
    "random_starts",
    "resolve_bandwidth",
    "sample_clarke",
    "subsample_levels",
    "unusual_starts",
]
