"""Speed and memory as ratios measured in one run: `make bench`.

Every ratio compares two functions that are timed alternately several times; it uses the minimum of each, so that other
load on the machine has little effect. Everything runs on one thread unless stated otherwise.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
from sklearn.cluster import KMeans

from beyond_memory import report_blocks, report_cluster, report_sparse
from mixtures import simulate_mixture
from ravine import (
    MinimumDensityClassifier,
    MinimumDensityHyperplane,
    MinimumDensityTree,
    _kernels,
    paper_settings,
    valley_test,
)
from sets import load_standardised

HIPART = """
import sys, time, warnings
import numpy as np
warnings.simplefilter("ignore")
from HiPart.clustering import MDH
X = np.load(sys.argv[1])
start = time.perf_counter()
MDH(max_clusters_number=2, random_state=0).fit_predict(X)
print(time.perf_counter() - start)
"""

IMPORT = """
import time
{first}
start = time.perf_counter()
from ravine import MinimumDensityHyperplane
print(time.perf_counter() - start)
"""

MEMORY = """
import sys
sys.path.insert(0, {folder!r})
import numpy as np
from ravine import MinimumDensityHyperplane, MinimumDensityTree
from mixtures import simulate_mixture
MinimumDensityHyperplane().fit(simulate_mixture(500, 4)[0])
rng = np.random.default_rng(0)
X = np.empty(({n}, {d}), order={order!r})
for start in range(0, len(X), 20_000):
    block = simulate_mixture(20_000, {d}, seed=1)[0]
    X[start : start + 20_000] = block + 0.01 * rng.standard_normal(block.shape)
