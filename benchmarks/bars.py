"""The measurements of `make bench`: one function per row of the tables in docs/performance.md.

A measurement returns one number for each of its limits, and may add a note. Ratios compare functions that are called
alternately; each counts with its shortest processor time, so that other load on the machine has little effect.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from measure import format_number, measure_cpu_times, measure_times, run_alone, run_script
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

__all__ = ["BARS", "LIMITS", "Measurement", "Options", "Skipped", "measure_hipart"]


class Skipped(Exception):
    """Raised by a measurement that lacks what it needs."""


@dataclass(frozen=True)
class Options:
    """Choices of a run."""

    full: bool = False  # files and clusters in their full size
    hipart: str = sys.executable  # Python interpreter with HiPart


@dataclass(frozen=True)
class Measurement:
    """One row of a table."""

    name: str
    measure: str
    before: str
    limits: tuple[float, ...]
    run: Callable[[Options], tuple[list[float], str]]
    at_least: bool = False


BARS: list[Measurement] = []
LIMITS: list[Measurement] = []


def _add_to(table: list[Measurement]) -> Callable[..., Any]:
    """Return a decorator that registers a function as a row of a table."""

    def describe(name: str, measure: str, *limits: float, before: str = "", at_least: bool = False) -> Any:
        def register(function: Callable[[Options], tuple[list[float], str]]) -> Any:
            table.append(Measurement(name, measure, before, limits, function, at_least))
            return function

        return register

    return describe


bar, limit = _add_to(BARS), _add_to(LIMITS)


def new_hyperplane() -> MinimumDensityHyperplane:
    return MinimumDensityHyperplane(random_state=0)


def load_set(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Load a data set of the paper, if its folder is known."""
    if "RAVINE_DATA" not in os.environ:
        raise Skipped("set RAVINE_DATA to the folder of the paper's data sets")
    return load_standardised(name)


def format_range(values: Sequence[float] | np.ndarray) -> str:
    return f"{format_number(min(values))} to {format_number(max(values))}"


# ------------------------------------------------------------------------------------------- one hyperplane


def measure_fits(n: int, d: int, seeds: range, repeats: int, **settings: Any) -> np.ndarray:
    """Return the seconds of a fit for each of several mixtures."""
    model = MinimumDensityHyperplane(**settings)
    mixtures = (simulate_mixture(n, d, seed=seed)[0] for seed in seeds)
    return np.array([measure_cpu_times(lambda: model.fit(X), repeats=repeats)[0] for X in mixtures])  # noqa: B023


@bar("small", "1000 x 16, defaults / paper's settings, ms, median of 20 mixtures", 8, 4, before="65 / 34")
def measure_small(_: Options) -> tuple[list[float], str]:
    default = 1e3 * measure_fits(1000, 16, range(20), 5, random_state=0)
    paper = 1e3 * measure_fits(1000, 16, range(20), 5, **paper_settings("clustering"))
    return [float(np.median(default)), float(np.median(paper))], f"{format_range(default)} / {format_range(paper)}"


@bar("medium", "10,000 x 10, defaults, ms, median of 10 mixtures", 15, before="98")
def measure_medium(_: Options) -> tuple[list[float], str]:
    times = 1e3 * measure_fits(10_000, 10, range(10), 3, random_state=0)
    return [float(np.median(times))], format_range(times)


@bar("large", "100,000 x 10, defaults, ms, median of 10 mixtures", 50, before="105")
def measure_large(_: Options) -> tuple[list[float], str]:
    times = 1e3 * measure_fits(100_000, 10, range(10), 3, random_state=0)
    return [float(np.median(times))], format_range(times)


def measure_in_products(n: int, d: int) -> tuple[list[float], str]:
    """Measure a fit relative to one product X @ v; return the median over three mixtures."""
    ratios, seconds = [], []
    for seed in (1, 2, 3):
        X = simulate_mixture(n, d, seed=seed)[0]
        v, model = np.full(d, 1.0 / math.sqrt(d)), new_hyperplane()
        t_product = min(measure_cpu_times(lambda: X @ v, repeats=5))  # noqa: B023
        t_fit, again = measure_cpu_times(lambda: model.fit(X), lambda: X @ v, repeats=3)  # noqa: B023
        ratios.append(t_fit / min(t_product, again))
        seconds.append(t_fit)
    return [float(np.median(ratios))], f"{format_range(ratios)}; {np.median(seconds):.2f} s"


