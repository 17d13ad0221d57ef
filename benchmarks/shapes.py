"""Clusters of any shape: MinimumDensityTree and other clusterers on simulated shapes, mixtures and single clusters.

    RAVINE_DATA=folder python benchmarks/shapes.py shapes|mixtures|strokes|nulls|sets|cost|scale [--seeds 3] [--first 0]

shapes, mixtures, strokes: adjusted Rand index on 20 families of shapes and on 16 mixtures (`shape_sets.py`), and on
many clusters in many dimensions (`strokes.py`), with the number of clusters and without. nulls: false splits of single
curved clusters. sets: the paper's sets. cost: CPU time in fits of one hyperplane. scale: the same for many rows.
genieclust is compared if it is installed.

Rules were chosen on seeds 100 and 101 of shapes, 100 to 139 of `draw_mixture` (seed 6 of mixtures here has 96 to 111,
and so on) and 100 to 111 of strokes. The thresholds of cells and contacts were chosen before, on seeds 0 and 1 of
shapes and mixtures and on seeds 0 to 19 of the nulls.
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
from sets import load_standardised
from shape_sets import CURVED, SHAPES, draw_curved, draw_mixture, draw_shapes
from strokes import KINDS, simulate_strokes

N_MIXTURES = 16
SETS = (
    "banknote", "breast_cancer", "forest", "image_seg", "ionosphere", "optidigits", "pendigits", "satellite", "seeds",
    "synth_control", "voting", "wine", "yeast",
)  # fmt: skip
# Problems of each kind.
NAMES = {
    "shapes": list(SHAPES),
    "mixtures": [str(i) for i in range(N_MIXTURES)],
    "strokes": list(KINDS),
    "sets": list(SETS),
}

Make = Callable[[int, int], Any]


def make_genie(k: int, _: int) -> Any:
    import genieclust

    return genieclust.Genie(k)


# Number of clusters and of rows -> clusterer.
GIVEN_K: dict[str, Make] = {
    "tree": lambda k, _: MinimumDensityTree(k, random_state=0),
    "KMeans": lambda k, _: KMeans(k, n_init=10, random_state=0),
    "GMM": lambda k, _: GaussianMixture(k, n_init=3, random_state=0),
    "Ward": lambda k, _: AgglomerativeClustering(k),
    "spectral": lambda k, _: SpectralClustering(k, affinity="nearest_neighbors", random_state=0),
    "Genie": make_genie,
}
AUTOMATIC: dict[str, Make] = {
    "tree, auto": lambda _, __: MinimumDensityTree(random_state=0),
    "tree, shown": lambda _, __: MinimumDensityTree("shown", random_state=0),
    "HDBSCAN": lambda _, n: HDBSCAN(min_cluster_size=max(5, n // 100), copy=True),
}
METHODS = GIVEN_K | AUTOMATIC


def load(kind: str, name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    if kind == "shapes":
        return draw_shapes(name, seed)
    if kind == "mixtures":
        return draw_mixture(N_MIXTURES * seed + int(name))
    if kind == "strokes":
        return simulate_strokes(len(KINDS) * seed + KINDS.index(name))
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


def is_false_split(task: tuple[str, int, int]) -> bool:
    """Return whether the automatic tree finds more than one cluster in a single curved one."""
    family, n, seed = task
    return MinimumDensityTree(random_state=seed).fit(draw_curved(family, n, seed)).n_clusters_ > 1


def print_false_splits(options: argparse.Namespace, pool: ProcessPoolExecutor) -> None:
    seeds, sizes = range(options.first, options.first + options.seeds), (200, 300, 1000)
    total, n_all = 0, 0
    print("| family | rows: false splits | all |\n|---|---|---|")
    for family in options.methods or list(CURVED):
        tasks = [(family, n, seed) for n, seed in itertools.product(sizes, seeds)]
        found = np.array(list(pool.map(is_false_split, tasks, chunksize=4))).reshape(len(sizes), -1)
        shown = ", ".join(f"{n}: {k}" for n, k in zip(sizes, found.sum(axis=1), strict=True))
        print(f"| {family} | {shown} | {100 * found.mean():.1f} % |", flush=True)
        total, n_all = total + int(found.sum()), n_all + found.size
    print(f"false splits: {total} of {n_all} ({100 * total / n_all:.2f} %), {options.seeds} fits in each cell")


def measure_cost(X: np.ndarray, k: int) -> list[float]:
    """Return the CPU times of trees, given k and without, in fits of one hyperplane."""
    models = [
        MinimumDensityHyperplane(random_state=0),
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
    MinimumDensityTree(2).fit(np.random.default_rng(0).normal(size=(300, 2)))  # import everything
    for kind, names in NAMES.items():
        if kind == "sets":
            continue
        found = []
        for name in names:
            X, y = load(kind, name, options.first)
            found.append(measure_cost(X, len(set(y[y >= 0].tolist()))))
        median = np.median(found, axis=0)
        print(f"{kind}: {median[0]:.1f} root fits, without k {median[1]:.1f} (median)", flush=True)


def print_scale() -> None:
    rng = np.random.default_rng(0)
    for n in (100_000, 1_000_000):
        angle, ring = 2.0 * np.pi * rng.random(n), rng.integers(1, 3, n)
        X = np.c_[ring * np.cos(angle), ring * np.sin(angle), np.zeros((n, 8))] + 0.12 * rng.standard_normal((n, 10))
        start = time.process_time()
        MinimumDensityHyperplane(random_state=0).fit(X)
        root = time.process_time() - start
        start = time.process_time()
        mdt = MinimumDensityTree(2, random_state=0).fit(X)
        ratio, index = (time.process_time() - start) / root, adjusted_rand_score(ring, mdt.labels_)
        print(f"{n} x 10, two rings: {ratio:.1f} root fits, adjusted Rand index {index:.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=(*NAMES, "nulls", "cost", "scale"))
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
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        if options.what == "nulls":
            print_false_splits(options, pool)
        else:
            print_scores(options.what, NAMES[options.what], options, pool)
    return None


if __name__ == "__main__":
    main()
