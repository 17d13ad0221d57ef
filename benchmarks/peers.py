"""Time of ravine and of other clusterers as rows and features grow: `python benchmarks/run.py --compare`.

Processor time on one thread, in seconds, for mixtures of three Gaussians. A method is not run if its time for a tenth
of the rows suggests that it would take more than `PATIENCE` seconds.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.mixture import GaussianMixture

from bars import Options, Skipped, measure_hipart
from measure import format_number, measure_cpu_times
from mixtures import simulate_mixture
from ravine import MinimumDensityHyperplane, MinimumDensityTree

__all__ = ["COMPARISON_HEADER", "COST_HEADER", "compare", "measure_costs"]

SIZES, DIMENSIONS, PATIENCE = (1_000, 10_000, 100_000, 1_000_000), (10, 16, 50, 64), 20.0

METHODS: dict[str, Callable[[], object]] = {
    "ravine": lambda: MinimumDensityHyperplane(random_state=0),
    "KMeans(2)": lambda: KMeans(2, random_state=0),
    "KMeans(2, n_init=10)": lambda: KMeans(2, n_init=10, random_state=0),
    "GaussianMixture(2)": lambda: GaussianMixture(2, random_state=0),
    "ravine, tree of 10": lambda: MinimumDensityTree(10, random_state=0),
    "KMeans(10)": lambda: KMeans(10, random_state=0),
    "ravine, tree": lambda: MinimumDensityTree(random_state=0),
    "HDBSCAN": lambda: HDBSCAN(copy=True),
}
# Expected factor of the time for ten times as many rows; 10 for all others.
GROWTH = {"HDBSCAN": 100.0, "ravine": 4.0, "ravine, tree of 10": 4.0, "ravine, tree": 4.0}
# HiPart, in a process of its own, takes longer than all others together: it is measured for one size.
HIPART_SIZE = (1_000, 10)

# CPU seconds of HDBSCAN, HiPart 1.1.0 and the R packages PPCI 0.1.5 and FKSUM 1.0.1 for other draws of the mixtures, as
# published for another machine with two shared cores.
QUOTED = {
    (1_000, 10): {"PPCI": ".25", "FKSUM": ".05"},
    (10_000, 10): {"HiPart MDH": "6", "PPCI": ".97", "FKSUM": ".40"},
    (10_000, 50): {"HiPart MDH": "33", "PPCI": "3.4", "FKSUM": "1.9"},
    (100_000, 10): {"HDBSCAN": "123", "HiPart MDH": "44", "PPCI": "23", "FKSUM": "8.8"},
    (100_000, 50): {"HDBSCAN": "> 200", "PPCI": "39", "FKSUM": "29"},
    (1_000_000, 10): {"PPCI": "215", "FKSUM": "114"},
    (1_000_000, 50): {"PPCI": "> 300", "FKSUM": "> 300"},
}

COMPARISON_HEADER = ["rows x features", *METHODS, "HiPart MDH", "PPCI", "FKSUM"]
COST_HEADER = ["rows x features", "ms", "in products X @ v", "evaluations by number of rows"]


def _name_size(n: int, d: int) -> str:
    return f"10{'⁰¹²³⁴⁵⁶⁷⁸⁹'[round(math.log10(n))]} x {d}"


def _time(model: object, X: np.ndarray) -> float:
    """Return the shortest processor time of a few fits, or the only one of a long fit."""
    (seconds,) = measure_cpu_times(lambda: model.fit(X), repeats=1)  # type: ignore[attr-defined]
    if seconds > 1.0:
        return seconds
    return min(seconds, *measure_cpu_times(lambda: model.fit(X), repeats=3))  # type: ignore[attr-defined]


def compare(options: Options) -> Iterator[list[str]]:
    """Yield the rows of the comparison: measured figures, else quoted ones in italics."""
    warnings.simplefilter("ignore")
    last: dict[tuple[str, int], float] = {}
    for n in SIZES:
        for d in DIMENSIONS:
            X = simulate_mixture(n, d)[0]
            figures = {name: f"*{figure}*" for name, figure in QUOTED.get((n, d), {}).items()}
            for name, make in METHODS.items():
                expected = last.get((name, d), 0.0) * GROWTH.get(name, 10.0)
                last[name, d] = math.inf if expected > PATIENCE else _time(make(), X)
                if expected <= PATIENCE:
                    figures[name] = format_number(last[name, d])
            if (n, d) == HIPART_SIZE:
                figures["HiPart MDH"] = _measure_hipart(X, options)
            yield [_name_size(n, d), *(figures.get(name, "") for name in COMPARISON_HEADER[1:])]


def _measure_hipart(X: np.ndarray, options: Options) -> str:
    try:
        return format_number(measure_hipart(X, options.hipart))
    except Skipped:
        return ""


def measure_costs(_: Options) -> Iterator[list[str]]:
    """Yield the rows of the table of costs: time and evaluations of a fit with the defaults."""
    for n in SIZES:
        for d in DIMENSIONS:
            X, v = simulate_mixture(n, d)[0], np.full(d, 1.0 / math.sqrt(d))
            model = MinimumDensityHyperplane(random_state=0)
            products = max(1, 1_000_000 // n)
            (t_products,) = measure_cpu_times(lambda: [X @ v for _ in range(products)], repeats=3)  # noqa: B023
            (t_fit,) = measure_cpu_times(lambda: model.fit(X), repeats=3)  # noqa: B023
            sizes = sorted({step.n_rows for step in model.path_})
            counts = (sum(step.n_evaluations for step in model.path_ if step.n_rows == size) for size in sizes)
            evaluations = ", ".join(f"{count} on {size:,}" for count, size in zip(counts, sizes, strict=True))
            in_products = format_number(t_fit / (t_products / products))
            yield [_name_size(n, d), format_number(1e3 * t_fit), in_products, evaluations]
