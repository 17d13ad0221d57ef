"""Ways to get from the starts to hyperplanes: both methods, and variants of MDP²."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["METHODS", "VARIANTS", "Variant", "get_variant"]


@dataclass(frozen=True)
class Variant:
    """Way to get from the starts to hyperplanes.

    Attributes
    ----------
    title : str
    how : {"path", "fixed", "sqp"}
        "path" is MDP² with increasing α; "fixed" minimises the same index at the largest α only, from the start to
        convergence; "sqp" optimises normal and offset jointly.
    settings : mapping
        For "path", changes of the paper's settings; for "fixed", the ``first_angle``; for "sqp", ``random_offset``.
    bandwidth_factor : float
    standardised : bool
    """

    title: str
    how: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    bandwidth_factor: float = 1.0
    standardised: bool = True


METHODS = {
    "sqp": Variant("SQP", "sqp"),
    "mdp2": Variant("MDP²", "path"),
}
# One change at a time, then two.
VARIANTS = {
    "sqp-offsets": Variant("SQP, offsets also drawn in F(v)", "sqp", {"random_offset": True}),
    "raw": Variant("features not standardised", "path", standardised=False),
    "h-050": Variant("bandwidth × 0.5", "path", bandwidth_factor=0.5),
    "h-075": Variant("bandwidth × 0.75", "path", bandwidth_factor=0.75),
    "h-125": Variant("bandwidth × 1.25", "path", bandwidth_factor=1.25),
    "h-150": Variant("bandwidth × 1.5", "path", bandwidth_factor=1.5),
    "h-175": Variant("bandwidth × 1.75", "path", bandwidth_factor=1.75),
    "n-alpha-5": Variant("5 values of α instead of 20", "path", {"n_alpha": 5}),
    "n-alpha-50": Variant("50 values of α", "path", {"n_alpha": 50}),
    "max-iter-1": Variant("1 iteration for each α instead of 5", "path", {"max_iter": 1}),
    "max-iter-200": Variant("200 iterations for each α, tolerance 1e-10", "path", {"max_iter": 200, "tol": 1e-10}),
    "spherical": Variant("BFGS in spherical coordinates", "path", {"optimiser": "spherical"}),
    "fixed-010": Variant("α = 0.9 from the start, first step 0.1 rad", "fixed", {"first_angle": 0.1}),
    "fixed-050": Variant("α = 0.9 from the start, first step 0.5 rad", "fixed", {"first_angle": 0.5}),
    "fixed-100": Variant("α = 0.9 from the start, first step 1 rad", "fixed", {"first_angle": 1.0}),
    "fixed-120": Variant("α = 0.9 from the start, first step 1.2 rad", "fixed", {"first_angle": 1.2}),
    "fixed-150": Variant("α = 0.9 from the start, first step 1.5 rad", "fixed", {"first_angle": 1.5}),
    "fixed-100-h-125": Variant(
        "α = 0.9 from the start, first step 1 rad, bandwidth × 1.25", "fixed", {"first_angle": 1.0}, 1.25
    ),
    "fixed-120-h-150": Variant(
        "α = 0.9 from the start, first step 1.2 rad, bandwidth × 1.5", "fixed", {"first_angle": 1.2}, 1.5
    ),
}


def get_variant(name: str) -> Variant:
    """Return a method or variant by its name."""
    return METHODS[name] if name in METHODS else VARIANTS[name]
