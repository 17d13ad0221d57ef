"""Threads that share the work of a search, and how they are stopped."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any

from ravine import _kernels

__all__ = ["open_pool", "use_one_openmp_thread"]


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


@contextmanager
def use_one_openmp_thread() -> Iterator[None]:
    """Keep the OpenMP loops of scikit-learn in this thread while the block runs.

    The threads of OpenMP do not survive a fork: a child process whose parent used them would wait for them without end.
    The limit holds for the calling thread only.
    """
    with _find_libraries().limit(limits=1, user_api="openmp"):
        yield


@cache
def _find_libraries() -> Any:
    """Find the libraries with threads that are loaded; scikit-learn, which loads OpenMP, requires threadpoolctl."""
    import sklearn.cluster  # noqa: F401  # loads OpenMP before it is looked for
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
