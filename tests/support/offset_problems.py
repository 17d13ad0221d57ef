"""Random problems of minimising a penalised density over the offset b."""

import numpy as np

from support import reference as ref

TOLERANCE = 1e-9  # of the certified minimum, as a fraction of the kernel's peak
DEEP = 1e-6  # below this fraction of the peak the tolerance is relative
RELATIVE = 1e-10


def draw_uniform(rng, n):
    return rng.uniform(0.0, rng.uniform(1.0, 40.0), n)


def draw_clusters(rng, n):
    k = int(rng.integers(1, 6))
    centres, widths = rng.uniform(0.0, 25.0, k), rng.uniform(0.02, 2.0, k)
    which = rng.integers(0, k, n)
    return rng.normal(centres[which], widths[which])


def draw_two_groups(rng, n):
    return np.where(rng.random(n) < rng.uniform(0.1, 0.9), 0.0, rng.uniform(5.0, 80.0)) + 0.3 * rng.standard_normal(n)


def draw_duplicates(rng, n):
    return rng.choice(rng.uniform(0.0, 15.0, int(rng.integers(1, 6))), n)


def draw_lattice(rng, n):
    return rng.integers(0, int(rng.integers(1, 12)), n) * rng.uniform(0.5, 4.0)


def draw_symmetric(rng, n):
    half = draw_clusters(rng, (n + 1) // 2) + 1.0
    return np.concatenate([-half, half])


def draw_nearly_symmetric(rng, n):
    return draw_symmetric(rng, n) * (1.0 + 1e-8 * rng.standard_normal())


FAMILIES = [
    draw_uniform,
    draw_clusters,
    draw_two_groups,
    draw_duplicates,
    draw_lattice,
    draw_symmetric,
    draw_nearly_symmetric,
]


def draw_problems(family, rng, count):
    """Draw (projections, h, lo, hi, weights); the interval may be anywhere, also beside all data, or a single point."""
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
