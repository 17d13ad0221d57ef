"""Optimisation on the unit sphere and in a vector space, independent of densities."""

from collections.abc import Callable, Mapping

from ravine.optimise.charts import minimise_spherical, minimise_unnormalised
from ravine.optimise.check import GradientCheck, check_gradient
from ravine.optimise.min_norm import HullGap, find_hull_gap, find_min_norm_weights
from ravine.optimise.objective import FunctionObjective, Questions, SphereObjective, TiltedObjective, run
from ravine.optimise.quasi_newton import CurvaturePairs, Solve, VectorResult, minimise_by_lbfgs
from ravine.optimise.sampling import minimise_by_adaptive_sampling, minimise_by_sampling
from ravine.optimise.sphere import (
    Memory,
    SphereResult,
    measure_angle,
    minimise_on_sphere,
    project_to_tangent,
    sample_near,
    transport_to,
)

__all__ = [
    "OPTIMISERS",
    "CurvaturePairs",
    "FunctionObjective",
    "GradientCheck",
    "HullGap",
    "Memory",
    "Questions",
    "Solve",
    "SphereObjective",
    "SphereResult",
    "TiltedObjective",
    "VectorResult",
    "check_gradient",
    "find_hull_gap",
    "find_min_norm_weights",
    "measure_angle",
    "minimise_by_adaptive_sampling",
    "minimise_by_lbfgs",
    "minimise_by_sampling",
    "minimise_on_sphere",
    "minimise_spherical",
    "minimise_unnormalised",
    "project_to_tangent",
    "run",
    "sample_near",
    "transport_to",
]

# All have the parameters (objective, v, *, max_iter, tolerance, memory, resolution) and are generators that return a
# SphereResult.
OPTIMISERS: Mapping[str, Callable[..., Questions[SphereResult]]] = {
    "lbfgs": minimise_on_sphere,
    "bfgs": minimise_unnormalised,
    "spherical": minimise_spherical,
    "gradient_sampling": minimise_by_sampling,
    "adaptive_gradient_sampling": minimise_by_adaptive_sampling,
}
