"""Threads that share the work of a search, and how they are stopped."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from ravine import _kernels

__all__ = ["open_pool"]


@contextmanager
def open_pool(n_threads: int) -> Iterator[ThreadPoolExecutor | None]:
    """Provide threads, or None where one thread is enough.

    An exception in the block, such as that of Ctrl-C, also ends the compiled searches that run in the threads.
    """
    if n_threads == 1:
        yield None
        return
    flag = _kernels.StopFlag()
    with ThreadPoolExecutor(n_threads, initializer=flag.watch) as pool:
        try:
            yield pool
        except BaseException:
            flag.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
