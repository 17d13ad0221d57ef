"""Clusters that are not convex, and single curved clusters."""

import numpy as np


def draw_ring(rng, n, radius=2.0, scatter=0.12):
    angle = 2.0 * np.pi * rng.random(n)
    return radius * np.c_[np.cos(angle), np.sin(angle)] + scatter * rng.normal(size=(n, 2))


def draw_rings(n=300, seed=0):
    """Draw two concentric rings and their labels."""
    rng = np.random.default_rng(seed)
    return np.concatenate([draw_ring(rng, n // 2, 1.0), draw_ring(rng, n)]), np.repeat([0, 1], [n // 2, n])


def draw_moons(n=200, seed=0):
    """Draw two half rings that interlock, and their labels."""
    rng = np.random.default_rng(seed)
    angle = np.pi * rng.random(n)
    upper, lower = np.c_[np.cos(angle), np.sin(angle)], np.c_[1.0 - np.cos(angle), 0.5 - np.sin(angle)]
    return np.concatenate([upper, lower]) + 0.08 * rng.normal(size=(2 * n, 2)), np.repeat([0, 1], n)


def draw_spiral(n=500, seed=0):
    """Draw one spiral arm."""
    rng = np.random.default_rng(seed)
    along = np.sqrt(rng.uniform(0.04, 1.0, n))
    return 4.0 * along[:, None] * np.c_[np.cos(8.0 * along), np.sin(8.0 * along)] + 0.12 * rng.normal(size=(n, 2))
