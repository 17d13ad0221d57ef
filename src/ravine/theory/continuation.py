"""From minimum density to maximum margin: the index followed by continuation as the bandwidth shrinks.

All in the log domain. With a margin m the log of the density is about -(m/h)²/2, so its gradient grows like h⁻² and its
curvature like h⁻⁴; both are carried from one bandwidth to the next in these scales, and so is the length of a step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ravine._typing import Array
from ravine.index import ClusteringIndex
from ravine.optimise import Asking, Memory, minimise_on_sphere
from ravine.search.stages import Stage, describe

__all__ = ["narrow"]

# Relative to the log of the index: what rounding leaves of it, and what is worth another iteration.
RESOLUTION = 1e-15
WORTHWHILE = 1e-12
# Up to so many rows exact sums are cheaper than bins for all of F(v).
FEW_ROWS = 500


def narrow(
    new_index: Callable[[float], ClusteringIndex],
    v: Array,
    start: int,
    bandwidths: Sequence[float],
    *,
    max_iter: int,
    tolerance: float,
) -> Asking[list[Stage]]:
    """Follow a minimiser of the index through decreasing bandwidths: one stage for each.

    Parameters
    ----------
    new_index : callable
        The index for a bandwidth, with its alpha and gamma.
    v : ndarray of shape (d,)
        Unit vector to start from.
    start : int
        Its number.
    bandwidths : sequence of float
        In working units, decreasing.
    max_iter : int
        Optimiser iterations for each.
    tolerance : float
        Relative decrease of φ that counts as converged.
    """
    stages: list[Stage] = []
    memory, angle, last = Memory(), 0.1, None
    for h in bandwidths:
        index = new_index(h)
        index.exact = index.sample.n_rows <= FEW_ROWS
        value, _ = yield from index.begin(v)
        if last is not None:
            memory.rescale((last / h) ** 4)
            angle = max(angle * (h / last) ** 2, 1e-14)
        result = yield from minimise_on_sphere(
            index,
            v,
            max_iter=max_iter,
            tolerance=max(tolerance, WORTHWHILE * abs(value)),
            memory=memory,
            resolution=max(1e-14, RESOLUTION * abs(value)),
            first_angle=angle,
        )
        moved = float(np.linalg.norm(result.v - v))
        v, last = result.v, h
        angle = min(max(moved, angle), 0.1)
        stages.append((yield from describe(index, result, start, (0, 0), depth=False)))
    return stages
