"""Clusters of mixed tables: categories scaled as in FAMD, as zeros and ones, and k-prototypes.

    python benchmarks/mixed_tables.py [simulated] [development] [confirmation] [null] --kmodes PYTHON

Prints the adjusted Rand index of each method and table as Markdown. The number of clusters is given, except for "auto".
k-prototypes and k-modes run in another environment, in which kmodes is installed: PYTHON is its interpreter; without it
they are left out. "null" counts the splits of tables whose columns are independent.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from ravine import MinimumDensityTree, MixedScaler
from sets import MIXED_TABLES, load_columns

N_SEEDS = 5
FAMILIES = ("numbers", "categories", "both", "unequal", "many categories", "rare categories", "overlapping")
METHODS = ("tree, FAMD", "tree, one-hot", "tree, FAMD, auto", "k-means, FAMD", "k-prototypes")
# Reads columns as JSON, writes labels as JSON.
K_PROTOTYPES = """
import json, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
from kmodes.kmodes import KModes
from kmodes.kprototypes import KPrototypes
given = json.load(open(sys.argv[1]))
X = np.array(given["rows"], dtype=object).T
places = given["categorical"]
model = (KModes if len(places) == X.shape[1] else KPrototypes)(given["k"], n_init=5, random_state=0)
labels = model.fit_predict(X) if len(places) == X.shape[1] else model.fit_predict(X, categorical=places)
json.dump(labels.tolist(), open(sys.argv[2], "w"))
"""

Columns = dict[str, np.ndarray]


def simulate_table(family: str, seed: int) -> tuple[Columns, np.ndarray]:
    """Simulate 600 rows of 2 to 4 classes, in numbers, in categories or in both."""
    rng = np.random.default_rng([23, FAMILIES.index(family), seed])
    n = 600
    share = {"unequal": (0.7, 0.2, 0.1), "categories": (0.5, 0.5)}.get(family, (0.4, 0.35, 0.25))
    y = rng.choice(len(share), size=n, p=share)
    shift = {"numbers": 4.0, "categories": 0.0, "rare categories": 4.0, "many categories": 4.0, "overlapping": 2.0}
    means = shift.get(family, 3.0) * rng.normal(size=(len(share), 5)) / np.sqrt(2.0)
    columns: Columns = {f"number{j}": column for j, column in enumerate((means[y] + rng.normal(size=(n, 5))).T)}
    informative = {"numbers": 0, "many categories": 1, "rare categories": 2, "categories": 5}.get(family, 3)
    for j in range(6):
        size = int(rng.integers(8, 15)) if family == "many categories" else int(rng.integers(2, 6))
        shares = rng.dirichlet(
            np.full(size, 1.0 if j < informative else 4.0), size=len(share) if j < informative else 1
        )
        if family == "rare categories":
            tail = rng.dirichlet(np.full(25, 2.0), size=len(shares))
            shares = np.hstack([0.92 * shares, 0.08 * tail])
        codes = [rng.choice(shares.shape[1], p=shares[k % len(shares)]) for k in y]
        columns[f"kind{j}"] = np.array([f"c{code:02d}" for code in codes], dtype=object)
    return columns, y


def simulate_null(seed: int, n_numbers: int, sizes: tuple[int, ...], n: int = 400) -> Columns:
    """Simulate independent columns: normal numbers, and categories of random shares."""
    rng = np.random.default_rng([29, seed])
    columns: Columns = {f"number{j}": rng.normal(size=n) for j in range(n_numbers)}
    for j, size in enumerate(sizes):
        codes = rng.choice(size, size=n, p=rng.dirichlet(np.full(size, 3.0)))
        columns[f"kind{j}"] = np.array([f"c{code}" for code in codes], dtype=object)
    return columns


def encode_one_hot(columns: Columns) -> np.ndarray:
    """Return standardised numbers and indicators."""
    parts = []
    for values in columns.values():
        if values.dtype == object:
            parts += [(values == kind).astype(float) for kind in np.unique(values.astype(str))]
        else:
            parts.append(values.astype(float))
    return StandardScaler().fit_transform(np.column_stack(parts))


def scale_by_famd(columns: Columns) -> np.ndarray:
    """Return the features of MixedScaler."""
    return MixedScaler().fit_transform(np.column_stack([values.astype(object) for values in columns.values()]))


def run_k_prototypes(columns: Columns, k: int, python: str | None) -> np.ndarray | None:
    """Return the clusters of k-prototypes (k-modes if all columns are categories) in another environment."""
    if python is None:
        return None
    rows, categorical = [], []
    for j, values in enumerate(columns.values()):
        if values.dtype == object:
            categorical.append(j)
            rows.append(values.tolist())
        else:
            rows.append(((values - values.mean()) / (values.std() or 1.0)).tolist())
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder) / "given.json", Path(folder) / "found.json"
        given.write_text(json.dumps({"rows": rows, "categorical": categorical, "k": k}))
        subprocess.run([python, "-c", K_PROTOTYPES, str(given), str(found)], check=True)
        return np.array(json.loads(found.read_text()))


def score_methods(columns: Columns, y: np.ndarray, python: str | None) -> list[float]:
    """Return the adjusted Rand index of every method; NaN if it was left out."""
    k = len(np.unique(y))
    famd, one_hot = scale_by_famd(columns), encode_one_hot(columns)
    found = [
        MinimumDensityTree(k, random_state=0).fit(famd).labels_,
        MinimumDensityTree(k, random_state=0).fit(one_hot).labels_,
        MinimumDensityTree(random_state=0).fit(famd).labels_,
        KMeans(k, n_init=10, random_state=0).fit(famd).labels_,
        run_k_prototypes(columns, k, python),
    ]
    return [np.nan if labels is None else adjusted_rand_score(y, labels) for labels in found]


def print_rows(name: str, scores: list[float]) -> None:
    """Print a row of the table."""
    cells = ["" if np.isnan(score) else f"{score:.2f}" for score in scores]
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", default=["simulated", "development"])
    parser.add_argument("--kmodes", metavar="PYTHON", default=None)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for group in options.groups:
        start = time.perf_counter()
        if group == "null":
            count_false_splits()
            continue
        print(f"\n| {group} | {' | '.join(METHODS)} |\n|---|{'---|' * len(METHODS)}")
        means = []
        for name in FAMILIES if group == "simulated" else MIXED_TABLES[group]:
            if group == "simulated":
                scores = [score_methods(*simulate_table(name, seed), options.kmodes) for seed in range(N_SEEDS)]
            else:
                scores = [score_methods(*load_columns(name), options.kmodes)]
            means.append(np.mean(scores, axis=0).tolist())
            print_rows(name, means[-1])
        print_rows("mean", np.mean(means, axis=0).tolist())
        print(f"\n{time.perf_counter() - start:.0f} s")


def count_false_splits(n_tables: int = 100) -> None:
    """Print how many tables of independent columns are split without a given number of clusters."""
    print("\n| independent columns | split, FAMD | split, one-hot |\n|---|---|---|")
    families = {
        "4 numbers, 2 to 5 categories": (4, (3, 4, 5, 2)),
        "5 columns of 3 categories": (0, (3,) * 5),
        "10 columns of 2 or 4 categories": (0, (2, 4) * 5),
        "1 number, 4 categories": (1, (4,)),
    }
    for name, (n_numbers, sizes) in families.items():
        counts = np.zeros(2, dtype=int)
        for seed in range(n_tables):
            columns = simulate_null(seed, n_numbers, sizes)
            for k, features in enumerate((scale_by_famd(columns), encode_one_hot(columns))):
                counts[k] += MinimumDensityTree(random_state=seed).fit(features).n_clusters_ > 1
        print(f"| {name} | {counts[0]} of {n_tables} | {counts[1]} of {n_tables} |", flush=True)


if __name__ == "__main__":
    main()
