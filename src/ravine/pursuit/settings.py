"""Everything that can be chosen about a pursuit, in one place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ravine.density import BalancePenalty

__all__ = ["PursuitSettings"]


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
