"""What a study was run with."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from importlib import metadata

__all__ = ["described", "environment"]

PACKAGES = ("ravine", "numpy", "scipy", "scikit-learn", "matplotlib", "HiPart")


def environment() -> dict[str, str]:
    """Versions of Python and of the packages that matter, and the machine."""
    found = {"python": platform.python_version(), "system": f"{platform.system()} {platform.machine()}"}
    found["cores"] = str(len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count())
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def described(found: Mapping[str, str]) -> str:
    """An environment in words."""
    packages = [f"{name} {found[name]}" for name in PACKAGES if name in found]
    return f"Python {found['python']}, {', '.join(packages)}, on {found['system']} with {found['cores']} cores"
