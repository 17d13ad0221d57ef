"""Functions on the sphere whose minima are known."""

import math
from types import SimpleNamespace

import numpy as np

from support import reference as ref


def rayleigh(rng, d, condition=100.0):
    """v'Av with known smallest eigenvalue 1 and its eigenvector."""
    basis = np.linalg.qr(rng.standard_normal((d, d)))[0]
    A = basis @ np.diag(np.linspace(1.0, condition, d)) @ basis.T
    return SimpleNamespace(
        function=lambda v: v @ A @ v, gradient=lambda v: 2.0 * A @ v, minimum=1.0, minimiser=basis[:, 0]
    )


def linear(rng, d):
    a = rng.standard_normal(d)
    return SimpleNamespace(
        function=lambda v: a @ v, gradient=lambda v: a, minimum=-np.linalg.norm(a), minimiser=-ref.unit(a)
    )


def largest_coordinate(rng, d):
    """max_i (Qv)_i for a rotation Q: nonsmooth at its minimum, -1/sqrt(d), where all coordinates are equal."""
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return SimpleNamespace(
        function=lambda v: (Q @ v).max(),
        gradient=lambda v: Q[(Q @ v).argmax()],
        minimum=-1.0 / math.sqrt(d),
        minimiser=-Q.T @ np.ones(d) / math.sqrt(d),
    )


def kink_and_slope(rng, d):
    """3 |a.v| + c.v with a and c orthogonal: minimum -|c| at -c/|c|, on the kink."""
    a = ref.unit(rng.standard_normal(d))
    c = rng.standard_normal(d)
    c -= (c @ a) * a
    return SimpleNamespace(
        function=lambda v: 3.0 * abs(a @ v) + c @ v,
        gradient=lambda v: 3.0 * np.sign(a @ v) * a + c,
        minimum=-np.linalg.norm(c),
        minimiser=-ref.unit(c),
    )


SMOOTH, NONSMOOTH = [rayleigh, linear], [largest_coordinate, kink_and_slope]


def start(rng, d):
    return ref.unit(rng.standard_normal(d))


def start_in_basin(rng, d, problem):
    """Start in the hemisphere of the minimiser, since its antipode may be a local minimum, too."""
    v = start(rng, d)
    return v if v @ problem.minimiser > 0.0 else -v
