"""Compare the fits of 20 data sets between instruction sets and compilers: `make compare`.

    python tests/support/instruction_sets.py [--compiler clang++]

The package is built with each compiler below `build/compare` and run with AVX2 and with the baseline. Labels must be
equal, and the normals of hyperplanes, trees and classifiers must agree within 1e-9.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.builds import ROOT, build_package, run_with_package

__all__ = ["Comparison", "compare_fits", "run_fits"]

BUILD = ROOT / "build" / "compare"
NORMAL_TOLERANCE = 1e-9


def run_fits(compiler: str, kernels: str) -> dict[str, np.ndarray]:
    """Fit all data sets with the kernels of a compiler for an instruction set, "v3" (AVX2 and FMA) or "baseline"."""
    package = BUILD / compiler.replace("+", "p") / "ravine"
    build_package(package, ["cmake.build-type=Release"], compiler)
    with tempfile.TemporaryDirectory() as folder:
        target = str(Path(folder) / "fits.npz")
        options = {"RAVINE_KERNELS": "baseline"} if kernels == "baseline" else {}
        done = run_with_package(package, "-m", "support.fits", target, options=options, capture=True)
        if done.returncode:
            sys.exit(f"the fits with {compiler} and {kernels} failed: {done.stderr}")
        with np.load(target) as fits:
            results = dict(fits)
    if results.pop("instruction_set") != kernels:
        sys.exit(f"this processor does not have the instruction set {kernels}")
    return results


@dataclass
class Comparison:
    """Differences between two dictionaries of fits.

    Attributes
    ----------
    n_labels : int
        Number of fits whose labels or predictions differ.
    normals, classifiers : float
        Largest difference of the normals of hyperplanes and trees, and of classifiers.
    n_equal, n_results : int
        Number of results that are equal to the bit, and of all.
    """

    n_labels: int = 0
    normals: float = 0.0
    classifiers: float = 0.0
    n_equal: int = 0
    n_results: int = 0

    @property
    def is_close(self) -> bool:
        """Whether all labels are equal, and normals within the tolerance."""
        return self.n_labels == 0 and max(self.normals, self.classifiers) <= NORMAL_TOLERANCE


def compare_fits(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> Comparison:
    """Compare the results of `fit_all`."""
    found = Comparison(n_results=len(first))
    for name, value in first.items():
        other = second[name]
        found.n_equal += value.shape == other.shape and value.tobytes() == other.tobytes()
        if name.endswith(("labels", "predict")):
            found.n_labels += not np.array_equal(value, other)
        elif name.endswith("normal"):
            gap = np.inf if value.shape != other.shape else float(np.nanmax(np.abs(value - other), initial=0.0))
            kind = "classifiers" if "classifier" in name else "normals"
            setattr(found, kind, max(getattr(found, kind), gap))
    return found


def main() -> None:
    """Compare all variants with the first; exit with 1 if results differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", action="append", help="C++ compiler; may be repeated (g++ and clang++)")
    compilers = parser.parse_args().compiler or [name for name in ("g++", "clang++") if shutil.which(name)]
    variants = [(compiler, kernels) for compiler in compilers for kernels in ("v3", "baseline")]
    fits = {variant: run_fits(*variant) for variant in variants}
    failed = False
    for variant in variants[1:]:
        found = compare_fits(fits[variants[0]], fits[variant])
        print(f"{' '.join(variants[0])} and {' '.join(variant)}: {found}")
        failed |= not found.is_close
    sys.exit(failed)


if __name__ == "__main__":
    main()
