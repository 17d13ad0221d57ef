"""Optimisation on the unit sphere. Knows nothing of densities."""

from ravine.optimise.check import GradientCheck, check_gradient
from ravine.optimise.objective import Asking, FunctionObjective, SphereObjective, run
from ravine.optimise.sphere import Memory, SphereResult, minimise_on_sphere

__all__ = [
    "Asking",
    "FunctionObjective",
    "GradientCheck",
    "Memory",
    "SphereObjective",
    "SphereResult",
    "check_gradient",
    "minimise_on_sphere",
    "run",
]
