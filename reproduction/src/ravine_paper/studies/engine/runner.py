"""Independent computations in their own processes, with time limits; a run can be interrupted and continued."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from threadpoolctl import threadpool_limits

from ravine_paper.studies.engine.environment import count_cores
from ravine_paper.studies.engine.errors import StudyError
from ravine_paper.studies.engine.options import Notify
from ravine_paper.studies.engine.store import Record, ResultStore

__all__ = ["Task", "TaskFunction", "describe_failure", "run_tasks"]

# Called with the keys to compute and the arguments of its task, in a process that can import it; yields keys and
# records one after the other.
TaskFunction = Callable[..., Iterator[tuple[str, Record]]]
# Exit code of a process that could not write its results.
WRITE_FAILED = 74


@dataclass(frozen=True)
class Task:
    """Computation of one or more results.

    Attributes
    ----------
    name : str
        Name shown to the user.
    keys : tuple of str
        Keys of the results.
    function : callable
        Importable function from the keys to compute and the arguments to an iterator of keys and records.
    arguments : dict
        Keyword arguments of the function.
    time_limit : float
        Time limit in seconds. Results that are missing by then are recorded as such.
    weight : float
        Estimated cost: tasks with larger weights start first.
    identity : str
        Settings of the results, defaults included (see `describe_settings`). Results that were computed with other
        settings are computed again.
    """

    name: str
    keys: tuple[str, ...]
    function: TaskFunction
    arguments: dict[str, Any] = field(default_factory=dict)
    time_limit: float = float("inf")
    weight: float = 1.0
    identity: str = ""


@dataclass
class _Running:
    task: Task
    keys: list[str]
    process: Any
    since: float

    @property
    def is_late(self) -> bool:
        return time.monotonic() - self.since > self.task.time_limit


def run_tasks(
    tasks: Sequence[Task],
    store: ResultStore,
    *,
    n_jobs: int | None = None,
    retry_failed: bool = False,
    notify: Notify = lambda name, done, total: None,
) -> None:
    """Compute all results that the store does not have yet.

    Parameters
    ----------
    tasks : sequence of Task
    store : ResultStore
        Receives each result as soon as it is known. Failures are results, too: ``{"status": "failed", "error": ...}``,
        ``{"status": "time limit", ...}``.
    n_jobs, retry_failed, notify
        See `RunOptions`.

    Raises
    ------
    StudyError
        If results cannot be written. All processes are stopped first.
    """
    n_jobs = n_jobs or count_cores()
    total = sum(len(task.keys) for task in tasks)
    by_weight = sorted(tasks, key=lambda task: -task.weight)
    waiting = [(task, keys) for task in by_weight if (keys := _find_missing(task, store, retry_failed))]
    unfinished = sum(len(keys) for _, keys in waiting)
    notify("", total - unfinished, total)
    context = _get_context()
    running: list[_Running] = []
    try:
        while waiting or running:
            while waiting and len(running) < n_jobs:
                task, keys = waiting.pop(0)
                process = context.Process(target=_compute, args=(task, keys, store), daemon=True)
                process.start()
                running.append(_Running(task, keys, process, time.monotonic()))
            _wait(running)
            for one in list(running):
                late = one.is_late
                if one.process.is_alive() and not late:
                    continue
                running.remove(one)
                _finish(one, late, store)
                unfinished -= len(one.keys)
                notify(one.task.name, total - unfinished, total)
    finally:
        for one in running:
            one.process.kill()
            one.process.join()


def _find_missing(task: Task, store: ResultStore, retry_failed: bool) -> list[str]:
    def is_missing(record: Record | None) -> bool:
        if record is None or record.get("identity", "") != task.identity:
            return True
        return retry_failed and record["status"] != "ok"

    return [key for key in task.keys if is_missing(store.get(key))]


def _wait(running: Sequence[_Running]) -> None:
    """Wait until a process ends or reaches its time limit."""
    left = min(one.since + one.task.time_limit for one in running) - time.monotonic()
    timeout = None if left == float("inf") else max(left, 0.0)
    multiprocessing.connection.wait([one.process.sentinel for one in running], timeout)


def _finish(one: _Running, late: bool, store: ResultStore) -> None:
    """Record the results that an ended process did not deliver."""
    if late:
        one.process.kill()
    one.process.join()
    if one.process.exitcode == WRITE_FAILED:
        raise StudyError(
            f"Cannot write a result to {store.results}: is the disk full? Finished results are kept there. Free some "
            "space and run the same command again."
        )
    if late:
        record = {"status": "time limit", "error": f"stopped after {one.task.time_limit:g} s"}
    else:
        record = {"status": "failed", "error": f"the process ended early ({_describe_exit(one.process.exitcode)})"}
    for key in one.keys:
        if (store.get(key) or {}).get("identity") != one.task.identity:
            store.put(key, {**record, "identity": one.task.identity})


def _describe_exit(code: int) -> str:
    if code == -signal.SIGKILL:
        return f"signal {-code}, perhaps out of memory"
    return "no result" if code == 0 else f"signal {-code}" if code < 0 else f"exit code {code}"


def _get_context() -> Any:
    """Return a context that forks processes from a server with the heavy imports, or spawns them on Windows."""
    if sys.platform == "win32":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["ravine_paper.studies.engine.preload"])
    return context


def _compute(task: Task, keys: Sequence[str], store: ResultStore) -> None:
    """Compute some results of a task, with one thread for linear algebra. Called in a new process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles interruptions
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    pending = list(keys)
    try:
        with threadpool_limits(limits=1):
            try:
                for key, record in task.function(tuple(pending), **task.arguments):
                    store.put(key, {**record, "identity": task.identity})
                    pending.remove(key)
            except StudyError:
                raise
            except Exception as error:
                for key in pending:
                    store.put(key, {**describe_failure(error), "identity": task.identity})
    except StudyError:
        sys.exit(WRITE_FAILED)


def _exit_with_parent() -> None:
    """End this process when its parent ends, for whatever reason."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)


def describe_failure(error: Exception) -> Record:
    """Return the record of a failed computation."""
    where = traceback.format_exception(error)
    return {"status": "failed", "error": f"{type(error).__name__}: {error}", "traceback": "".join(where)}
