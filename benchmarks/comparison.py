"""Compare ravine with scikit-learn's clusterers: the figures of docs/comparison.md.

    RAVINE_DATA=folder python benchmarks/comparison.py sets|nuisance

sets: adjusted Rand index on the paper's sets, number of classes given. nuisance: success ratio where the leading
principal components carry no clusters. Everything runs with the defaults of each class, and nothing here was used to
choose settings. `benchmarks/run.py --compare` compares times.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable

import numpy as np
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from mixtures import simulate_mixture
from ravine import MinimumDensityHyperplane, MinimumDensityTree
from ravine_paper.metrics import success_ratio
from ravine_paper.studies.clustering.paper import SETS
from sets import load_standardised

CLUSTERERS: dict[str, Callable[[int], object]] = {
    "tree": lambda k: MinimumDensityTree(k, random_state=0),
    "KMeans": lambda k: KMeans(k, n_init=10, random_state=0),
    "GaussianMixture": lambda k: GaussianMixture(k, random_state=0),
    "Ward": lambda k: AgglomerativeClustering(k),
}


def print_sets() -> None:
    """Print the adjusted Rand index of every method on the paper's sets (smartphone is left out, as for PPCI)."""
    print(f"| set | {' | '.join(CLUSTERERS)} |\n" + "|---" * (1 + len(CLUSTERERS)) + "|")
    scores = []
    for name in sorted(set(SETS) - {"smartphone"}):
        X, y = load_standardised(name)
        k = len(np.unique(y))
        scores.append([adjusted_rand_score(y, make(k).fit_predict(X)) for make in CLUSTERERS.values()])
        print(f"| {name} | " + " | ".join(f"{score:.2f}" for score in scores[-1]) + " |", flush=True)
    print("| **mean** | " + " | ".join(f"{score:.3f}" for score in np.mean(scores, axis=0)) + " |")


def print_nuisance() -> None:
    """Print success ratios where three axes of large variance carry no clusters."""
    for d in (10, 50):
        X, y = simulate_mixture(10_000, d, nuisance=3)
        for model in (MinimumDensityHyperplane(random_state=0), KMeans(2, n_init=10), GaussianMixture(2)):
            print(f"d = {d}: {type(model).__name__} {success_ratio(y, model.fit_predict(X)):.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["sets", "nuisance"])
    warnings.simplefilter("ignore")
    {"sets": print_sets, "nuisance": print_nuisance}[parser.parse_args().what]()


if __name__ == "__main__":
    main()
