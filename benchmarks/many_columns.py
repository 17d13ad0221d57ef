"""Density on the hyperplane for the rows fitted and for new rows, for sparse rows with very many features.

    python benchmarks/many_columns.py

Half of the simulated documents of three topics are fitted, the other half are new. The default search is confined to a
few principal directions and continues with all features only if the gradient exceeds its noise. It is compared with a
search that continues to convergence. The table is in docs/beyond-memory.md.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from ravine import MinimumDensityHyperplane
from ravine.density import BalancePenalty
from ravine.index import ClusteringIndex
from ravine.rows import SparseSample
from ravine.search import drive, refinement


def simulate_documents(n: int, d: int, words: int, of_topic: int, seed: int = 0) -> sp.csr_array:
    """Simulate rows of random words, of which some belong to one of three topics."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(0, 3, n)
    found = rng.integers(0, d, (n, words), dtype=np.int32)
    found[:, :of_topic] = rng.integers(0, d // 25, (n, of_topic)) + d // 25 * topic[:, None]
    starts = np.arange(0, n * words + 1, words, dtype=np.int32)
    return sp.csr_array((rng.random(n * words) + 0.5, found.ravel(), starts), shape=(n, d))


def compute_log_density(model: MinimumDensityHyperplane, X: sp.csr_array) -> float:
    """Compute the log-density on the hyperplane, in units of the kernel's peak."""
    u = model.decision_function(X) / model.bandwidth_
    return math.log(np.mean(np.exp(-0.5 * u * u)))


def compute_signal_to_noise(model: MinimumDensityHyperplane, X: sp.csr_array) -> float:
    """Compute the signal-to-noise ratio of the gradient with respect to all features at a hyperplane."""
    sample = SparseSample(X)
    h = model.bandwidth_ / sample.unit
    index = ClusteringIndex(sample, sample.moments(), h, BalancePenalty(), model.hyperplane_.alpha)
    return drive(sample, [index.signal_to_noise(model.hyperplane_.normal)])[0]


def main() -> None:
    threshold = refinement.MORE_NOISE_THAN_SIGNAL
    print("| rows × features | gradient² / noise | noise test: fitted, new rows | to convergence: fitted, new rows |")
    print("|---|---|---|---|")
    for n, d, words, of_topic in (
        (100_000, 50_000, 100, 10),
        (100_000, 2_000, 40, 8),
        (40_000, 2_000, 40, 8),
        (4_000, 2_000, 40, 8),
    ):
        X = simulate_documents(2 * n, d, words, of_topic)
        fitted, new = X[:n], X[n:]
        cells = []
        for refinement.MORE_NOISE_THAN_SIGNAL in (threshold, 0.0):
            model = MinimumDensityHyperplane(random_state=0).fit(fitted)
            if not cells:
                cells.append(f"{compute_signal_to_noise(model, fitted):.2f}")
            cells.append(f"{compute_log_density(model, fitted):.1f}, {compute_log_density(model, new):.1f}")
        print(f"| {n:,} × {d:,} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