@bar("products64", "1e6 x 64, in products X @ v, median of 3 mixtures", 18, before="46")
def measure_products_64(_: Options) -> tuple[list[float], str]:
    return measure_in_products(1_000_000, 64)


@bar("products16", "1e6 x 16, in products X @ v, median of 3 mixtures", 28, before="50")
def measure_products_16(_: Options) -> tuple[list[float], str]:
    return measure_in_products(1_000_000, 16)


@bar("kmeans", "1e6 x 50 / KMeans(2, n_init=1) / (n_init=10)", 0.7, 0.12, before="1.7 / 0.31")
def measure_against_kmeans(_: Options) -> tuple[list[float], str]:
    X, _y = simulate_mixture(1_000_000, 50, seed=1)
    t_fit, t_once = measure_cpu_times(
        lambda: new_hyperplane().fit(X), lambda: KMeans(2, n_init=1, random_state=0).fit(X), repeats=3
    )
    (t_ten,) = measure_cpu_times(lambda: KMeans(2, n_init=10, random_state=0).fit(X), repeats=2)
    return [t_fit / t_once, t_fit / t_ten], f"{t_fit:.2f} s, KMeans {t_once:.2f} / {t_ten:.2f} s"


# ----------------------------------------------------------------------------------------------------- trees


@bar("tree", "tree, 10 clusters, pendigits / KMeans(10, n_init=10)", 2, before="11")
def measure_tree(_: Options) -> tuple[list[float], str]:
    X, _y = load_set("pendigits")
    t_tree, t_kmeans = measure_cpu_times(
        lambda: MinimumDensityTree(10, random_state=0).fit(X),
        lambda: KMeans(10, n_init=10, random_state=0).fit(X),
        repeats=3,
    )
    return [t_tree / t_kmeans], f"{t_tree:.2f} s, KMeans {t_kmeans:.2f} s"


@bar("autotree", "tree, auto, pendigits / optidigits, two threads, s", 1.5, 1.5, before="16 / 10")
def measure_automatic_tree(_: Options) -> tuple[list[float], str]:
    seconds, clusters = [], []
    for name in ("pendigits", "optidigits"):
        X, _y = load_set(name)
        tree = MinimumDensityTree(random_state=0, n_jobs=2)
        seconds += measure_times(lambda: tree.fit(X), repeats=2)  # noqa: B023
        clusters.append(tree.n_clusters_)
    return seconds, f"wall time; {clusters[0]} / {clusters[1]} clusters"


# --------------------------------------------------------------------------------------- files, cluster, growth


def fit_file(options: Options) -> list[float]:
    """Fit a file of 15,625,000 x 64 doubles, or a smaller one with the same number of subsamples."""
    return run_alone("blocks") if options.full else run_alone("blocks", "--rows", 10_000_000, "--dtype", "float32")


def fit_on_cluster(options: Options) -> list[float]:
    """Fit 4e6 x 50 rows, or fewer with the same number of subsamples."""
    return run_alone("cluster", "--rows", 4_000_000 if options.full else 1_000_000)


@bar("file", "8 GB file: full passes", 12, before="27")
def measure_file(options: Options) -> tuple[list[float], str]:
    passes, seconds, reading, _peak = fit_file(options)
    size = "8 GB" if options.full else "2.6 GB, 1e7 x 64"
    return [passes], f"{size}; {seconds:.1f} s, reading once {reading:.2f} s"


@bar("dask", "Dask, 4e6 x 50, 2 workers: rounds", 40, before="66")
def measure_dask(options: Options) -> tuple[list[float], str]:
    rounds, *_ = fit_on_cluster(options)
    return [rounds], f"{4 if options.full else 1}e6 x 50"


@bar("growth", "growth: time(1e6) / time(1e5), d = 16", 10, before="3.4")
def measure_growth(_: Options) -> tuple[list[float], str]:
    many, fewer = simulate_mixture(1_000_000, 16, seed=1)[0], simulate_mixture(100_000, 16, seed=1)[0]
    model = new_hyperplane()
    t_many, t_fewer = measure_cpu_times(lambda: model.fit(many), lambda: model.fit(fewer), repeats=5)
    return [t_many / t_fewer], f"{t_many:.2f} s / {t_fewer:.3f} s"


