"""Simulated tables of answers: latent classes with yes/no answers, ratings, categories and measurements.

Seeds 0 to 79 and 100 to 139 chose rules of MinimumDensityTree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["FEATURES", "simulate_latent_classes"]

Array = NDArray[np.float64]

FEATURES = ("yes/no", "ratings", "categories", "mixed")
# Share of the features whose distribution depends on the class.
INFORMATIVE = 0.7


def simulate_latent_classes(seed: int) -> tuple[Array, NDArray[np.intp]]:
    """Simulate standardised rows and their classes; features are independent within a class.

    There are 2 to 7 classes, 200 to 1500 rows and 5 to 29 variables, of which seven in ten depend on the class. The
    remainder of the seed by 4 chooses one of `FEATURES`; "mixed" draws the kind of each variable, measurements among
    them. Shares of the classes are Dirichlet(5). The smaller the concentration, between .4 and 1.2, the more answers
    and categories depend on the class.
    """
    rng = np.random.default_rng(seed + 5000)
    k, n, d = int(rng.integers(2, 8)), int(rng.integers(200, 1500)), int(rng.integers(5, 30))
    y = rng.choice(k, n, p=rng.dirichlet(np.full(k, 5.0)))
    kind, concentration = seed % len(FEATURES), rng.uniform(0.4, 1.2)
    columns: list[Array] = []
    for _ in range(d):
        draw = DRAWS[kind if kind < 3 else int(rng.integers(0, 4))]
        columns += draw(y, k, bool(rng.random() < INFORMATIVE), concentration, rng)
    X = np.array(columns).T
    X = X[:, X.std(axis=0) > 0.0]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def draw_answers(
    y: NDArray[np.intp], k: int, depends: bool, concentration: float, rng: np.random.Generator
) -> list[Array]:
    """Draw yes/no answers; their probabilities are Beta distributed over the classes."""
    p = rng.beta(concentration, concentration, size=k) if depends else np.full(k, rng.uniform(0.2, 0.8))
    return [(rng.random(len(y)) < p[y]).astype(np.float64)]


def draw_ratings(y: NDArray[np.intp], k: int, depends: bool, _: float, rng: np.random.Generator) -> list[Array]:
    """Draw ratings from 1 to 5: rounded normal numbers around the mean of a class."""
    means = rng.uniform(1.0, 5.0, size=k) if depends else np.full(k, 3.0)
    return [np.clip(np.round(means[y] + rng.normal(size=len(y)) * rng.uniform(0.7, 1.3)), 1.0, 5.0)]


def draw_categories(
    y: NDArray[np.intp], k: int, depends: bool, concentration: float, rng: np.random.Generator
) -> list[Array]:
    """Draw one of 3 to 6 categories, as indicators; their probabilities are Dirichlet distributed over the classes."""
    m = int(rng.integers(3, 7))
    p = rng.dirichlet(np.full(m, concentration), size=k) if depends else np.tile(rng.dirichlet(np.full(m, 3.0)), (k, 1))
    drawn = np.minimum((p[y].cumsum(axis=1) < rng.random(len(y))[:, None]).sum(axis=1), m - 1)
    return [(drawn == j).astype(np.float64) for j in range(m)]


def draw_measurements(y: NDArray[np.intp], k: int, depends: bool, _: float, rng: np.random.Generator) -> list[Array]:
    """Draw normal numbers around the mean of a class."""
    means = rng.normal(size=k) * 1.6 if depends else np.zeros(k)
    return [means[y] + rng.normal(size=len(y))]


DRAWS = (draw_answers, draw_ratings, draw_categories, draw_measurements)
