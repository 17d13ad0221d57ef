"""Comparison of settings on simulated data, from which the defaults were chosen.

    python benchmarks/defaults.py [--seeds 5]

The data are mixtures of Gaussians that differ in separation, balance, number of clusters, dimension, tails, and in the
number of directions of large variance without clusters. Prints the mean success ratio of each setting, over all
problems and by family.
"""

from __future__ import annotations

import argparse
import time
import warnings
import zlib

import numpy as np

from mixtures import simulate_mixture
from ravine import MinimumDensityHyperplane, NoSplitWarning, PathSettings, paper_settings
from ravine_paper.metrics import success_ratio

SIZES = [(200, 5), (200, 50), (1000, 10), (1000, 50), (5000, 20)]
FAMILIES: dict[str, dict[str, object]] = {
    "k=2": {"k": 2, "separation": 4.5},
    "90:10": {"k": 2, "separation": 6.0, "weights": (0.9, 0.1)},
    "80:20": {"k": 2, "separation": 6.0, "weights": (0.8, 0.2)},
    "k=3": {"k": 3},
    "k=5": {"k": 5, "separation": 6.0},
    "k=10": {"k": 10, "separation": 6.0},
    "t3": {"k": 2, "separation": 6.0, "tail": "t3"},
    "outliers": {"k": 3, "tail": "outliers"},
    "nuisance 3": {"k": 3, "nuisance": 3},
    "nuisance 8": {"k": 3, "nuisance": 8},
}
SETTINGS: dict[str, dict[str, object]] = {
    "paper": paper_settings("clustering"),
    "defaults": {},
    "2 PCs": {"init": "pca", "n_init": 2},
    "4 PCs": {"init": "pca", "n_init": 4},
    "6 PCs": {"init": "pca", "n_init": 6},
    "10 PCs": {"init": "pca", "n_init": 10},
    "6 random": {"init": "random", "n_init": 6},
    "9 starts": {"n_init": 9},
    "alpha_max .9": {"alpha_max": 0.9},
    "alpha_max 1.2": {"alpha_max": 1.2},
    "alpha_max 2": {"alpha_max": 2.0},
    "last": {"select": "last"},
    "20 alphas x 5": {"path": PathSettings(n_alpha=20, max_iter=5)},
    "8 alphas x 15": {"path": PathSettings(n_alpha=8, max_iter=15)},
}


def simulate_problems(n_seeds: int) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Return family, rows and components of every simulated problem."""
    problems = []
    for n, d in SIZES:
        for family, options in FAMILIES.items():
            if int(options.get("nuisance", 0)) >= d:  # type: ignore[call-overload]
                continue
            for seed in range(n_seeds):
                number = zlib.crc32(f"{n} {d} {family} {seed}".encode())
                problems.append((family, *simulate_mixture(n, d, **options, seed=number)))  # type: ignore[arg-type]
    return problems


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    all_problems = simulate_problems(parser.parse_args().seeds)
    warnings.simplefilter("ignore", NoSplitWarning)
    print(f"{len(all_problems)} problems; mean success ratio\n")
    print(f"{'':<15}{'all':>6}{'s/fit':>8}   " + "".join(f"{name:>11}" for name in FAMILIES))
    for name, settings in SETTINGS.items():
        ratios: dict[str, list[float]] = {family: [] for family in FAMILIES}
        start = time.perf_counter()
        for family, X, y in all_problems:
            labels = MinimumDensityHyperplane(**settings, random_state=0).fit_predict(X)  # type: ignore[arg-type]
            ratios[family].append(success_ratio(y, labels))
        seconds = (time.perf_counter() - start) / len(all_problems)
        mean = float(np.mean([r for family in ratios.values() for r in family]))
        by_family = "".join(f"{np.mean(r):>11.3f}" for r in ratios.values())
        print(f"{name:<15}{mean:>6.3f}{seconds:>8.3f}   {by_family}", flush=True)


if __name__ == "__main__":
    main()
