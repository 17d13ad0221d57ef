"""One-dimensional Gaussian sums, their minima and modes. Knows nothing of vectors."""

from ravine.density.bins import MARGIN, BinnedDensity, Window
from ravine.density.exact import SortedDensity, relevant_distance
from ravine.density.extrema import find_extrema, relative_log_depth
from ravine.density.penalty import BalancePenalty, Minima
from ravine.density.projected import DEEP, ProjectedDensity
from ravine.density.valley import Judgement, Valley, find_valley, judge

__all__ = [
    "DEEP",
    "MARGIN",
    "BalancePenalty",
    "BinnedDensity",
    "Judgement",
    "Minima",
    "ProjectedDensity",
    "SortedDensity",
    "Valley",
    "Window",
    "find_extrema",
    "find_valley",
    "judge",
    "relative_log_depth",
    "relevant_distance",
]
