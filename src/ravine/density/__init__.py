"""One-dimensional Gaussian kernel densities: values, minima and modes. Independent of vectors and hyperplanes."""

from ravine._kernels import DEEP, MARGIN
from ravine.density.projected import (
    ProjectedDensity,
    compute_relative_log_depth,
    compute_silverman_bandwidth,
    find_extrema,
)
from ravine.density.sums import (
    BalancePenalty,
    BinnedDensity,
    Minima,
    SortedDensity,
    Window,
    compute_relevant_distance,
    has_few_rows,
)
from ravine.density.valley import Judgement, Valley, find_valley, judge, measure_evidence, outline_valley, score_valley

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
    "compute_relative_log_depth",
    "compute_relevant_distance",
    "compute_silverman_bandwidth",
    "find_extrema",
    "find_valley",
    "has_few_rows",
    "judge",
    "measure_evidence",
    "outline_valley",
    "score_valley",
]
