"""Number of clusters: MinimumDensityTree and the valley test on single clusters, mixtures and a set of the paper.

    RAVINE_DATA=folder python benchmarks/trees.py nulls|bends|power|mixtures|hard|nodes|cost [--fits N] [--method exact]

nulls: share of automatic trees with more than one cluster, for families of unimodal data. bends: the same for single
clusters that are curved. power: share of pairs of clusters that the automatic tree and the valley tests find. mixtures:
how often the number of clusters is exact. hard: agreement with the components of mixtures that overlap, without their
number. nodes: numbers of clusters of automatic trees where only the first split is real, or none is. cost: CPU time of
trees of pendigits, in fits of one hyperplane.

Seeds that chose the rules of the tree: 0 to 15 of nulls and bends (0 to 19 of nulls for the thresholds of cells and
contacts), and 100 to 139 of hard; other benchmarks name theirs (`shapes.py`, `latent_classes.py`, `strokes.py`). The
development tables (`sets.py`) took part, too. Give --seed 1000 for other seeds. The number of folds and partitions of
the pooled test was chosen by nulls and power.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from sklearn.metrics import adjusted_rand_score

from mixtures import simulate_hard_mixture
from ravine import MinimumDensityHyperplane, MinimumDensityTree, ScaleWarning, valley_test
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


# Unimodal families that `evidence.py` compares all tests on.
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


def standardise(X: np.ndarray) -> np.ndarray:
    """Return standardised features, without those that are constant."""
    X = X[:, X.std(axis=0) > 0.0]
    return (X - X.mean(axis=0)) / X.std(axis=0)


def draw_categories(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Draw normal features beside the indicators of one to three independent categories with three to five levels."""
    columns = [rng.standard_normal((n, max(d - 1, 1)))]
    for _ in range(int(rng.integers(1, 4))):
        m = int(rng.integers(3, 6))
        columns.append(np.eye(m)[rng.choice(m, n, p=rng.dirichlet(np.full(m, 3.0)))])
    return standardise(np.concatenate(columns, axis=1))


