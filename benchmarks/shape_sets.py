"""Simulated clusters of many shapes, Gaussian mixtures, and single clusters that are curved.

Every set is drawn from a seeded generator, `draw_shapes(name, seed)`. A shape is scattered around a curve or a surface.
Five rows in a hundred are background: uniform in the bounding box, with the label -1, and not scored. Seeds 100 and 101
of the shapes and 100 to 139 of the mixtures chose rules of MinimumDensityTree, and seeds 0 and 1 (0 to 31 of the
mixtures) its thresholds of cells and contacts.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mixtures import draw_root_covariances, place_means

__all__ = ["CURVED", "SHAPES", "draw_curved", "draw_mixture", "draw_shapes"]

Array = NDArray[np.float64]
Labels = NDArray[np.intp]
Generator = np.random.Generator

# Share of background rows.
BACKGROUND = 0.05


def _draw_arc(rng: Generator, n: int, radius: float, start: float, end: float, scatter: float) -> Array:
    """Draw rows near an arc around the origin; angles are in units of pi."""
    angle = np.pi * rng.uniform(start, end, n)
    return radius * np.c_[np.cos(angle), np.sin(angle)] + scatter * rng.standard_normal((n, 2))


def _draw_ball(rng: Generator, n: int, center: tuple[float, ...], scatter: float) -> Array:
    return np.asarray(center) + scatter * rng.standard_normal((n, len(center)))


def _draw_bar(rng: Generator, n: int, start: tuple[float, float], end: tuple[float, float], scatter: float) -> Array:
    share = rng.random((n, 1))
    return np.asarray(start) * (1 - share) + np.asarray(end) * share + scatter * rng.standard_normal((n, 2))


def _draw_spiral(rng: Generator, n: int, turn: float, scatter: float, turns: float = 1.25) -> Array:
    """Draw rows near a spiral, equally dense along it; it is turned by an angle in units of pi."""
    along = np.sqrt(rng.uniform(0.04, 1.0, n))
    angle = np.pi * (2.0 * turns * along + turn)
    return 4.0 * along[:, None] * np.c_[np.cos(angle), np.sin(angle)] + scatter * rng.standard_normal((n, 2))


def _draw_wave(rng: Generator, n: int, height: float, scatter: float) -> Array:
    x = rng.uniform(0.0, 4.0 * np.pi, n)
    return np.c_[x, height + 1.5 * np.sin(x)] + scatter * rng.standard_normal((n, 2))


def _draw_sheet(rng: Generator, n: int, height: float, scatter: float) -> Array:
    x = rng.uniform(0.0, 2.0 * np.pi, (n, 2))
    return np.c_[x, height + np.sin(x[:, 0]) + 0.5 * np.cos(x[:, 1])] + scatter * rng.standard_normal((n, 3))


def _draw_shell(rng: Generator, n: int, radius: float, scatter: float) -> Array:
    x = rng.standard_normal((n, 3))
    return radius * x / np.linalg.norm(x, axis=1, keepdims=True) + scatter * rng.standard_normal((n, 3))


def _draw_link(rng: Generator, n: int, radius: float, scatter: float, second: bool) -> Array:
    ring = np.c_[_draw_arc(rng, n, radius, 0, 2, 0.0), np.zeros(n)]
    if second:
        ring = ring[:, [0, 2, 1]] + np.array([radius, 0.0, 0.0])
    return ring + scatter * rng.standard_normal((n, 3))


def _draw_helix(rng: Generator, n: int, turn: float, scatter: float) -> Array:
    angle = np.pi * rng.uniform(0.0, 4.0, n)
    x = np.c_[np.cos(angle + np.pi * turn), np.sin(angle + np.pi * turn), angle / 4.0]
    return x + scatter * rng.standard_normal((n, 3))


def _draw_moons(rng: Generator, sizes: tuple[int, int], scatter: float) -> list[Array]:
    upper, lower = _draw_arc(rng, sizes[0], 1, 0, 1, scatter), _draw_arc(rng, sizes[1], 1, 1, 2, scatter)
    return [upper, lower + np.array([1.0, 0.5])]


# Each draws its clusters, for a size n of the largest.
SHAPES: dict[str, Callable[[Generator, int], list[Array]]] = {
    "moons": lambda r, n: _draw_moons(r, (n, n), 0.09),
    "moons, unequal": lambda r, n: _draw_moons(r, (n, n // 4), 0.08),
    "moons and balls": lambda r, n: [*_draw_moons(r, (n, n), 0.08), _draw_ball(r, n, (3.0, 1.0), 0.15),
                                     _draw_ball(r, n // 2, (-1.5, -0.5), 0.15)],
    "two rings": lambda r, n: [_draw_arc(r, n // 2, 1, 0, 2, 0.12), _draw_arc(r, n, 2, 0, 2, 0.12)],
    "three rings": lambda r, n: [_draw_arc(r, n * j // 3, j, 0, 2, 0.13) for j in (1, 2, 3)],
    "ring and ball": lambda r, n: [_draw_arc(r, n, 2, 0, 2, 0.15), _draw_ball(r, n // 2, (0.0, 0.0), 0.4)],
    "nested arcs": lambda r, n: [_draw_arc(r, n * j // 3, j, 0.1, 1.4, 0.13) for j in (2, 3)],
    "two spirals": lambda r, n: [_draw_spiral(r, n, turn, 0.12) for turn in (0.0, 1.0)],
    "three spirals": lambda r, n: [_draw_spiral(r, n, turn, 0.1, 1.0) for turn in (0.0, 2 / 3, 4 / 3)],
    "bars": lambda r, n: [_draw_bar(r, n, (0, j), (8, j), 0.15) for j in (0, 1, 2)],
    "bars, unequal": lambda r, n: [_draw_bar(r, n, (0, 0), (8, 0), 0.15), _draw_bar(r, n // 2, (1, 1), (6, 1.5), 0.15),
                                   _draw_bar(r, n // 4, (2, 2.4), (4, 3), 0.12)],
    "star": lambda r, n: [_draw_bar(r, n, (np.cos(a), np.sin(a)), (4 * np.cos(a), 4 * np.sin(a)), 0.15)
                          for a in 2 * np.pi * np.arange(5) / 5],
    "waves": lambda r, n: [_draw_wave(r, n, 2.2 * j, 0.2) for j in range(3)],
    "shell and ball": lambda r, n: [_draw_shell(r, n, 3.0, 0.2), _draw_ball(r, n // 2, (0.0, 0.0, 0.0), 0.6)],
    "chain links": lambda r, n: [_draw_link(r, n, 2.0, 0.2, second) for second in (False, True)],
    "helices": lambda r, n: [_draw_helix(r, n, turn, 0.12) for turn in (0.0, 1.0)],
    "sheets": lambda r, n: [_draw_sheet(r, n, 1.4 * j, 0.12) for j in range(2)],
    "moons in 5 dimensions": lambda r, n: _embed(r, _draw_moons(r, (n, n), 0.08), 5, 0.08),
    "rings in 6 dimensions": lambda r, n: _embed(r, SHAPES["two rings"](r, n), 6, 0.12),
    "bars in 10 dimensions": lambda r, n: _embed(r, SHAPES["bars"](r, n), 10, 0.12),
}  # fmt: skip

# Single clusters that are curved, for n rows.
CURVED: dict[str, Callable[[Generator, int], Array]] = {
    "spiral arm": lambda r, n: _draw_spiral(r, n, 0.0, 0.12),
    "ring": lambda r, n: _draw_arc(r, n, 2, 0, 2, 0.15),
    "moon": lambda r, n: _draw_arc(r, n, 1, 0, 1, 0.09),
    "wave": lambda r, n: _draw_wave(r, n, 0.0, 0.2),
    "wave sheet": lambda r, n: _draw_sheet(r, n, 0.0, 0.12),
    "shell": lambda r, n: _draw_shell(r, n, 3.0, 0.2),
    "helix": lambda r, n: _draw_helix(r, n, 0.0, 0.12),
    "ring in 6 dimensions": lambda r, n: _embed(r, [_draw_arc(r, n, 2, 0, 2, 0.15)], 6, 0.12)[0],
}


def draw_shapes(name: str, seed: int) -> tuple[Array, Labels]:
    """Draw rows and labels of a set of shapes; the largest cluster has 200 to 800 rows."""
    rng = np.random.default_rng([18, seed, *name.encode()])
    parts = SHAPES[name](rng, int(rng.integers(200, 801)))
    X, y = np.concatenate(parts), np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    low, high = X.min(axis=0), X.max(axis=0)
    background = rng.uniform(low, high, (round(BACKGROUND * len(X)), X.shape[1]))
    return np.concatenate([X, background]), np.concatenate([y, np.full(len(background), -1)])


def draw_mixture(seed: int) -> tuple[Array, Labels]:
    """Draw rows and components of a mixture of 2 to 8 ellipsoids of 400 to 2000 rows, in 2 to 12 dimensions.

    The closest pair of means is 3.2 to 5 standard deviations apart, along the direction that separates it best.
    """
    rng = np.random.default_rng([19, seed])
    n, d, k = int(rng.integers(400, 2001)), int(rng.integers(2, 13)), int(rng.integers(2, 9))
    roots = draw_root_covariances("ellipsoids", k, d, rng)
    means = place_means(roots, rng.uniform(3.2, 5.0), rng)
    share = np.maximum(rng.dirichlet(np.full(k, 3.0)), 0.4 / k)
    y = rng.choice(k, size=n, p=share / share.sum())
    return means[y] + np.einsum("ij,ikj->ik", rng.standard_normal((n, d)), roots[y]), y


def draw_curved(name: str, n: int, seed: int) -> Array:
    """Draw the rows of a single curved cluster."""
    return CURVED[name](np.random.default_rng([20, seed, n, *name.encode()]), n)


def _embed(rng: Generator, parts: list[Array], d: int, scatter: float) -> list[Array]:
    """Embed clusters in more dimensions, with scatter there and a random rotation."""
    rotation = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return [np.c_[x, scatter * rng.standard_normal((len(x), d - x.shape[1]))] @ rotation for x in parts]
