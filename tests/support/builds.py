"""Packages with kernels of another build, below `build` and never installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["ROOT", "build_package", "run_with_package"]

ROOT = Path(__file__).resolve().parents[2]


def build_package(package: Path, settings: Sequence[str], compiler: str) -> None:
    """Build the kernels if their sources have changed, and copy the package next to them.

    Parameters
    ----------
    package : Path
        Folder of the package, named ``ravine``.
    settings : sequence of str
        Settings of scikit-build-core, such as "cmake.build-type=Debug".
    compiler : str
        C++ compiler.
    """
    sources = [ROOT / "CMakeLists.txt", *(ROOT / "src" / "_kernels").iterdir()]
    built = list(package.glob("_kernels*.so"))
    if not built or built[0].stat().st_mtime < max(path.stat().st_mtime for path in sources):
        print(f"building the kernels with {compiler} {' '.join(settings)}", flush=True)
        shutil.rmtree(package.parent, ignore_errors=True)
        folder = f"build-dir={package.parent.with_name(f'{package.parent.name}-objects')}"
        options = [word for setting in [*settings, folder] for word in ("--config-settings", setting)]
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(package.parent)]
        subprocess.run([*install, *options, str(ROOT)], check=True, env=os.environ | {"CXX": compiler})
    without_kernels = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(ROOT / "src" / "ravine", package, ignore=without_kernels, dirs_exist_ok=True)


def run_with_package(
    package: Path, *arguments: str, options: Mapping[str, str], capture: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run Python with a package of `build_package`.

    The interpreter is the one below the virtual environment, with the environment's packages on its path: an editable
    installation would take precedence over PYTHONPATH otherwise.
    """
    folders = [package.parent, ROOT / "tests", ROOT / "benchmarks", *map(sysconfig.get_path, ("purelib", "platlib"))]
    environment = os.environ | options
    environment |= {"PYTHONPATH": os.pathsep.join(map(str, folders)), "PYTHONNOUSERSITE": "1", "OMP_NUM_THREADS": "1"}
    command = [os.path.realpath(sys.executable), *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, text=True, capture_output=capture, check=False)