@bar("memory", "peak memory beyond X, 1e6 x 64, MB", 100, before="70")
def measure_memory(_: Options) -> tuple[list[float], str]:
    return [run_alone("memory")[0] / 1e6], ""


# ------------------------------------------------------------------------------------------- HiPart, import

HIPART = """
import sys, time, warnings
import numpy as np
warnings.simplefilter("ignore")
from HiPart.clustering import MDH
X = np.load(sys.argv[1])
start = time.process_time()
MDH(max_clusters_number=2, random_state=0).fit_predict(X)
print(time.process_time() - start)
"""

IMPORT = """
import time
import sklearn.base
start = time.process_time()
from ravine import MinimumDensityHyperplane
print(time.process_time() - start)
"""


def measure_hipart(X: np.ndarray, python: str) -> float:
    """Return the processor time of HiPart's MDH, which has an environment of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.npy")
        np.save(path, X)
        try:
            return float(run_script(HIPART, path, python=python).split()[-1])
        except (OSError, subprocess.CalledProcessError) as error:
            lines = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
            raise Skipped(f"HiPart: {lines[-1] if lines else 'no message'}") from error


@bar("hipart", "HiPart's MDH / fit, 1000 x 10", 2000, before="250 to 330", at_least=True)
def measure_against_hipart(options: Options) -> tuple[list[float], str]:
    X = simulate_mixture(1000, 10, seed=1)[0]
    t_hipart = measure_hipart(X, options.hipart)
    (t_fit,) = measure_cpu_times(lambda: new_hyperplane().fit(X), repeats=20)
    return [t_hipart / t_fit], f"{t_hipart:.1f} s / {1e3 * t_fit:.2g} ms"


@bar("import", "`from ravine import MinimumDensityHyperplane` beyond sklearn.base, s", 0.1, before="0.19")
def measure_import(_: Options) -> tuple[list[float], str]:
    return [min(float(run_script(IMPORT)) for _ in range(7))], ""


# ---------------------------------------------------------------------------------------------- other limits


@limit("density", "density, n = 1e6, 512 points / p.sum()", 35, before="9")
def measure_density(_: Options) -> tuple[list[float], str]:
    rng = np.random.default_rng(0)
    n, points = 1_000_000, np.linspace(-5.0, 5.0, 512)
    p = rng.permutation(np.concatenate([rng.normal(-3.0, 1.0, n // 2), rng.normal(3.0, 1.0, n // 2)]))
    h = 0.9 * float(p.std()) * n**-0.2
    lo = float(p.min()) - 8 * h
    n_bins = 4 * math.ceil((float(p.max()) + 8 * h - lo) / h)
    hermite = np.array([4.0**-q / math.factorial(q) for q in range(8)]) / n

    def evaluate_bins() -> np.ndarray:
        moments = np.zeros((n_bins + 2, 8))
        _kernels.bin(p, None, 1.0, 0.0, None, lo, h / 4, moments)
        return _kernels.evaluate(np.ascontiguousarray((moments[1:-1] * hermite).T), lo, h, points)[0]

    exact = np.array([np.exp(-0.5 * ((b - p) / h) ** 2).mean() for b in points[::64]])
    t_fast, t_sum = measure_cpu_times(evaluate_bins, p.sum, repeats=7)
    return [t_fast / t_sum], f"error {np.abs(evaluate_bins()[::64] - exact).max():.1e} of the peak"


def hide_labels(y: np.ndarray, n: int) -> np.ndarray:
    """Return the labels of n random rows, and -1 for all others."""
    given = np.full(len(y), -1)
    rows = np.random.default_rng(0).choice(len(y), n, replace=False)
    given[rows] = y[rows]
    return given


@limit("classifier", "classifier, 600 x 20, 50 labels, ms", 15, before="220-380")
def measure_classifier(_: Options) -> tuple[list[float], str]:
    X, y = simulate_mixture(600, 20, k=2, seed=1)
    given = hide_labels(y, 50)
    (seconds,) = measure_cpu_times(lambda: MinimumDensityClassifier(random_state=0).fit(X, given), repeats=7)
    return [1000.0 * seconds], ""


@limit("manylabels", "classifier, 1e6 x 20, 50 labels / X @ v", 60, before="29")
def measure_large_classifier(_: Options) -> tuple[list[float], str]:
    X, y = simulate_mixture(1_000_000, 20, k=2, seed=1)
    given, v, model = hide_labels(y, 50), np.full(20, 1.0 / math.sqrt(20)), MinimumDensityClassifier(random_state=0)
    t_fit, t_product = measure_cpu_times(lambda: model.fit(X, given), lambda: X @ v, repeats=3)
    return [t_fit / t_product], f"{t_fit:.2f} s; agreement {np.mean(model.predict(X) == y):.4f}"


@limit("classes", "classifier, pendigits, 45 pairs, 300 labels, two threads, s", 2, before="19")
def measure_many_classes(_: Options) -> tuple[list[float], str]:
    X, names = load_set("pendigits")
    y = np.unique(names, return_inverse=True)[1]
    given = hide_labels(y, 300)
    model = MinimumDensityClassifier(random_state=0, n_jobs=2)
    seconds = measure_times(lambda: model.fit(X, given), repeats=1)
    return seconds, f"error {100 * np.mean(model.transduction_[given < 0] != y[given < 0]):.1f} %"


@limit("test", "valley test, pooled / exact, pendigits (a clear split) / root fit", 2.5, 2.5, before="none / 2")
def measure_valley_test(_: Options) -> tuple[list[float], str]:
    X, _y = load_set("pendigits")
    t_pooled, t_exact, t_root = measure_cpu_times(
        lambda: valley_test(X, random_state=0),
        lambda: valley_test(X, method="exact", random_state=0),
        lambda: new_hyperplane().fit(X),
        repeats=5,
    )
    return [t_pooled / t_root, t_exact / t_root], f"{t_pooled:.3f} / {t_exact:.3f} s"


@limit("manyleaves", "tree, 1e6 x 16, 64 clusters / root fit", 40, before="35")
def measure_large_tree(_: Options) -> tuple[list[float], str]:
    rng = np.random.default_rng(0)
    centers, component = 4.0 * rng.standard_normal((64, 16)), rng.integers(0, 64, 1_000_000)
    X = centers[component] + rng.standard_normal((1_000_000, 16))
    tree = MinimumDensityTree(64, random_state=0)
    t_root, t_tree = measure_cpu_times(lambda: new_hyperplane().fit(X), lambda: tree.fit(X), repeats=1)
    return [t_tree / t_root], f"{t_tree:.0f} s; {tree.n_clusters_} clusters"


@limit("fortran", "peak memory beyond X, 1e6 x 64, Fortran order, MB", 100, before="70")
def measure_fortran_memory(_: Options) -> tuple[list[float], str]:
    return [run_alone("memory", "--order", "F")[0] / 1e6], ""


@limit("treememory", "peak memory beyond X, 1e6 x 16, tree of 8, MB", 164, before="59")
def measure_tree_memory(_: Options) -> tuple[list[float], str]:
    return [run_alone("memory", "--features", 16, "--model", "tree")[0] / 1e6], ""


@limit("sparse", "sparse, 1e5 x 50,000, 100 a row: fit / X @ v; peak memory / matrix", 200, 3, before="101 / 2")
def measure_sparse(_: Options) -> tuple[list[float], str]:
    ratio, seconds, memory, agreement = run_alone("sparse")
    return [ratio, memory], f"{seconds:.2f} s; agreement {agreement:.4f}"


@limit("filecost", "8 GB file: fit / reading once; peak memory, GB", 40, 1.5, before="32 / 0.8")
def measure_file_cost(options: Options) -> tuple[list[float], str]:
    _passes, seconds, reading, peak = fit_file(options)
    return [seconds / reading, peak / 1e9], "wall time, page cache warm"


@limit(
    "daskcost", "Dask, 4e6 x 50, 2 workers: fit / fit in memory with one thread; MB moved", 1.3, 20, before="1 / 5.9"
)
def measure_dask_cost(options: Options) -> tuple[list[float], str]:
    _rounds, moved, there, here, agreement, *_model = fit_on_cluster(options)
    return [there / here, moved], f"{there:.2f} s, {here:.2f} s in memory; agreement {agreement:.6f}"
