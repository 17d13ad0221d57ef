"""Number of clusters: the valley test and MinimumDensityTree on unimodal data, mixtures and data sets of the paper.

    RAVINE_DATA=folder python benchmarks/trees.py nulls|power|mixtures|hard|nodes|cost [--fits N] [--method exact]

nulls: share of false splits of the root of an automatic tree, for families of unimodal data. power: share of true
splits that the valley test finds. mixtures: how often the number of clusters is exact. hard: agreement with the
components of mixtures that overlap, without their number. nodes: numbers of clusters of
automatic trees where only the first split is real, or none is. cost: CPU time of trees of pendigits, in fits of one
hyperplane. The number of folds and partitions of the pooled test and its calibration were chosen by nulls and power.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np
from sklearn.metrics import adjusted_rand_score

from mixtures import simulate_hard_mixture
from ravine import MinimumDensityHyperplane, MinimumDensityTree, valley_test
from ravine.search import SearchSettings
from ravine.tree.splitter import DensitySplitter, NodeTest
from sets import load_standardised

Draw = Callable[[np.random.Generator, int, int], np.ndarray]
LEVEL = 0.05


def draw_shelf(rng: np.random.Generator, n: int, d: int, share: float, width: float, length: float) -> np.ndarray:
    """Draw a tall core beside a flat shelf in the first feature: the least favourable unimodal density."""
    first = np.where(rng.random(n) < share, width * rng.standard_normal(n), length * rng.random(n))
    return np.c_[first, 0.05 * rng.standard_normal((n, d - 1))]


def draw_ball(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    x = rng.standard_normal((n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True) * rng.random((n, 1)) ** (1.0 / d)


def draw_banana(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Draw a curved cluster, convex enough to be unimodal along every direction."""
    x = rng.standard_normal((n, d))
    x[:, -1] += 0.3 * x[:, 0] ** 2
    return x


NULLS: dict[str, Draw] = {
    "Gaussian": lambda rng, n, d: rng.standard_normal((n, d)),
    "decaying": lambda rng, n, d: rng.standard_normal((n, d)) / np.arange(1, d + 1),
    "correlated": lambda rng, n, d: rng.standard_normal((n, d)) + 2.0 * rng.standard_normal((n, 1)),
    "Laplace": lambda rng, n, d: rng.laplace(size=(n, d)),
    "t5": lambda rng, n, d: rng.standard_t(5, (n, d)),
    "t3": lambda rng, n, d: rng.standard_t(3, (n, d)),
    "t1.5": lambda rng, n, d: rng.standard_t(1.5, (n, d)),
    "cube": lambda rng, n, d: rng.random((n, d)),
    "ball": draw_ball,
    "triangular": lambda rng, n, d: rng.triangular(0.0, 0.2, 1.0, (n, d)),
    "exponential": lambda rng, n, d: rng.exponential(size=(n, d)),
    "lognormal": lambda rng, n, d: rng.lognormal(size=(n, d)),
    "gamma": lambda rng, n, d: rng.gamma(0.7, size=(n, d)),
    "banana": draw_banana,
    "outliers": lambda rng, n, d: rng.standard_normal((n, d)) * np.where(rng.random(n) < 0.02, 10.0, 1.0)[:, None],
    "scale mixture": lambda rng, n, d: rng.standard_normal((n, d)) * rng.choice([0.3, 1.0, 3.0], (n, 1)),
    "skewed outliers": lambda rng, n, d: rng.gamma(2.0, size=(n, d)) * np.where(rng.random((n, d)) < 0.02, 5.0, 1.0),
    "shelf": lambda rng, n, d: draw_shelf(rng, n, d, 0.5, 0.3, 4.0),
    "low shelf": lambda rng, n, d: draw_shelf(rng, n, d, 0.7, 0.2, 3.0),
    "long shelf": lambda rng, n, d: draw_shelf(rng, n, d, 0.6, 0.5, 6.0),
    "Bernoulli": lambda rng, n, d: (rng.random((n, d)) < rng.uniform(0.1, 0.9, d)).astype(float),
    "Poisson": lambda rng, n, d: rng.poisson(rng.uniform(0.5, 5.0, d), (n, d)).astype(float),
    "rounded": lambda rng, n, d: np.round(rng.standard_normal((n, d)), 1),
    "ratings": lambda rng, n, d: np.clip(np.round(rng.normal(rng.uniform(2, 4, d), 1.0, (n, d))), 1, 5),
    "twin answers": lambda rng, n, d: np.round(rng.standard_normal((n, 1)) + 0.3 * rng.standard_normal((n, d))),
}
SIZES, DIMENSIONS = (60, 300, 1000), (1, 2, 10, 50)


