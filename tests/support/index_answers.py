"""Indices whose questions are answered at once, and the tolerances of their derivatives."""

import math

import numpy as np

from ravine.density import BalancePenalty
from ravine.index import ClusteringIndex
from ravine.rows import DenseSample
from ravine.search import drive


def clusters(rng, n=200, d=3, distance=4.0, width=1.0, share=0.5):
    """Rows of two clusters, `distance` apart on either side of the origin along the first axis."""
    side = np.where(np.arange(n) < share * n, -1.0, 1.0)
    X = width * rng.standard_normal((n, d)) + rng.standard_normal(d)
    X[:, 0] += distance * side
    return X


class Asked:
    """An index whose questions are answered at once, in the units of X."""

    def __init__(self, X, h, alpha, w=None, penalty=None):
        self.sample = DenseSample(X, w)
        bandwidth = h / self.sample.unit
        self.index = ClusteringIndex(self.sample, self.sample.moments(), bandwidth, penalty or BalancePenalty(), alpha)

    def __call__(self, method, *arguments):
        return drive(self.sample, [getattr(self.index, method)(*arguments)])[0]

    def b(self, v):
        """The minimiser in the units of X."""
        return self.index.minima.b * self.sample.unit + self.sample.origin @ v


def slope_tolerance(value, gradient):
    """1e-6 of the gradient's length; each exponent u^2 / 2 is rounded, and that is an error of the whole term."""
    return (1e-6 + 4e-15 * abs(value)) * np.linalg.norm(gradient)


def step_size(value, slope):
    """A step that changes log phi enough to be free of rounding and too little for its higher derivatives."""
    return min(1e-3 / (1.0 + abs(slope)) * math.sqrt(1.0 + abs(value)), 1e-3)
