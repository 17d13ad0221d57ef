"""Rows on the workers of a Dask cluster, reached in rounds."""

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

from ravine.rows.workers.worker import Stale, open_part, run_part

__all__ = ["ClusterError", "Rounds", "current_client"]

# A round that lost its worker is asked again this many times.
ATTEMPTS = 3
# Seconds between looks at whether the workers of a round are still there.
PATIENCE = 0.5
# Seconds in which lost workers may come back before the fit gives up.
COMEBACK = 30.0

Command = tuple[str, tuple[Any, ...]]


class ClusterError(RuntimeError):
    """The cluster could not finish a fit: nothing is known, and nothing wrong was returned."""


class Rounds:
    """Puts questions to all workers that hold rows, one task for each worker and round.

    A worker's blocks are held by one object there, with the state of the fit beside them. Where a worker is lost, Dask
    makes its blocks again elsewhere, ``restore`` tells the new objects what the old ones knew, and the round is asked
    again.

    Parameters
    ----------
    client : distributed.Client
    X : dask.array.Array
        Of known chunks, one for all columns.
    restore : callable
        Gives the commands, for each part, that bring new parts to the present state.
    """

    def __init__(self, client: Any, X: Any, restore: Callable[[], list[list[Command]]]) -> None:
        self.client, self.restore = client, restore
        check_client(client)
        held = {future.key: future for future in distributed().futures_of(X)}
        self._borrowed = all(key in held for key in _keys(X))
        if not self._borrowed:
            X = client.persist(X)
            held = {future.key: future for future in distributed().futures_of(X)}
        self.blocks = [held[key] for key in _keys(X)]
        self.starts = np.concatenate([[0], np.cumsum(X.chunks[0])]).astype(np.intp)
        self.n_columns = X.shape[1]
        self.n_rounds = self.bytes_sent = self.bytes_received = 0
        self._waiting: list[tuple[list[list[Command]], threading.Event, list[Any]]] = []
        self._gatherer = ThreadPoolExecutor(1, thread_name_prefix="ravine-gather")
        self._lock = threading.Condition()
        self._members = 0
        self._running = False
        self._open()

    # ------------------------------------------------------------------------------------------- parts

    def _open(self) -> None:
        """One part for each worker, of the blocks that it holds."""
        for _ in range(ATTEMPTS):
            self._wait_for_blocks()
            for k, block in enumerate(self.blocks):
                if block.status != "finished":
                    raise self._failed(k, block)
            who = self.client.who_has(self.blocks)
            holders = [sorted(who.get(block.key, ())) for block in self.blocks]
            if all(holders):
                break
        else:
            raise ClusterError("some blocks of X are on no worker: are workers being lost faster than blocks are made?")
        self.token = uuid.uuid4().hex
        self._answered = 0  # rounds that the parts have answered
        held: dict[str, list[int]] = {}
        for k, workers in enumerate(holders):
            if self.starts[k + 1] > self.starts[k]:
                held.setdefault(workers[0], []).append(k)
        self.addresses = list(held)  # in the order of their first blocks
        self.groups = list(held.values())
        self.parts = [
            self.client.submit(
                open_part, self.token, [self._described(k) for k in group], *[self.blocks[k] for k in group],
                workers=[address], key=f"ravine-part-{uuid.uuid4().hex}", pure=False,
            )
            for group, address in zip(self.groups, self.addresses, strict=True)
        ]  # fmt: skip

    def _described(self, k: int) -> tuple[str, tuple[int, int]]:
        """Name and shape of a block."""
        return f"block {k}", (int(self.starts[k + 1] - self.starts[k]), self.n_columns)

    def _wait_for_blocks(self) -> None:
        """Wait until every block is there or known to be lost, as long as there are workers to make them."""
        last_seen = time.monotonic()
        while True:
            try:
                distributed().wait(self.blocks, timeout=PATIENCE)
            except TimeoutError:
                if self.client.status != "running" or self.client.nthreads():
                    check_running(self.client)
                    last_seen = time.monotonic()
                elif time.monotonic() - last_seen > COMEBACK:
                    raise ClusterError(
                        f"the Dask cluster has had no workers for {COMEBACK:.0f} seconds: the fit is given up."
                    ) from None
            except distributed().CancelledError:
                return  # their status says so
            else:
                return

    def _failed(self, k: int, block: Any) -> ClusterError:
        if block.status == "error":
            return ClusterError(f"block {k} of X could not be computed: {block.exception()!r}")
        return ClusterError(
            f"block {k} of X is {block.status}: its worker was lost and Dask cannot make it again (was it scattered, "
            "or the client restarted?)."
        )

    def local(self, rows: NDArray[np.intp] | None) -> list[NDArray[np.intp] | None]:
        """For each part, which of its rows are among some (sorted) global ones."""
        if rows is None:
            return [None] * len(self.groups)
        cuts = np.searchsorted(rows, self.starts)
        found: list[NDArray[np.intp] | None] = []
        for group in self.groups:
            offset, chosen = 0, []
            for k in group:
                chosen.append(rows[cuts[k] : cuts[k + 1]] - self.starts[k] + offset)
                offset += int(self.starts[k + 1] - self.starts[k])
            found.append(np.concatenate(chosen) if chosen else np.empty(0, np.intp))
        return found

    def places(self, rows: NDArray[np.intp] | None) -> list[NDArray[np.intp]]:
        """For each part, the places of its rows among the (sorted) global ones."""
        bounds = self.starts if rows is None else np.searchsorted(rows, self.starts)
        ranges = [np.arange(i, j) for i, j in pairwise(bounds.tolist())]
        return [np.concatenate([ranges[k] for k in group]) for group in self.groups]

    # ------------------------------------------------------------------------------------------- rounds

    def ask(self, commands: Sequence[Sequence[Command]] | Callable[[], list[list[Command]]]) -> list[list[Any]]:
        """The answers of all parts to a list of commands for each; threads of a fit share their rounds."""
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
                del answer  # or the error would refer to itself, and what it refers to stay until it is collected
        return answer  # type: ignore[no-any-return]

    def joined(self, count: int) -> None:
        """Count a thread that is going to ask (1), or that has asked for the last time (-1)."""
        with self._lock:
            self._members += count
        self._serve()

    def _serve(self) -> None:
        """Run a round if every thread that takes part has asked something."""
        with self._lock:
            if self._running or not self._waiting or len(self._waiting) < self._members:
                return
            self._running, batch = True, self._waiting
            self._waiting = []
        try:
            answers: list[Any] = self._round([make for make, _, _ in batch])  # type: ignore[misc]
        except BaseException as error:
            answers = [error] * len(batch)
        with self._lock:
            self._running = False
        while batch:
            _, done, box = batch.pop()
            box.append(answers.pop())
            done.set()
        del box

    def _round(self, makers: list[Callable[[], list[list[Command]]]]) -> list[Any]:
        """One task for each part; asked again, after the parts were opened again, if a worker is lost."""
        for attempt in range(ATTEMPTS + 1):
            per_asker = [make() for make in makers]
            messages = [[c for commands in per_asker for c in commands[i]] for i in range(len(self.parts))]
            if attempt:
                messages = [[*first, *rest] for first, rest in zip(self.restore(), messages, strict=True)]
            answers = self._send(messages)
            if answers is not None:
                break
            self.close_parts()
            if attempt == ATTEMPTS:
                continue  # to the end
            check_running(self.client)
            self._open()
            check_versions(self.client)
        else:
            raise ClusterError(f"workers were lost in {ATTEMPTS + 1} attempts at the same round.")
        split = []
        for k, commands in enumerate(per_asker):
            after = [sum(len(later[i]) for later in per_asker[k:]) for i in range(len(self.parts))]
            split.append([
                part[len(part) - after[i] : len(part) - after[i] + len(commands[i])] for i, part in enumerate(answers)
            ])  # fmt: skip
        return split

    def _send(self, messages: list[list[Command]]) -> list[list[Any]] | None:
        """The answers of the parts; None if a worker was lost on the way."""
        failures = distributed().KilledWorker, distributed().CancelledError, OSError
        packed = [pickle.dumps(message, protocol=5) for message in messages]
        state = self.token, self._answered
        check_running(self.client)
        futures = [
            self.client.submit(
                run_part, part, state, message, workers=[address], pure=False, key=f"ravine-{uuid.uuid4().hex}"
            )
            for part, address, message in zip(self.parts, self.addresses, packed, strict=True)
        ]
        self.n_rounds += 1
        self.bytes_sent += sum(map(len, packed))
        replies = None
        try:
            replies = self._gathered(futures)
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
        return None if any(isinstance(answer, Stale) for answer in answers) else answers

    def _gathered(self, futures: list[Any]) -> list[bytes] | None:
        """The results of tasks, or None as soon as one of their workers is gone: nobody else may run them."""
        replies = self._gatherer.submit(self.client.gather, futures)
        while True:
            try:
                return replies.result(timeout=PATIENCE)  # type: ignore[no-any-return]
            except TimeoutError:
                if replies.done():
                    raise
                if self.client.status != "running" or not set(self.addresses) <= set(self.client.nthreads()):
                    return None

    def close_parts(self) -> None:
        """Drop the parts, and with them all state on the workers."""
        for part in self.parts:
            part.release()
        self.parts = []

    def close(self) -> None:
        """Drop everything that the fit put on the cluster."""
        self.close_parts()
        if not self._borrowed:
            for block in self.blocks:  # a traceback may still refer to them
                block.release()
        self.blocks = []
        self._gatherer.shutdown(wait=False)


