"""Sparse rows of very many columns: what the density on the hyperplane is for the rows fitted and for new ones.

    python benchmarks/many_columns.py

Documents of three topics are simulated; half of them are fitted, half are only looked at. The hyperplane that is sought
among a few principal directions, and goes on in all columns only where the gradient is more than noise, is compared
with the one that goes on to convergence. The table is in docs/beyond-memory.md.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from ravine import MinimumDensityHyperplane
from ravine.density import BalancePenalty
from ravine.index import ClusteringIndex
from ravine.rows import SparseSample
from ravine.search import drive, wide


def documents(n: int, d: int, words: int, of_topic: int, seed: int = 0) -> sp.csr_array:
    """Rows of `words` random words, some of them from the own words of one of three topics."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(0, 3, n)
    found = rng.integers(0, d, (n, words), dtype=np.int32)
    found[:, :of_topic] = rng.integers(0, d // 25, (n, of_topic)) + d // 25 * topic[:, None]
    starts = np.arange(0, n * words + 1, words, dtype=np.int32)
    return sp.csr_array((rng.random(n * words) + 0.5, found.ravel(), starts), shape=(n, d))


def log_density(model: MinimumDensityHyperplane, X: sp.csr_array) -> float:
    """On the hyperplane, in units of the kernel's peak."""
    u = model.decision_function(X) / model.bandwidth_
    return math.log(np.mean(np.exp(-0.5 * u * u)))


def signal_to_noise(model: MinimumDensityHyperplane, X: sp.csr_array) -> float:
    """Of the gradient in all columns at a hyperplane."""
    sample = SparseSample(X)
    h = model.bandwidth_ / sample.unit
    index = ClusteringIndex(sample, sample.moments(), h, BalancePenalty(), model.hyperplane_.alpha)
    return drive(sample, [index.signal_to_noise(model.hyperplane_.normal)])[0]


def main() -> None:
    threshold = wide.MORE_NOISE_THAN_SIGNAL
    print("| rows, columns | gradient² / noise | noise test: fitted, new rows | to convergence: fitted, new rows |")
    print("|---|---|---|---|")
    for n, d, words, of_topic in (
        (100_000, 50_000, 100, 10),
        (100_000, 2_000, 40, 8),
        (40_000, 2_000, 40, 8),
        (4_000, 2_000, 40, 8),
    ):
        X = documents(2 * n, d, words, of_topic)
        fitted, new = X[:n], X[n:]
        cells = []
        for wide.MORE_NOISE_THAN_SIGNAL in (threshold, 0.0):
            model = MinimumDensityHyperplane(random_state=0).fit(fitted)
            if not cells:
                cells.append(f"{signal_to_noise(model, fitted):.2f}")
            cells.append(f"{log_density(model, fitted):.1f}, {log_density(model, new):.1f}")
        print(f"| {n:,} × {d:,} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
