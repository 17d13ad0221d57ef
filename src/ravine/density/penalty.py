"""The balance penalty, and the result of a minimisation over b."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from ravine._typing import Array


@dataclass(frozen=True)
class BalancePenalty:
    """Penalty for b outside F(v), eq. (10), with η in units of h so that it does not depend on the units of the data.

    In units of h and of the kernel's peak, ``L`` is exp(-1/2) and the penalty at a distance e from F(v) is
    ``L / eta**epsilon * e**(1 + epsilon)``. Minimisers lie at most η outside F(v) (Proposition 2).
    """

    eta: float = 0.01
    epsilon: float = 1.0 - 1e-6

    def __post_init__(self) -> None:
        # Up to this limit density plus penalty is strictly convex outside F(v): |f''| <= 1 and
        # penalty'' >= L ε (1 + ε) / η there.
        limit = math.exp(-0.5) * self.epsilon * (1.0 + self.epsilon)
        if not 0.0 < self.epsilon <= 1.0:
            raise ValueError(f"epsilon must lie in (0, 1], got {self.epsilon!r}.")
        if not 1e-150 < self.eta <= limit:
            raise ValueError(
                f"eta must lie in (0, {limit:.3g}] (in bandwidths, for epsilon={self.epsilon:g}), got {self.eta!r}."
            )

    @property
    def factor(self) -> float:
        """L / η^ε in units of h and of the kernel's peak."""
        return math.exp(-0.5) / math.pow(self.eta, self.epsilon)

    def evaluate(self, distance: Array) -> Array:
        """Return the penalty at distances from F(v), in units of h and of the kernel's peak."""
        return np.asarray(self.factor * np.maximum(distance, 0.0) ** (1.0 + self.epsilon))


@dataclass(frozen=True)
class Minima:
    """Set B_C(v) of global minimisers of the penalised density over b (eq. (12) and (23)), lowest first.

    Attributes
    ----------
    b : float
        The lowest minimiser.
    log_index : float
        Log of the penalised density there, in units of the kernel's peak.
    log_density, slope, curvature : float
        Log of the density without the penalty, and its derivatives in units of h.
    side : int
        -1 or +1 if b lies outside the lower or upper end of F(v) (by at most η), else 0.
    ties : ndarray of shape (k,)
        All minimisers within tolerance, ``b`` first.
    certified : bool
        Whether no other b can be lower by more than the tolerance.
    n_evaluations : int
        Number of evaluations of the density that the minimisation took.
    table : ndarray of shape (k, 6), optional
        b, log_index, log_density, slope, curvature and side of all ties.
    half : float, optional
        F(v) is [-half, half]; None if the kernel determined ``side``.
    """

    b: float
    log_index: float
    log_density: float
    slope: float
    curvature: float
    side: int
    ties: Array
    certified: bool
    n_evaluations: int
    table: Array | None = field(default=None, repr=False)
    half: float | None = field(default=None, repr=False)

    @property
    def density_share(self) -> float:
        """Share of the density in the penalised density."""
        return math.exp(self.log_density - self.log_index)

    @property
    def is_unpenalised(self) -> bool:
        """Whether the penalty is zero at the lowest minimiser."""
        return self.log_index == self.log_density

    def mark_side(self, half: float) -> Minima:
        """Return a copy whose ``side`` is relative to F(v) = [-half, half]."""
        return replace(self, side=int(self.b > half) - int(self.b < -half), half=half)

    def list_ties(self) -> list[Minima]:
        """Return one result for each tied minimiser."""
        if self.table is None or len(self.table) == 1:
            return [self]
        rows = (self.table[k : k + 1] for k in range(len(self.table)))
        ties = [Minima.from_kernel(row, self.certified, self.n_evaluations) for row in rows]
        return ties if self.half is None else [m.mark_side(self.half) for m in ties]

    @classmethod
    def from_kernel(cls, table: Array, certified: bool, n_evaluations: int) -> Minima:
        """Make a result from the table of ties, the certificate and the number of evaluations that a kernel returns."""
        b, log_index, log_density, slope, curvature, side = table[0].tolist()
        return cls(b, log_index, log_density, slope, curvature, int(side), table[:, 0], certified, n_evaluations, table)