def draw_clipped(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Draw normal features that are clipped at an upper quantile, and in half of the draws at a lower one, too."""
    X, share = rng.standard_normal((n, d)), rng.uniform(0.05, 0.3)
    low = np.quantile(X, share, axis=0) if rng.random() < 0.5 else -np.inf
    return np.clip(X, low, np.quantile(X, 1.0 - share, axis=0))


def draw_zero_inflated(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Draw skewed features of which 10 to 60 % of the values are 0, with a gap above it in most draws."""
    X = rng.gamma(2.0, size=(n, d)) + rng.choice([0.0, 1.0, 3.0])
    X[rng.random((n, d)) < rng.uniform(0.1, 0.6, d)] = 0.0
    return standardise(X)


def draw_crossed(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Draw two long ellipses with the same centre, along the first and the second feature."""
    X, is_first = 0.3 * rng.standard_normal((n, d)), rng.random(n) < 0.5
    X[is_first, 0] *= 10.0
    X[~is_first, min(1, d - 1)] *= 10.0
    return X


def draw_concentric(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Draw two Gaussians with the same centre; the second is 2.5 to 6 times as wide."""
    X, is_first = rng.standard_normal((n, d)), rng.random(n) < rng.uniform(0.3, 0.7)
    return X * np.where(is_first, 1.0, rng.uniform(2.5, 6.0))[:, None]


def draw_core(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Draw a tight core, near the centre of a wide cloud, with 10 to 40 % of the rows."""
    X, is_core = rng.standard_normal((n, d)), rng.random(n) < rng.uniform(0.1, 0.4)
    core = rng.standard_normal((np.count_nonzero(is_core), d)) * rng.uniform(0.05, 0.25)
    X[is_core] = core + rng.standard_normal(d) * rng.uniform(0.0, 0.7) / np.sqrt(d)
    return X


def draw_triples(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Draw normal rows, each of them three times."""
    return np.repeat(rng.standard_normal((max(n // 3, 20), d)), 3, axis=0)


# Families with repeated values or rows, or of several scales. They are one cluster, but not all are samples of
# independent rows with a unimodal density.
MORE_NULLS: dict[str, Draw] = {
    "categories": draw_categories,
    "clipped": draw_clipped,
    "zero-inflated": draw_zero_inflated,
    "crossed ellipses": draw_crossed,
    "concentric": draw_concentric,
    "core in a cloud": draw_core,
    "every row three times": draw_triples,
}
ALL_NULLS = NULLS | MORE_NULLS
SIZES, DIMENSIONS = (60, 300, 1000), (1, 2, 10, 50)


def has_clusters(X: np.ndarray, seed: int, method: str) -> bool:
    """Return whether the automatic tree finds more than one cluster."""
    mdt = MinimumDensityTree(random_state=seed, hyperplane=MinimumDensityHyperplane(test=method))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)  # of families whose features differ
        return mdt.fit(np.ascontiguousarray(X)).n_clusters_ > 1


def is_false_split(task: tuple[str, int, int, int, str]) -> bool:
    family, n, d, seed, method = task
    return has_clusters(ALL_NULLS[family](np.random.default_rng([seed, n, d, *family.encode()]), n, d), seed, method)


def print_false_splits(options: argparse.Namespace, pool: ProcessPoolExecutor) -> None:
    families = options.family or list(ALL_NULLS)
    print_counts(is_false_split, families, list(itertools.product(SIZES, DIMENSIONS)), options, pool)


def print_counts(
    is_split: Callable[[tuple[str, int, int, int, str]], bool],
    families: list[str],
    cells: list[tuple[int, int]],
    options: argparse.Namespace,
    pool: ProcessPoolExecutor,
) -> None:
    """Print the number of false splits of each family, for each number of rows and features."""
    print("| family | " + " | ".join(f"{n} x {d}" for n, d in cells) + " | all |\n" + "|---" * (len(cells) + 2) + "|")
    total = 0
    seeds = range(options.seed, options.seed + options.fits)
    for family in families:
        tasks = [(family, n, d, seed, options.method) for (n, d), seed in itertools.product(cells, seeds)]
        shown = np.reshape(list(pool.map(is_split, tasks, chunksize=4)), (len(cells), -1)).sum(axis=1)
        total += int(shown.sum())
        share = shown.sum() / len(tasks)
        print(f"| {family} | " + " | ".join(map(str, shown)) + f" | {100 * share:.1f} % |", flush=True)
    n_all = options.fits * len(cells) * len(families)
    print(f"false splits: {total} of {n_all} ({100 * total / n_all:.2f} %), {options.fits} fits in each cell")


def draw_circle(angle: np.ndarray) -> np.ndarray:
    """Return the points of the unit circle at some angles, in units of pi."""
    return np.c_[np.cos(np.pi * angle), np.sin(np.pi * angle)]


def draw_s(u: np.ndarray) -> np.ndarray:
    """Return the points of the letter S at some places between 0 and 1."""
    angle = 3.0 * np.pi * (u - 0.5)
    return np.c_[np.sin(angle), np.sign(angle) * (np.cos(angle) - 1.0)]


def draw_spiral_arm(u: np.ndarray) -> np.ndarray:
    """Return the points of a spiral with one and a quarter turns at some places between 0 and 1, evenly along it."""
    radius = np.sqrt(0.04 + 0.96 * u)
    return 4.0 * radius[:, None] * draw_circle(2.5 * radius)


def draw_shell(rng: np.random.Generator, n: int) -> np.ndarray:
    x = rng.standard_normal((n, 3))
    return 3.0 * x / np.linalg.norm(x, axis=1, keepdims=True)


# Single curved clusters: points of a curve or a surface, and the standard deviation of the scatter around it.
BENDS: dict[str, tuple[Callable[[np.random.Generator, int], np.ndarray], float]] = {
    "ring": (lambda rng, n: 2.0 * draw_circle(2.0 * rng.random(n)), 0.15),
    "moon": (lambda rng, n: draw_circle(rng.random(n)), 0.1),
    "arc": (lambda rng, n: draw_circle(rng.random(n) * rng.uniform(0.5, 1.6)), 0.08),
    "S": (lambda rng, n: draw_s(rng.random(n)), 0.12),
    "spiral arm": (lambda rng, n: draw_spiral_arm(rng.random(n)), 0.15),
    "shell": (draw_shell, 0.2),
}
BEND_SIZES, BEND_DIMENSIONS = (200, 600, 2000), (2, 4, 6)


def draw_bend(family: str, n: int, d: int, seed: int) -> np.ndarray:
    """Draw a single curved cluster in d dimensions, a shell in at least 3, with scatter along all and a rotation."""
    rng = np.random.default_rng([6, seed, n, d, *family.encode()])
    draw, scatter = BENDS[family]
    x = draw(rng, n)
    X = np.c_[x, np.zeros((n, max(d - x.shape[1], 0)))]
    X += scatter * rng.standard_normal(X.shape)
    return X @ np.linalg.qr(rng.standard_normal((X.shape[1], X.shape[1])))[0]


def is_split_bend(task: tuple[str, int, int, int, str]) -> bool:
    family, n, d, seed, method = task
    return has_clusters(draw_bend(family, n, d, seed), seed, method)


def print_bends(options: argparse.Namespace, pool: ProcessPoolExecutor) -> None:
    cells = list(itertools.product(BEND_SIZES, BEND_DIMENSIONS))
    print_counts(is_split_bend, options.family or list(BENDS), cells, options, pool)


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


METHODS = ("tree", "pooled", "exact")


def is_true_split(task: tuple[int, int, float, float, int, str]) -> bool:
    """Return whether the automatic tree, or a valley test, finds two clusters."""
    n, d, separation, share, seed, method = task
    rng = np.random.default_rng([seed, n, d, int(10 * separation), int(100 * share)])
    X = rng.standard_normal((n, d))
    X[rng.random(n) < share, 0] += separation
    if method == "tree":
        return has_clusters(X, seed, "pooled")
    return valley_test(X, method=method, random_state=seed).pvalue <= LEVEL


def print_power(options: argparse.Namespace, pool: ProcessPoolExecutor) -> None:
    for title, designs in (("design", DESIGNS), ("small clusters", SMALL_CLUSTERS)):
        print(f"| {title} (rows x features, separation, share) | {' | '.join(METHODS)} |\n|---" + "|---" * 3 + "|")
        found = []
        for design in designs:
            seeds = range(options.seed, options.seed + options.fits)
            tasks = [(*design, seed, method) for method, seed in itertools.product(METHODS, seeds)]
            found.append(np.reshape(list(pool.map(is_true_split, tasks)), (len(METHODS), -1)).mean(axis=1))
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
    """Return the adjusted Rand index of the clusters of the automatic tree, and of those that the test shows."""
    seed, method = task
    X, y = simulate_hard_mixture(seed)
    mdt = MinimumDensityTree(random_state=0, hyperplane=MinimumDensityHyperplane(test=method)).fit(X)
    return adjusted_rand_score(y, mdt.labels_), adjusted_rand_score(y, mdt.cut("shown"))


def print_hard_mixtures(options: argparse.Namespace, pool: ProcessPoolExecutor) -> None:
    tasks = [(seed, options.method) for seed in range(options.seed, options.seed + options.fits)]
    automatic, shown = np.mean(list(pool.map(score_hard_mixture, tasks)), axis=0)
    print(f"adjusted Rand index, mean of {options.fits}: automatic {automatic:.3f}, shown {shown:.3f}")


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
        "bends": print_bends,
        "power": print_power,
        "mixtures": print_cluster_counts,
        "hard": print_hard_mixtures,
        "nodes": print_nodes,
        "cost": print_cost,
    }
    parser.add_argument("what", choices=commands)
    parser.add_argument("--fits", type=int, default=100, help="fits per cell")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--method", choices=["pooled", "exact"], default="pooled", help="test of the automatic tree")
    parser.add_argument("--seed", type=int, default=0, help="first seed of nulls, bends, power and hard")
    parser.add_argument("--family", nargs="+", choices=[*ALL_NULLS, *BENDS], help="families of nulls or of bends")
    options = parser.parse_args()
    families = {"nulls": ALL_NULLS, "bends": BENDS}.get(options.what, {})
    if options.family and not families.keys() >= set(options.family):
        parser.error(f"families of {options.what}: {', '.join(families) or 'none'}")
    with ProcessPoolExecutor(options.jobs) as pool:
        commands[options.what](options, pool)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