def is_false_split(task: tuple[str, int, int, int, str]) -> bool:
    """Return whether the automatic tree splits its root, either by its own test or by those of its parts."""
    family, n, d, seed, method = task
    rng = np.random.default_rng([seed, n, d, *family.encode()])
    X = np.ascontiguousarray(NULLS[family](rng, n, d))
    settings = SearchSettings()
    splitter = DensitySplitter(
        replace(settings, init="axes"), NodeTest(settings, method=method, level=LEVEL), min_size=5
    )
    return splitter.split(X, np.arange(n), np.random.default_rng(seed)).hyperplane is not None


def print_false_splits(options: argparse.Namespace, pool: ProcessPoolExecutor) -> None:
    cells = list(itertools.product(SIZES, DIMENSIONS))
    print("| family | " + " | ".join(f"{n} x {d}" for n, d in cells) + " | all |\n" + "|---" * (len(cells) + 2) + "|")
    total = 0
    seeds = range(options.seed, options.seed + options.fits)
    for family in options.family:
        shown = []
        for n, d in cells:
            tasks = [(family, n, d, seed, options.method) for seed in seeds]
            shown.append(sum(pool.map(is_false_split, tasks)))
        total += sum(shown)
        share = sum(shown) / (options.fits * len(cells))
        print(f"| {family} | " + " | ".join(map(str, shown)) + f" | {100 * share:.1f} % |", flush=True)
    n_all = options.fits * len(cells) * len(options.family)
    print(f"false splits: {total} of {n_all} ({100 * total / n_all:.2f} %), {options.fits} fits in each cell")


# n, d, standard deviations between the means, share of the second cluster.
DESIGNS = (
    (100, 2, 5.0, 0.5), (100, 10, 5.0, 0.5), (100, 2, 4.0, 0.5), (100, 30, 5.0, 0.5), (300, 2, 3.0, 0.5),
    (300, 2, 3.5, 0.5), (300, 10, 3.5, 0.5), (300, 10, 4.0, 0.5), (300, 30, 4.0, 0.5), (300, 30, 5.0, 0.5),
    (300, 2, 4.0, 0.2), (300, 10, 5.0, 0.2), (300, 10, 4.0, 0.3), (600, 2, 3.5, 0.3), (600, 10, 3.5, 0.5),
    (600, 10, 4.0, 0.2), (600, 30, 5.0, 0.15), (600, 30, 4.0, 0.3), (600, 30, 3.5, 0.5), (300, 2, 5.0, 0.15),
)  # fmt: skip
# Small clusters, reported beside the designs.
SMALL_CLUSTERS = tuple((n, d, sep, share) for n, d in ((300, 10), (1000, 10)) for sep in (4.0, 5.0)
                       for share in (0.1, 0.15, 0.2))  # fmt: skip


def is_true_split(task: tuple[int, int, float, float, int, str]) -> bool:
    n, d, separation, share, seed, method = task
    rng = np.random.default_rng([seed, n, d, int(10 * separation), int(100 * share)])
    X = rng.standard_normal((n, d))
    X[rng.random(n) < share, 0] += separation
    return valley_test(X, method=method, random_state=seed).pvalue <= LEVEL


def print_power(options: argparse.Namespace, pool: ProcessPoolExecutor) -> None:
    for title, designs in (("design", DESIGNS), ("small clusters", SMALL_CLUSTERS)):
        print(f"| {title} (rows x features, separation, share) | pooled | exact |\n|---|---|---|")
        found = []
        for design in designs:
            seeds = range(options.seed, options.seed + options.fits)
            tasks = {m: [(*design, seed, m) for seed in seeds] for m in ("pooled", "exact")}
            found.append([np.mean(list(pool.map(is_true_split, some))) for some in tasks.values()])
            n, d, separation, share = design
            print(f"| {n} x {d}, {separation:g} sd, {share:.0%} | " + " | ".join(f"{p:.2f}" for p in found[-1]) + " |",
                  flush=True)  # fmt: skip
        print("| mean | " + " | ".join(f"{p:.3f}" for p in np.mean(found, axis=0)) + " |\n")


def count_clusters(task: tuple[int, int, int, str]) -> int:
    k, d, seed, method = task
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
    return MinimumDensityTree(random_state=seed, hyperplane=MinimumDensityHyperplane(test=method)).fit(X).n_clusters_


def print_cluster_counts(options: argparse.Namespace, pool: ProcessPoolExecutor) -> None:
    exact = []
    for d in (2, 10, 50):
        for k in range(1, 11):
            tasks = [(k, d, seed, options.method) for seed in range(options.fits)]
            found = np.array(list(pool.map(count_clusters, tasks)))
            exact += (found == k).tolist()
            print(f"d={d}, k={k}: {np.mean(found == k):.0%} exact; found {np.bincount(found).tolist()}", flush=True)
    print(f"exact in {np.mean(exact):.1%} of {len(exact)} mixtures")


