"""Threads of linear algebra are limited while something is fitted, and restored afterwards."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from ravine import MinimumDensityClassifier, MinimumDensityHyperplane, MinimumDensityTree
from ravine.rows import limit_library_threads, open_pool

CORES = 2  # set before each test, whatever the machine has


@pytest.fixture(autouse=True)
def several_threads():
    with threadpool_limits(CORES):
        yield


def count_library_threads(user_api):
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == user_api}


def make_blobs(rng):
    return np.concatenate([rng.normal(size=(60, 3)), rng.normal(size=(60, 3)) + 6])


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("estimator", [MinimumDensityHyperplane, MinimumDensityTree])
def test_fits_use_one_thread_of_each_library(estimator, n_jobs, rng):
    seen = set()
    spy = estimator(n_jobs=n_jobs, random_state=0)
    spy.set_params(callback=lambda _: seen.update(count_library_threads("blas")))
    spy.fit(make_blobs(rng))
    assert seen == {1}
    assert count_library_threads("blas") == count_library_threads("openmp") == {CORES}


def test_classifier_restores_the_threads(rng):
    X, y = make_blobs(rng), np.repeat([0, 1], 60)
    MinimumDensityClassifier().fit(X, y)
    assert count_library_threads("blas") == {CORES}


def test_threads_are_restored_after_an_error():
    with pytest.raises(ValueError, match="inside"), limit_library_threads():
        raise ValueError("inside")
    assert count_library_threads("blas") == count_library_threads("openmp") == {CORES}


def test_overlapping_blocks_restore_the_first_number():
    inside, done = threading.Event(), threading.Event()

    def hold():
        with limit_library_threads():
            inside.set()
            done.wait(10.0)

    other = threading.Thread(target=hold)
    with limit_library_threads():
        other.start()
        assert inside.wait(10.0)
    assert count_library_threads("blas") == {1}  # the other block still needs it
    done.set()
    other.join()
    assert count_library_threads("blas") == {CORES}


def test_threads_of_a_pool_use_one_thread_of_openmp():
    with open_pool(2) as pool:
        assert pool.submit(count_library_threads, "openmp").result() == {1}
    assert count_library_threads("openmp") == {CORES}


def fit_in_child(X, expected):
    labels = MinimumDensityTree(2, random_state=0).fit(X).labels_
    os._exit(0 if np.array_equal(labels, expected) else 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_process_forked_inside_a_block_can_fit(rng):
    X = make_blobs(rng)
    expected = MinimumDensityTree(2, random_state=0).fit(X).labels_
    with limit_library_threads():
        child = multiprocessing.get_context("fork").Process(target=fit_in_child, args=[X, expected])
        child.start()
        child.join(60.0)
    assert child.exitcode == 0


DAEMONS = """
import threading, time
import numpy as np
from ravine import _kernels

def rotate():
    p, q = np.ones((2, 20_000))
    while True:
        _kernels.rotate(p, q, 0.6, 0.8)

for _ in range(4):
    threading.Thread(target=rotate, daemon=True).start()
time.sleep(0.1)
"""


def test_daemon_threads_do_not_abort_a_process_that_ends():
    for _ in range(5):
        end = subprocess.run([sys.executable, "-c", DAEMONS], capture_output=True, text=True, timeout=60)
        assert (end.returncode, end.stderr) == (0, "")


FIT_AT_EXIT = """
import atexit
atexit.register(lambda: print(MinimumDensityHyperplane().fit(np.arange(12.0).reshape(6, 2)).labels_.shape))
import numpy as np
from ravine import MinimumDensityHyperplane, _kernels
"""


def test_fits_are_possible_after_other_threads_have_ended():
    end = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FIT_AT_EXIT], capture_output=True, text=True, timeout=60
    )
    assert end.stdout.strip() == "(6,)", end.stderr
