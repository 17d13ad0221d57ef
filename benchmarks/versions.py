"""Compare the hyperplanes of two versions of ravine on 200 simulated problems.

python benchmarks/versions.py fit old.npy              # with one version installed
python benchmarks/versions.py fit new.npy              # with the other
python benchmarks/versions.py compare old.npy new.npy  # print a table
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

from mixtures import simulate_mixture
from ravine import MinimumDensityHyperplane
from ravine_paper.metrics import success_ratio

# A hyperplane is deeper or shallower than another if the ratio of its modes to its valley differs by more than this.
NOTABLE = 0.01


def simulate_problem(number: int, sizes: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Simulate rows and components of a mixture whose size, shape and separation are drawn at random."""
    rng = np.random.default_rng([7, number])
    d, n = int(rng.choice([2, 3, 5, 8, 10, 15, 20, 40])), int(rng.choice(sizes))
    k, separation = int(rng.choice([2, 3, 5])), float(rng.choice([3.5, 4.5, 5.5, 7]))
    tail, nuisance = str(rng.choice(["normal", "t3", "outliers"])), int(rng.choice([0, 0, 1])) if d > 3 else 0
    return simulate_mixture(n, d, k=k, separation=separation, tail=tail, nuisance=nuisance, seed=number)


def fit_all(n_problems: int, sizes: list[int]) -> np.ndarray:
    """Return rows, log of 1 + relative depth, success ratio and seconds of each fit."""
    results = []
    for number in range(n_problems):
        X, y = simulate_problem(number, sizes)
        start = time.process_time()
        with warnings.catch_warnings(action="ignore"):
            model = MinimumDensityHyperplane(random_state=0).fit(X)
        seconds = time.process_time() - start
        results.append((len(X), np.log1p(model.relative_depth_), success_ratio(y, model.labels_), seconds))
    return np.array(results)


def print_comparison(old: np.ndarray, new: np.ndarray) -> None:
    """Print a table with one row for each number of rows."""
    print("| rows | problems | deeper | shallower | mean success ratio, old / new | time, new / old |")
    print("|---|---|---|---|---|---|")
    for n in np.unique(old[:, 0]):
        a, b = old[old[:, 0] == n], new[old[:, 0] == n]
        gain = b[:, 1] - a[:, 1]
        print(
            f"| {n:,.0f} | {len(a)} | {(gain > NOTABLE).sum()} | {(gain < -NOTABLE).sum()} | "
            f"{a[:, 2].mean():.4f} / {b[:, 2].mean():.4f} | {b[:, 3].sum() / a[:, 3].sum():.2f} |"
        )


def main() -> None:
    """Fit with the installed version, or compare two files of results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["fit", "compare"])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--problems", type=int, default=200)
    parser.add_argument("--sizes", type=int, nargs="+", default=[300, 1000, 3000, 10_000])
    options = parser.parse_args()
    if options.task == "fit":
        np.save(options.files[0], fit_all(options.problems, options.sizes))
    else:
        print_comparison(*(np.load(file) for file in options.files))


if __name__ == "__main__":
    main()
