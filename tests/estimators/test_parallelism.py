"""Fits and predictions give the same bits from threads, after a fork, in new processes and with joblib."""

import multiprocessing
import os
import subprocess
import sys
import sysconfig
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import joblib
import pytest
from sklearn.cluster import KMeans

from ravine import MinimumDensityHyperplane, MinimumDensityTree
from ravine.search.starts import PrincipalAxes
from support.fits import DATA_SETS, fit_one
from support.marks import slow

SMALL = ["iris", "two clusters", "wide", "mixture", "float32", "rounded", "noise", "blobs"]
FEW = SMALL[::2]  # in new processes, which take seconds to start


def as_bytes(fits):
    return {name: value.tobytes() for name, value in fits.items()}


def fit_to_bytes(name, n_jobs=None):
    return as_bytes(fit_one(name, n_jobs))


@pytest.fixture(scope="module")
def alone():
    """One after the other, in this process."""
    return [fit_to_bytes(name) for name in SMALL]


@pytest.mark.parametrize("n_jobs", [2, *slow(None)])
def test_fits_in_eight_threads_equal_those_of_one(alone, n_jobs):
    together = threading.Barrier(8)

    def fit(name):
        together.wait(60)  # all start at the same moment
        return fit_to_bytes(name, n_jobs)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(fit, SMALL)) == alone


@pytest.mark.slow
def test_repeated_fits_in_eight_threads_equal_those_of_one():
    names = [name for name in DATA_SETS if name != "large"]
    alone = [fit_to_bytes(name) for name in names]
    with ThreadPoolExecutor(8) as pool:
        for n_jobs in (None, 2, 4):
            assert list(pool.map(fit_to_bytes, names, [n_jobs] * len(names))) == alone


def test_one_tree_predicts_in_eight_threads():
    X = DATA_SETS["large"]()
    mdt = MinimumDensityTree(4, random_state=0, hyperplane=MinimumDensityHyperplane(n_init=1)).fit(X)
    with ThreadPoolExecutor(8) as pool:
        for labels in pool.map(mdt.predict, [X] * 24):
            assert labels.tobytes() == mdt.labels_.tobytes()


@pytest.mark.parametrize("method", ["fork", *slow("spawn", "forkserver")])
def test_processes_started_after_a_fit_give_the_same_bits(alone, method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system has no {method}")
    fit_one("mixture", n_jobs=2)  # threads have been used in this process
    with ProcessPoolExecutor(2, multiprocessing.get_context(method)) as pool:
        assert list(pool.map(fit_to_bytes, FEW, [None, 2, None, 2])) == alone[::2]


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib_gives_the_same_bits(alone, backend):
    with joblib.Parallel(n_jobs=2, backend=backend) as parallel:
        assert parallel(joblib.delayed(fit_to_bytes)(name, 2) for name in FEW) == alone[::2]


def wait_for(process):
    """Return the exit code of a child process, or None if it has to be killed."""
    process.start()
    process.join(120)
    code = process.exitcode
    process.kill()
    return code


def compare_fit(name, expected):
    sys.exit(fit_to_bytes(name) != expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_fork_while_another_thread_computes_a_property(monkeypatch, alone):
    """No lock of ours is held at the fork: the child, in which the thread does not exist, would wait without end."""
    inside, leave = threading.Event(), threading.Event()
    compute = PrincipalAxes.of

    def wait_and_compute(*args):
        if threading.current_thread() is thread:
            inside.set()
            leave.wait(120)
        return compute(*args)

    monkeypatch.setattr(PrincipalAxes, "of", wait_and_compute)
    thread = threading.Thread(target=fit_to_bytes, args=["mixture"])
    thread.start()
    try:
        assert inside.wait(120)
        child = multiprocessing.get_context("fork").Process(target=compare_fit, args=[SMALL[0], alone[0]])
        assert wait_for(child) == 0
    finally:
        leave.set()
        thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_fork_while_other_threads_fit(alone):
    stop = threading.Event()

    def fit_until_stopped(name):
        while not stop.is_set():
            fit_one(name, n_jobs=2)

    context = multiprocessing.get_context("fork")
    threads = [threading.Thread(target=fit_until_stopped, args=[name]) for name in ("blobs", "mixture")]
    for thread in threads:
        thread.start()
    try:
        for _ in range(3):
            assert wait_for(context.Process(target=compare_fit, args=[SMALL[0], alone[0]])) == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_fork_after_openmp_was_used(alone):
    """The threads of OpenMP do not survive a fork."""
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system has no fork")
    KMeans(3, n_init=1, random_state=0).fit(DATA_SETS["large"]())
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        assert pool.submit(fit_to_bytes, SMALL[0]).result(timeout=120) == alone[0]


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="needs a free-threaded Python")
def test_free_threaded_python_stays_free_threaded():
    script = "import sys, ravine._kernels; sys.exit(sys._is_gil_enabled())"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
