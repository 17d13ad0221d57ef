"""The balance penalty, and what a minimisation over b returns."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from ravine._typing import Array

__all__ = ["BalancePenalty", "Minima"]


@dataclass(frozen=True)
class BalancePenalty:
    """The penalty for b outside F(v), eq. (10), with η in units of h (scale-equivariant).

    In units of h and of the kernel's peak, ``L`` is exp(-1/2) and the penalty of a distance e is
    ``L / eta**epsilon * e**(1 + epsilon)``.
    """

    eta: float = 0.01
    epsilon: float = 1.0 - 1e-6

    def __post_init__(self) -> None:
        # Then density plus penalty is strictly convex outside F(v): |f''| <= 1, penalty'' >= L ε (1 + ε) / η there.
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


@dataclass(frozen=True)
class Minima:
    """The set B(v) of global minimisers of the penalised density over b, lowest first.

    Attributes
    ----------
    b : float
        The lowest minimiser.
    log_index : float
        Log of the penalised density there, in units of the kernel's peak.
    log_density, slope, curvature : float
        Of the density itself: its log and the derivatives of that, in units of h.
    side : int
        -1 or +1 where b lies outside the lower or upper end of F(v) (by at most η), else 0.
    ties : ndarray of shape (k,)
        All minimisers within tolerance, ``b`` first.
    certified : bool
        Whether no other b can be lower by more than the tolerance.
    rows : ndarray of shape (k, 6), optional
        b, log_index, log_density, slope, curvature and side of all ties.
    half : float, optional
        F(v) is [-half, half], where that is not known from ``side``.
    """

    b: float
    log_index: float
    log_density: float
    slope: float
    curvature: float
    side: int
    ties: Array
    certified: bool
    rows: Array | None = field(default=None, repr=False)
    half: float | None = field(default=None, repr=False)

    @property
    def density_share(self) -> float:
        """The density's part of the penalised density."""
        return math.exp(self.log_density - self.log_index)

    @property
    def unpenalised(self) -> bool:
        """Whether nothing but the density counts at the lowest minimiser."""
        return self.log_index == self.log_density

    def placed(self, half: float) -> Minima:
        """The same with its side of F(v) = [-half, half]."""
        return replace(self, side=int(self.b > half) - int(self.b < -half), half=half)

    def each(self) -> list[Minima]:
        """Every tied minimiser in the place of the lowest."""
        if self.rows is None or len(self.rows) == 1:
            return [self]
        found = [Minima.from_kernel(self.rows[k : k + 1], self.certified, 0) for k in range(len(self.rows))]
        return found if self.half is None else [m.placed(self.half) for m in found]

    @classmethod
    def from_kernel(cls, rows: Array, certified: bool, _: int) -> Minima:
        """Unpack what the kernels return."""
        b, log_index, log_density, slope, curvature, side = rows[0].tolist()
        return cls(b, log_index, log_density, slope, curvature, int(side), rows[:, 0], certified, rows)
