"""Depth of the hyperplanes that different sets of starts find, on simulated mixtures and, without labels, real tables.

    RAVINE_DATA=folder python benchmarks/starts.py [simulated] [tables] [sets] [--seed 1000] [--each]

Every direction of every set is followed along its alpha path, so that one fit per table gives the depth that each set
finds. Prints, for each set of starts, the share of tables on which no other set finds a hyperplane that is deeper by
more than 1 %, the same share if whole fits (``defaults``, ``n_init=...``) are rivals, too ("strictly"), and the median
cost: processor time in fits from six starts (four principal and two unusual directions,
the default before starts were screened). The cost of a set whose directions are all followed is counted in starts.
Classes are not read.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

from measure import measure_cpu_times
from mixtures import simulate_mixture
from ravine import MinimumDensityHyperplane
from ravine.rows import as_rows
from ravine.search import PrincipalAxes, Problem, SearchSettings
from ravine.search.starts import find_unusual_starts
from ravine_paper.datasets import load
from ravine_paper.studies.clustering.paper import SETS

TOLERANCE = 0.01
FIRST = "4 principal, 2 unusual"
# Settings of whole fits.
FITS: dict[str, dict[str, object]] = {
    "defaults": {},
    "n_init=3": {"n_init": 3},
    "n_init=12": {"n_init": 12},
}
DEVELOPMENT = [
    "australian",
    "bands",
    "bupa",
    "crx",
    "german",
    "heart",
    "iris",
    "mammographic",
    "monk-2",
    "mushroom",
    "pima",
    "ring",
    "saheart",
    "vowel",
    "tic-tac-toe",
    "titanic",
    "contraceptive",
    "led7digit",
    "hayes-roth",
]
FAMILIES: dict[str, dict[str, object]] = {
    "2 clusters": {"k": 2, "separation": 4.5},
    "2 close": {"k": 2, "separation": 3.5},
    "90:10": {"k": 2, "separation": 6.0, "weights": (0.9, 0.1)},
    "3 clusters": {"k": 3, "separation": 5.0},
    "5 clusters": {"k": 5, "separation": 5.0},
    "8 clusters": {"k": 8, "separation": 6.0},
    "t3": {"k": 3, "separation": 6.0, "tail": "t3"},
    "outliers": {"k": 4, "separation": 5.0, "tail": "outliers"},
    "nuisance 1": {"k": 3, "separation": 6.0, "nuisance": 1},
    "nuisance 4": {"k": 4, "separation": 6.0, "nuisance": 4},
}
SIZES = [(200, 3), (300, 10), (1000, 6), (1000, 16), (600, 50), (3000, 20)]


def simulate_tables(seed: int) -> Iterator[tuple[str, np.ndarray]]:
    for i, ((n, d), (family, options)) in enumerate(itertools.product(SIZES, FAMILIES.items())):
        if int(options.get("nuisance", 0)) < d - 1:  # type: ignore[call-overload]
            yield f"{family} {n}x{d}", simulate_mixture(n, d, **options, seed=seed + i)[0]  # type: ignore[arg-type]


def read_tables(_: int) -> Iterator[tuple[str, np.ndarray]]:
    import pandas as pd

    for name in DEVELOPMENT:
        table = pd.read_csv(Path(os.environ["RAVINE_DATA"]) / "tables" / f"{name}.csv.gz").drop(columns="label")
        X = pd.get_dummies(table, dtype=float).to_numpy(float)
        X = X[:, X.std(axis=0) > 0]
        yield name, (X - X.mean(axis=0)) / X.std(axis=0)


def load_sets(_: int) -> Iterator[tuple[str, np.ndarray]]:
    for name in SETS:
        if name != "smartphone":
            yield name, load(name).standardised().data


def subtract_centroids(X: np.ndarray, k: int, whiten: bool = False) -> np.ndarray:
    """Return the differences of the centroids of KMeans, multiplied by the inverse covariance within if ``whiten``."""
    means = KMeans(k, n_init=3, random_state=0).fit(X)
    differences = np.array([b - a for a, b in itertools.combinations(means.cluster_centers_, 2)])
    if whiten:
        within = X - means.cluster_centers_[means.labels_]
        covariance = within.T @ within / len(X)
        covariance += 0.01 * np.trace(covariance) / len(covariance) * np.eye(len(covariance))
        differences = np.linalg.solve(covariance, differences.T).T
    return differences


def propose_starts(X: np.ndarray) -> dict[str, np.ndarray]:
    """Return the directions of each set of starts, in the space of X."""
    problem = Problem.of(as_rows(X), settings=SearchSettings(), rng=np.random.default_rng(0))
    axes = PrincipalAxes.of(problem.moments)
    unusual = find_unusual_starts(axes, problem.sample)

    def original(directions: np.ndarray) -> np.ndarray:
        return np.array([problem.space.to_original(v) for v in directions])

    rng, n_white = np.random.default_rng(0), len(unusual)
    principal = original(axes.directions)
    white = original(axes.directions[:n_white]) / np.sqrt(axes.variances[:n_white])[:, None]
    k4, k6, k8 = (min(k, len(X) // 4) for k in (4, 6, 8))
    return {
        FIRST: np.concatenate([principal[:4], original(unusual)[:2]]),
        "12 principal": principal[:12],
        "12 unusual": original(unusual)[:12],
        "28 random": rng.standard_normal((28, len(principal))) @ principal,
        "k-means 2": subtract_centroids(X, 2),
        "k-means 4": subtract_centroids(X, k4),
        "k-means 6": subtract_centroids(X, k6),
        "k-means 8": subtract_centroids(X, k8),
        "discriminants of k-means 6": subtract_centroids(X, k6, whiten=True),
        "whitened k-means 6": subtract_centroids(X @ white.T, k6) @ white,
    }


def measure_depths(X: np.ndarray, directions: np.ndarray, **settings: object) -> np.ndarray:
    """Return log(1 + relative depth) of the hyperplane that each direction leads to."""
    mdh = MinimumDensityHyperplane(init=directions, subsample=None, **settings).fit(X)  # type: ignore[arg-type]
    depths = np.full(len(directions), 0.0)
    for step in mdh.path_:
        if step.polished and step.valid:
            depths[step.start] = math.log1p(step.hyperplane.relative_depth)
    return depths


def time_fit(X: np.ndarray, **settings: object) -> tuple[float, float]:
    """Return log(1 + relative depth) of a fit and its processor time, the best of three."""
    mdh = MinimumDensityHyperplane(random_state=0, **settings)  # type: ignore[arg-type]
    (seconds,) = measure_cpu_times(lambda: mdh.fit(X), repeats=3)
    return math.log1p(mdh.relative_depth_), seconds


def measure_table(X: np.ndarray) -> tuple[dict[str, float], dict[str, float]]:
    """Return the log-depth that each set of starts finds, and the cost of each in fits from the first set."""
    proposed = propose_starts(X)
    depths = np.split(
        measure_depths(X, np.concatenate(list(proposed.values()))),
        np.cumsum([len(directions) for directions in proposed.values()])[:-1],
    )
    found = {name: float(of_set.max()) for name, of_set in zip(proposed, depths, strict=True)}
    unit = time_fit(X, init=proposed[FIRST])[1]
    cost = {name: len(directions) / len(proposed[FIRST]) for name, directions in proposed.items()}
    for name, settings in FITS.items():
        found[name], seconds = time_fit(X, **settings)
        cost[name] = seconds / unit
    return found, cost


def is_deepest(found: dict[str, float], name: str, rivals: Iterable[str]) -> bool:
    """Return whether no rival finds a hyperplane that is deeper by more than 1 %."""
    deepest = max(found[rival] for rival in rivals)
    return math.expm1(found[name]) >= (1.0 - TOLERANCE) * math.expm1(deepest) - 1e-9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="simulated|tables|sets", default=list(KINDS))
    parser.add_argument("--seed", type=int, default=1000, help="seed of the simulated tables")
    parser.add_argument("--each", action="store_true", help="print the depth of every set on every table")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    results: dict[str, list[tuple[dict[str, float], dict[str, float]]]] = {}
    for kind in options.kinds:
        for name, X in KINDS[kind](options.seed):
            results.setdefault(kind, []).append(measure_table(X))
            if options.each:
                found = results[kind][-1][0]
                print(name, X.shape, " ".join(f"{s}: {math.expm1(d):.3g}" for s, d in found.items()), flush=True)
    everything = [result for of_kind in results.values() for result in of_kind]
    print(
        "| starts | " + " | ".join(f"{kind} ({len(results[kind])})" for kind in results) + " | all | strictly | cost |"
    )
    print("|---" * (len(results) + 4) + "|")
    names = list(everything[0][0])
    sets = [name for name in names if name not in FITS]
    for name in names:
        shares = [
            np.mean([is_deepest(found, name, rivals) for found, _ in some])
            for some, rivals in [*((results[kind], sets) for kind in results), (everything, sets), (everything, names)]
        ]
        cost = np.median([cost[name] for _, cost in everything])
        print(f"| {name} | " + " | ".join(f"{share:.3f}" for share in shares) + f" | {cost:.2f} |")


KINDS = {"simulated": simulate_tables, "tables": read_tables, "sets": load_sets}

if __name__ == "__main__":
    main()
