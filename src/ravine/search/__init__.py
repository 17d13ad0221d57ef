"""MDP²: minimising the index over the sphere, for an increasing alpha, from several starts."""

from ravine.search.bandwidth import BandwidthRule, resolve_bandwidth
from ravine.search.direct import follow_directly
from ravine.search.driver import drive
from ravine.search.multilevel import Pursuit, pursue
from ravine.search.settings import PursuitSettings
from ravine.search.stages import Path, Stage, polish
from ravine.search.starts import PrincipalAxes, choose_starts, random_starts, unusual_starts
from ravine.search.subsamples import subsample_levels
from ravine.search.wide import go_on_in_all_columns, orthonormal_rows

__all__ = [
    "BandwidthRule",
    "Path",
    "PrincipalAxes",
    "Pursuit",
    "PursuitSettings",
    "Stage",
    "choose_starts",
    "drive",
    "follow_directly",
    "go_on_in_all_columns",
    "orthonormal_rows",
    "polish",
    "pursue",
    "random_starts",
    "resolve_bandwidth",
    "subsample_levels",
    "unusual_starts",
]
