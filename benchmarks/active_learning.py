"""Labels that `MinimumDensityClassifier.query` needs to reach an error of 5 %, against random choice.

    python benchmarks/active_learning.py [--repeats 10] [--jobs 2]

Each of eight families of simulated problems (600 rows, 10 or 20 features) starts with one random label of each class.
One row at a time is then labelled, chosen by each strategy or at random, until the error on all rows is at most 5 %
or there are 80 labels. The table has the mean number of labels over random starts.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from few_labels import standardise
from ravine import MinimumDensityClassifier

FAMILIES = (
    "no gap", "no gap, 20 features", "rare, no gap", "skew", "narrow gap", "three clusters", "grid", "other gap",
)  # fmt: skip
STRATEGIES = ("random", "uncertainty", "change", "density", "diverse")
TARGET, BATCH, MOST = 0.05, 1, 80


def make_problem(family: str, seed: int, n: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """Simulate a problem that a hyperplane solves with an error below 5 %."""
    rng = np.random.default_rng([FAMILIES.index(family), seed])
    X = rng.standard_normal((n, 20 if family == "no gap, 20 features" else 10))
    first = X[:, 0].copy()
    if family.startswith("no gap"):
        y = first + 0.5 * X[:, 1] > 0.0
    elif family == "rare, no gap":
        y = first + 0.5 * X[:, 1] > 1.5
    elif family == "skew":
        X, y = np.exp(0.7 * X), rng.random(n) < 0.5
        X[:, 0] = np.exp(0.5 * first) + 2.0 * y
    elif family == "narrow gap":
        y = rng.random(n) < 0.5
        X[:, 0] = 0.55 * first + np.where(y, 1.0, -1.0)
    elif family == "three clusters":  # a gap on either side of the middle, of which one separates the classes
        cluster = rng.integers(0, 3, n)
        X[:, 0], y = 0.4 * first + 2.5 * cluster, cluster == 2
    elif family == "grid":
        cells = rng.integers(0, 3, (n, 2))
        X[:, :2], y = 0.4 * X[:, :2] + 2.5 * cells, cells[:, 0] > 0
    else:  # other gap: one that is wider than that of the classes
        y = rng.random(n) < 0.5
        X[:, 0] = 0.5 * first + np.where(y, 1.0, -1.0)
        X[:, 1] = 0.5 * X[:, 1] + rng.choice([-3.0, 3.0], n)
    return standardise(X), y.astype(int)


def count_labels(task: tuple[str, int, str]) -> int:
    """Return the number of labels at which the error is at most 5 % for the first time."""
    family, seed, strategy = task
    X, y = make_problem(family, seed)
    rng = np.random.default_rng(seed)
    given = np.full(len(y), -1)
    for label in (0, 1):
        given[rng.choice(np.flatnonzero(y == label), 1, replace=False)] = label
    while True:
        model = MinimumDensityClassifier().fit(X, given)
        n = int((given >= 0).sum())
        if np.mean(model.predict(X) != y) <= TARGET or n >= MOST:
            return n
        unlabelled = np.flatnonzero(given < 0)
        chosen = (
            rng.choice(unlabelled, BATCH, replace=False)
            if strategy == "random"
            else unlabelled[model.query(X[unlabelled], BATCH, strategy=strategy)]
        )
        given[chosen] = y[chosen]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option, default in (("repeats", 10), ("jobs", 2)):
        parser.add_argument(f"--{option}", type=int, default=default)
    options = parser.parse_args()
    tasks = [(f, k, s) for f in FAMILIES for s in STRATEGIES for k in range(options.repeats)]
    with ProcessPoolExecutor(options.jobs) as pool:
        counts = np.array(list(pool.map(count_labels, tasks))).reshape(len(FAMILIES), len(STRATEGIES), -1).mean(axis=2)
    print(f"| family | {' | '.join(STRATEGIES)} |\n" + "|---" * (len(STRATEGIES) + 1) + "|")
    for family, row in zip(FAMILIES, counts, strict=True):
        print(f"| {family} | " + " | ".join(f"{value:.1f}" for value in row) + " |")
    for k, strategy in enumerate(STRATEGIES[1:], 1):
        print(f"{strategy}: fewer labels than random in {int((counts[:, k] < counts[:, 0]).sum())} of {len(FAMILIES)}")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
