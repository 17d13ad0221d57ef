"""Threads that share the work of a search, and how they are stopped."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from ravine import _kernels

__all__ = ["open_pool"]


@contextmanager
def open_pool(n_threads: int, flag: _kernels.StopFlag | None = None) -> Iterator[ThreadPoolExecutor | None]:
    """Provide threads, or None where one thread is enough.

    An exception in the block, such as that of Ctrl-C, also ends the searches that run in the threads. Pools whose
    threads wait for each other share a ``flag``.
    """
    if n_threads == 1:
        yield None
        return
    flag = _kernels.StopFlag() if flag is None else flag
    with ThreadPoolExecutor(n_threads, initializer=flag.watch) as pool:
        try:
            yield pool
        except BaseException:
            flag.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
