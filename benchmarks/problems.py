"""Problems of docs/evidence.md: simulated data, public tables, and who solves them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable

import numpy as np

from clusterers import AUTOMATIC, GIVEN_K, score
from latent_classes import simulate_latent_classes
from mixtures import simulate_hard_mixture
from results import Task
from rivals import TESTS
from sets import load_standardised, load_table
from trees import NULLS

__all__ = [
    "ANSWER_SEEDS",
    "AUTO_SEEDS",
    "AXES",
    "BASE",
    "BORDERLINE",
    "DESIGNS",
    "DISTANCES",
    "NULL_SIZES",
    "N_MIXTURES",
    "SHOWN_SEEDS",
    "list_answer_tasks",
    "list_designs",
    "list_mixture_tasks",
    "list_null_tasks",
    "list_power_tasks",
    "list_real_tasks",
    "list_yardstick_tasks",
    "name_design",
    "name_nulls",
    "simulate_design",
    "simulate_three_clusters",
    "solve",
]

# Rows, features, separation in standard deviations, share of the smaller cluster, standard deviation of one feature
# that does not separate the clusters.
Design = tuple[int, int, float, float, float]
BASE: Design = (300, 10, 4.0, 0.5, 1.0)
AXES: dict[str, tuple[float, ...]] = {
    "rows": (60, 100, 200, 300, 600, 1000),
    "features": (1, 2, 5, 10, 20, 50),
    "separation": (2.5, 3.0, 3.5, 4.0, 5.0, 6.0),
    "share": (0.5, 0.3, 0.2, 0.15, 0.1, 0.05),
    "nuisance": (1.0, 2.0, 3.0, 4.0, 6.0, 8.0),
}
# Distances of three clusters of 50 rows in 10 dimensions, the design of Gao, Bien & Witten.
DISTANCES = (3.0, 4.0, 5.0, 6.0)
NULL_SIZES = ((60, 1), (100, 2), (300, 10), (300, 50))

N_MIXTURES = 40
# Seeds of latent classes: 0 to 79 and 100 to 139 chose rules of the tree.
ANSWER_SEEDS = range(140, 180)
AUTO_SEEDS, SHOWN_SEEDS = range(3), range(10)
# Sets with overlapping classes, for which the random state matters most.
BORDERLINE = ("wine", "seeds", "yeast")


def list_designs(axis: str) -> list[Design]:
    """Return the designs that differ from the base in one respect."""
    place = list(AXES).index(axis)
    return [(*BASE[:place], value, *BASE[place + 1 :]) for value in AXES[axis]]  # type: ignore[return-value]


def name_design(design: Design) -> str:
    n, d, separation, share, nuisance = design
    return f"{n} x {d}, {separation:g} sd, {100 * share:g} %" + (f", nuisance {nuisance:g} sd" if nuisance != 1 else "")


def simulate_design(design: Design, seed: int) -> np.ndarray:
    """Simulate two normal clusters that differ in the first feature; the last feature may have a larger variance."""
    n, d, separation, share, nuisance = design
    rng = np.random.default_rng([seed, n, d, round(100 * separation), round(100 * share)])
    X = rng.standard_normal((n, d))
    X[:, -1] *= nuisance
    X[: round(share * n), 0] += separation
    return X


def simulate_three_clusters(distance: float, seed: int) -> np.ndarray:
    """Simulate three equidistant normal clusters of 50 rows in 10 dimensions."""
    means = np.zeros((3, 10))
    means[0, 0], means[1, -1], means[2, 0] = -distance / 2.0, distance * np.sqrt(0.75), distance / 2.0
    return np.repeat(means, 50, axis=0) + np.random.default_rng([seed, round(100 * distance)]).standard_normal(
        (150, 10)
    )


def simulate_null(family: str, n: int, d: int, seed: int) -> np.ndarray:
    """Simulate rows of a unimodal family of benchmarks/trees.py."""
    return NULLS[family](np.random.default_rng([seed, n, d, list(NULLS).index(family)]), n, d)


DESIGNS = {name_design(design): design for axis in AXES for design in list_designs(axis)}


@functools.lru_cache(maxsize=4)
def load_problem(kind: str, problem: str, seed: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the rows of a problem and its classes, if there are any."""
    if kind == "power":
        return simulate_design(DESIGNS[problem], seed), None
    if kind == "yardstick":
        return simulate_three_clusters(float(problem), seed), None
    if kind == "nulls":
        family, size = problem.rsplit(", ", 1)
        n, d = map(int, size.split(" x "))
        return simulate_null(family, n, d, seed), None
    if kind == "mixtures":
        return simulate_hard_mixture(int(problem))
    if kind == "answers":
        return simulate_latent_classes(int(problem))
    return load_standardised(problem) if kind == "sets" else load_table(problem)


def solve(task: Task) -> dict[str, list[float]]:
    """Return the results of the methods of a task."""
    simulated = task.kind in ("power", "yardstick", "nulls")
    X, y = load_problem(task.kind, task.problem, task.seed if simulated else 0)
    if y is None:
        return {method: [float(TESTS[method](X, task.seed))] for method in task.methods}
    return {method: score(method, X, y, task.seed) for method in task.methods}


# Tasks: one list for each kind.


def list_test_tasks(kind: str, problems: Iterable[str], n_fits: int) -> list[Task]:
    return [Task(kind, problem, seed, tuple(TESTS)) for problem in problems for seed in range(n_fits)]


def list_power_tasks(n_fits: int) -> list[Task]:
    return list_test_tasks("power", DESIGNS, n_fits)


def list_yardstick_tasks(n_fits: int) -> list[Task]:
    return list_test_tasks("yardstick", [f"{distance:g}" for distance in DISTANCES], n_fits)


def name_nulls(families: Iterable[str]) -> list[str]:
    """Return the names of the problems of some families, in all sizes."""
    return [f"{family}, {n} x {d}" for family, (n, d) in itertools.product(families, NULL_SIZES)]


def list_null_tasks(n_fits: int) -> list[Task]:
    return list_test_tasks("nulls", name_nulls(NULLS), n_fits)


def list_mixture_tasks() -> list[Task]:
    return [Task("mixtures", str(seed), 0, tuple(GIVEN_K)) for seed in range(N_MIXTURES)]


def list_answer_tasks() -> list[Task]:
    return [Task("answers", str(seed), 0, tuple(GIVEN_K)) for seed in ANSWER_SEEDS]


def list_real_tasks(kind: str, problems: Iterable[str]) -> list[Task]:
    """Return tasks for all clusterers: one seed given k and for HDBSCAN, several for the automatic tree."""
    trees = tuple(name for name in AUTOMATIC if name.startswith("tree"))
    tasks = []
    for problem in problems:
        seeds = SHOWN_SEEDS if kind == "sets" and problem in BORDERLINE else AUTO_SEEDS
        tasks += [Task(kind, problem, 0, (*GIVEN_K, *(name for name in AUTOMATIC if name not in trees)))]
        tasks += [Task(kind, problem, seed, trees) for seed in seeds]
    return tasks
