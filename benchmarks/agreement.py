"""Agreement of MinimumDensityTree with known classes, with the number of clusters and without.

    RAVINE_DATA=folder python benchmarks/agreement.py [--first 300] [--states 3] [--store docs/figures.json]

Simulated problems have one random state, tables and sets have several. The means are stored for tests/test_figures.py,
which compares them with the figures that the documentation quotes. Seeds 100 of the simulations chose rules.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from ablation import LOADERS, list_problems
from ravine import MinimumDensityTree
from sets import TABLES, load_standardised, load_table
from shapes import SETS

GROUPS = {**LOADERS, "confirmation": load_table, "sets": load_standardised}
Task = tuple[str, Any, int, bool]


def list_tasks(first: int, n_states: int) -> Iterator[Task]:
    problems = [(group, name, 1) for group, name in list_problems(first) if group != "development"]
    problems += [(group, name, n_states) for group, names in TABLES.items() for name in names]
    problems += [("sets", name, n_states) for name in SETS]
    for group, name, n in problems:
        yield from ((group, name, state, is_given) for state in range(n) for is_given in (True, False))


def score(task: Task) -> tuple[str, bool, float]:
    """Return the group, whether the number of clusters is given, and the adjusted Rand index."""
    group, name, state, is_given = task
    X, classes = GROUPS[group](name)
    y = np.unique(classes, return_inverse=True)[1] if group == "sets" else classes
    n_clusters = len(set(y[y >= 0].tolist())) if is_given else "auto"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = MinimumDensityTree(n_clusters, random_state=state).fit(X).labels_
    return group, is_given, float(adjusted_rand_score(y[y >= 0], labels[y >= 0]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=300, help="first seed of the simulated problems")
    parser.add_argument("--states", type=int, default=3, help="random states of tables and sets")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--store", type=Path, help="file of the means")
    options = parser.parse_args()
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        results = list(pool.map(score, list_tasks(options.first, options.states)))
    means: dict[str, dict[str, float]] = {}
    print("| data | problems | k given | k unknown |\n|---|---|---|---|")
    for group in GROUPS:
        given, unknown = ([s for g, k, s in results if (g, k) == (group, is_given)] for is_given in (True, False))
        means[group] = {"given": round(float(np.mean(given)), 3), "unknown": round(float(np.mean(unknown)), 3)}
        shown = [f"{mean:.3f}".lstrip("0") for mean in means[group].values()]
        print(f"| {group} | {len(given)} | {' | '.join(shown)} |")
    if options.store:
        options.store.write_text(json.dumps(means, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