def score_hard_mixture(task: tuple[int, str]) -> tuple[float, float]:
    """Return the adjusted Rand index of the clusters that are shown, and of those that are suggested."""
    seed, method = task
    X, y = simulate_hard_mixture(seed)
    mdt = MinimumDensityTree(random_state=0, hyperplane=MinimumDensityHyperplane(test=method)).fit(X)
    return adjusted_rand_score(y, mdt.labels_), adjusted_rand_score(y, mdt.cut("suggested"))


def print_hard_mixtures(options: argparse.Namespace, pool: ProcessPoolExecutor) -> None:
    tasks = [(seed, options.method) for seed in range(options.seed, options.seed + options.fits)]
    shown, suggested = np.mean(list(pool.map(score_hard_mixture, tasks)), axis=0)
    print(f"adjusted Rand index, mean of {options.fits}: shown {shown:.3f}, suggested {suggested:.3f}")


def draw_blocks(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Draw two blocks of yes-and-no features that are independent within each block."""
    p = np.where(rng.random((n, 1)) < 0.5, rng.uniform(0.6, 0.95, d), rng.uniform(0.05, 0.4, d))
    return (rng.random((n, d)) < p).astype(float)


def draw_answers(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Draw yes-and-no features in three correlated families."""
    traits = rng.standard_normal((n, 3))[:, np.arange(d) % 3]
    return (traits + rng.standard_normal((n, d)) > rng.uniform(-1.0, 1.0, d)).astype(float)


def draw_two(draw: Draw) -> Draw:
    """Return the draw of two far copies of a cluster."""
    return lambda rng, n, d: draw(rng, n, d) + np.where(rng.random((n, 1)) < 0.5, 0.0, 12.0) * (np.arange(d) == 0)


# Draws, and the true number of clusters.
NODES: dict[str, tuple[Draw, int]] = {
    "two blocks of yes and no": (draw_blocks, 2),
    "correlated yes and no": (draw_answers, 1),
    "two Gaussians": (draw_two(NULLS["Gaussian"]), 2),
    "two bananas": (draw_two(draw_banana), 2),
    "two skewed": (draw_two(NULLS["gamma"]), 2),
    "two rounded": (draw_two(lambda rng, n, d: np.round(rng.standard_normal((n, d)))), 2),
    "two of ratings": (draw_two(NULLS["ratings"]), 2),
}


def count_nodes(task: tuple[str, int, int, int, str]) -> int:
    family, n, d, seed, method = task
    X = NODES[family][0](np.random.default_rng([seed, n, d]), n, d)
    return MinimumDensityTree(random_state=seed, hyperplane=MinimumDensityHyperplane(test=method)).fit(X).n_clusters_


def print_nodes(options: argparse.Namespace, pool: ProcessPoolExecutor) -> None:
    print("| data | rows x features | true | trees with 1, 2, ... clusters |\n|---|---|---|---|")
    for (family, (_, k)), (n, d) in itertools.product(NODES.items(), ((300, 16), (1000, 16), (1000, 4))):
        tasks = [(family, n, d, seed, options.method) for seed in range(options.fits)]
        found = np.bincount(list(pool.map(count_nodes, tasks)))[1:]
        print(f"| {family} | {n} x {d} | {k} | {', '.join(map(str, found))} |", flush=True)


def print_cost(options: argparse.Namespace, _: ProcessPoolExecutor) -> None:
    """Print the CPU time of an automatic tree of pendigits, in fits of one hyperplane to the same rows."""
    X, _classes = load_standardised("pendigits")
    one = min(measure_cpu(lambda: MinimumDensityHyperplane(random_state=0).fit(X)) for _ in range(5))
    for name, n_clusters in (("auto", "auto"), ("10 clusters", 10)):
        costs = [
            measure_cpu(lambda k=n_clusters, seed=seed: MinimumDensityTree(k, random_state=seed).fit(X)) / one
            for seed in range(min(options.fits, 3))
        ]
        print(f"{name}: {', '.join(f'{cost:.1f}' for cost in costs)} fits of {1000 * one:.0f} ms")


def measure_cpu(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = {
        "nulls": print_false_splits,
        "power": print_power,
        "mixtures": print_cluster_counts,
        "hard": print_hard_mixtures,
        "nodes": print_nodes,
        "cost": print_cost,
    }
    parser.add_argument("what", choices=commands)
    parser.add_argument("--fits", type=int, default=100, help="fits per cell")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--method", choices=["pooled", "exact"], default="pooled", help="of the valley test")
    parser.add_argument("--seed", type=int, default=0, help="first seed of nulls and power")
    parser.add_argument("--family", nargs="+", choices=NULLS, default=list(NULLS), help="families of nulls")
    options = parser.parse_args()
    with ProcessPoolExecutor(options.jobs) as pool:
        commands[options.what](options, pool)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
