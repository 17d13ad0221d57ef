"""Run the kernel and determinism tests with kernels built for gcc's sanitizers: `make sanitize`.

    python tests/support/sanitize.py [--only address|thread]

Each variant is built below `build/sanitize` and never installed. Before the tests, deliberate errors check that the
sanitizers are at work: a read beyond an array, a misaligned read, two threads that write the same array.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.builds import ROOT, build_package, run_with_package

BUILD = ROOT / "build" / "sanitize"
# Builds and runs packages of its own, which the sanitizers cannot see.
OTHER_BUILDS = "tests/kernels/test_instruction_sets.py"

READ_BEYOND_THE_END = """
import numpy as np
from ravine import _kernels
p = np.lib.stride_tricks.as_strided(np.ones(1000), (1001,))
_kernels.log_sum(p, None, 1.0, 0.0, None, 1.0, 0.0)
"""
READ_MISALIGNED = """
import numpy as np
from ravine import _kernels
_kernels.log_sum(np.frombuffer(bytearray(8001), offset=1), None, 1.0, 0.0, None, 1.0, 0.0)
"""
WRITE_FROM_TWO_THREADS = """
import threading
import numpy as np
from ravine import _kernels
p, q = np.ones(1_000_000), np.ones(1_000_000)
threads = [threading.Thread(target=_kernels.rotate, args=(p, q, 0.8, 0.6)) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


@dataclass(frozen=True)
class Variant:
    """Kernels built with some sanitizers, and the tests that they run."""

    name: str
    sanitizers: str
    library: str
    options: dict[str, str]
    errors: dict[str, str]  # report -> script that causes it
    tests: tuple[str, ...]

    @property
    def package(self) -> Path:
        """Folder of the package with these kernels."""
        return BUILD / self.name / "ravine"


THREADS = (
    "tests/kernels",
    "tests/index",
    "tests/search/test_determinism.py",
    "tests/rows/test_array_sample.py",
    "tests/estimators/test_tree_contract.py::test_threads_do_not_change_a_bit",
)
VARIANTS = (
    Variant(
        "address",
        "address,undefined",
        "libasan.so",
        # The interpreter keeps memory until it ends.
        {"ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"},
        {"heap-buffer-overflow": READ_BEYOND_THE_END, "misaligned address": READ_MISALIGNED},
        (*THREADS, "tests/density"),
    ),
    Variant(
        "thread",
        "thread",
        "libtsan.so",
        {"TSAN_OPTIONS": "halt_on_error=1"},
        {"data race": WRITE_FROM_TWO_THREADS},
        THREADS,
    ),
)


def find_library(name: str) -> str:
    """Return the path of a library of the C++ compiler."""
    compiler = os.environ.get("CXX", "g++")
    try:
        asked = subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"make sanitize needs g++ (or another gcc, named by the variable CXX): {error}")
    path = asked.stdout.strip()
    if not os.path.isabs(path) or not os.path.exists(path):
        sys.exit(
            f"make sanitize needs {name}, which {compiler} does not have. Install the sanitizer libraries of gcc "
            "(Debian and Ubuntu: part of g++; Fedora: libasan, libubsan and libtsan), or name a gcc that has them: "
            "make sanitize CXX=g++-12."
        )
    return path


def build(variant: Variant) -> None:
    """Build the kernels if their sources have changed, and copy the package next to them."""
    settings = [f"cmake.define.RAVINE_SANITIZE={variant.sanitizers}", "cmake.build-type=Debug"]
    build_package(variant.package, settings, os.environ.get("CXX", "g++"))


def run_python(variant: Variant, *arguments: str, capture: bool = False) -> subprocess.CompletedProcess[str]:
    """Run Python with the sanitized package."""
    options = variant.options | {"LD_PRELOAD": f"{find_library(variant.library)} {find_library('libstdc++.so')}"}
    return run_with_package(variant.package, *arguments, options=options, capture=capture)


def check_that_errors_are_reported(variant: Variant) -> None:
    """Exit if the sanitizers do not report deliberate errors in the kernels of the variant."""
    where = run_python(variant, "-c", "import ravine._kernels as k; print(k.__file__)", capture=True)
    if not where.stdout.startswith(str(variant.package)):
        sys.exit(f"the sanitized kernels could not be loaded: {where.stdout}{where.stderr}")
    for report, script in variant.errors.items():
        done = run_python(variant, "-c", script, capture=True)
        if report not in done.stderr or "_kernels" not in done.stderr or done.returncode == 0:
            sys.exit(f"a deliberate error in the kernels was not reported ({report}): {done.stderr}")
        print(f"a deliberate error is reported: {report}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=[variant.name for variant in VARIANTS], help="run one variant")
    only = parser.parse_args().only
    for variant in VARIANTS:
        if only in (None, variant.name):
            find_library(variant.library)
            build(variant)
            check_that_errors_are_reported(variant)
            # Reports of the sanitizers go past pytest, which would lose them when the process ends.
            options = ("-q", "-x", "-p", "no:cacheprovider", "--capture=sys", f"--ignore={OTHER_BUILDS}")
            done = run_python(variant, "-m", "pytest", *options, *variant.tests)
            if done.returncode:
                sys.exit(f"the tests failed with the {variant.name} sanitizer")
    print("the sanitizers found nothing")


if __name__ == "__main__":
    main()
