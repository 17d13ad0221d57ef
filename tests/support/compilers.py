"""Build the kernels without warnings by g++ and clang++, and test them without vector extensions: `make warnings`.

    python tests/support/compilers.py

Every compiler that is installed builds the kernels twice, with -Wall -Wextra -Werror: with the vector extensions of gcc
and Clang, and in standard C++, as for other compilers. The tests of the kernels then run with the latter.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.builds import ROOT, build_package, run_with_package

BUILD = ROOT / "build" / "warnings"
COMPILERS = ("g++", "clang++")
TESTS = ("tests/kernels", "tests/density", "tests/index")


def main() -> int:
    """Build all variants and run the tests; return an exit code."""
    found = [compiler for compiler in COMPILERS if shutil.which(compiler)]
    for compiler in found:
        for name in ("vectors", "portable"):
            package = BUILD / f"{compiler.replace('+', 'p')}-{name}" / "ravine"
            portable = "ON" if name == "portable" else "OFF"
            settings = ["cmake.define.RAVINE_WARNINGS=ON", f"cmake.define.RAVINE_PORTABLE={portable}"]
            build_package(package, settings, compiler)
            print(f"{compiler}, {name}: no warnings", flush=True)
        options = ["-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider", *TESTS]
        if code := run_with_package(package, *options, options={}).returncode:
            return code
    if missing := set(COMPILERS) - set(found):
        print(f"not installed: {', '.join(sorted(missing))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
