"""Interface between a projection index and the search that minimises it.

A projection index assigns a number to every direction; the search looks for the direction where it is lowest. To add
one, write a class with the members of `ProjectionIndex` and name it in `ravine.search.SearchSettings` as ``new_index``.
`ClusteringIndex` and `SemiSupervisedIndex` are the two indices of the paper.
"""

from __future__ import annotations

from typing import Protocol

from ravine._typing import Array
from ravine.index.describe import Separation
from ravine.optimise import Questions, SphereObjective
from ravine.rows import Sample

__all__ = ["ProjectionIndex"]


class ProjectionIndex(SphereObjective, Protocol):
    """Function on the unit sphere that a search minimises, for one start.

    Every method that needs the rows is a generator: it yields lists of requests (`ravine.rows.questions`) and receives
    their answers, so that one pass over the rows serves many starts. A method that needs nothing yields nothing.
    `begin`, `set_tangent`, `evaluate`, `differentiate` and `accept` come from `SphereObjective`: an optimiser calls no
    others.

    Attributes
    ----------
    sample : Sample
        The rows, in working units.
    bandwidth : float
        Length scale of the index, in working units; it is reported with the hyperplane.
    alpha : float
        Half-width of the interval F(v) of allowed offsets, eq. (7), in standard deviations. The search increases it.
    gamma : float
        Weight of the labels, eq. (16). The search increases it.
    n_evaluations, n_tied : int
        Number of evaluations so far, and of those with several minimising offsets.
    certified : bool
        Whether the offset was a proven global minimiser in all evaluations.
    """

    sample: Sample
    bandwidth: float
    alpha: float
    gamma: float
    n_evaluations: int
    n_tied: int
    certified: bool

    @property
    def is_interior(self) -> bool:
        """Whether the offset lies strictly inside F(v)."""

    def is_at(self, v: Array) -> bool:
        """Return whether the last evaluation was at v."""

    def adjust(self, alpha: float, gamma: float) -> Questions[bool]:
        """Set alpha and gamma at the current normal; return whether the offset stays, so that nothing else changes."""

    def describe(self, depth: bool = True) -> Questions[Separation]:
        """Return offset, density and, unless ``depth`` is False, depth of the hyperplane at the current normal."""
