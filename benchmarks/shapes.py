"""Clusters of any shape: MinimumDensityTree and other clusterers on simulated shapes, mixtures and single clusters.

    RAVINE_DATA=folder python benchmarks/shapes.py shapes|mixtures|nulls|sets|cost|scale [--seeds 3] [--first 0]

shapes, mixtures: adjusted Rand index on 20 families of shapes and on 16 mixtures (`shape_sets.py`), with the number of
clusters and without. nulls: false splits by joined cells of single clusters, curved ones among them. sets: the paper's
sets, with convex clusters, with clusters of any shape and by default. cost: CPU time in fits of one hyperplane. scale:
the same for many rows. Rules and thresholds were chosen on seeds 0 and 1 of shapes and mixtures and on seeds 0 to 19 of
the nulls. genieclust is compared if it is installed.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from ravine import MinimumDensityHyperplane, MinimumDensityTree
from ravine.rows import as_rows
from ravine.tree.joined_cells import find_joined_cells
from sets import load_standardised
from shape_sets import CURVED, SHAPES, draw_curved, draw_mixture, draw_shapes
from trees import NULLS

N_MIXTURES = 16
SETS = (
    "banknote", "breast_cancer", "forest", "image_seg", "ionosphere", "optidigits", "pendigits", "satellite", "seeds",
    "synth_control", "voting", "wine", "yeast",
)  # fmt: skip

Make = Callable[[int, int], Any]


def make_genie(k: int, _: int) -> Any:
    import genieclust

    return genieclust.Genie(k)


# Number of clusters and of rows -> clusterer.
GIVEN_K: dict[str, Make] = {
    "tree": lambda k, _: MinimumDensityTree(k, random_state=0),
    "tree, convex": lambda k, _: MinimumDensityTree(k, shape="convex", random_state=0),
    "tree, any": lambda k, _: MinimumDensityTree(k, shape="any", random_state=0),
    "KMeans": lambda k, _: KMeans(k, n_init=10, random_state=0),
    "GMM": lambda k, _: GaussianMixture(k, n_init=3, random_state=0),
    "Ward": lambda k, _: AgglomerativeClustering(k),
    "spectral": lambda k, _: SpectralClustering(k, affinity="nearest_neighbors", random_state=0),
    "Genie": make_genie,
}
AUTOMATIC: dict[str, Make] = {
    "tree, auto": lambda _, __: MinimumDensityTree(random_state=0),
    "tree, convex, auto": lambda _, __: MinimumDensityTree(shape="convex", random_state=0),
    "tree, any, auto": lambda _, __: MinimumDensityTree(shape="any", random_state=0),
    "HDBSCAN": lambda _, n: HDBSCAN(min_cluster_size=max(5, n // 100), copy=True),
}
METHODS = GIVEN_K | AUTOMATIC


def load(kind: str, name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    if kind == "shapes":
        return draw_shapes(name, seed)
    if kind == "mixtures":
        return draw_mixture(N_MIXTURES * seed + int(name))
    X, classes = load_standardised(name)
    return X, np.unique(classes, return_inverse=True)[1]


def score(task: tuple[str, str, int, str]) -> float:
    """Return the adjusted Rand index of one method on one set, without background rows."""
    kind, name, seed, method = task
    X, y = load(kind, name, seed)
    model = METHODS[method](len(set(y[y >= 0].tolist())), len(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            labels = model.fit_predict(X)
        except ImportError:
            return float("nan")
    return float(adjusted_rand_score(y[y >= 0], labels[y >= 0]))


def print_scores(kind: str, names: list[str], options: argparse.Namespace, pool: ProcessPoolExecutor) -> None:
    methods, seeds = options.methods or list(METHODS), range(options.first, options.first + options.seeds)
    print("| set | " + " | ".join(methods) + " |\n" + "|---" * (len(methods) + 1) + "|")
    tasks = [(kind, name, seed, method) for name, method, seed in itertools.product(names, methods, seeds)]
    found = np.array(list(pool.map(score, tasks))).reshape(len(names), len(methods), len(seeds))
    for name, row in zip(names, found.mean(axis=2), strict=True):
        print(f"| {name} | " + " | ".join(f"{value:.2f}" for value in row) + " |")
    print("| **mean** | " + " | ".join(f"{value:.3f}" for value in found.mean(axis=(0, 2))) + " |", flush=True)


def is_false_split(task: tuple[str, int, int, int]) -> bool:
    """Return whether joined cells have more than one cluster."""
    family, n, d, seed = task
    if family in CURVED:
        X = draw_curved(family, n, seed)
    else:
        X = np.ascontiguousarray(NULLS[family](np.random.default_rng([seed, n, d, *family.encode()]), n, d))
    shapes = find_joined_cells(as_rows(X.astype(np.float64)), None, 5, np.random.default_rng(seed))
    return not isinstance(shapes, str) and shapes.n_clusters > 1


def print_false_splits(options: argparse.Namespace, pool: ProcessPoolExecutor) -> None:
    seeds, sizes = range(options.first, options.first + options.seeds), (200, 300, 1000)
    total, n_all = 0, 0
    print("| family | rows x features: false splits | all |\n|---|---|---|")
    for family in options.methods or [*CURVED, *NULLS]:
        cells = list(itertools.product(sizes, ("",) if family in CURVED else (2, 10, 50)))
        tasks = [(family, n, d or 2, seed) for (n, d), seed in itertools.product(cells, seeds)]
        found = np.array(list(pool.map(is_false_split, tasks, chunksize=4))).reshape(len(cells), -1)
        shown = ", ".join(
            f"{n}{f' x {d}' if d else ''}: {k}" for (n, d), k in zip(cells, found.sum(axis=1), strict=True)
        )
        print(f"| {family} | {shown} | {100 * found.mean():.1f} % |", flush=True)
        total, n_all = total + int(found.sum()), n_all + found.size
    print(f"false splits: {total} of {n_all} ({100 * total / n_all:.2f} %), {options.seeds} fits in each cell")


def measure_cost(X: np.ndarray, k: int) -> list[float]:
    """Return the CPU times of trees of any shape and of the default, given k and without, in fits of one hyperplane."""
    models = [
        MinimumDensityHyperplane(random_state=0),
        MinimumDensityTree(k, shape="any", random_state=0),
        MinimumDensityTree(shape="any", random_state=0),
        MinimumDensityTree(k, random_state=0),
        MinimumDensityTree(random_state=0),
    ]
    times = []
    for model in models:
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X)
        times.append(time.process_time() - start)
    return [seconds / times[0] for seconds in times[1:]]


def print_costs(options: argparse.Namespace) -> None:
    MinimumDensityTree(2, shape="any").fit(np.random.default_rng(0).normal(size=(300, 2)))  # import everything
    for kind, names in (("shapes", list(SHAPES)), ("mixtures", [str(i) for i in range(N_MIXTURES)])):
        found = []
        for name in names:
            X, y = load(kind, name, options.first)
            found.append(measure_cost(X, len(set(y[y >= 0].tolist()))))
        median = np.median(found, axis=0)
        print(f"{kind}: any {median[0]:.1f}, any without k {median[1]:.1f}, default {median[2]:.1f}, default without k "
              f"{median[3]:.1f} root fits (median)", flush=True)  # fmt: skip


def print_scale() -> None:
    rng = np.random.default_rng(0)
    for n in (100_000, 1_000_000):
        angle, ring = 2.0 * np.pi * rng.random(n), rng.integers(1, 3, n)
        X = np.c_[ring * np.cos(angle), ring * np.sin(angle), np.zeros((n, 8))] + 0.12 * rng.standard_normal((n, 10))
        start = time.process_time()
        MinimumDensityHyperplane(random_state=0).fit(X)
        root = time.process_time() - start
        start = time.process_time()
        mdt = MinimumDensityTree(2, shape="any", random_state=0).fit(X)
        ratio, index = (time.process_time() - start) / root, adjusted_rand_score(ring, mdt.labels_)
        print(f"{n} x 10, two rings: {ratio:.1f} root fits, adjusted Rand index {index:.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("shapes", "mixtures", "nulls", "sets", "cost", "scale"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--methods", nargs="*", help="methods, or families of nulls")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if options.what == "cost":
        return print_costs(options)
    if options.what == "scale":
        return print_scale()
    names = {"shapes": list(SHAPES), "mixtures": [str(i) for i in range(N_MIXTURES)], "sets": list(SETS)}
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        if options.what == "nulls":
            print_false_splits(options, pool)
        else:
            print_scores(options.what, names[options.what], options, pool)
    return None


if __name__ == "__main__":
    main()
