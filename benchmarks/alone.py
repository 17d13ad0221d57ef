"""Fits that are measured in a process of their own: peak memory, sparse rows, rows in files, rows on a cluster.

    python benchmarks/alone.py memory|sparse|blocks|cluster [--rows N] [--features D]

`benchmarks/run.py` starts these measurements and names the numbers that they print.
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
from collections.abc import Callable, Iterator

import numpy as np

from measure import measure_times, read_peak, reset_peak
from mixtures import simulate_mixture
from ravine import MinimumDensityHyperplane, MinimumDensityTree
from ravine.rows import ClusterRows, RowBlocks

# Open the sample of each worker, read a few rows, sum moments, set units, fetch the subsample, count the two sides.
SETUP_ROUNDS = 6
# Gradients on all rows for each level, and megabytes of the rows near a hyperplane.
GRADIENTS, SLAB = 3, 2.7
MODELS: dict[str, Callable[[], object]] = {
    "hyperplane": lambda: MinimumDensityHyperplane(random_state=0),
    "tree": lambda: MinimumDensityTree(8, random_state=0),
}


def simulate_blocks(n: int, d: int, size: int = 200_000) -> Iterator[np.ndarray]:
    """Simulate a mixture of three Gaussians in blocks of rows."""
    rng = np.random.default_rng(1)
    means = rng.standard_normal((3, d))
    means *= 7.0 / math.sqrt(2.0) / np.linalg.norm(means, axis=1, keepdims=True)
    scales = rng.uniform(0.5, 1.5, size=(3, d))
    rotation = np.linalg.qr(rng.standard_normal((d, d)))[0]
    for start in range(0, n, size):
        which = rng.choice(3, size=min(size, n - start), p=(0.3, 0.3, 0.4))
        yield (scales[which] * rng.standard_normal((len(which), d)) + means[which]) @ rotation


def fill(X: np.ndarray) -> None:
    """Fill an array with a simulated mixture, without a second array of its size."""
    start = 0
    for block in simulate_blocks(*X.shape, size=20_000):
        X[start : start + len(block)] = block
        start += len(block)


def measure_memory(n: int, d: int, order: str, model: str) -> None:
    """Measure a fit in memory; print its peak memory beyond X in bytes."""
    MinimumDensityHyperplane().fit(simulate_mixture(500, 4)[0])  # loads all modules
    X = np.empty((n, d), order=order)  # type: ignore[call-overload]
    fill(X)
    before = reset_peak()
    MODELS[model]().fit(X)  # type: ignore[attr-defined]
    print(read_peak() - before)


def measure_sparse(n: int, d: int, words: int) -> None:
    """Measure a fit to text-like rows; print ratio, seconds, peak memory relative to the matrix, agreement."""
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    topic = rng.integers(0, 3, n)
    columns = rng.integers(0, d, (n, words), dtype=np.int32)
    few = words // 10
    columns[:, :few] = rng.integers(0, d // 25, (n, few)) + d // 25 * topic[:, None]
    X = sp.csr_array(
        (rng.random(n * words) + 0.5, columns.ravel(), np.arange(0, n * words + 1, words, dtype=np.int32)), shape=(n, d)
    )
    del columns
    X.sum_duplicates()  # canonical format, as text vectorisers return it
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    v = rng.standard_normal(d)
    before = reset_peak()
    model = MinimumDensityHyperplane(random_state=0)
    t_fit, t_product = measure_times(lambda: model.fit(X), lambda: X @ v, repeats=1)
    (again,) = measure_times(lambda: X @ v, repeats=5)
    agreement = max(
        max(np.mean(model.labels_ == (topic == c)), np.mean(model.labels_ != (topic == c))) for c in range(3)
    )
    print(t_fit / min(t_product, again), t_fit, 1.0 + (read_peak() - before) / size, agreement)


def _read_once(path: str) -> None:
    buffer = np.empty(1 << 22, np.uint8)
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer):  # type: ignore[attr-defined]
            pass


def measure_blocks(n: int, d: int, dtype: str) -> None:
    """Measure a fit from a file; print passes, seconds, seconds of one reading and peak memory in bytes."""
    MinimumDensityHyperplane().fit(simulate_mixture(500, 4)[0])  # loads all modules
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.npy")
        fill(np.lib.format.open_memmap(path, "w+", dtype, (n, d)))
        reset_peak()
        source = RowBlocks(path)
        (before,) = measure_times(lambda: _read_once(path), repeats=2)
        (t_fit,) = measure_times(lambda: MinimumDensityHyperplane(random_state=0).fit(source), repeats=1)
        peak = read_peak()
        (after,) = measure_times(lambda: _read_once(path), repeats=2)
    print(source.passes, t_fit, min(before, after), peak)


def predict_cost(model: MinimumDensityHyperplane, n: int, d: int, workers: int) -> tuple[float, float]:
    """Return the rounds and megabytes of a fit by the cost model of docs/beyond-memory.md, from its path."""
    rounds, megabytes = SETUP_ROUNDS, 8e-6 * (d * 10_000 + 10_000) + 8e-6 * workers * d * (d + 64)
    for size in sorted({step.n_rows for step in model.path_} - {10_000}):
        rounds += 4 + 2 * GRADIENTS + (size < n)
        megabytes += 8e-6 * size * (size < n)
        for step in [step for step in model.path_ if step.n_rows == size]:
            sigma = math.sqrt(float(step.hyperplane.normal @ model.covariance_ @ step.hyperplane.normal))
            bins = 4 * (2 * step.hyperplane.alpha * sigma / step.hyperplane.bandwidth + 16)
            megabytes += SLAB + workers * 1e-6 * (GRADIENTS + 2) * (64 * bins + 16 * d)
    return rounds, megabytes


def measure_cluster(n: int, d: int, workers: int) -> None:
    """Measure a fit on local workers.

    Prints rounds, megabytes moved, seconds, seconds in memory with one thread, agreement, and the rounds and megabytes
    of the cost model.
    """
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    X = np.concatenate(list(simulate_blocks(n, d)))
    size = math.ceil(n / (4 * workers))
    folder = tempfile.TemporaryDirectory()
    for start in range(0, n, size):
        np.save(os.path.join(folder.name, f"{start}.npy"), X[start : start + size])
    model = MinimumDensityHyperplane(random_state=0)
    (t_here,) = measure_times(lambda: model.fit(X), repeats=2)
    labels = model.labels_
    model.covariance_ = np.cov(X[:100_000].T)  # for the cost model
    options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": None}
    with folder, LocalCluster(**options) as local, Client(local) as client:
        parts = [
            da.from_delayed(dask.delayed(np.load)(os.path.join(folder.name, f"{s}.npy")), (min(size, n - s), d), float)
            for s in range(0, n, size)
        ]
        rows = client.persist(da.concatenate(parts))
        wait(rows)
        source = ClusterRows(rows, client)
        (t_there,) = measure_times(lambda: model.fit(source), repeats=1)
        moved = (source.bytes_sent + source.bytes_received) / 1e6
        agreement = np.mean(model.labels_.compute() == labels)
    print(source.n_rounds, moved, t_there, t_here, agreement, *predict_cost(model, n, d, workers))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["memory", "sparse", "blocks", "cluster"])
    parser.add_argument("--rows", type=int)
    parser.add_argument("--features", type=int)
    parser.add_argument("--order", choices="CF", default="C", help="layout of the array (memory)")
    parser.add_argument("--model", choices=list(MODELS), default="hyperplane", help="estimator (memory)")
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float64", help="type of the file (blocks)")
    parser.add_argument("--workers", type=int, default=2, help="number of processes (cluster)")
    options = parser.parse_args()
    n, d = options.rows, options.features
    if options.what == "memory":
        measure_memory(n or 1_000_000, d or 64, options.order, options.model)
    elif options.what == "sparse":
        measure_sparse(n or 100_000, d or 50_000, 100)
    elif options.what == "blocks":
        measure_blocks(n or 15_625_000, d or 64, options.dtype)
    else:
        measure_cluster(n or 4_000_000, d or 50, options.workers)


if __name__ == "__main__":
    main()
