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
from ravine.index.clustering import ClusteringIndex
from ravine.index.describe import Separation
from ravine.index.semi_supervised import SemiSupervisedIndex
from ravine.optimise import Memory, Questions, SphereResult
from ravine.rows import Compute

__all__ = ["CompiledClusteringIndex", "CompiledIndex", "CompiledSemiSupervisedIndex"]


class CompiledIndex(ClusteringIndex):
    """Base class of the compiled indices, for a sample with ``stage_rows``.

    The projections are shared with the generators of the base class, so both can be used alternately.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        sample, penalty = self.sample, self.penalty
        assert sample.stage_rows is not None
        self._kernel = _kernels.Index(
            sample.stage_rows, sample.origin, sample.unit, sample.weights, self.moments.covariance,
            self._projections.p, self._projections.q, sample.total, sample.lightest, self.bandwidth,
            penalty.factor, penalty.epsilon, penalty.eta,
        )  # fmt: skip
        self._counted = 0, 0  # evaluations and ties of the kernel that are counted already

    def begin(self, v: Array) -> Questions[tuple[float, Array]]:
        """Go to v and return value and gradient; project only if not there already."""
        self._prepare()
        v = np.ascontiguousarray(v)
        ((value, gradient, cov_v, minima),) = yield [Compute(lambda: self._kernel.begin(v))]
        self._settle(v, cov_v, minima)
        return value, gradient

    def minimise(
        self, v: Array, *, max_iter: int, tolerance: float, memory: Memory, largest_angle: float = math.pi
    ) -> Questions[SphereResult]:
        """Minimise the index from v by L-BFGS, as `minimise_on_sphere` does."""
        self._prepare()
        pairs, upper, products = memory.buffers(len(v))
        v = np.ascontiguousarray(v)
        limits = max_iter, tolerance, largest_angle
        (found,) = yield [
            Compute(lambda: self._kernel.minimise(v, *limits, pairs, upper, products, memory.size, len(memory)))
        ]
        v, value, gradient, n_iter, n_trials, converged, stalled, n_pairs, cov_v, minima = found
        memory.resize(n_pairs)
        self._settle(v, cov_v, minima)
        return SphereResult(v, value, gradient, n_iter, n_trials, converged, stalled)

    def describe(self, depth: bool = True) -> Questions[Separation]:
        """Return offset, density and, unless ``depth`` is False, depth of the hyperplane at the current normal."""
        if not self._kernel.is_set:
            return (yield from super().describe(depth))
        ((log_density, log_depth),) = yield [Compute(lambda: self._kernel.describe(depth))]
        return Separation(self.minima.b, log_density, log_depth)

    def _minimise_here(self) -> Questions[Minima]:
        if not self._kernel.is_set:
            return (yield from super()._minimise_here())
        self._prepare()
        (minima,) = yield [Compute(self._kernel.minimise_over_b)]
        self._count()
        return Minima.from_kernel(*minima)

    def _prepare(self) -> None:
        """Pass the parameters that may have changed to the kernel."""
        kernel = self._kernel
        kernel.alpha, kernel.gamma, kernel.exact, kernel.offsets = self.alpha, self.gamma, self.exact, self.offsets

    def _settle(self, v: Array, cov_v: Array, minima: tuple[Array, bool, int]) -> None:
        """Take over the state of the kernel."""
        self._v, self._cov_v, self._pending = v, cov_v, []
        self.minima = self._trial = Minima.from_kernel(*minima)
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

    def _settle(self, v: Array, cov_v: Array, minima: tuple[Array, bool, int]) -> None:
        super()._settle(v, cov_v, minima)
        self._p = self._rows @ v
