"""Threads that share the work of a search, and how they are stopped."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any

from ravine import _kernels


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

    def prepare_thread() -> None:
        flag.watch()
        _set_openmp_threads(1)

    with ThreadPoolExecutor(n_threads, initializer=prepare_thread) as pool:
        try:
            yield pool
        except BaseException:
            flag.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@contextmanager
def limit_library_threads() -> Iterator[None]:
    """Run BLAS and OpenMP in the calling thread while the block runs, so that ``n_jobs`` counts all threads of a fit.

    Entered once for each fit. Matrices of a fit are small: threads of BLAS would wait for each other, at many times the
    processor time. Threads of OpenMP do not survive a fork: a child process would wait for them without end.
    """
    before = _set_openmp_threads(1)
    _BLAS.enter()
    try:
        yield
    finally:
        _BLAS.leave()
        _set_openmp_threads(before)


class _BlasLimit:
    """Limit of one thread for BLAS, which holds for the whole process while any block needs it."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start without blocks, as a forked process does: the threads of the others do not exist there."""
        self._lock = threading.Lock()
        self._n_blocks = 0
        self._before: list[tuple[Any, int]] = []

    def enter(self) -> None:
        """Begin a block; the first one limits the threads."""
        with self._lock:
            if self._n_blocks == 0:
                numbers = [(library, library.num_threads) for library in _find_libraries("blas")]
                self._before = [(library, number) for library, number in numbers if number != 1]
                for library, _ in self._before:
                    _set_blas_threads(library, 1)
            self._n_blocks += 1

    def leave(self) -> None:
        """End a block; the last one restores the threads."""
        with self._lock:
            self._n_blocks = max(self._n_blocks - 1, 0)
            if self._n_blocks == 0:
                for library, number in self._before:
                    _set_blas_threads(library, number)


_BLAS = _BlasLimit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_BLAS.forget)


def _set_blas_threads(library: Any, number: int) -> None:
    """Set the number of threads of BLAS from any thread; threadpoolctl reserves OpenBLAS for the last that did."""
    release = getattr(library, "clear_controlling_thread", lambda force: None)
    release(force=True)
    library.set_num_threads(number)
    release(force=True)


def _set_openmp_threads(number: int | None) -> int | None:
    """Set the number of threads of OpenMP for the calling thread; return the one before, None without OpenMP."""
    before = None
    for library in _find_libraries("openmp"):
        before = library.num_threads
        if number not in (None, before):
            library.set_num_threads(number)
    return before


@cache
def _find_libraries(user_api: str) -> list[Any]:
    """Find the loaded libraries with threads; scikit-learn, which loads OpenMP, requires threadpoolctl."""
    import scipy.linalg  # noqa: F401  # loads its BLAS before it is looked for
    import sklearn.utils._openmp_helpers  # noqa: F401  # loads OpenMP
    from threadpoolctl import ThreadpoolController

    return [library for library in ThreadpoolController().lib_controllers if library.user_api == user_api]
