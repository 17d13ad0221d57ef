"""Worker: a child process that is replaced after a crash, a hang or many scripts."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from fuzz.judge import Outcome

__all__ = ["Worker"]

ROOT = Path(__file__).parents[1]
# A new process after as many scripts.
SCRIPTS_PER_PROCESS = 1000
STARTUP_SECONDS = 120.0
# On a busy machine a script gets this many times the time limit, unless it has used the limit on a processor.
PATIENCE = 3.0


class Worker:
    """Runs scripts in a child process with a time limit.

    Parameters
    ----------
    timeout : float, default=20.0
        Seconds after which a script counts as hanging: of processor time, or three times as long without it.
    """

    def __init__(self, timeout: float = 20.0) -> None:
        self.timeout = timeout
        self._process: subprocess.Popen[str] | None = None
        self._errors: Any = None
        self._n_scripts = 0

    def run(self, number: int, script: str) -> Outcome:
        """Run a script; whatever happens to the process is an outcome."""
        if self._process is None or self._n_scripts >= SCRIPTS_PER_PROCESS:
            self.close()
            self._start()
        outcome = self._ask(number, script, self.timeout)
        self._n_scripts += 1
        if outcome.kind in ("hang", "crash"):
            self.close()
        return outcome

    def close(self) -> None:
        """End the process, and everything that it has started."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.communicate()
            self._errors.close()
            self._process = None

    def _start(self) -> None:
        environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fuzz.child", str(self.timeout)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
            text=True, env=environment, start_new_session=True,
        )  # fmt: skip
        self._n_scripts = 0
        ready = self._ask(0, "", STARTUP_SECONDS)
        if ready.is_finding:
            raise RuntimeError(f"the child process of the fuzzer does not start: {ready.kind}\n{ready.detail}")

    def _ask(self, number: int, script: str, timeout: float) -> Outcome:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        start = time.perf_counter()
        try:
            process.stdin.write(json.dumps([number, script]) + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            return self._describe_crash(start)
        used = _measure_processor_time(process.pid)
        while not select.select([process.stdout], [], [], timeout)[0]:
            seconds = time.perf_counter() - start
            if seconds > PATIENCE * timeout or _measure_processor_time(process.pid) - used > 0.9 * timeout:
                return Outcome("hang", self._read_errors(), seconds)
        line = process.stdout.readline()
        if not line:
            return self._describe_crash(start)
        return Outcome(**json.loads(line))

    def _describe_crash(self, start: float) -> Outcome:
        assert self._process is not None
        code = self._process.wait()
        reason = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return Outcome("crash", f"{reason}\n{self._read_errors()}", time.perf_counter() - start)

    def _read_errors(self) -> str:
        """Return the end of standard error, where faulthandler writes."""
        self._errors.seek(0)
        return str(self._errors.read()[-4000:])


def _measure_processor_time(pid: int) -> float:
    """Return the processor time of a process in seconds; 0 if the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / float(os.sysconf("SC_CLK_TCK"))
