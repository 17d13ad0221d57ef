"""Everything that can be chosen about a pursuit, in one place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ravine._typing import Array
from ravine.checks import check_integer, check_number
from ravine.density import BalancePenalty
from ravine.search.bandwidth import BandwidthRule
from ravine.search.subsamples import SUBSAMPLE

__all__ = [
    "MOST_ALPHAS",
    "PursuitSettings",
    "check_bandwidth",
    "check_directions",
    "check_penalty",
    "check_subsample",
]

# More values of alpha than this are a slip of the pen.
MOST_ALPHAS = 10_000


@dataclass(frozen=True)
class PursuitSettings:
    """Settings of MDP² beyond the bandwidth and the starts.

    Attributes
    ----------
    alpha_min, alpha_max, n_alpha
        The increasing sequence of half-widths of F(v), equally spaced. With several largest values, in increasing
        order, there are ``n_alpha`` more on the way to each, and one result for each.
    max_iter : int
        Optimiser iterations for each alpha.
    gammas : tuple of float
        The increasing weights of the labels: alpha grows at the first, the others follow at the largest alpha.
    select : {"last", "deepest", "final"}
        Which hyperplane of a path is kept: of those that separate two modes the last (the paper's rule for clustering)
        or the one of largest relative depth; or, with labels, the one at the end.
    every_start : bool
        Whether paths are followed from every start, or only from the one where the index is lowest.
    polish : bool
        Whether the hyperplane that is kept is then optimised to convergence.
    polish_iter : int
        Most iterations of that.
    tolerance : float
        Relative decrease of φ still to be expected that counts as converged.
    penalty : BalancePenalty
    optimiser : str
        One of `OPTIMISERS`.
    method : {"mdp2", "sqp"}
        Projection pursuit, or the constrained problem in (v, b) at the largest alpha, with ``polish_iter`` iterations.
    """

    alpha_min: float = 0.01
    alpha_max: tuple[float, ...] = (1.5,)
    n_alpha: int = 12
    max_iter: int = 8
    gammas: tuple[float, ...] = (0.0,)
    select: Literal["last", "deepest", "final"] = "deepest"
    every_start: bool = True
    polish: bool = True
    polish_iter: int = 200
    tolerance: float = 1e-6
    penalty: BalancePenalty = field(default_factory=BalancePenalty)
    optimiser: str = "lbfgs"
    method: Literal["mdp2", "sqp"] = "mdp2"

    def segments(self) -> list[list[float]]:
        """The values of alpha on the way to each of the largest ones."""
        found = []
        for k, largest in enumerate(self.alpha_max):
            n = self.n_alpha if k == 0 else self.n_alpha + 1
            alphas = np.linspace(self.alpha_max[k - 1] if k else self.alpha_min, largest, n).tolist()
            found.append([*alphas[1 if k else 0 : -1], largest])
        return found


def check_bandwidth(rule: Any) -> BandwidthRule:
    """A rule's name, a positive number or a callable."""
    if rule is None or (isinstance(rule, str) and rule != "silverman"):
        raise ValueError(f"bandwidth must be 'silverman', a positive number or a callable, got {rule!r}.")
    if not isinstance(rule, str) and not callable(rule):
        check_number("bandwidth", rule, low=0.0, open_low=True)
    return rule  # type: ignore[no-any-return]


def check_subsample(subsample: Any) -> int | None:
    """Rows of the first subsample; None for no subsamples."""
    if isinstance(subsample, str) and subsample != "auto":
        raise ValueError(f"subsample must be an integer >= 2, 'auto' or None, got {subsample!r}.")
    if subsample is None or isinstance(subsample, str):
        return SUBSAMPLE if subsample == "auto" else None
    return check_integer("subsample", subsample, low=2)


def check_penalty(eta: Any, epsilon: Any) -> BalancePenalty:
    """The balance penalty."""
    return BalancePenalty(
        check_number("eta", eta, low=0.0, open_low=True),
        check_number("epsilon", epsilon, low=0.0, high=1.0, open_low=True),
    )


def check_directions(init: Any, names: str, n_features: int) -> Array:
    """Directions given by the user as rows; ``names`` says what else init may be."""
    allowed = f"init must be {names} or finite directions of shape (k, {n_features})"
    if not np.iterable(init) or not list(init):
        raise ValueError(f"{allowed}, got {init!r}.")
    try:
        directions = np.array(init, dtype=np.float64, ndmin=2)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{allowed}, got {init!r} ({error}).") from error
    if directions.ndim != 2 or directions.shape[1] != n_features:
        raise ValueError(f"{allowed}, got an array of shape {directions.shape}.")
    if not np.isfinite(directions).all():
        raise ValueError(f"{allowed}, got NaN or infinity.")
    return directions
