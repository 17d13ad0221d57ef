"""Versions and machine with which a study is run."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from importlib import metadata

__all__ = ["count_cores", "describe_environment", "read_environment"]

PACKAGES = ("ravine", "numpy", "scipy", "scikit-learn", "matplotlib", "HiPart")


def count_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def read_environment() -> dict[str, str]:
    """Return the versions of Python and of the relevant packages, the system and the number of cores."""
    found = {"python": platform.python_version(), "system": f"{platform.system()} {platform.machine()}"}
    found["cores"] = str(count_cores())
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def describe_environment(found: Mapping[str, str]) -> str:
    """Describe an environment in one line."""
    packages = [f"{name} {found[name]}" for name in PACKAGES if name in found]
    return f"Python {found['python']}, {', '.join(packages)}, on {found['system']} with {found['cores']} cores"