del block
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) * 1024
open("/proc/self/clear_refs", "w").write("5")
before = peak()
{model}.fit(X)
print(peak() - before, X.nbytes)
"""


def measure_times(*functions: Callable[[], object], repeats: int) -> list[float]:
    """Return the shortest time of each function; they are called alternately."""
    best = [math.inf] * len(functions)
    for _ in range(repeats):
        for i, function in enumerate(functions):
            start = time.perf_counter()
            function()
            best[i] = min(best[i], time.perf_counter() - start)
    return best


class Report:
    """Printer of measurements that counts the missed limits."""

    def __init__(self) -> None:
        self.misses = 0

    def __call__(self, name: str, value: float, limit: float, *, at_least: bool = False, note: str = "") -> None:
        """Print one measurement and its limit."""
        met = value >= limit if at_least else value <= limit
        self.misses += not met
        sign = ">=" if at_least else "<="
        print(f"{'ok  ' if met else 'MISS'}  {name:<58} {value:>9.3g}  ({sign} {limit:g})  {note}", flush=True)


def report_density_kernel(report: Report) -> None:
    rng = np.random.default_rng(0)
    n, k = 1_000_000, 512
    p = np.concatenate([rng.normal(-3.0, 1.0, n // 2), rng.normal(3.0, 1.0, n // 2)])
    rng.shuffle(p)
    h = 0.9 * float(p.std()) * n**-0.2
    lo = float(p.min()) - 8 * h
    n_bins = 4 * math.ceil((float(p.max()) + 8 * h - lo) / h)
    points = np.linspace(-5.0, 5.0, k)
    hermite = np.array([4.0**-q / math.factorial(q) for q in range(8)]) / n

    def evaluate_bins() -> np.ndarray:
        moments = np.zeros((n_bins + 2, 8))
        _kernels.bin(p, None, 1.0, 0.0, None, lo, h / 4, moments)
        return _kernels.evaluate(np.ascontiguousarray((moments[1:-1] * hermite).T), lo, h, points)[0]

    def sum_exactly() -> np.ndarray:
        return np.array([np.exp(-0.5 * ((b - p) / h) ** 2).mean() for b in points[::64]])

    t_fast, t_sum, t_exact = measure_times(evaluate_bins, p.sum, sum_exactly, repeats=7)
    error = np.abs(evaluate_bins()[::64] - sum_exactly()).max()
    report("density, n=1e6, 512 points / p.sum()", t_fast / t_sum, 35, note=f"error {error:.1e} of the peak")
    report("exact NumPy sum / density", 64 * t_exact / t_fast, 1000, at_least=True)


def report_fit(report: Report, n: int, d: int, limit: float) -> None:
    ratios, seconds, agreements = [], [], []
    for seed in (1, 2, 3):
        X, y = simulate_mixture(n, d, seed=seed)
        v = np.full(d, 1.0 / math.sqrt(d))
        model = MinimumDensityHyperplane(random_state=0)
        t_fit, t_product = measure_times(lambda: model.fit(X), lambda: X @ v, repeats=3)  # noqa: B023
        ratios.append(t_fit / t_product)
        seconds.append(t_fit)
        agreements.append(
            max(max(np.mean(model.labels_ == (y == c)), np.mean(model.labels_ != (y == c))) for c in range(3))
        )
    report(
        f"fit, n={n:.0e}, d={d} / X @ v, median of 3 mixtures",
        float(np.median(ratios)),
        limit,
        note=f"{np.median(seconds):.2f} s; {min(ratios):.0f} to {max(ratios):.0f}; agreement {min(agreements):.4f}",
    )


def report_kmeans(report: Report) -> None:
    X, _ = simulate_mixture(1_000_000, 50, seed=1)
    model = MinimumDensityHyperplane(random_state=0)
    t_fit, t_once, t_ten = measure_times(
        lambda: model.fit(X),
        lambda: KMeans(2, n_init=1, random_state=0).fit(X),
        lambda: KMeans(2, n_init=10, random_state=0).fit(X),
        repeats=2,
    )
    report("fit, n=1e6, d=50 / KMeans(2, n_init=10)", t_fit / t_ten, 0.25, note=f"{t_fit:.2f} s")
    print(f"      goal: fit / KMeans(2, n_init=1) = {t_fit / t_once:.2f} (below 1)")


def report_growth_and_small_data(report: Report) -> None:
    many, fewer = simulate_mixture(1_000_000, 16, seed=1)[0], simulate_mixture(100_000, 16, seed=1)[0]
    model = MinimumDensityHyperplane(random_state=0)
    t_many, t_fewer = measure_times(lambda: model.fit(many), lambda: model.fit(fewer), repeats=5)
    report("fit, d=16: time(1e6) / time(1e5)", t_many / t_fewer, 12)
    paper = MinimumDensityHyperplane(**paper_settings("clustering"))
    small = [
        measure_times(lambda: paper.fit(X), lambda: model.fit(X), repeats=8)  # noqa: B023
        for X in (simulate_mixture(1000, 16, seed=seed)[0] for seed in range(20))
    ]
    for name, times, limit in zip(("paper's settings", "defaults"), 1e3 * np.transpose(small), (20, 60), strict=True):
        note = f"{times.min():.0f} to {times.max():.0f}"
        report(f"fit, 1000 x 16, {name}, ms, median of 20 mixtures", float(np.median(times)), limit, note=note)
    imports = [float(_run_script(IMPORT.format(first="import sklearn.base"))) for _ in range(7)]
    report("import beyond sklearn.base, s", min(imports), 0.2)


def report_hipart(report: Report, python: str) -> None:
    X = simulate_mixture(1000, 10, seed=1)[0]
    path = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"ravine-bench-{os.getpid()}.npy")
    np.save(path, X)
    try:
        done = subprocess.run([python, "-c", HIPART, path], capture_output=True, text=True, timeout=600, check=False)
    finally:
        os.remove(path)
    if done.returncode:
        print(f"skip  HiPart is not installed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
        return
    (t_fit,) = measure_times(lambda: MinimumDensityHyperplane(random_state=0).fit(X), repeats=10)
    report("HiPart MDH / fit, 1000 x 10", float(done.stdout.split()[-1]) / t_fit, 50, at_least=True)


def hide_labels(y: np.ndarray, n: int) -> np.ndarray:
    """Return the labels of n random rows, and -1 for all others."""
    given = np.full(len(y), -1)
    rows = np.random.default_rng(0).choice(len(y), n, replace=False)
    given[rows] = y[rows]
    return given


def report_classifier(report: Report) -> None:
    model = MinimumDensityClassifier(random_state=0)
    X, y = simulate_mixture(10_000, 20, k=2, seed=1)
    (seconds,) = measure_times(lambda: model.fit(X, hide_labels(y, 50)), repeats=3)
    report("classifier, 1e4 x 20, 50 labels, s", seconds, 0.5)
    X, y = simulate_mixture(1_000_000, 20, k=2, seed=1)
    v = np.full(20, 1.0 / math.sqrt(20))
    t_fit, t_product = measure_times(lambda: model.fit(X, hide_labels(y, 50)), lambda: X @ v, repeats=3)
    agreement = np.mean(model.predict(X) == y)
    note = f"{t_fit:.2f} s; agreement {agreement:.4f}"
    report("classifier, 1e6 x 20, 50 labels / X @ v, for each of 5 starts", t_fit / t_product / 5, 60, note=note)
    if "RAVINE_DATA" not in os.environ:
        print("skip  ten classes: set RAVINE_DATA to the folder of the paper's data sets")
        return
    X, names = load_standardised("pendigits")
    y = np.unique(names, return_inverse=True)[1]
    given = hide_labels(y, 300)
    model = MinimumDensityClassifier(random_state=0, n_jobs=2)
    (seconds,) = measure_times(lambda: model.fit(X, given), repeats=1)
    error = np.mean(model.transduction_[given < 0] != y[given < 0])
    report("classifier, pendigits, 45 pairs, 300 labels, 2 threads, s", seconds, 20, note=f"error {100 * error:.1f} %")


def report_trees(report: Report) -> None:
    root = MinimumDensityHyperplane(random_state=0)
    if "RAVINE_DATA" in os.environ:
        for name, k, limit, repeats in (("pendigits", 10, 15, 3), ("smartphone", 6, 12, 1)):
            X, _ = load_standardised(name)
            tree = MinimumDensityTree(k, random_state=0)
            t_root, t_tree, t_test = measure_times(
                lambda: root.fit(X),  # noqa: B023
                lambda: tree.fit(X),  # noqa: B023
                lambda: valley_test(X, random_state=0),  # noqa: B023
                repeats=repeats,
            )
            report(f"tree, {name}, {k} clusters / root fit", t_tree / t_root, limit, note=f"{t_tree:.1f} s")
            report(f"valley test, {name}, one halving / root fit", t_test / t_root, 2.5)
    else:
        print("skip  trees of real data sets: set RAVINE_DATA to the folder of the paper's data sets")
    rng = np.random.default_rng(0)
    centers, component = 4.0 * rng.standard_normal((64, 16)), rng.integers(0, 64, 1_000_000)
    X = centers[component] + rng.standard_normal((1_000_000, 16))
    tree = MinimumDensityTree(64, split_next="size", random_state=0)
    t_root, t_tree = measure_times(lambda: root.fit(X), lambda: tree.fit(X), repeats=1)
    note = f"{t_tree:.0f} s; {tree.n_clusters_} leaves"
    report("tree, n=1e6, d=16, 64 leaves / root fit", t_tree / t_root, 40, note=note)


def report_memory(report: Report) -> None:
    n, d, folder = 1_000_000, 64, os.path.dirname(os.path.abspath(__file__))
    for order in "CF":
        script = MEMORY.format(folder=folder, n=n, d=d, order=order, model="MinimumDensityHyperplane(random_state=0)")
        beyond, size = map(int, _run_script(script).split())
        allowed = size / 10 + 64 * n
        report(f"peak memory beyond X, n=1e6, d=64, {order} order, MB", beyond / 1e6, allowed / 1e6)
    tree = "MinimumDensityTree(8, random_state=0)"
    beyond, size = map(int, _run_script(MEMORY.format(folder=folder, n=n, d=16, order="C", model=tree)).split())
    report("peak memory beyond X, n=1e6, d=16, tree of 8, MB", beyond / 1e6, (size / 2 + 100 * n) / 1e6)


def _run_script(script: str) -> str:
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hipart", default=sys.executable, help="Python interpreter with HiPart installed")
    parser.add_argument("--strict", action="store_true", help="fail if a limit is missed")
    arguments = parser.parse_args()
    if os.environ.get("OMP_NUM_THREADS") != "1":
        sys.exit("Set OMP_NUM_THREADS=1 (as `make bench` does): the ratios are for one thread.")
    report = Report()
    print(f"instruction set: {_kernels.instruction_set()}; one thread\n")
    report_density_kernel(report)
    report_fit(report, 1_000_000, 64, 40)
    report_fit(report, 1_000_000, 16, 80)
    report_kmeans(report)
    report_growth_and_small_data(report)
    report_classifier(report)
    report_trees(report)
    report_hipart(report, arguments.hipart)
    report_memory(report)
    report_sparse(report)
    report_cluster(report)
    report_blocks(report)
    print(f"\n{report.misses} limits missed" if report.misses else "\nall limits met")
    sys.exit(arguments.strict and report.misses > 0)


if __name__ == "__main__":
    main()
