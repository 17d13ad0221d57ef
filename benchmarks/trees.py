"""Number of clusters: the valley test and MinimumDensityTree on unimodal data, mixtures and data sets of the paper.

    RAVINE_DATA=folder python benchmarks/trees.py nulls|power|mixtures|sets [--fits N] [--jobs 2]

nulls: share of false splits at the root for families of unimodal data. power: share of true splits found, for several
numbers of halvings. mixtures: how often the number of clusters is exact. sets: adjusted Rand index and number of
clusters, compared with other methods. Only the number of halvings was chosen by these results (power, simulated).
"""

from __future__ import annotations

import argparse
import itertools
import os
import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score

from ravine import MinimumDensityTree, valley_test
from ravine.baselines import PDDP, DePDDP
from ravine.studies.clustering.paper import SETS
from sets import load_standardised

NULLS = {
    "Gaussian": lambda rng, n, d: rng.standard_normal((n, d)),
    "decaying": lambda rng, n, d: rng.standard_normal((n, d)) / np.arange(1, d + 1),
    "t5": lambda rng, n, d: rng.standard_t(5, (n, d)),
    "cube": lambda rng, n, d: rng.random((n, d)),
    "exponential": lambda rng, n, d: rng.exponential(size=(n, d)),
    "lognormal": lambda rng, n, d: rng.lognormal(size=(n, d)),
    "outliers": lambda rng, n, d: rng.standard_normal((n, d)) * np.where(rng.random(n) < 0.02, 10.0, 1.0)[:, None],
    "Bernoulli": lambda rng, n, d: (rng.random((n, d)) < rng.uniform(0.1, 0.9, d)).astype(float),
    "Poisson": lambda rng, n, d: rng.poisson(rng.uniform(0.5, 5.0, d), (n, d)).astype(float),
    "rounded": lambda rng, n, d: np.round(rng.standard_normal((n, d)), 1),
    "twin answers": lambda rng, n, d: np.round(rng.standard_normal((n, 1)) + 0.3 * rng.standard_normal((n, d))),
}
SIZES, DIMENSIONS, LEVEL = (100, 300, 1000), (2, 10, 50), 0.05


def is_false_split(task: tuple[str, int, int, int]) -> bool:
    family, n, d, seed = task
    rng = np.random.default_rng([seed, n, d, list(NULLS).index(family)])
    return valley_test(NULLS[family](rng, n, d), random_state=seed).pvalue <= LEVEL


def print_false_splits(n_fits: int, pool: ProcessPoolExecutor) -> None:
    cells = list(itertools.product(SIZES, DIMENSIONS))
    print("| family | " + " | ".join(f"{n} x {d}" for n, d in cells) + " |\n" + "|---" * (len(cells) + 1) + "|")
    total = 0
    for family in NULLS:
        shown = []
        for n, d in cells:
            shown.append(sum(pool.map(is_false_split, [(family, n, d, seed) for seed in range(n_fits)])))
        total += sum(shown)
        print(f"| {family} | " + " | ".join(f"{k}/{n_fits}" for k in shown) + " |", flush=True)
    n_all = n_fits * len(cells) * len(NULLS)
    error = 100.0 * np.sqrt(0.02 * 0.98 / n_fits)
    print(f"false splits: {total} of {n_all} ({100 * total / n_all:.2f} %)")
    print(f"Monte-Carlo standard error of a cell whose true rate is 2 %: {error:.1f} points")


def is_true_split(task: tuple[int, int, float, int, int]) -> bool:
    n, d, share, seed, n_splits = task
    rng = np.random.default_rng([seed, n, d])
    X = rng.standard_normal((n, d))
    X[rng.random(n) < share, 0] += 5.0
    return valley_test(X, n_splits=n_splits, random_state=seed).pvalue <= LEVEL


def print_power(n_fits: int, pool: ProcessPoolExecutor) -> None:
    for n, d, share in ((100, 2, 0.5), (300, 10, 0.5), (300, 50, 0.5), (1000, 10, 0.2), (300, 10, 0.2)):
        found = {
            k: np.mean(list(pool.map(is_true_split, [(n, d, share, seed, k) for seed in range(n_fits)])))
            for k in (1, 3, 5)
        }
        print(f"{n} x {d}, {share:.0%} in the second cluster, means 5 standard deviations apart: "
              + ", ".join(f"{k} halvings {p:.0%}" for k, p in found.items()), flush=True)  # fmt: skip


def count_clusters(task: tuple[int, int, int]) -> int:
    k, d, seed = task
    rng = np.random.default_rng([seed, k, d])
    centers = rng.standard_normal((k, d))
    while k > 1:  # until all means are at least 5 standard deviations apart
        distances = np.linalg.norm(centers[:, None] - centers, axis=-1)[np.triu_indices(k, 1)]
        if distances.min() >= 5.0:
            break
        centers *= 1.1
        if d == 2:
            centers += 0.5 * rng.standard_normal((k, d))
    X = centers[rng.integers(0, k, 1500)] + rng.standard_normal((1500, d))
    return MinimumDensityTree(random_state=seed).fit(X).n_clusters_


def print_cluster_counts(n_fits: int, pool: ProcessPoolExecutor) -> None:
    exact = []
    for d in DIMENSIONS:
        for k in range(1, 11):
            found = np.array(list(pool.map(count_clusters, [(k, d, seed) for seed in range(n_fits)])))
            exact += (found == k).tolist()
            print(f"d={d}, k={k}: {np.mean(found == k):.0%} exact; found {np.bincount(found).tolist()}", flush=True)
    print(f"exact in {np.mean(exact):.1%} of {len(exact)} mixtures (at least 90 %)")


def compare_methods(name: str) -> str:
    warnings.simplefilter("ignore")
    X, classes = load_standardised(name)
    y = np.unique(classes, return_inverse=True)[1]
    k = int(y.max()) + 1
    methods = {
        "tree, auto": lambda: MinimumDensityTree(random_state=0).fit(X).labels_,
        "HDBSCAN": lambda: HDBSCAN(min_cluster_size=max(5, len(X) // 100)).fit(X).labels_,
        "tree, k": lambda: MinimumDensityTree(k, random_state=0).fit(X).labels_,
        "KMeans, k": lambda: KMeans(k, n_init=10, random_state=0).fit(X).labels_,
        "PDDP, k": lambda: PDDP(k).fit(X).labels_,
        "dePDDP, k": lambda: DePDDP(k).fit(X).labels_,
    }
    cells = []
    for cluster in methods.values():
        labels = cluster()
        cells.append(f"{adjusted_rand_score(y, labels):.2f} ({len(set(labels.tolist()) - {-1})})")
    return f"| {name} | {k} | " + " | ".join(cells) + " |"


def print_sets(_: int, pool: ProcessPoolExecutor) -> None:
    print("adjusted Rand index (number of clusters)\n"
          "| set | classes | tree, auto | HDBSCAN | tree, k | KMeans, k | PDDP, k | dePDDP, k |\n"
          + "|---" * 8 + "|")  # fmt: skip
    for line in pool.map(compare_methods, sorted(SETS)):
        print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["nulls", "power", "mixtures", "sets"])
    parser.add_argument("--fits", type=int, default=100, help="fits per cell")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    with ProcessPoolExecutor(options.jobs) as pool:
        {"nulls": print_false_splits, "power": print_power, "mixtures": print_cluster_counts, "sets": print_sets}[
            options.what
        ](options.fits, pool)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
