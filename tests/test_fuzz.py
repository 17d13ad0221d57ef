"""The fuzzer: deliberate failures are found, inputs are reproducible, and a short run finds nothing."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("click")
pytest.importorskip("polars")

from fuzz.judge import DONE, PACKAGE, REFUSED
from fuzz.plan import TARGETS, make_input
from fuzz.report import Report, format_finding
from fuzz.workers import Worker

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the limits need a Unix system")

FAILURES = {
    "crash": "import ctypes\nctypes.string_at(0)",
    "memory": "import numpy as np\nnp.ones(1 << 28)",  # touched: 2 GB
    "error": "from ravine import load\nload('missing')",
    "warning": "import numpy as np\nnp.float64(1.0) / np.float64(0.0)",
    "wrong result": "assert False, 'labels differ'",
    "script": "1 / 0",
}


@pytest.fixture(scope="module")
def worker():
    worker = Worker(timeout=8.0)
    yield worker
    worker.close()


@pytest.mark.parametrize("kind", FAILURES)
def test_deliberate_failures_are_found(worker, kind):
    outcome = worker.run(7, FAILURES[kind])
    assert outcome.kind == kind
    assert outcome.is_finding
    assert outcome.detail
    assert ("SIGSEGV" in outcome.detail) == (kind == "crash")


def test_waiting_for_a_processor_is_not_a_hang():
    worker = Worker(timeout=0.5)
    try:
        assert worker.run(1, "import time\ntime.sleep(0.8)").kind == DONE
        outcome = worker.run(2, "import time\ntime.sleep(60.0)")
        assert outcome.kind == "hang"
        assert 1.5 < outcome.seconds < 30.0
    finally:
        worker.close()


def test_growing_memory_is_stopped(worker):
    outcome = worker.run(1, "held = []\nwhile True: held.append(bytes(1 << 24))")
    assert outcome.kind == "memory"
    assert outcome.megabytes < 4000


def test_memory_is_measured_for_each_input(worker):
    large = worker.run(1, "import numpy as np\nnp.ones(1 << 26)")
    small = worker.run(2, "pass")
    assert (large.kind, small.kind) == (DONE, DONE), large
    assert large.megabytes > small.megabytes + 400


def test_documented_errors_are_not_findings(worker):
    script = "from ravine import MinimumDensityTree\nMinimumDensityTree(0).fit([[1.0], [2.0]])"
    outcome = worker.run(1, script)
    assert outcome.kind == REFUSED
    assert outcome.detail.startswith("ValueError: n_clusters")


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        ("ValueError('too few rows')", REFUSED),
        ("ValueError('')", "message"),
        ("ValueError('x' * 25_000)", "message"),
        ("IndexError('no row')", "error"),
        ("np.linalg.LinAlgError('not converged')", "error"),
    ],
)
def test_errors_inside_the_package_are_judged(worker, raised, kind):
    inside = f"def fail(): raise {raised}"
    script = (
        f"import numpy as np\nscope = {{'np': np}}\nexec(compile({inside!r}, {str(PACKAGE / 'y.py')!r}, 'exec'), scope)"
    )
    assert worker.run(1, f"{script}\nscope['fail']()").kind == kind


def test_own_warnings_are_not_findings(worker):
    script = "from ravine import MinimumDensityHyperplane\nMinimumDensityHyperplane().fit([[1.0], [1.0]])"
    assert worker.run(1, script).kind == DONE


@pytest.mark.skipif(not Path("/proc").exists(), reason="needs /proc")
def test_hang_is_found_and_shown_and_all_its_processes_end():
    worker = Worker(timeout=1.0)
    script = "import subprocess, sys\nprint(subprocess.Popen([sys.executable, '-c', 'input()']).pid, flush=True)"
    try:
        outcome = worker.run(2, f"{script}\nwhile True: pass")
    finally:
        worker.close()
    assert outcome.kind == "hang"
    assert outcome.is_finding
    assert '"<input 2>", line 3' in outcome.detail
    pid = int(re.search(r"^\d+$", outcome.detail, re.MULTILINE)[0])
    state = Path(f"/proc/{pid}/stat")
    assert not state.exists() or state.read_text().split()[2] in "ZX"  # not yet collected by its new parent


@pytest.mark.parametrize("target", TARGETS)
def test_inputs_are_valid_scripts_that_depend_on_the_seed(target):
    scripts = [make_input(3, number, target).script for number in range(40)]
    assert len(set(scripts)) > 30
    assert scripts == [make_input(3, number, target).script for number in range(40)]
    assert scripts != [make_input(4, number, target).script for number in range(40)]
    for script in scripts:
        ast.parse(script)


def test_every_target_is_part_of_a_run():
    targets = [make_input(0, number).target for number in range(1000)]
    assert set(targets) == set(TARGETS)
    assert sum(share for _, share in TARGETS.values()) == pytest.approx(1.0)


def test_findings_are_printed_as_scripts_that_run(worker):
    given = make_input(0, 0)
    outcome = worker.run(0, FAILURES["wrong result"])
    text = format_finding(0, given, outcome)
    assert text.startswith("# wrong result: input 0 of seed 0")
    assert text.endswith(given.script)
    ast.parse(text)
    report = Report()
    report.add(given, outcome)
    assert "crash 0, hang 0, memory 0" in report.format_summary()


@pytest.mark.slow
def test_short_run_finds_nothing():
    command = [sys.executable, "-m", "fuzz", "--inputs", "400", "--seed", "20", "--minutes", "3", "--jobs", "2"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout
    assert "400 inputs" in run.stdout
