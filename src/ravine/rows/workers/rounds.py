"""Rounds of commands to the workers of a Dask cluster that hold the rows."""

from __future__ import annotations

import importlib
import importlib.metadata
import pickle
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine.rows.workers.worker import StaleState, open_worker, run_commands

# A round that lost a worker is repeated at most this many times.
ATTEMPTS = 3
# Seconds between checks that the workers of a round are still there.
PATIENCE = 0.5
# Seconds without any worker after which a fit fails.
COMEBACK = 30.0

Command = tuple[str, tuple[Any, ...]]


class ClusterError(RuntimeError):
    """Raised when the Dask cluster could not complete a fit. No partial result is returned.

    Examples
    --------
    >>> from ravine import ClusterError
    >>> try:
    ...     raise ClusterError("all workers were lost")
    ... except RuntimeError as error:
    ...     print(f"fit again on a new cluster: {error}")
    fit again on a new cluster: all workers were lost
    """


class Rounds:
    """Rounds of commands to all workers that hold rows, with one task per worker and round.

    One object on each worker holds its blocks and the state of the fit (see `WorkerRows`). If a worker is lost, Dask
    makes its blocks again elsewhere, the commands of ``restore`` rebuild the state, and the round is repeated.

    Parameters
    ----------
    X : dask.array.Array
        With blocks of known lengths that are not split by feature.
    restore : callable
        Returns the commands, for each worker, that rebuild the present state.
    """

    def __init__(self, client: Any, X: Any, restore: Callable[[], list[list[Command]]]) -> None:
        self.client, self.restore = client, restore
        check_client(client)
        held = {future.key: future for future in import_distributed().futures_of(X)}
        self._borrowed = all(key in held for key in _list_keys(X))
        if not self._borrowed:
            X = client.persist(X)
            held = {future.key: future for future in import_distributed().futures_of(X)}
        self.blocks = [held[key] for key in _list_keys(X)]
        self.starts = np.concatenate([[0], np.cumsum(X.chunks[0])]).astype(np.intp)
        self.n_features = X.shape[1]
        self.n_rounds = self.bytes_sent = self.bytes_received = 0
        self._waiting: list[tuple[list[list[Command]], threading.Event, list[Any]]] = []
        self._gatherer = ThreadPoolExecutor(1, thread_name_prefix="ravine-gather")
        self._lock = threading.Condition()
        self._running = False
        self._open()

    # ------------------------------------------------------------------------------------------- workers

    def _open(self) -> None:
        """Open every worker that holds blocks."""
        for _ in range(ATTEMPTS):
            self._wait_for_blocks()
            for k, block in enumerate(self.blocks):
                if block.status != "finished":
                    raise self._describe_failure(k, block)
            who = self.client.who_has(self.blocks)
            holders = [sorted(who.get(block.key, ())) for block in self.blocks]
            if all(holders):
                break
        else:
            raise ClusterError("some blocks of X are on no worker: workers may be lost faster than blocks are made.")
        self.token = uuid.uuid4().hex
        self._answered = 0  # rounds since the workers were opened
        held: dict[str, list[int]] = {}
        for k, workers in enumerate(holders):
            if self.starts[k + 1] > self.starts[k]:
                held.setdefault(workers[0], []).append(k)
        self.addresses = list(held)  # in the order of their first blocks
        self.groups = list(held.values())
        self.workers = [
            self.client.submit(
                open_worker, self.token, [self._describe(k) for k in group], *[self.blocks[k] for k in group],
                workers=[address], key=f"ravine-worker-{uuid.uuid4().hex}", pure=False,
            )
            for group, address in zip(self.groups, self.addresses, strict=True)
        ]  # fmt: skip

    def _describe(self, k: int) -> tuple[str, tuple[int, int]]:
        """Return the name and the shape of a block."""
        return f"block {k}", (int(self.starts[k + 1] - self.starts[k]), self.n_features)

    def _wait_for_blocks(self) -> None:
        """Wait until every block is computed or lost, as long as there are workers to compute them."""
        last_seen = time.monotonic()
        while True:
            try:
                import_distributed().wait(self.blocks, timeout=PATIENCE)
            except TimeoutError:
                if self.client.status != "running" or self.client.nthreads():
                    check_running(self.client)
                    last_seen = time.monotonic()
                elif time.monotonic() - last_seen > COMEBACK:
                    raise ClusterError(
                        f"the Dask cluster has had no workers for {COMEBACK:.0f} seconds: the fit was abandoned."
                    ) from None
            except import_distributed().CancelledError:
                return  # their status tells which are lost
            else:
                return

    def _describe_failure(self, k: int, block: Any) -> ClusterError:
        if block.status == "error":
            return ClusterError(f"block {k} of X could not be computed: {block.exception()!r}")
        return ClusterError(
            f"block {k} of X is {block.status}: its worker was lost and Dask cannot make it again. This happens to "
            "scattered blocks, and after a restart of the client."
        )

    def split_indices(self, indices: NDArray[np.intp] | None) -> list[NDArray[np.intp] | None]:
        """Return, for each worker, the (sorted) indices of its rows in its own numbering."""
        if indices is None:
            return [None] * len(self.groups)
        cuts = np.searchsorted(indices, self.starts)
        found: list[NDArray[np.intp] | None] = []
        for group in self.groups:
            offset, chosen = 0, []
            for k in group:
                chosen.append(indices[cuts[k] : cuts[k + 1]] - self.starts[k] + offset)
                offset += int(self.starts[k + 1] - self.starts[k])
            found.append(np.concatenate(chosen) if chosen else np.empty(0, np.intp))
        return found

    def find_places(self, indices: NDArray[np.intp] | None) -> list[NDArray[np.intp]]:
        """Return, for each worker, the places of its rows among the (sorted) indices."""
        bounds = self.starts if indices is None else np.searchsorted(indices, self.starts)
        ranges = [np.arange(i, j) for i, j in pairwise(bounds.tolist())]
        return [np.concatenate([ranges[k] for k in group]) for group in self.groups]

    # ------------------------------------------------------------------------------------------- rounds

    def ask(self, commands: Sequence[Sequence[Command]] | Callable[[], list[list[Command]]]) -> list[list[Any]]:
        """Return the answers of all workers to a list of commands for each; threads of a fit share their rounds."""
        make = commands if callable(commands) else lambda: [list(c) for c in commands]
        done, box = threading.Event(), []  # type: ignore[var-annotated]
        with self._lock:
            self._waiting.append((make, done, box))  # type: ignore[arg-type]
        self._serve()
        while not done.wait(0.05):
            self._serve()
        answer = box.pop()
        if isinstance(answer, BaseException):
            try:
                raise answer
            finally:
                del answer  # otherwise a reference cycle would keep the objects of the traceback alive
        return answer  # type: ignore[no-any-return]

    def _serve(self) -> None:
        """Run a round of all questions that wait, unless one is running."""
        with self._lock:
            if self._running or not self._waiting:
                return
            self._running, batch = True, self._waiting
            self._waiting = []
        try:
            answers: list[Any] = self._run_round([make for make, _, _ in batch])  # type: ignore[misc]
        except BaseException as error:
            answers = [error] * len(batch)
        with self._lock:
            self._running = False
        while batch:
            _, done, box = batch.pop()
            box.append(answers.pop())
            done.set()
        del box

    def _run_round(self, makers: list[Callable[[], list[list[Command]]]]) -> list[Any]:
        """Run one task per worker; if a worker is lost, open the workers again and repeat the round."""
        for attempt in range(ATTEMPTS + 1):
            per_asker = [make() for make in makers]
            messages = [[c for commands in per_asker for c in commands[i]] for i in range(len(self.workers))]
            if attempt:
                messages = [[*first, *rest] for first, rest in zip(self.restore(), messages, strict=True)]
            answers = self._send(messages)
            if answers is not None:
                break
            self.close_workers()
            if attempt == ATTEMPTS:
                continue  # to the error below
            check_running(self.client)
            self._open()
            check_versions(self.client)
        else:
            raise ClusterError(f"workers were lost in {ATTEMPTS + 1} attempts at the same round.")
        split = []
        for k, commands in enumerate(per_asker):
            after = [sum(len(later[i]) for later in per_asker[k:]) for i in range(len(self.workers))]
            split.append([
                found[len(found) - after[i] : len(found) - after[i] + len(commands[i])]
                for i, found in enumerate(answers)
            ])  # fmt: skip
        return split

    def _send(self, messages: list[list[Command]]) -> list[list[Any]] | None:
        """Return the answers of the workers; None if one was lost."""
        failures = import_distributed().KilledWorker, import_distributed().CancelledError, OSError
        packed = [pickle.dumps(message, protocol=5) for message in messages]
        state = self.token, self._answered
        check_running(self.client)
        futures = [
            self.client.submit(
                run_commands, worker, state, message, workers=[address], pure=False, key=f"ravine-{uuid.uuid4().hex}"
            )
            for worker, address, message in zip(self.workers, self.addresses, packed, strict=True)
        ]
        self.n_rounds += 1
        self.bytes_sent += sum(map(len, packed))
        replies = None
        try:
            replies = self._gather(futures)
        except failures:
            return None
        finally:
            if replies is None and self.client.status == "running":
                self.client.cancel(futures, force=True)
            for future in futures:
                future.release()
        if replies is None:
            return None
        self.bytes_received += sum(map(len, replies))
        answers = [pickle.loads(reply) for reply in replies]
        self._answered += 1
        return None if any(isinstance(answer, StaleState) for answer in answers) else answers

    def _gather(self, futures: list[Any]) -> list[bytes] | None:
        """Return the results of tasks, or None as soon as a worker is gone: its task can run nowhere else."""
        replies = self._gatherer.submit(self.client.gather, futures)
        while True:
            try:
                return replies.result(timeout=PATIENCE)  # type: ignore[no-any-return]
            except TimeoutError:
                if replies.done():
                    raise
                if self.client.status != "running" or not set(self.addresses) <= set(self.client.nthreads()):
                    return None

    def close_workers(self) -> None:
        """Drop all state on the workers."""
        for worker in self.workers:
            worker.release()
        self.workers = []

    def close(self) -> None:
        """Drop everything that the fit put on the cluster."""
        self.close_workers()
        if not self._borrowed:
            for block in self.blocks:  # a traceback may still refer to them
                block.release()
        self.blocks = []
        self._gatherer.shutdown(wait=False)


