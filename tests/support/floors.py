"""Run the tests with the oldest or the newest packages that pyproject.toml allows: `make test-floors`, `-latest`.

    python tests/support/floors.py {floors|latest} [options of pytest]

Each gets an environment of its own, in which the package is built and installed from source: `.venv-floors` with the
oldest Python that is installed, `.venv-latest` with the newest. With `floors` every run-time requirement, required or
optional, and every requirement of the build has exactly the version of its `>=`. Tools of the tests are the newest in
both.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import Distribution, distributions
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.wheels import ROOT, find_pythons

PAPER = ROOT / "reproduction"
EXTRAS = ("plot", "app", "dask")
TOOLS = ("hypothesis", "networkx", "polars", "pytest", "pytest-xdist")
SHOWN = ("numpy", "scipy", "scikit-learn", "pandas", "pyarrow", "matplotlib", "dask", "polars", "networkx")


def read_requirements() -> tuple[list[str], list[str], list[str]]:
    """Return the requirements at run time, those of the tests that are data libraries, and those of the build."""
    table, paper = (tomllib.loads((folder / "pyproject.toml").read_text("utf-8")) for folder in (ROOT, PAPER))
    extras = table["project"]["optional-dependencies"]
    run_time = [*table["project"]["dependencies"], *(line for name in EXTRAS for line in extras[name])]
    run_time += [line for line in paper["project"]["dependencies"] if not line.startswith("ravine")]
    libraries = [line for line in extras["dev"] if line.startswith(("networkx", "polars"))]
    return run_time, libraries, table["build-system"]["requires"]


def pin(requirement: str) -> str:
    """Return a constraint to the lowest version that a requirement allows, without its extras."""
    name, version = re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?>=([\d.]+)", requirement).groups()  # type: ignore[union-attr]
    return f"{name}=={version}"


def install(python: Path, floors: bool) -> None:
    """Install the package, its extras and the tools of the tests."""
    run_time, libraries, build = read_requirements()
    constraints = python.parents[1] / "constraints.txt"
    constraints.write_text("\n".join(sorted({pin(line) for line in [*run_time, *libraries, *build]})) + "\n")
    pinned = ["--constraint", str(constraints)] if floors else ["--upgrade", "--upgrade-strategy", "eager"]
    environment = os.environ | ({"PIP_CONSTRAINT": str(constraints)} if floors else {})
    pip = [str(python), "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, "--upgrade", "pip"], check=True)
    folder = f"build-dir={ROOT / 'build' / python.parents[1].name}"
    package = f"{ROOT}[{','.join(EXTRAS)}]"
    subprocess.run([*pip, *pinned, "--config-settings", folder, package, *TOOLS], check=True, env=environment)
    subprocess.run([*pip, *pinned, str(PAPER)], check=True, env=environment)


def show_versions(python: Path) -> None:
    """Print the versions that the tests run with."""
    (site,) = (python.parents[1] / "lib").glob("python*/site-packages")
    found: dict[str, Distribution] = {item.name.lower(): item for item in distributions(path=[str(site)])}
    print(f"{site.parent.name},", ", ".join(f"{name} {found[name].version}" for name in SHOWN), flush=True)


def main() -> int:
    """Set up the environment and run the tests."""
    which, options = sys.argv[1], sys.argv[2:]
    if which not in ("floors", "latest"):
        raise SystemExit("choose floors or latest")
    python = ROOT / f".venv-{which}" / "bin" / "python"
    if not python.exists():
        found = find_pythons([])
        base = found[min(found) if which == "floors" else max(found)]
        subprocess.run([str(base), "-m", "venv", str(python.parents[1])], check=True)
    install(python, which == "floors")
    show_versions(python)
    paths = [] if any("tests" in option for option in options) else ["tests", "reproduction/tests"]
    tests = [str(python), "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", "-m", "not slow", *paths]
    return subprocess.run([*tests, *options], cwd=ROOT, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"}).returncode


if __name__ == "__main__":
    sys.exit(main())
