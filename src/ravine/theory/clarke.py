"""How far from stationary a direction is, kinks included."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ravine._typing import Array
from ravine.index import ClusteringIndex
from ravine.optimise import Asking, find_min_norm_weights, sample_near, transport_to

__all__ = ["ClarkeSample", "sample_clarke"]


@dataclass(frozen=True, eq=False)
class ClarkeSample:
    """Gradients of log φ near a direction, transported to it.

    Attributes
    ----------
    hull : ndarray of shape (m, d)
        The first ``n_here`` are those at the direction itself.
    n_here : int
        Minimisers over b at the direction: more than one at a kink.
    minimisers : ndarray of shape (n_here,)
        Those minimisers, in working units.
    """

    hull: Array
    n_here: int
    minimisers: Array

    def shortest(self) -> float:
        """Norm of the shortest vector of the convex hull."""
        return float(np.linalg.norm(find_min_norm_weights(self.hull) @ self.hull))


def sample_clarke(
    index: ClusteringIndex, v: Array, radius: float, n_samples: int, rng: np.random.Generator
) -> Asking[ClarkeSample]:
    """Gradients at v and at random directions within the radius: for each, one for every tied minimiser over b."""
    found = []
    for point in [v, *(sample_near(v, radius, n_samples, rng) if len(v) > 1 else [])]:
        yield from index.begin(point)
        gradients = yield from index.gradients()
        found.append(np.array([transport_to(v, point, g) for g in gradients]))
        if point is v:
            minimisers = index.minima.ties
    return ClarkeSample(np.concatenate(found), len(found[0]), minimisers)
