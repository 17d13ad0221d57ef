"""Computations of the comparison: every optimiser from the same starts, on the same index."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ravine.density import BalancePenalty
from ravine.index import ClusteringIndex
from ravine.optimise import OPTIMISERS
from ravine.rows import as_rows
from ravine.search import Problem, SearchSettings, draw_random_starts, drive
from ravine_paper._typing import Array
from ravine_paper.datasets import load
from ravine_paper.studies.engine.identity import describe_settings, get_default_arguments
from ravine_paper.studies.engine.options import choose_names
from ravine_paper.studies.engine.runner import Task
from ravine_paper.studies.engine.store import Record, ResultStore
from ravine_paper.theory import sample_gradients

__all__ = [
    "ALPHAS",
    "PROTOCOL",
    "TITLES",
    "Place",
    "Runs",
    "choose_optimisers",
    "make_optimiser_tasks",
    "read_runs",
    "run_optimiser",
]

TITLES = {
    "lbfgs": "L-BFGS on the sphere (default)",
    "bfgs": "BFGS, unnormalised vector",
    "spherical": "BFGS, spherical coordinates",
    "adaptive_gradient_sampling": "adaptive gradient sampling",
    "gradient_sampling": "gradient sampling",
}
ALPHAS = (0.3, 0.9)
TOLERANCE, MAX_ITER = 1e-6, 500
# Radius and number of directions of the certificate of stationarity.
RADIUS, MOST_DIRECTIONS = 1e-4, 40
# Gradient sampling is omitted for more features than this: it would take hours.
MOST_FEATURES = 100
# Seconds for an optimiser on a set, all starts together.
TIME_LIMIT = 1800.0
# Settings of all results. The wording is part of stored results.
PROTOCOL = {
    "columns": "standardised",
    "alphas": list(ALPHAS),
    "tolerance": TOLERANCE,
    "iterations": MAX_ITER,
    "starts": "two principal components, then random directions",
}

# A set, a value of α and a start.
Place = tuple[str, float, int]


@dataclass(frozen=True, eq=False)
class Runs:
    """Runs of an optimiser.

    Attributes
    ----------
    records : dict
        Finished runs, by set, α and start: evaluations of the index, CPU seconds, log φ, and the norm of the smallest
        element of the sampled Clarke gradient.
    problem : str
        Why some runs are missing; empty if none is.
    """

    records: Mapping[Place, Record]
    problem: str

    def get_values(self, name: str, places: Iterable[Place] | None = None) -> Array:
        """Return one number for each of the places; for all places by default."""
        chosen = self.records if places is None else places
        return np.array([self.records[place][name] for place in chosen], dtype=float)


def choose_optimisers(names: str | None) -> tuple[str, ...]:
    """Return the optimisers in a comma-separated list; all optimisers for None."""
    return choose_names(names, TITLES, "optimiser")


def _make_keys(dataset: str, optimiser: str, n_starts: int) -> dict[str, tuple[float, int]]:
    return {f"{dataset}.{optimiser}.{alpha:g}.{k}": (alpha, k) for k in range(n_starts) for alpha in ALPHAS}


def _collect_settings(optimiser: str) -> dict[str, Any]:
    """Return everything but the protocol of the study on which results depend."""
    return {
        "optimiser": OPTIMISERS[optimiser],
        "defaults": get_default_arguments(OPTIMISERS[optimiser]),
        "penalty": BalancePenalty(),
        "radius": RADIUS,
        "directions": MOST_DIRECTIONS,
    }


def make_optimiser_tasks(
    sets: Sequence[str], optimisers: Sequence[str], n_starts: int, folder: str | None, sizes: Mapping[str, int]
) -> list[Task]:
    """Return one task for each optimiser on each set."""
    return [
        Task(
            name=f"{dataset}, {TITLES[optimiser]}",
            keys=tuple(_make_keys(dataset, optimiser, n_starts)),
            function=run_optimiser,
            arguments={"dataset": dataset, "optimiser": optimiser, "n_starts": n_starts, "folder": folder},
            time_limit=TIME_LIMIT,
            weight=sizes[dataset] * (20.0 if "sampling" in optimiser else 1.0),
            identity=describe_settings(_collect_settings(optimiser)),
        )
        for dataset in sets
        for optimiser in optimisers
    ]


def run_optimiser(
    pending: Sequence[str], *, dataset: str, optimiser: str, n_starts: int, folder: str | None
) -> Iterator[tuple[str, Record]]:
    """Minimise the index of one set from some starts."""
    X = load(dataset, folder).standardised().data
    n_features = X.shape[1]
    if optimiser == "gradient_sampling" and n_features > MOST_FEATURES:
        raise ValueError(f"omitted: it would need {2 * n_features - 2} gradients in each iteration")
    rng = np.random.default_rng(0)
    problem = Problem.of(as_rows(X), settings=SearchSettings(), rng=rng)
    sample, axes = problem.sample, problem.axes
    starts = [*axes.directions[:2], *draw_random_starts(axes, max(n_starts - 2, 0), rng)]
    places = _make_keys(dataset, optimiser, n_starts)
    for key in pending:
        alpha, k = places[key]
        index = problem.index(alpha=alpha)
        assert isinstance(index, ClusteringIndex)  # has a gradient for every tied offset
        since = time.process_time()
        (result,) = drive(sample, [OPTIMISERS[optimiser](index, starts[k], max_iter=MAX_ITER, tolerance=TOLERANCE)])
        seconds, evaluations = time.process_time() - since, index.n_evaluations
        directions = min(max(20, 4 * n_features), MOST_DIRECTIONS)
        (gradients,) = drive(sample, [sample_gradients(index, result.v, RADIUS, directions, np.random.default_rng(0))])
        yield (
            key,
            {
                "status": "ok",
                "evaluations": evaluations,
                "iterations": result.n_iter,
                "seconds": seconds,
                "log_index": result.value,
                "stationarity": gradients.shortest_norm,
                "ended": bool(result.converged or result.stalled),
            },
        )


def read_runs(store: ResultStore, sets: Sequence[str], optimisers: Sequence[str], n_starts: int) -> dict[str, Runs]:
    """Read the stored runs, by optimiser."""
    found = {}
    for name in optimisers:
        records: dict[Place, Record] = {}
        problem = ""
        for dataset in sets:
            for key, (alpha, k) in _make_keys(dataset, name, n_starts).items():
                record = store.get(key) or {"status": "not run", "error": "not run"}
                if record["status"] == "ok":
                    records[dataset, alpha, k] = record
                else:
                    problem = problem or f"{dataset}: {record.get('error', 'no result')}"
        found[name] = Runs(records, problem)
    return found
