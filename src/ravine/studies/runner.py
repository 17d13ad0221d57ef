"""Many independent computations in processes of their own, with time limits, that survive an interruption."""

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

from ravine.studies.errors import StudyError
from ravine.studies.store import Record, ResultStore

__all__ = ["Task", "TaskFunction", "run"]


# Called with the keys to compute and the arguments of its task, in another process, which must be able to import it;
# yields keys and records one after the other.
TaskFunction = Callable[..., Iterator[tuple[str, Record]]]


@dataclass(frozen=True)
class Task:
    """Something that gives one or more results.

    Attributes
    ----------
    name : str
        For people.
    keys : tuple of str
        Of its results.
    function : callable
        From the keys to compute and the arguments to an iterator of keys and records; importable by name.
    arguments : dict
    time_limit : float
        Seconds; what is not finished then is recorded as such.
    weight : float
        Guess of its cost: heavy tasks start first.
    identity : str
        The settings of its results, with all that were left at their defaults (see `settings_text`): results that were
        computed with others are computed again.
    """

    name: str
    keys: tuple[str, ...]
    function: TaskFunction
    arguments: dict[str, Any] = field(default_factory=dict)
    time_limit: float = float("inf")
    weight: float = 1.0
    identity: str = ""


Notify = Callable[[str, int, int], object]


@dataclass
class _Running:
    task: Task
    keys: list[str]
    process: Any
    since: float


def run(
    tasks: Sequence[Task],
    store: ResultStore,
    *,
    n_jobs: int = 1,
    retry_failed: bool = False,
    notify: Notify = lambda name, done, total: None,
) -> None:
    """Compute all results that the store does not have yet.

    Parameters
    ----------
    tasks : sequence of Task
    store : ResultStore
        A result is in it as soon as it is known. Failures are results, too: ``{"status": "failed", "error": ...}``,
        ``{"status": "time limit", ...}``.
    n_jobs : int, default=1
        Processes at a time.
    retry_failed : bool, default=False
        Whether results that are failures are computed again.
    notify : callable, optional
        Called with the name of a finished task, and how many of how many results there are.

    Raises
    ------
    StudyError
        If results cannot be written; all processes are stopped first.
    """

    def missing(task: Task) -> list[str]:
        records = {key: store.get(key) for key in task.keys}
        return [
            key
            for key, record in records.items()
            if record is None
            or record.get("identity", "") != task.identity
            or (retry_failed and record["status"] != "ok")
        ]

    total = sum(len(task.keys) for task in tasks)
    waiting = [(task, keys) for task in sorted(tasks, key=lambda t: -t.weight) if (keys := missing(task))]
    unfinished = sum(len(keys) for _, keys in waiting)
    notify("", total - unfinished, total)
    context = _context()
    running: list[_Running] = []
    try:
        while waiting or running:
            while waiting and len(running) < n_jobs:
                task, keys = waiting.pop(0)
                process = context.Process(target=_work, args=(task, keys, store), daemon=True)
                process.start()
                running.append(_Running(task, keys, process, time.monotonic()))
            _wait(running)
            for one in list(running):
                late = time.monotonic() - one.since > one.task.time_limit
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


def _wait(running: Sequence[_Running]) -> None:
    """Until a process ends or reaches its time limit."""
    left = min(one.since + one.task.time_limit for one in running) - time.monotonic()
    timeout = None if left == float("inf") else max(left, 0.0)
    multiprocessing.connection.wait([one.process.sentinel for one in running], timeout)


def _finish(one: _Running, late: bool, store: ResultStore) -> None:
    """Record what a process left undone."""
    if late:
        one.process.kill()
    one.process.join()
    code = one.process.exitcode
    if code == DISK:
        raise StudyError(
            f"A result could not be written to {store.results}: is the disk full? What was finished is kept there; "
            "run the same command again when there is space."
        )
    for key in one.keys:
        if (store.get(key) or {}).get("identity") == one.task.identity:
            continue
        if late:
            record = {"status": "time limit", "error": f"stopped after {one.task.time_limit:g} s"}
        else:
            cause = f"signal {-code}" + (", perhaps out of memory" if code == -signal.SIGKILL else "")
            record = {"status": "failed", "error": f"the process ended early ({cause if code else 'no result'})"}
        store.put(key, {**record, "identity": one.task.identity})


def _context() -> Any:
    """Processes forked from a clean server that has the heavy imports; where there is none, new ones."""
    if sys.platform == "win32":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["ravine.studies.preload"])
    return context


# Exit code of a process that could not write its results.
DISK = 74


def _work(task: Task, keys: Sequence[str], store: ResultStore) -> None:
    """Compute some results of a task, in a process of its own, with one thread for linear algebra."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interruption is the parent's business
    threading.Thread(target=_end_with_parent, daemon=True).start()
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
                    store.put(key, {**failure(error), "identity": task.identity})
    except StudyError:
        sys.exit(DISK)


def _end_with_parent() -> None:
    """However the parent ends, its processes do not go on without it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)


def failure(error: Exception) -> Record:
    """The record of a computation that failed."""
    where = traceback.format_exception(error)
    return {"status": "failed", "error": f"{type(error).__name__}: {error}", "traceback": "".join(where)}
