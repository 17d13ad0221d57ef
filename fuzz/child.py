"""Process that runs scripts, one line of JSON each, and answers with their outcomes.

Standard output is the channel of the answers; what scripts print goes to standard error.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import sys
import tempfile
import time
import warnings

from fuzz.judge import DONE, Outcome, judge_error, judge_warnings

__all__ = ["main", "run_script"]

MOST_MEGABYTES = 1000.0
# Memory beyond that of the imports: an input that grows without end gets a MemoryError.
EXTRA_BYTES = 2 << 30


def main() -> None:
    """Answer scripts until standard input ends."""
    timeout = float(sys.argv[1])
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    faulthandler.enable()
    _import_everything()
    _limit_memory()
    gc.freeze()  # what is imported is not searched for garbage before every script
    for line in sys.stdin:
        number, script = json.loads(line)
        faulthandler.dump_traceback_later(0.95 * timeout)  # shows where a script hangs
        outcome = run_script(number, script)
        faulthandler.cancel_dump_traceback_later()
        answers.write(json.dumps(outcome.as_dict()) + "\n")
        answers.flush()


def run_script(number: int, script: str) -> Outcome:
    """Run a script in a new folder and judge its result, warnings and memory."""
    home = os.getcwd()
    code = compile(script, f"<input {number}>", "exec")
    error: BaseException | None = None
    gc.collect()
    _reset_peak()
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="ravine-fuzz-") as folder, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        os.chdir(folder)
        try:
            exec(code, {"__name__": "__main__"})
        except (Exception, SystemExit) as raised:
            error = raised
        finally:
            os.chdir(home)
    seconds, megabytes = time.perf_counter() - start, _read_peak()
    outcome = Outcome(DONE) if error is None else judge_error(error)
    if not outcome.is_finding:
        outcome = judge_warnings(caught) or outcome
    if not outcome.is_finding and megabytes > MOST_MEGABYTES:
        outcome = Outcome("memory", f"peak of {megabytes:.0f} MB")
    return Outcome(outcome.kind, outcome.detail, seconds, megabytes)


def _import_everything() -> None:
    """Import slow packages now, so that the limits concern the scripts alone."""
    import pandas
    import polars
    import pyarrow.csv
    import scipy.sparse

    import ravine
    import ravine.cli.run

    assert all((pandas, polars, pyarrow, scipy))
    for name in ravine.__all__:
        getattr(ravine, name)


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    used = _read_status("VmData")
    if used:
        resource.setrlimit(resource.RLIMIT_DATA, (used + EXTRA_BYTES, used + EXTRA_BYTES))


def _reset_peak() -> None:
    """Let the kernel measure the peak of the resident memory from now on (Linux)."""
    try:
        with open("/proc/self/clear_refs", "w") as stream:
            stream.write("5")
    except OSError:
        pass


def _read_peak() -> float:
    """Return the peak of the resident memory in megabytes, or 0 where it cannot be measured."""
    return _read_status("VmHWM") / 1e6


def _read_status(name: str) -> int:
    """Return a field of /proc/self/status in bytes, or 0."""
    try:
        with open("/proc/self/status") as stream:
            return next(1024 * int(line.split()[1]) for line in stream if line.startswith(f"{name}:"))
    except (OSError, StopIteration):
        return 0


if __name__ == "__main__":
    main()