def import_distributed() -> Any:
    """Import the package, or raise an error that says how to install it."""
    try:
        return importlib.import_module("distributed")
    except ImportError as error:
        raise ImportError("to fit on a Dask cluster install `ravine[dask]`.") from error


def get_current_client() -> Any:
    """Return the current Dask client, or raise an error that says how to make one."""
    try:
        return import_distributed().get_client()
    except ValueError as error:
        raise ClusterError(
            "X is a Dask collection, but there is no Dask client: make one (distributed.Client)."
        ) from error


def _list_keys(X: Any) -> list[Any]:
    return [(X.name, k, 0) for k in range(X.numblocks[0])]


def check_client(client: Any) -> None:
    """Raise an error if a client is closed, or if its workers do not have this version of ravine."""
    check_running(client)
    if not client.nthreads():
        raise ClusterError("the Dask cluster has no workers.")
    check_versions(client)


def check_running(client: Any) -> None:
    """Raise an error if a client is closed."""
    if client.status != "running":
        raise ClusterError(f"the Dask client is {client.status}: make a new one and fit again.")


def check_versions(client: Any) -> None:
    """Raise an error if a worker does not have this version of ravine."""
    here = importlib.metadata.version("ravine")
    for address, there in client.run(importlib.metadata.version, "ravine", on_error="return").items():
        if isinstance(there, BaseException):
            raise ClusterError(f"ravine is not installed on the worker {address}: install {here} there.")
        if there != here:
            raise ClusterError(
                f"the worker {address} has ravine {there}, but this process has {here}: install the same version."
            )
