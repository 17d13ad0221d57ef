"""Every optimiser from the same starts, on the same index: what it costs and how low it gets."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ravine._typing import Array
from ravine.datasets import load
from ravine.density import BalancePenalty
from ravine.index import ClusteringIndex
from ravine.optimise import OPTIMISERS
from ravine.rows import DenseSample
from ravine.search import PrincipalAxes, drive, random_starts, resolve_bandwidth
from ravine.studies.choice import chosen_names
from ravine.studies.identity import default_arguments, settings_text
from ravine.studies.runner import Task
from ravine.studies.store import Record, ResultStore
from ravine.theory.clarke import sample_clarke

__all__ = ["ALPHAS", "PROTOCOL", "TITLES", "Runs", "choose_optimisers", "optimiser_tasks", "read_runs"]

TITLES = {
    "lbfgs": "L-BFGS on the sphere (default)",
    "bfgs": "BFGS, unnormalised vector",
    "spherical": "BFGS, spherical coordinates",
    "adaptive_gradient_sampling": "adaptive gradient sampling",
    "gradient_sampling": "gradient sampling",
}
ALPHAS = (0.3, 0.9)
TOLERANCE, MAX_ITER = 1e-6, 500
# Of the certificate of stationarity.
RADIUS, MOST_DIRECTIONS = 1e-4, 40
# Gradient sampling is left out for more columns than this: it would take hours.
MOST_COLUMNS = 100
# A set and an optimiser may take so many seconds.
TIME_LIMIT = 1800.0
PROTOCOL = {
    "columns": "standardised",
    "alphas": list(ALPHAS),
    "tolerance": TOLERANCE,
    "iterations": MAX_ITER,
    "starts": "two principal components, then random directions",
}


Place = tuple[str, float, int]


@dataclass(frozen=True, eq=False)
class Runs:
    """What an optimiser did.

    Attributes
    ----------
    records : dict
        By set, α and start, where it came to an end: evaluations of the index, seconds of the processor, log φ, and the
        norm of the smallest element of the sampled Clarke gradient.
    problem : str
        Why some are missing; empty if none is.
    """

    records: Mapping[Place, Record]
    problem: str

    def values(self, what: str, places: Iterable[Place] | None = None) -> Array:
        """One number for each of the places; for all of them by default."""
        chosen = self.records if places is None else places
        return np.array([self.records[place][what] for place in chosen], dtype=float)


def choose_optimisers(names: str | None) -> tuple[str, ...]:
    """Optimisers by their names, separated by commas; None for all."""
    return chosen_names(names, TITLES, "optimiser")


def _keys(dataset: str, optimiser: str, n_starts: int) -> dict[str, tuple[float, int]]:
    return {f"{dataset}.{optimiser}.{alpha:g}.{k}": (alpha, k) for k in range(n_starts) for alpha in ALPHAS}


def _settings(optimiser: str) -> dict[str, Any]:
    """What results depend on beside the protocol of the study."""
    return {
        "optimiser": OPTIMISERS[optimiser],
        "defaults": default_arguments(OPTIMISERS[optimiser]),
        "penalty": BalancePenalty(),
        "radius": RADIUS,
        "directions": MOST_DIRECTIONS,
    }


def optimiser_tasks(
    sets: Sequence[str], optimisers: Sequence[str], n_starts: int, folder: str | None, sizes: Mapping[str, int]
) -> list[Task]:
    """One task for each optimiser on each set."""
    return [
        Task(
            name=f"{dataset}, {TITLES[optimiser]}",
            keys=tuple(_keys(dataset, optimiser, n_starts)),
            function=run_optimiser,
            arguments={"dataset": dataset, "optimiser": optimiser, "n_starts": n_starts, "folder": folder},
            time_limit=TIME_LIMIT,
            weight=sizes[dataset] * (20.0 if "sampling" in optimiser else 1.0),
            identity=settings_text(_settings(optimiser)),
        )
        for dataset in sets
        for optimiser in optimisers
    ]


def run_optimiser(
    pending: Sequence[str], *, dataset: str, optimiser: str, n_starts: int, folder: str | None
) -> Iterator[tuple[str, Record]]:
    """Minimise the index of one set from some starts."""
    X = load(dataset, folder).standardised().data
    sample = DenseSample(X)
    moments = sample.moments()
    axes = PrincipalAxes.of(moments)
    h = resolve_bandwidth("silverman", len(X), float(np.sqrt(axes.variances[0])))
    starts = [*axes.directions[:2], *random_starts(axes, max(n_starts - 2, 0), np.random.default_rng(0))]
    places = _keys(dataset, optimiser, n_starts)
    if optimiser == "gradient_sampling" and X.shape[1] > MOST_COLUMNS:
        raise ValueError(f"left out: it would need {2 * X.shape[1] - 2} gradients in each iteration")
    for key in pending:
        alpha, k = places[key]
        index = ClusteringIndex(sample, moments, h, BalancePenalty(), alpha)
        since = time.process_time()
        (result,) = drive(sample, [OPTIMISERS[optimiser](index, starts[k], max_iter=MAX_ITER, tolerance=TOLERANCE)])
        seconds, evaluations = time.process_time() - since, index.n_evaluations
        directions = min(max(20, 4 * X.shape[1]), MOST_DIRECTIONS)
        (clarke,) = drive(sample, [sample_clarke(index, result.v, RADIUS, directions, np.random.default_rng(0))])
        yield (
            key,
            {
                "status": "ok",
                "evaluations": evaluations,
                "iterations": result.n_iter,
                "seconds": seconds,
                "log_index": result.value,
                "stationarity": clarke.shortest(),
                "ended": bool(result.converged or result.stalled),
            },
        )


def read_runs(store: ResultStore, sets: Sequence[str], optimisers: Sequence[str], n_starts: int) -> dict[str, Runs]:
    """Runs by optimiser."""
    found = {}
    for name in optimisers:
        records: dict[Place, Record] = {}
        problem = ""
        for dataset in sets:
            for key, (alpha, k) in _keys(dataset, name, n_starts).items():
                record = store.get(key) or {"status": "not run", "error": "not run"}
                if record["status"] == "ok":
                    records[dataset, alpha, k] = record
                else:
                    problem = problem or f"{dataset}: {record.get('error', 'no result')}"
        found[name] = Runs(records, problem)
    return found
