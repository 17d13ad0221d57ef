"""Time and memory of functions."""

from __future__ import annotations

import functools
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

__all__ = ["format_number", "measure_cpu_times", "measure_times", "read_peak", "reset_peak", "run_alone", "run_script"]


def format_number(value: float) -> str:
    """Return a number with two significant digits, or all digits before the point."""
    return f"{value:.0f}" if value >= 99.5 else np.format_float_positional(float(f"{value:.2g}"), trim="-")


def measure_times(
    *functions: Callable[[], object], repeats: int, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Return the shortest time of each function in seconds; they are called alternately."""
    best = [math.inf] * len(functions)
    for _ in range(repeats):
        for i, function in enumerate(functions):
            start = clock()
            function()
            best[i] = min(best[i], clock() - start)
    return best


def measure_cpu_times(*functions: Callable[[], object], repeats: int) -> list[float]:
    """Return the shortest processor time of each function: what it takes on one thread of a quiet machine."""
    return measure_times(*functions, repeats=repeats, clock=time.process_time)


def read_peak() -> int:
    """Return the largest resident memory of this process since the last reset, in bytes."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024


def reset_peak() -> int:
    """Reset the peak; return the memory in use."""
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")
    return read_peak()


def run_script(script: str, *arguments: str, python: str = sys.executable) -> str:
    """Run a script in a process of its own, which keeps its compiled modules as users' do; return what it prints."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [python, "-c", script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


@functools.cache
def run_alone(*arguments: object) -> list[float]:
    """Run a measurement of alone.py in a process of its own, once; return the numbers that it prints."""
    command = [sys.executable, str(Path(__file__).with_name("alone.py")), *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return [float(word) for word in done.stdout.split()]