def distributed() -> Any:
    """The package, or what to do to have it."""
    try:
        return importlib.import_module("distributed")
    except ImportError as error:
        raise ImportError("to fit on a Dask cluster install `ravine[dask]`.") from error


def current_client() -> Any:
    """The client in use, or what to do to have one."""
    try:
        return distributed().get_client()
    except ValueError as error:
        raise ClusterError(
            "X is a Dask collection, but there is no Dask client: make one (distributed.Client)."
        ) from error


def _keys(X: Any) -> list[Any]:
    return [(X.name, k, 0) for k in range(X.numblocks[0])]


def check_client(client: Any) -> None:
    """Refuse a client that is closed, or whose workers do not have this version of ravine."""
    check_running(client)
    if not client.nthreads():
        raise ClusterError("the Dask cluster has no workers.")
    check_versions(client)


def check_running(client: Any) -> None:
    """Refuse a client that is closed."""
    if client.status != "running":
        raise ClusterError(f"the Dask client is {client.status}: make a new one and fit again.")


def check_versions(client: Any) -> None:
    """Refuse workers that do not have this version of ravine."""
    here = importlib.metadata.version("ravine")
    for address, there in client.run(importlib.metadata.version, "ravine", on_error="return").items():
        if isinstance(there, BaseException):
            raise ClusterError(f"ravine is not installed on the worker {address}: install {here} there.")
        if there != here:
            raise ClusterError(f"the worker {address} has ravine {there}, but here it is {here}: install the same.")
