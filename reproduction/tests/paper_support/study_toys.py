"""Task functions for the tests of the runner, which other processes import."""

import os
import time
from pathlib import Path

import numpy as np


def square(pending, *, log=None):
    for key in pending:
        if log is not None:
            with Path(log).open("a") as file:
                file.write(key + "\n")
        yield key, {"status": "ok", "value": int(key.split(".")[1]) ** 2}


def fail(pending, *, after):
    for k, key in enumerate(pending):
        if k == after:
            raise ValueError("the data are bad")
        yield key, {"status": "ok", "value": k}


def sleep(pending, *, seconds, log=None):
    for key in pending:
        time.sleep(seconds)
        if log is not None:
            Path(log).write_text(key)
        yield key, {"status": "ok", "value": 0}


def die(pending):
    os.kill(os.getpid(), 9)
    yield pending[0], {}


def threads(pending):
    from threadpoolctl import threadpool_info

    for key in pending:
        np.eye(3) @ np.eye(3)
        yield key, {"status": "ok", "value": max(pool["num_threads"] for pool in threadpool_info())}


def nowhere_to_write(pending, *, folder):
    Path(folder).rename(str(folder) + "-gone")
    for key in pending:
        yield key, {"status": "ok", "value": 0}
