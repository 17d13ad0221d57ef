"""Results of slow benchmarks, computed by several processes and kept in a file of JSON."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

__all__ = ["Results", "Task"]

# Seconds between two writes of the file.
WRITE_EVERY = 20.0


class Task(NamedTuple):
    """One problem, for one seed, to be solved by some methods; ``solve(task)`` returns numbers for each method."""

    kind: str
    problem: str
    seed: int
    methods: tuple[str, ...]


Solve = Callable[[Task], dict[str, list[float]]]


class Results:
    """Numbers by kind, problem, method and seed.

    Parameters
    ----------
    path : Path or None
        File of the results; None keeps them in memory.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        known = path is not None and path.exists()
        self._values: dict[str, list[float]] = json.loads(path.read_text(encoding="utf-8")) if known else {}

    def forget(self, methods: Iterable[str]) -> None:
        """Remove the results of some methods, so that they are computed again."""
        names = set(methods)
        self._values = {key: value for key, value in self._values.items() if key.split(" | ")[2] not in names}

    def get(self, kind: str, problem: str, method: str, seed: int) -> list[float] | None:
        """Return the numbers of one result, None if it is not known."""
        return self._values.get(_join(kind, problem, method, seed))

    def select(self, kind: str, problem: str, method: str, seeds: Iterable[int]) -> list[list[float]]:
        """Return the known results of some seeds."""
        found = (self.get(kind, problem, method, seed) for seed in seeds)
        return [value for value in found if value is not None]

    def complete(self, tasks: Iterable[Task], solve: Solve, jobs: int) -> None:
        """Compute all results of the tasks that are not known."""
        missing = list(self._list_missing(tasks))
        written = start = time.monotonic()
        for i, (task, values) in enumerate(_solve_all(missing, solve, jobs), 1):
            for method, value in values.items():
                self._values[_join(task.kind, task.problem, method, task.seed)] = value
            if time.monotonic() - written > WRITE_EVERY:
                self.write()
                written = time.monotonic()
                print(f"{task.kind}: {i} of {len(missing)} after {written - start:.0f} s", flush=True)
        if missing:
            self.write()

    def _list_missing(self, tasks: Iterable[Task]) -> Iterator[Task]:
        for task in tasks:
            methods = tuple(m for m in task.methods if self.get(task.kind, task.problem, m, task.seed) is None)
            if methods:
                yield task._replace(methods=methods)

    def write(self) -> None:
        """Write the file; an interruption leaves the old one."""
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(self._values, indent=0, sort_keys=True), encoding="utf-8")
        os.replace(new, self.path)


def _join(kind: str, problem: str, method: str, seed: int) -> str:
    return f"{kind} | {problem} | {method} | {seed}"


def _solve_all(tasks: list[Task], solve: Solve, jobs: int) -> Iterator[tuple[Task, dict[str, list[float]]]]:
    if jobs == 1:
        yield from ((task, solve(task)) for task in tasks)
        return
    # New interpreters, because the number of threads of a BLAS is fixed when it is loaded.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(solve, task): task for task in tasks}
        for future in as_completed(futures):
            yield futures[future], future.result()
