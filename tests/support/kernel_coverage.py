"""Measure which lines of the kernels the quick tests execute: the second part of `make coverage`.

    python tests/support/kernel_coverage.py

The kernels are built by g++ with counters below `build/coverage`. Tests run with both instruction sets.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.builds import ROOT, build_package, run_with_package

PACKAGE = ROOT / "build" / "coverage" / "counted" / "ravine"
OBJECTS = PACKAGE.parent.with_name("counted-objects")
TESTS = ("tests/kernels", "tests/density", "tests/index", "tests/optimise", "tests/rows", "tests/search", "tests/tree")
LEAST = "95"


def main() -> int:
    """Build, test and print the table of gcovr; return its exit code."""
    build_package(PACKAGE, ["cmake.define.RAVINE_COVERAGE=ON"], "g++")
    for counters in OBJECTS.rglob("*.gcda"):
        counters.unlink()
    for options, tests in (({}, TESTS), ({"RAVINE_KERNELS": "baseline"}, TESTS[:3])):
        words = ["-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider", "-n", "2", *tests]
        if code := run_with_package(PACKAGE, *words, options=options).returncode:
            return code
    gcovr = [sys.executable, "-m", "gcovr", "--root", str(ROOT), "--filter", "src/_kernels/", str(OBJECTS)]
    # Headers of nanobind are gone with the environment of the build; they are no part of the report.
    gcovr.append("--gcov-ignore-errors=source_not_found")
    merge = ["--merge-mode-functions", "merge-use-line-min", "--fail-under-line", LEAST]
    return subprocess.run([*gcovr, *merge], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
