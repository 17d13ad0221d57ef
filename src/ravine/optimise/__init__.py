"""Optimisation on the unit sphere and in a vector space, independent of densities."""

from collections.abc import Callable

from ravine._kernels import FIRST_ANGLE
from ravine.optimise.line_search import LineFunction, search_weak_wolfe
from ravine.optimise.objective import FunctionObjective, Questions, SphereObjective, TiltedObjective, run
from ravine.optimise.quasi_newton import CurvaturePairs, Solve, VectorResult, minimise_by_lbfgs
from ravine.optimise.sphere import (
    Memory,
    SphereResult,
    make_unit_tangent,
    measure_angle,
    minimise_on_sphere,
    move_on_circle,
    normalise,
    project_to_tangent,
    transport,
)

__all__ = [
    "FIRST_ANGLE",
    "OPTIMISERS",
    "CurvaturePairs",
    "FunctionObjective",
    "LineFunction",
    "Memory",
    "Optimiser",
    "Questions",
    "Solve",
    "SphereObjective",
    "SphereResult",
    "TiltedObjective",
    "VectorResult",
    "make_unit_tangent",
    "measure_angle",
    "minimise_by_lbfgs",
    "minimise_on_sphere",
    "move_on_circle",
    "normalise",
    "project_to_tangent",
    "register_optimiser",
    "run",
    "search_weak_wolfe",
    "transport",
]

# Generator with the parameters (objective, v, *, max_iter, tolerance, memory, resolution) of `minimise_on_sphere`.
Optimiser = Callable[..., Questions[SphereResult]]

# The values of the parameter ``optimiser``.
OPTIMISERS: dict[str, Optimiser] = {"lbfgs": minimise_on_sphere}


def register_optimiser(name: str, optimiser: Optimiser) -> None:
    """Make an optimiser available to every search under a new name.

    Parameters
    ----------
    name : str
        Value of the parameter ``optimiser`` of the estimators.
    optimiser : callable
        Generator with the parameters of `minimise_on_sphere`. It asks the objective, a `SphereObjective`, for values
        and gradients, and returns a `SphereResult`.

    Raises
    ------
    ValueError
        If another optimiser has this name.
    """
    if OPTIMISERS.setdefault(name, optimiser) is not optimiser:
        raise ValueError(f"an optimiser with the name {name!r} is registered already.")
