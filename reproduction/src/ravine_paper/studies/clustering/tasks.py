"""Computations of the clustering study: every method on every set, for several seeds."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ravine_paper._typing import Array
from ravine_paper.datasets import load
from ravine_paper.metrics import binary_v_measure, success_ratio
from ravine_paper.studies.clustering.methods import METHODS, ClusteringMethod
from ravine_paper.studies.clustering.paper import SETS
from ravine_paper.studies.engine.errors import translate_data_errors
from ravine_paper.studies.engine.identity import describe_settings
from ravine_paper.studies.engine.options import choose_names
from ravine_paper.studies.engine.runner import Task, describe_failure
from ravine_paper.studies.engine.store import Record, ResultStore

__all__ = ["PROTOCOL", "Cell", "Cells", "choose_sets", "count_values", "make_tasks", "read_cells", "run_cells"]

# Fields of a complete result.
FIELDS = {"success_ratio", "v_measure", "seconds", "peak_mb", "depths"}
# Settings of all results. The wording is part of stored results.
PROTOCOL = {"columns": "standardised", "missing cells": "median of the column", "clusters": 2}


@dataclass(frozen=True)
class Cell:
    """Scores of a method on a set, for every seed.

    Attributes
    ----------
    success, v_measure, seconds : ndarray
        One value for each finished seed.
    memory : float
        Largest peak memory of the process, in MB; NaN if it is unknown.
    problem : str
        Why some or all seeds are missing; empty if none is.
    records : tuple of dict
        Records of the finished seeds.
    """

    success: Array
    v_measure: Array
    seconds: Array
    memory: float
    problem: str
    records: tuple[Record, ...]

    @classmethod
    def from_scores(cls, scores: tuple[float, float]) -> Cell:
        """Return a cell with known scores only, such as a printed one."""
        success, v_measure = (np.array([score]) for score in scores)
        return cls(success, v_measure, np.empty(0), float("nan"), "", ())

    @classmethod
    def from_records(cls, records: Sequence[Record | None]) -> Cell:
        """Return the cell of the stored records of all seeds, None where there is none."""
        finished = tuple(r for r in records if r is not None and r["status"] == "ok" and r.keys() >= FIELDS)
        problems = [r.get("error", "damaged result") if r else "not run" for r in records if r not in finished]
        return cls(
            np.array([r["success_ratio"] for r in finished], dtype=float),
            np.array([r["v_measure"] for r in finished], dtype=float),
            np.array([r["seconds"] for r in finished], dtype=float),
            max((r["peak_mb"] or float("nan") for r in finished), default=float("nan")),
            problems[0] if problems else "",
            finished,
        )

    @property
    def scores(self) -> tuple[float, float]:
        """Medians of the success ratio and of the V-measure over the seeds; NaN if there are none."""
        if not len(self.success):
            return (float("nan"), float("nan"))
        return (float(np.median(self.success)), float(np.median(self.v_measure)))

    @property
    def failed(self) -> bool:
        """Whether a seed was run without a result."""
        return self.problem not in ("", "not run")


# By set and method.
Cells = Mapping[tuple[str, str], Cell]


def choose_sets(names: str | None) -> tuple[str, ...]:
    """Return the sets in a comma-separated list; the paper's 14 for None."""
    return choose_names(names, SETS, "data set")


def count_values(sets: Sequence[str], folder: str | None) -> dict[str, int]:
    """Return the number of values of each set; a damaged file is reported before the work begins."""
    with translate_data_errors():
        return {name: load(name, folder).data.size for name in sets}


def _make_keys(dataset: str, method: ClusteringMethod, n_seeds: int) -> tuple[str, ...]:
    name = f"{dataset}.{method.name}"
    return tuple(f"{name}.{seed}" for seed in range(n_seeds)) if method.random else (name,)


def make_tasks(
    sets: Sequence[str],
    methods: Sequence[ClusteringMethod],
    n_seeds: int,
    folder: str | None,
    sizes: Mapping[str, int],
) -> list[Task]:
    """Return one task for each method on each set.

    Parameters
    ----------
    sets : sequence of str
    methods : sequence of ClusteringMethod
    n_seeds : int
        Number of seeds of the random methods.
    folder : str or None
        Folder of the data sets.
    sizes : mapping
        Number of values of each set: large sets are run first.
    """
    return [
        Task(
            name=f"{dataset}, {method.title}",
            keys=_make_keys(dataset, method, n_seeds),
            function=run_cells,
            arguments={"dataset": dataset, "method": method.name, "folder": folder},
            time_limit=method.time_limit,
            weight=method.weight * sizes[dataset],
            identity=describe_settings(method.make(0)),
        )
        for dataset in sets
        for method in methods
    ]


def run_cells(pending: Sequence[str], *, dataset: str, method: str, folder: str | None) -> Iterator[tuple[str, Record]]:
    """Fit one method to one set for some seeds."""
    loaded = load(dataset, folder).standardised()
    for key in pending:
        seed = int(key.rsplit(".", 1)[1]) if METHODS[method].random else 0
        try:
            yield key, _fit(loaded.data, loaded.target, METHODS[method].make(seed))
        except Exception as error:
            yield key, describe_failure(error)


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
        "peak_mb": _measure_peak_memory(),
        "estimator": repr(estimator),
        "warnings": sorted({f"{w.category.__name__}: {w.message}" for w in caught}),
        "depths": _find_depths(estimator),
    }


def _find_depths(estimator: Any) -> list[float]:
    """Return the final relative depth of each start of MDP², 0 for starts that never separate two modes."""
    depths: dict[int, float] = {}
    for step in getattr(estimator, "path_", ()):
        depths.setdefault(step.start, 0.0)
        if step.valid:
            depths[step.start] = min(step.hyperplane.relative_depth, 1e300)
    return list(depths.values())


def _measure_peak_memory() -> float | None:
    """Return the peak memory of this process in MB; None where the system does not report it."""
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1024.0)


def read_cells(
    store: ResultStore, sets: Sequence[str], methods: Sequence[ClusteringMethod], n_seeds: int
) -> dict[tuple[str, str], Cell]:
    """Read the stored results, by set and method."""
    return {
        (dataset, method.name): Cell.from_records([store.get(key) for key in _make_keys(dataset, method, n_seeds)])
        for dataset in sets
        for method in methods
    }
