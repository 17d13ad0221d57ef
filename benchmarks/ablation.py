"""Contribution of each proposal and each weight of MinimumDensityTree, with the number of clusters given.

    RAVINE_DATA=folder python benchmarks/ablation.py [--first 100 300] [--jobs 2]

Prints the adjusted Rand index of the partition that is chosen, and the mean change (± standard error) without one kind
of proposal, or with another weight. Hyperplanes are not fitted. Seeds 100 and 300 chose the rules; docs/evidence.md has
the table.
"""

from __future__ import annotations

import argparse
import math
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from latent_classes import simulate_latent_classes
from mixtures import simulate_hard_mixture
from ravine.rows import as_rows
from ravine.tree import constants
from ravine.tree.graph import NeighbourGraph, measure_cut
from ravine.tree.partitions import Partition, compare_partitions, cut_cells, fit_means, fit_mixture, map_neighbours
from sets import TABLES, load_table
from shape_sets import SHAPES, draw_mixture, draw_shapes
from strokes import simulate_strokes

LOADERS: dict[str, Any] = {
    "hard mixtures": simulate_hard_mixture,
    "mixtures": draw_mixture,
    "shapes": lambda name: draw_shapes(*name),
    "strokes": simulate_strokes,
    "answers": simulate_latent_classes,
    "development": load_table,
}
# Proposals that are left out, by their names.
WITHOUT: dict[str, tuple[str, ...]] = {
    "without k-means": ("k-means",),
    "without tied mixture of k-means": ("tied, k-means",),
    "without full mixture of k-means": ("full, k-means",),
    "without tied mixture of cells": ("tied, cells",),
    "without full mixture of cells": ("full, cells",),
    "without eigenvectors": ("eigenvectors",),
    "without cells as proposals": ("cells 0", "cells 1", "cells 2"),
    "one set of cells": ("cells 1", "cells 2"),
    "two sets of cells": ("cells 2",),
}
# Weights: what is added to the cut, and the factor of separated cells. None: the least cut alone chooses.
WEIGHTS: dict[str, tuple[float, float] | None] = {
    "factor 1 for separated cells": (constants.LEAST_CUT, 1.0),
    "factor 4 for separated cells": (constants.LEAST_CUT, 4.0),
    "0.005 added to the cut": (0.005, constants.CLEAR),
    "0.2 added to the cut": (0.2, constants.CLEAR),
    "least cut instead of agreement": None,
}
USUAL = (constants.LEAST_CUT, constants.CLEAR)


def list_problems(first: int) -> list[tuple[str, Any]]:
    seeds = range(first, first + 40)
    return [
        *(("hard mixtures", seed) for seed in seeds),
        *(("mixtures", seed) for seed in seeds),
        *(("shapes", (name, seed)) for seed in (first, first + 1) for name in SHAPES),
        *(("strokes", seed) for seed in range(first, first + 12)),
        *(("answers", seed) for seed in seeds),
        *(("development", name) for name in TABLES["development"]),
    ]


def name_proposals(graph: NeighbourGraph, k: int, rng: np.random.Generator) -> dict[str, Partition]:
    """Return the proposals of `propose_partitions` with their names."""
    found: dict[str, Partition | None] = {}
    starts = {"k-means": fit_means(graph.rows.x, k, rng)}
    found["k-means"] = None if starts["k-means"] is None else Partition(starts["k-means"])
    fewest = max(constants.FEWEST_CELL_ROWS, constants.LEAST_CLUSTER_SHARE * len(graph) / k)
    for i, cells in enumerate(cut_cells(graph, constants.N_CELL_SETS, k, rng)):
        if cells.joiner.n_cells >= k:
            found[f"cells {i}"] = joined = cells.join(k, fewest)
            starts.setdefault("cells", joined.labels)
    for name, start in starts.items():
        for kind in ("tied", "full"):
            mixture = None if start is None else fit_mixture(graph.rows.x, start, kind == "tied")
            found[f"{kind}, {name}"] = None if mixture is None else Partition(mixture)
    mapped = map_neighbours(graph, k)
    labels = None if mapped is None else fit_means(mapped, k, rng)
    found["eigenvectors"] = None if labels is None else Partition(labels)
    return {name: partition for name, partition in found.items() if partition is not None}


def score_variants(task: tuple[str, Any, int]) -> tuple[str, list[float]]:
    """Return the group, and the adjusted Rand index of each variant, the usual one first."""
    group, name, seed = task
    X, y = LOADERS[group](name)
    k, rng = len(set(y[y >= 0].tolist())), np.random.default_rng(seed)
    graph = NeighbourGraph.of(as_rows(np.ascontiguousarray(X)), rng, k)
    proposals = name_proposals(graph, k, rng)
    names, parts = list(proposals), list(proposals.values())
    truth, scored = y[graph.indices], y[graph.indices] >= 0
    scores = np.array([adjusted_rand_score(truth[scored], one.labels[scored]) for one in parts])
    agreement = np.array([[compare_partitions(a.labels, b.labels, k) for b in parts] for a in parts])
    cuts = np.array([measure_cut(graph.count_edges(one.labels, k)) for one in parts])

    def score(out: tuple[str, ...], weight: tuple[float, float] | None) -> float:
        kept = np.array([i for i, name in enumerate(names) if name not in out] or [0])
        if weight is None:
            return float(scores[kept[cuts[kept].argmin()]])
        added, factor = weight
        weights = np.array([factor if parts[i].is_separated else 1.0 for i in kept]) / (cuts[kept] + added)
        return float(scores[kept[(agreement[np.ix_(kept, kept)] @ weights).argmax()]])

    found = [score((), USUAL), *(score(out, USUAL) for out in WITHOUT.values())]
    return group, found + [score((), weight) for weight in WEIGHTS.values()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, nargs="+", default=[100, 300], help="first seeds of the problems")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    tasks = [(*problem, first) for first in options.first for problem in list_problems(first)]
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        results = list(pool.map(score_variants, tasks))
    columns = [np.array([values for group, values in results if group == name]) for name in LOADERS]
    print("| | " + " | ".join(f"{name} ({len(x)})" for name, x in zip(LOADERS, columns, strict=True)) + " |")
    print("|---" * (len(columns) + 1) + "|")
    print("| the tree's partition | " + " | ".join(f"{x[:, 0].mean():.3f}".lstrip("0") for x in columns) + " |")
    for i, name in enumerate([*WITHOUT, *WEIGHTS], start=1):
        changes = [x[:, i] - x[:, 0] for x in columns]
        cells = [f"{change.mean():+.3f} ± {change.std() / math.sqrt(len(change)):.3f}" for change in changes]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
