"""Indices of rows in memory whose stages run in C++: one call optimises a start for one alpha, without the GIL.

They are the same functions as `ClusteringIndex` and `SemiSupervisedIndex`. The generators of these are the reference
for tests, and serve files, clusters and other optimisers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ravine import _kernels
from ravine._typing import Array
from ravine.density import Minima
from ravine.index.base import Separation
from ravine.index.clustering import ClusteringIndex
from ravine.index.semi_supervised import SemiSupervisedIndex
from ravine.optimise import Memory, Questions, SphereResult


class CompiledIndex(ClusteringIndex):
    """Base class of the compiled indices, for a sample with ``stage_rows``.

    The projections are shared with the generators of the base class, so both can be used alternately.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._minima: Minima | None = None
        sample, penalty = self.sample, self.penalty
        assert sample.stage_rows is not None
        self._kernel = _kernels.Index(
            sample.stage_rows, sample.origin, sample.unit, sample.weights, self.moments.covariance,
            self._projections.p, self._projections.q, sample.total, sample.lightest, self.bandwidth,
            penalty.factor, penalty.epsilon, penalty.eta,
        )  # fmt: skip
        self._counted = 0, 0  # evaluations and ties of the kernel that are counted already

    @property
    def minima(self) -> Minima:
        """Minimisers over b at the current normal."""
        if self._minima is None:
            self._minima = Minima.from_kernel(*self._kernel.minima)
        return self._minima

    @minima.setter
    def minima(self, minima: Minima) -> None:
        self._kernel.forget()
        self._minima = minima

    def begin(self, v: Array) -> Questions[tuple[float, Array]]:
        """Go to v and return value and gradient; project only if not there already."""
        self._prepare()
        value, gradient, cov_v = self._kernel.begin(np.ascontiguousarray(v))
        self._settle(v, cov_v)
        return value, gradient
        yield

    def minimise(
        self, v: Array, *, max_iter: int, tolerance: float, memory: Memory, largest_angle: float = math.pi
    ) -> Questions[SphereResult]:
        """Minimise the index from v by L-BFGS, as `minimise_on_sphere` does."""
        self._prepare()
        limits = max_iter, tolerance, largest_angle
        *_, n_pairs, cov_v = found = self._kernel.minimise(
            np.ascontiguousarray(v), *limits, *memory.buffers(len(v)), memory.size, len(memory)
        )
        memory.resize(n_pairs)
        result = SphereResult(*found[:7])
        self._settle(result.v, cov_v)
        return result
        yield

    def adjust(self, alpha: float, gamma: float) -> Questions[bool]:
        """Set alpha and gamma at the current normal; return whether b stays, so that nothing else changes."""
        if not self._kernel.has_normal:
            return (yield from super().adjust(alpha, gamma))
        self.alpha, self.gamma = alpha, gamma
        self._prepare()
        stays = self._kernel.adjust()
        self._minima = None
        self._count()
        return stays

    def describe(self, depth: bool = True) -> Questions[Separation]:
        """Return offset, density and, unless ``depth`` is False, depth of the hyperplane at the current normal."""
        if not self._kernel.has_normal:
            return (yield from super().describe(depth))
        return Separation(self.minima.b, *self._kernel.describe(depth))

    def _prepare(self) -> None:
        """Pass the parameters that may have changed to the kernel."""
        kernel = self._kernel
        kernel.alpha, kernel.gamma, kernel.exact, kernel.offsets = self.alpha, self.gamma, self.exact, self.offsets

    def _settle(self, v: Array, cov_v: Array) -> None:
        """Take over the state of the kernel."""
        self._v, self._cov_v, self._pending, self._minima = v, cov_v, [], None
        self._count()

    def _count(self) -> None:
        kernel, before = self._kernel, self._counted
        self._counted = kernel.n_evaluations, kernel.n_tied
        self.n_evaluations += self._counted[0] - before[0]
        self.n_tied += self._counted[1] - before[1]
        self.certified &= kernel.certified

    def _set_direction(self, v: Array) -> None:
        self._kernel.forget()
        super()._set_direction(v)

    def _rotate(self, t: float, v: Array) -> None:
        self._kernel.forget()
        super()._rotate(t, v)


class CompiledClusteringIndex(CompiledIndex):
    """`ClusteringIndex` with compiled stages."""


class CompiledSemiSupervisedIndex(CompiledIndex, SemiSupervisedIndex):
    """`SemiSupervisedIndex` with compiled stages."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._kernel.set_labels(np.ascontiguousarray(self._rows), self._signs, self._costs, self._margin)

    def _settle(self, v: Array, cov_v: Array) -> None:
        super()._settle(v, cov_v)
        self._p = self._rows @ v
