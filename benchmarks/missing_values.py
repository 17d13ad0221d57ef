"""Missing cells: false splits of rows without clusters, and clusters that are still found.

    python benchmarks/missing_values.py [null] [trees] [power] [--tables 30]

Cells are removed at random. "null" counts the tables of one group in which the valley test shows a split at the level
5 %, if cells are filled with medians, or in most of eight completions of MultipleImputer. "trees" counts the tables
that a tree splits without a given number of clusters, in the same two ways, for a sixth of the tables: fit_consensus is
the option --missing multiple of the command. "power" gives the number of clusters and the adjusted Rand index for three
clusters.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from ravine import MinimumDensityTree, MultipleImputer, fit_consensus, valley_test

FAMILIES = ("normal", "correlated", "uniform", "exponential", "heavy tails", "curved")
SHARES = (0.1, 0.2, 0.4)


def simulate_one_group(family: str, rng: np.random.Generator, n: int = 200, d: int = 4) -> np.ndarray:
    """Simulate rows of one group."""
    if family == "uniform":
        return rng.random((n, d))
    if family == "exponential":
        return rng.exponential(size=(n, d))
    if family == "heavy tails":
        return rng.standard_t(3, size=(n, d))
    X = rng.normal(size=(n, d))
    if family == "correlated":
        return X @ rng.normal(size=(d, d))
    if family == "curved":
        X[:, 1] += X[:, 0] ** 2
    return X


def remove_cells(X: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Return a copy with a share of the cells removed; every row keeps one."""
    gaps = rng.random(X.shape) < share
    gaps[gaps.all(axis=1), 0] = False
    return np.where(gaps, np.nan, X)


def fill_with_medians(X: np.ndarray) -> np.ndarray:
    """Return standardised rows with medians in the missing cells."""
    return StandardScaler().fit_transform(SimpleImputer(strategy="median").fit_transform(X))


def standardise(X: np.ndarray) -> np.ndarray:
    """Return rows scaled by the values that are there."""
    return (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0)


def is_split(X: np.ndarray, seed: int) -> bool:
    """Return whether the valley test shows a split."""
    return valley_test(X, random_state=seed).pvalue <= 0.05


def count_false_splits(n_tables: int) -> None:
    """Print in how many tables of one group the valley test shows a split."""
    heads = [f"{method}, {share:.0%}" for share in SHARES for method in ("medians", "multiple")]
    print(f"\n| one group, 200 rows, 4 columns | complete | {' | '.join(heads)} |\n|---|{'---|' * (1 + len(heads))}")
    for family in FAMILIES:
        counts = np.zeros(1 + len(heads), dtype=int)
        for seed in range(n_tables):
            rng = np.random.default_rng([43, seed])
            X = standardise(simulate_one_group(family, rng))
            counts[0] += is_split(X, seed)
            for k, share in enumerate(SHARES):
                holed = remove_cells(X, share, rng)
                counts[1 + 2 * k] += is_split(fill_with_medians(holed), seed)
                completions = MultipleImputer(random_state=seed).fit(holed).impute(holed, apart=True)
                counts[2 + 2 * k] += np.mean([is_split(Z, seed) for Z in completions]) > 0.5
        print(f"| {family} | {' | '.join(f'{n} of {n_tables}' for n in counts)} |", flush=True)


def count_false_trees(n_tables: int) -> None:
    """Print how many tables of one group are split by a tree, with 40 % of the cells missing."""
    print("\n| one group, 200 rows, 4 columns, 40 % missing | complete | medians | multiple |\n|---|---|---|---|")
    for family in FAMILIES:
        counts = np.zeros(3, dtype=int)
        for seed in range(n_tables):
            rng = np.random.default_rng([43, seed])
            X = standardise(simulate_one_group(family, rng))
            holed, tree = remove_cells(X, 0.4, rng), MinimumDensityTree(random_state=seed)
            counts[0] += tree.fit(X).n_clusters_ > 1
            counts[1] += tree.fit(fill_with_medians(holed)).n_clusters_ > 1
            counts[2] += fit_consensus(tree, holed).labels.max() > 0
        print(f"| {family} | {' | '.join(f'{n} of {n_tables}' for n in counts)} |", flush=True)


def measure_power(n_tables: int) -> None:
    """Print how well three clusters are found."""
    print("\n| three clusters, 300 rows, 6 columns | complete | rows dropped | medians | multiple | instability |")
    print("|---|---|---|---|---|---|")
    for share in SHARES:
        results = []
        for seed in range(n_tables):
            rng = np.random.default_rng([47, seed])
            y = rng.integers(0, 3, 300)
            X = 3.0 * rng.normal(size=(3, 6))[y] + rng.normal(size=(300, 6))
            holed = remove_cells(X, share, rng)
            kept = ~np.isnan(holed).any(axis=1)
            tree = MinimumDensityTree(random_state=seed)
            row = list(score(y, tree.fit(standardise(X)).labels_))
            dropped = np.full(300, -1)
            if kept.sum() > 20:
                dropped[kept] = tree.fit(standardise(X[kept])).labels_
            row += score(y, dropped)
            row += score(y, tree.fit(fill_with_medians(holed)).labels_)
            consensus = fit_consensus(tree, standardise(holed))
            results.append([*row, *score(y, consensus.labels), consensus.instability.mean()])
        means = np.mean(results, axis=0)
        cells = [f"{means[k]:.1f} / {means[k + 1]:.2f}" for k in range(0, 8, 2)]
        print(f"| {share:.0%} missing | {' | '.join(cells)} | {means[8]:.2f} |", flush=True)


def score(y: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Return the number of clusters and the adjusted Rand index; rows without a label are a cluster of their own."""
    return float(len(np.unique(labels[labels >= 0]))), float(adjusted_rand_score(y, labels))


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["null", "trees", "power"])
    parser.add_argument("--tables", type=int, default=30)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    if "power" in options.parts:
        measure_power(max(1, options.tables // 4))
    if "null" in options.parts:
        count_false_splits(options.tables)
    if "trees" in options.parts:
        count_false_trees(max(1, options.tables // 6))
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
