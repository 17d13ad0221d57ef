"""Everything that can be chosen about a pursuit, in one place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ravine._typing import Array
from ravine.density import BalancePenalty

__all__ = ["PursuitSettings"]


@dataclass(frozen=True)
class PursuitSettings:
    """Settings of MDP² beyond the bandwidth and the starts.

    Attributes
    ----------
    alpha_min, alpha_max, n_alpha
        The increasing sequence of half-widths of F(v), equally spaced.
    max_iter : int
        Optimiser iterations for each alpha.
    select : {"last", "deepest"}
        Which valid hyperplane of a path is kept: the last (the paper's rule) or the one of largest relative depth.
    polish : bool
        Whether the hyperplane that is kept is then optimised to convergence.
    polish_iter : int
        Most iterations of that.
    tolerance : float
        Relative decrease of φ still to be expected that counts as converged.
    penalty : BalancePenalty
    """

    alpha_min: float = 0.01
    alpha_max: float = 1.5
    n_alpha: int = 12
    max_iter: int = 8
    select: Literal["last", "deepest"] = "deepest"
    polish: bool = True
    polish_iter: int = 200
    tolerance: float = 1e-6
    penalty: BalancePenalty = field(default_factory=BalancePenalty)

    def alphas(self) -> Array:
        """The sequence of alpha."""
        return (
            np.linspace(self.alpha_min, self.alpha_max, self.n_alpha)
            if self.n_alpha > 1
            else np.array([self.alpha_max])
        )
