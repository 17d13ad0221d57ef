"""The valley test and trees on simulated text: sparse word counts, without topics and with several.

    python benchmarks/sparse_text.py [null] [power] [large] [--tables 200]

"null" counts how often the valley test finds a split in documents of one topic, at the level 5 %. "power" gives the
number of clusters and the adjusted Rand index of a tree without a given number, for topics that overlap more and more.
"large" measures time and memory for 20,000 documents with 30,000 words.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import normalize

from ravine import MinimumDensityTree, valley_test

NULLS = ("equal lengths", "unequal lengths", "bursty words", "two mixed themes", "short documents")


def simulate_documents(
    n: int, d: int, k: int, rng: np.random.Generator, *, contrast: float = 1.0, family: str = "equal lengths"
) -> tuple[sp.csr_array, np.ndarray]:
    """Simulate word counts of n documents of k topics with d words of Zipf's frequencies.

    Each topic multiplies the frequencies of 30 % of the words by exp(contrast · z), with normal z. "unequal lengths":
    log-normal lengths. "bursty words": frequencies of a document are Dirichlet around those of its topic. "two mixed
    themes": every document mixes two themes, with a share that is uniform in [0, 1]. "short documents": 15 words.
    """
    base = 1.0 / np.arange(1.0, d + 1.0)
    n_themes = 2 if family == "two mixed themes" else k
    factors = np.exp(contrast * rng.normal(size=(n_themes, d)) * (rng.random((n_themes, d)) < 0.3))
    themes = base * factors if n_themes > 1 else base[None]
    themes /= themes.sum(axis=1, keepdims=True)
    y = rng.integers(0, k, n)
    lengths = rng.poisson({"short documents": 15.0}.get(family, 80.0), n) + 1
    if family == "unequal lengths":
        lengths = np.round(np.exp(4.4 + 0.8 * rng.normal(size=n))).astype(int) + 1
    rows = []
    for i in range(n):
        p = themes[y[i]]
        if family == "two mixed themes":
            share = rng.random()
            p = share * themes[0] + (1.0 - share) * themes[1]
        elif family == "bursty words":
            p = rng.gamma(200.0 * p + 1e-9)
            p = p / p.sum()
        words, counts = np.unique(rng.choice(d, size=lengths[i], p=p), return_counts=True)
        rows.append((words, counts))
    indptr = np.cumsum([0, *(len(words) for words, _ in rows)])
    indices, data = (np.concatenate([row[j] for row in rows]) for j in (0, 1))
    return sp.csr_array((data.astype(float), indices, indptr), shape=(n, d)), y


def weigh_words(counts: sp.csr_array, weighting: str) -> sp.csr_array:
    """Return counts, rows of unit length, or tf-idf."""
    if weighting == "counts":
        return counts
    return normalize(counts) if weighting == "l2" else sp.csr_array(TfidfTransformer().fit_transform(counts))


def count_false_splits(n_tables: int) -> None:
    """Print how often documents of one topic are split, at the level 5 %."""
    weightings = ("counts", "l2", "tf-idf")
    print(f"\n| one topic, 400 documents, 2000 words | {' | '.join(weightings)} |\n|---|{'---|' * len(weightings)}")
    for family in NULLS:
        found = np.zeros(len(weightings), dtype=int)
        for seed in range(n_tables):
            counts, _ = simulate_documents(400, 2000, 1, np.random.default_rng([31, seed]), family=family)
            for k, weighting in enumerate(weightings):
                found[k] += valley_test(weigh_words(counts, weighting), random_state=seed).pvalue <= 0.05
        print(f"| {family} | {' | '.join(f'{n} of {n_tables}' for n in found)} |", flush=True)


def measure_power(n_tables: int) -> None:
    """Print how well a tree without a given number finds four topics."""
    print("\n| four topics, 800 documents, 3000 words, tf-idf | clusters | adjusted Rand index |\n|---|---|---|")
    for contrast in (2.0, 1.5, 1.25, 1.0, 0.75):
        results = []
        for seed in range(n_tables):
            counts, y = simulate_documents(800, 3000, 4, np.random.default_rng([37, seed]), contrast=contrast)
            tree = MinimumDensityTree(random_state=seed).fit(weigh_words(counts, "tf-idf"))
            results.append((tree.n_clusters_, adjusted_rand_score(y, tree.labels_)))
        clusters, scores = np.array(results).T
        print(f"| contrast {contrast:g} | {clusters.mean():.1f} | {scores.mean():.2f} |", flush=True)


def measure_cost() -> None:
    """Print time and memory of a large sparse matrix; its array would have 4.8 GB."""
    counts, y = simulate_documents(20_000, 30_000, 5, np.random.default_rng(41), contrast=2.0)
    X = weigh_words(counts, "tf-idf")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    start = time.perf_counter()
    tree = MinimumDensityTree(random_state=0).fit(X)
    seconds, peak = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    score = adjusted_rand_score(y, tree.labels_)
    print(f"\n20,000 documents, 30,000 words, 5 topics: {tree.n_clusters_} clusters, adjusted Rand index {score:.2f}, ")
    print(f"{seconds:.0f} s, {peak - before:.0f} MB more than the {before:.0f} MB before the fit")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["null", "power", "large"])
    parser.add_argument("--tables", type=int, default=200)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if "null" in options.parts:
        count_false_splits(options.tables)
    if "power" in options.parts:
        measure_power(max(1, options.tables // 20))
    if "large" in options.parts:
        measure_cost()


if __name__ == "__main__":
    main()
