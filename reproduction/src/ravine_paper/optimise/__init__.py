"""Comparison optimisers on the sphere, and a check of gradients.

Importing this package registers the optimisers: the estimators of ravine then accept their names as ``optimiser``.
"""

from ravine.optimise import register_optimiser
from ravine_paper.optimise.charts import minimise_spherical, minimise_unnormalised
from ravine_paper.optimise.check import GradientCheck, check_gradient
from ravine_paper.optimise.geometry import sample_near, transport_to
from ravine_paper.optimise.min_norm import HullGap, find_hull_gap, find_min_norm_weights
from ravine_paper.optimise.sampling import minimise_by_adaptive_sampling, minimise_by_sampling

__all__ = [
    "GradientCheck",
    "HullGap",
    "check_gradient",
    "find_hull_gap",
    "find_min_norm_weights",
    "minimise_by_adaptive_sampling",
    "minimise_by_sampling",
    "minimise_spherical",
    "minimise_unnormalised",
    "sample_near",
    "transport_to",
]

register_optimiser("bfgs", minimise_unnormalised)
register_optimiser("spherical", minimise_spherical)
register_optimiser("gradient_sampling", minimise_by_sampling)
register_optimiser("adaptive_gradient_sampling", minimise_by_adaptive_sampling)
