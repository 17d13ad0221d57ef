"""Certificate of stationarity that also holds at kinks of the index."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ravine._typing import Array
from ravine.hyperplane import Hyperplane
from ravine.index import ClusteringIndex
from ravine.optimise import Questions, find_min_norm_weights, sample_near, transport_to
from ravine.search import Problem, drive

__all__ = ["GradientSample", "Stationarity", "certify", "sample_gradients"]

# Offsets that differ by less than this, in bandwidths, are the same.
SAME_OFFSET = 1e-4


@dataclass(frozen=True)
class Stationarity:
    """Distance of a hyperplane from stationarity; norms are of gradients of log φ, per radian.

    Attributes
    ----------
    norm : float
        Norm of the shortest vector in the convex hull of the sampled gradients: 0 at every local minimum.
    steepest_descent : float
        The steepest descent at the hyperplane itself, by the directional derivatives of eq. (25): the norm of the
        longest of its gradients. At a tie φ is the lower of two functions, so it may descend in some direction although
        the hull contains 0.
    radius : float
        Angle within which gradients were sampled.
    n_gradients : int
        Number of gradients in the hull.
    n_minimisers : int
        Number of offsets that share the lowest index along the hyperplane's normal: more than one at a kink.
    lowest_offset : bool
        Whether the hyperplane's offset is one of them. If not, another offset with the same normal is better, and the
        certificate is for that one.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ravine import MinimumDensityHyperplane, stationarity
    >>> X, _ = make_blobs([60, 40], centers=[[0, 0], [6, 6]], random_state=0)
    >>> certificate = stationarity(MinimumDensityHyperplane(random_state=0).fit(X), X)
    >>> certificate.n_minimisers, certificate.lowest_offset
    (1, True)
    """

    norm: float
    steepest_descent: float
    radius: float
    n_gradients: int
    n_minimisers: int
    lowest_offset: bool


def certify(
    problem: Problem,
    plane: Hyperplane,
    *,
    bandwidth: float,
    alpha: float,
    radius: float,
    n_samples: int,
) -> Stationarity:
    """Compute the smallest element of the sampled Clarke gradient of the index at a hyperplane.

    Parameters
    ----------
    problem : Problem
    plane : Hyperplane
    bandwidth, alpha : float
        Bandwidth of the index, in the units of X, and half-width of F(v).
    radius : float
        Angle within which directions are sampled.
    n_samples : int
        Number of directions.
    """
    if problem.has_no_spread:
        raise ValueError("all rows of X are equal: there is no direction to certify.")
    assert plane.point is not None
    space, settings = problem.space, problem.settings
    index = problem.index(bandwidth=bandwidth / space.unit, alpha=alpha, gamma=settings.gammas[-1])
    assert isinstance(index, ClusteringIndex)
    (v,) = space.to_working(plane.normal[None])
    (near,) = drive(problem.sample, [sample_gradients(index, v, radius, n_samples, problem.rng)])
    offsets = near.minimisers * space.unit + float(plane.normal @ (space.origin - plane.point))
    return Stationarity(
        norm=near.shortest_norm,
        steepest_descent=float(np.linalg.norm(near.hull[: near.n_here], axis=1).max()),
        radius=radius,
        n_gradients=len(near.hull),
        n_minimisers=near.n_here,
        lowest_offset=bool(np.abs(offsets).min() <= max(SAME_OFFSET, 2.0 * settings.penalty.eta) * bandwidth),
    )


@dataclass(frozen=True, eq=False)
class GradientSample:
    """Gradients of log φ near a direction, transported to it.

    Attributes
    ----------
    hull : ndarray of shape (m, d)
        The first ``n_here`` are those at the direction itself.
    n_here : int
        Number of minimisers over b at the direction: more than one at a kink.
    minimisers : ndarray of shape (n_here,)
        Those minimisers, in working units.
    """

    hull: Array
    n_here: int
    minimisers: Array

    @property
    def shortest_norm(self) -> float:
        """Norm of the shortest vector of the convex hull."""
        return float(np.linalg.norm(find_min_norm_weights(self.hull) @ self.hull))


def sample_gradients(
    index: ClusteringIndex, v: Array, radius: float, n_samples: int, rng: np.random.Generator
) -> Questions[GradientSample]:
    """Compute gradients at v and at random directions within the radius, one for every tied minimiser over b."""
    gradients = []
    for point in [v, *(sample_near(v, radius, n_samples, rng) if len(v) > 1 else [])]:
        yield from index.begin(point)
        at_point = yield from index.gradients()
        gradients.append(np.array([transport_to(v, point, g) for g in at_point]))
        if point is v:
            minimisers = index.minima.ties
    return GradientSample(np.concatenate(gradients), len(gradients[0]), minimisers)
