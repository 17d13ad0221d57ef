"""The paper's clustering study: every method on every set, for several seeds."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ravine.datasets import load
from ravine.metrics import binary_v_measure, success_ratio
from ravine.studies.choice import chosen_names
from ravine.studies.identity import settings_text
from ravine.studies.methods import METHODS, Method
from ravine.studies.paper import SETS
from ravine.studies.runner import Task, failure
from ravine.studies.store import Record, ResultStore

__all__ = ["PROTOCOL", "Cell", "choose_sets", "clustering_tasks", "collect"]

# What a result must have.
NEEDED = {"success_ratio", "v_measure", "seconds", "peak_mb", "depths"}
# What all results have in common.
PROTOCOL = {"columns": "standardised", "missing cells": "median of the column", "clusters": 2}


@dataclass(frozen=True)
class Cell:
    """A method on a set: scores of every seed, or why there are none.

    Attributes
    ----------
    success, v_measure, seconds : ndarray
        One value for each seed that has ended.
    memory : float
        Largest peak of the process, in MB; NaN if not known.
    problem : str
        Why some or all are missing; empty if none is.
    records : tuple of dict
        Of the seeds that have ended.
    """

    success: np.ndarray[Any, np.dtype[np.float64]]
    v_measure: np.ndarray[Any, np.dtype[np.float64]]
    seconds: np.ndarray[Any, np.dtype[np.float64]]
    memory: float
    problem: str
    records: tuple[Record, ...]

    @classmethod
    def of_scores(cls, scores: tuple[float, float]) -> Cell:
        """A cell of which only the scores are known, such as a printed one."""
        success, v_measure = (np.array([score]) for score in scores)
        return cls(success, v_measure, np.empty(0), float("nan"), "", ())

    @property
    def scores(self) -> tuple[float, float]:
        """Medians of the success ratio and of the V-measure over the seeds; NaN if there are none."""
        if not len(self.success):
            return (float("nan"), float("nan"))
        return (float(np.median(self.success)), float(np.median(self.v_measure)))


def choose_sets(names: str | None) -> tuple[str, ...]:
    """Sets by their names, separated by commas; None for the paper's 14."""
    return chosen_names(names, SETS, "data set")


def _key(dataset: str, method: Method, seed: int) -> str:
    return f"{dataset}.{method.name}.{seed}" if method.random else f"{dataset}.{method.name}"


def _keys(dataset: str, method: Method, n_seeds: int) -> tuple[str, ...]:
    return tuple(_key(dataset, method, seed) for seed in range(n_seeds if method.random else 1))


def clustering_tasks(
    sets: Sequence[str], methods: Sequence[Method], n_seeds: int, folder: str | None, sizes: Mapping[str, int]
) -> list[Task]:
    """One task for each method on each set.

    Parameters
    ----------
    sets : sequence of str
    methods : sequence of Method
    n_seeds : int
        For the methods that use chance.
    folder : str or None
        With the data sets.
    sizes : mapping
        Number of values of each set, for the order.
    """
    return [
        Task(
            name=f"{dataset}, {method.title}",
            keys=_keys(dataset, method, n_seeds),
            function=run_cells,
            arguments={"dataset": dataset, "method": method.name, "folder": folder},
            time_limit=method.time_limit,
            weight=method.weight * sizes[dataset],
            identity=settings_text(method.make(0)),
        )
        for dataset in sets
        for method in methods
    ]


def run_cells(pending: Sequence[str], *, dataset: str, method: str, folder: str | None) -> Iterator[tuple[str, Record]]:
    """Fit one method to one set for some seeds."""
    loaded = load(dataset, folder).standardised()
    X, y = loaded.data, loaded.target
    for key in pending:
        seed = int(key.rsplit(".", 1)[1]) if METHODS[method].random else 0
        try:
            yield key, _fit(X, y, METHODS[method].make(seed))
        except Exception as error:
            yield key, failure(error)


def _fit(X: Any, y: Any, estimator: Any) -> Record:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        labels = estimator.fit_predict(X)
        seconds = time.perf_counter() - start
    return {
        "status": "ok",
        "success_ratio": success_ratio(y, labels),
        "v_measure": binary_v_measure(y, labels),
        "sizes": np.unique(labels, return_counts=True)[1].tolist(),
        "seconds": seconds,
        "peak_mb": _peak_memory(),
        "estimator": repr(estimator),
        "warnings": sorted({f"{w.category.__name__}: {w.message}" for w in caught}),
        "depths": _depths_of_starts(estimator),
    }


def _depths_of_starts(estimator: Any) -> list[float]:
    """For MDP²: the relative depth that each start ended with, 0 where none separates two modes."""
    depths: dict[int, float] = {}
    for step in getattr(estimator, "path_", ()):
        depths.setdefault(step.start, 0.0)
        if step.valid:
            depths[step.start] = min(step.hyperplane.relative_depth, 1e300)
    return list(depths.values())


def _peak_memory() -> float | None:
    """Most memory that this process has held, in MB; None where the system does not say."""
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1024.0)


def collect(
    store: ResultStore, sets: Sequence[str], methods: Sequence[Method], n_seeds: int
) -> dict[tuple[str, str], Cell]:
    """The results that there are, by set and method."""
    cells = {}
    for dataset in sets:
        for method in methods:
            records = [store.get(key) for key in _keys(dataset, method, n_seeds)]
            ended = tuple(r for r in records if r is not None and r["status"] == "ok" and r.keys() >= NEEDED)
            problems = [r.get("error", "damaged result") if r else "not run" for r in records if r not in ended]
            cells[dataset, method.name] = Cell(
                np.array([r["success_ratio"] for r in ended], dtype=float),
                np.array([r["v_measure"] for r in ended], dtype=float),
                np.array([r["seconds"] for r in ended], dtype=float),
                max((r["peak_mb"] or float("nan") for r in ended), default=float("nan")),
                problems[0] if problems else "",
                ended,
            )
    return cells
