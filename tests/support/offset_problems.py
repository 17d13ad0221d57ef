"""Random problems of minimising a penalised density over the offset b."""

import numpy as np

from support import reference as ref

TOLERANCE = 1e-9  # of the kernel's peak: what the minimum is certified to


DEEP = 1e-6  # below this fraction of the peak the tolerance is relative


RELATIVE = 1e-10


def spread_out(rng, n):
    return rng.uniform(0.0, rng.uniform(1.0, 40.0), n)


def clustered(rng, n):
    k = int(rng.integers(1, 6))
    centres, widths = rng.uniform(0.0, 25.0, k), rng.uniform(0.02, 2.0, k)
    which = rng.integers(0, k, n)
    return rng.normal(centres[which], widths[which])


def separated(rng, n):
    return np.where(rng.random(n) < rng.uniform(0.1, 0.9), 0.0, rng.uniform(5.0, 80.0)) + 0.3 * rng.standard_normal(n)


def duplicated(rng, n):
    return rng.choice(rng.uniform(0.0, 15.0, int(rng.integers(1, 6))), n)


def on_a_lattice(rng, n):
    return rng.integers(0, int(rng.integers(1, 12)), n) * rng.uniform(0.5, 4.0)


def symmetric(rng, n):
    half = clustered(rng, (n + 1) // 2) + 1.0
    return np.concatenate([-half, half])


def nearly_symmetric(rng, n):
    return symmetric(rng, n) * (1.0 + 1e-8 * rng.standard_normal())


FAMILIES = [spread_out, clustered, separated, duplicated, on_a_lattice, symmetric, nearly_symmetric]


def problems(family, rng, count):
    """Random (projections, h, lo, hi, weights): the interval is anywhere, also beside all data or a point."""
    for _ in range(count):
        p = family(rng, int(rng.choice([1, 2, 3, 5, int(rng.integers(1, 300))])))
        h = float(10.0 ** rng.uniform(-3.0, 3.0))
        w = None if rng.random() < 0.6 else rng.exponential(size=len(p)) * (rng.random(len(p)) < 0.8) + 1e-9
        if rng.random() < 0.5:
            lo, hi, _ = ref.feasible(p, rng.uniform(0.0, 1.5), w)
        else:
            lo, hi = np.sort(rng.uniform(p.min() - 3.0, p.max() + 3.0, 2))
        if rng.random() < 0.1:
            hi = lo
        yield p * h, h, lo * h, hi * h, w
