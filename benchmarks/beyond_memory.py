"""Time and memory of fits to sparse rows, rows in files and rows on a cluster, as ratios measured in one run.

Part of `make bench`. To run one of them at another size: ``python benchmarks/beyond_memory.py blocks --gigabytes 1``.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from mixtures import simulate_mixture
from ravine import MinimumDensityHyperplane
from ravine.rows import ClusterRows, RowBlocks

__all__ = ["report_blocks", "report_cluster", "report_sparse"]

# Open the sample of each worker, read a few rows, sum moments, set units, fetch the subsample, count the two sides.
SETUP_ROUNDS = 6


def read_peak() -> int:
    """Return the largest resident memory of this process since the last reset, in bytes."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024


def reset_peak() -> int:
    """Reset the peak; return the memory in use."""
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")
    return read_peak()


def measure_time(function: Any, repeats: int) -> float:
    """Return the shortest time of a function over several calls."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


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


def _read_once(path: str) -> None:
    buffer = np.empty(1 << 22, np.uint8)
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer):  # type: ignore[attr-defined]
            pass


def measure_blocks(gigabytes: float) -> None:
    """Measure a fit from a file; print ratio, passes, seconds, seconds of one reading and peak memory."""
    d = 64
    n = int(gigabytes * 1e9 / (8 * d))
    MinimumDensityHyperplane().fit(simulate_mixture(500, 4)[0])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.npy")
        mapped = np.lib.format.open_memmap(path, "w+", float, (n, d))
        start = 0
        for block in simulate_blocks(n, d):
            mapped[start : start + len(block)] = block
            start += len(block)
        del mapped, block
        reset_peak()
        before = measure_time(lambda: _read_once(path), 2)
        source = RowBlocks(path)
        t_fit = measure_time(lambda: MinimumDensityHyperplane(random_state=0).fit(source), 1)
        top = read_peak()
        t_read = min(before, measure_time(lambda: _read_once(path), 2))
    print(t_fit / (source.passes * t_read), source.passes, t_fit, t_read, top / 1e9)


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
    t_product = measure_time(lambda: X @ v, 5)
    model = MinimumDensityHyperplane(random_state=0)
    t_fit = measure_time(lambda: model.fit(X), 1)
    t_product = min(t_product, measure_time(lambda: X @ v, 5))
    agreement = max(
        max(np.mean(model.labels_ == (topic == c)), np.mean(model.labels_ != (topic == c))) for c in range(3)
    )
    print(t_fit / t_product, t_fit, 1.0 + (read_peak() - before) / size, agreement)


def predict_cost(model: MinimumDensityHyperplane, n: int, d: int, workers: int) -> tuple[float, float]:
    """Return the rounds and megabytes of a fit by the cost model of docs/beyond-memory.md, from its path."""
    rounds, megabytes = SETUP_ROUNDS, 8e-6 * (d * 10_000 + 10_000) + 8e-6 * workers * d * (d + 64)
    for size in sorted({step.n_rows for step in model.path_} - {10_000}):
        steps = [step for step in model.path_ if step.n_rows == size]
        evaluations = max(step.n_evaluations for step in steps)
        iterations = max(step.n_iter for step in steps)
        rounds += evaluations + 2 * iterations + 3 + (size < n)
        megabytes += 8e-6 * size * (size < n)
        for step in steps:
            sigma = math.sqrt(float(step.hyperplane.normal @ model.covariance_ @ step.hyperplane.normal))
            bins = 4 * (2 * step.hyperplane.alpha * sigma / step.hyperplane.bandwidth + 16)
            megabytes += workers * 1e-6 * (64 * bins * (step.n_evaluations + 1) + 16 * d * (step.n_iter + 1))
    return rounds, megabytes


def measure_cluster(n: int, d: int, workers: int) -> None:
    """Measure a fit on local workers; print the ratio to one thread, rounds, megabytes moved and seconds."""
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    X = np.concatenate(list(simulate_blocks(n, d)))
    size = math.ceil(n / (4 * workers))
    folder = tempfile.TemporaryDirectory()
    for start in range(0, n, size):
        np.save(os.path.join(folder.name, f"{start}.npy"), X[start : start + size])
    model = MinimumDensityHyperplane(random_state=0)
    t_here = measure_time(lambda: model.fit(X), 2)
    labels = model.labels_
    model.covariance_ = np.cov(X[:100_000].T)  # for the cost model
    options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None, "memory_limit": None}
    with folder, LocalCluster(**options) as local, Client(local) as client:
        parts = [
            da.from_delayed(dask.delayed(np.load)(os.path.join(folder.name, f"{s}.npy")), (min(size, n - s), d), float)
            for s in range(0, n, size)
        ]
        rows = client.persist(da.concatenate(parts))
        wait(rows)
        source = ClusterRows(rows, client)
        t_there = measure_time(lambda: model.fit(source), 1)
        moved = (source.bytes_sent + source.bytes_received) / 1e6
        agreement = np.mean(model.labels_.compute() == labels)
    print(t_there / t_here, source.n_rounds, moved, t_there, t_here, agreement, *predict_cost(model, n, d, workers))


def _run_alone(*arguments: str) -> list[float]:
    """Run a measurement in its own process; return the numbers that it prints."""
    done = subprocess.run(
        [sys.executable, os.path.abspath(__file__), *arguments], capture_output=True, text=True, check=True
    )
    return [float(word) for word in done.stdout.split()]


def report_blocks(report: Any, gigabytes: float = 8.0) -> None:
    """Report a fit of rows in a file, which is in the page cache if it fits."""
    ratio, passes, seconds, reading, top = _run_alone("blocks", "--gigabytes", str(gigabytes))
    note = f"{passes:.1f} passes; {seconds:.1f} s; read {reading:.2f} s, page cache warm"
    report(f"blocks, {gigabytes:g} GB, d=64: fit / (passes x reading)", ratio, 1.5, note=note)
    report("  peak memory, GB", top, 1.5)


def report_sparse(report: Any) -> None:
    """Report a fit of text-like rows."""
    ratio, seconds, memory, agreement = _run_alone("sparse")
    note = f"{seconds:.2f} s; agreement {agreement:.4f}"
    report("sparse, 1e5 x 50,000, 100 a row: fit / X @ v", ratio, 200, note=note)
    report("  peak memory / matrix", memory, 3)


def report_cluster(report: Any) -> None:
    """Report a fit of rows on two local workers."""
    ratio, rounds, moved, there, here, agreement, rounds_model, moved_model = _run_alone("cluster")
    note = f"{there:.2f} s against {here:.2f} s; agreement {agreement:.6f}"
    report("Dask, 2 workers, 4e6 x 50: fit / fit with one thread", ratio, 1.3, note=note)
    report("  rounds", rounds, 120, note=f"cost model: {rounds_model:.0f}")
    report("  MB moved", moved, 20, note=f"cost model: {moved_model:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["blocks", "sparse", "cluster"])
    parser.add_argument("--gigabytes", type=float, default=8.0)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.what == "blocks":
        measure_blocks(arguments.gigabytes)
    elif arguments.what == "sparse":
        measure_sparse(arguments.rows or 100_000, 50_000, 100)
    else:
        measure_cluster(arguments.rows or 4_000_000, 50, arguments.workers)


if __name__ == "__main__":
    main()
