"""Memberships and outliers: calibration, comparison with other outlier scores, and cost.

    python benchmarks/memberships.py [reliability] [outliers] [cost]

Prints tables as Markdown and writes docs/images/membership_reliability.png. All data are simulated; the rules were
chosen on other seeds.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import make_moons
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor

from ravine import MinimumDensityHyperplane, MinimumDensityTree
from ravine.plotting.style import COLOURS, GREY, MARKERS, import_pyplot, tidy_axes

IMAGES = Path(__file__).parents[1] / "docs" / "images"
NOISE = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "heavy-tailed": lambda rng, shape: rng.standard_t(5, size=shape) / 1.29,
    "skewed": lambda rng, shape: rng.exponential(size=shape) - 1.0,
    "uniform": lambda rng, shape: rng.uniform(-1.73, 1.73, size=shape),
}
SHAPES = ("normal", "elongated", "heavy-tailed", "skewed", "uniform", "moons", "rings")
SHARES, KINDS, N_SEEDS = (0.01, 0.05, 0.1), ("uniform", "far"), 2
N_MIXTURES, N_BINS = 80, 10


def draw_mixture(rng: np.random.Generator, noise: str, separation: tuple[float, float], elongated: bool = False) -> Any:
    """Draw rows of 2 to 5 clusters in 2 to 10 (or 20) dimensions, and their labels."""
    k, n = int(rng.integers(2, 6)), int(rng.choice([500, 1000, 2000]))
    d = int(rng.choice([2, 3, 5, 10]))
    centers = rng.normal(size=(k, d))
    distances = np.linalg.norm(centers[:, None] - centers, axis=2) + 1e9 * np.eye(k)
    centers *= rng.uniform(*separation) / distances.min()
    y = rng.choice(k, n, p=rng.dirichlet(np.full(k, 6.0)))
    z = NOISE[noise](rng, (n, d)) * rng.uniform(0.6, 1.4, size=k)[y][:, None]
    if elongated:
        turns = [np.linalg.qr(rng.normal(size=(d, d)))[0] * np.exp(rng.uniform(-0.8, 0.8, d)) for _ in range(k)]
        z = np.stack([turns[j] @ row for j, row in zip(y.tolist(), z, strict=True)])
    return centers[y] + z, y


# ----------------------------------------------------------------------------------------------- reliability


def collect_memberships(seed: int, noise: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Return memberships and whether each is that of the true component, of a tree with the true number of clusters."""
    X, y = draw_mixture(np.random.default_rng([41, seed]), noise, (2.2, 6.0))
    k = int(y.max()) + 1
    mdt = MinimumDensityTree(k, random_state=0).fit(X)
    if mdt.n_clusters_ < k:
        return None
    table = np.zeros((k, k))
    np.add.at(table, (mdt.labels_, y), 1.0)
    clusters, components = linear_sum_assignment(-table)
    cluster_of = np.empty(k, dtype=np.intp)
    cluster_of[components] = clusters
    return mdt.predict_proba(X).ravel(), np.eye(k)[cluster_of[y]].ravel()


def measure_reliability() -> None:
    """Print the calibration error of each family and draw the curves."""
    plt = import_pyplot()
    figure, ax = plt.subplots(figsize=(5.2, 4.4), layout="constrained")
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1.0, linestyle="--")
    print("\n| clusters | mixtures | mean calibration error | Brier score |\n|---|---|---|---|")
    for number, noise in enumerate(NOISE):
        found = [collect_memberships(10 * seed + number, noise) for seed in range(N_MIXTURES // len(NOISE))]
        kept = [one for one in found if one is not None]
        p, truth = (np.concatenate(parts) for parts in zip(*kept, strict=True))
        bins = np.minimum((p * N_BINS).astype(np.intp), N_BINS - 1)
        counts = np.bincount(bins, minlength=N_BINS)
        means, shares = np.bincount(bins, p) / counts, np.bincount(bins, truth) / counts
        error = float((counts * np.abs(means - shares)).sum() / counts.sum())
        print(f"| {noise} | {len(kept)} | {error:.3f} | {np.mean((p - truth) ** 2):.3f} |")
        ax.plot(means, shares, color=COLOURS[number], marker=MARKERS[number], label=noise)
    ax.set_xlabel("membership")
    ax.set_ylabel("share of rows of that cluster")
    ax.legend(frameon=False, title="clusters")
    tidy_axes(ax, 9.0)
    figure.savefig(IMAGES / "membership_reliability.png", dpi=130)


# ----------------------------------------------------------------------------------------------- outliers


def draw_contaminated(shape: str, kind: str, share: float, seed: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Draw clusters of a shape with a share of uniform or far rows; return rows, marks and the number of clusters."""
    rng = np.random.default_rng([43, SHAPES.index(shape), KINDS.index(kind), round(1000 * share), seed])
    if shape == "moons":
        X, k = make_moons(1000, noise=0.08, random_state=seed)[0], 2
    elif shape == "rings":
        angle, radius = 2.0 * np.pi * rng.random(1000), np.where(rng.random(1000) < 0.5, 1.0, 3.0)
        radius = radius + 0.15 * rng.normal(size=1000)
        X, k = np.c_[radius * np.cos(angle), radius * np.sin(angle)], 2
    else:
        X, y = draw_mixture(rng, shape if shape in NOISE else "normal", (5.0, 9.0), shape == "elongated")
        k = int(y.max()) + 1
    m, d = max(2, round(share * len(X) / (1.0 - share))), X.shape[1]
    middle, half = (X.max(axis=0) + X.min(axis=0)) / 2.0, (X.max(axis=0) - X.min(axis=0)) / 2.0
    if kind == "uniform":
        others = middle + 1.1 * half * rng.uniform(-1.0, 1.0, size=(m, d))
    else:
        u = rng.normal(size=(m, d))
        u /= np.linalg.norm(u, axis=1, keepdims=True)
        others = middle + u * half * np.sqrt(d) * rng.uniform(1.2, 2.5, size=(m, 1))
    order = rng.permutation(len(X) + m)
    return np.concatenate([X, others])[order], np.repeat([False, True], [len(X), m])[order], k


def score_all(X: np.ndarray, marks: np.ndarray, k: int) -> tuple[dict[str, float], np.ndarray]:
    """Return the area under the ROC curve of each method, and the rows that contamination="auto" marks."""
    lof = LocalOutlierFactor().fit(X)
    mdt = MinimumDensityTree(k, contamination="auto", random_state=0).fit(X)
    scores = {
        "tree, k": mdt.score_outliers(X),
        "tree, auto": MinimumDensityTree(random_state=0).fit(X).score_outliers(X),
        "IsolationForest": -IsolationForest(random_state=0).fit(X).score_samples(X),
        "LocalOutlierFactor": -lof.negative_outlier_factor_,
    }
    return {name: float(roc_auc_score(marks, values)) for name, values in scores.items()}, mdt.labels_ < 0


def compare_outliers() -> None:
    """Print the mean area under the ROC curve by shape, kind and share of the outliers."""
    found: dict[str, list[dict[str, float]]] = {}
    marked = []
    for shape in SHAPES:
        for kind in KINDS:
            for share in SHARES:
                for seed in range(N_SEEDS):
                    X, marks, k = draw_contaminated(shape, kind, share, seed)
                    areas, auto = score_all(X, marks, k)
                    for name in (shape, f"{kind} rows", f"{100 * share:.0f} %", "all"):
                        found.setdefault(name, []).append(areas)
                    marked.append((auto[marks].mean(), auto[~marks].mean()))
    methods = list(found["all"][0])
    print(f"\n| data | {' | '.join(methods)} |\n|{'---|' * (1 + len(methods))}")
    names = [*SHAPES, *(f"{kind} rows" for kind in KINDS), *(f"{100 * share:.0f} %" for share in SHARES), "all"]
    for name in names:
        means = [np.mean([one[method] for one in found[name]]) for method in methods]
        print(f"| {name} | {' | '.join(f'{mean:.3f}' for mean in means)} |")
    recall, false = np.mean(marked, axis=0)
    print(
        f"\ncontamination='auto' marks {100 * recall:.0f} % of the outliers and {100 * false:.1f} % of the other rows"
    )


# ----------------------------------------------------------------------------------------------- cost


def measure_cost(n: int = 10**6, d: int = 20) -> None:
    """Print processor times of a fit, of memberships and of outlier scores."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) + np.where(rng.random(n) < 0.4, 6.0, 0.0)[:, None] * np.eye(d)[0]
    best: dict[str, float] = {}
    for _ in range(5):
        model = MinimumDensityHyperplane(random_state=0)
        for name, work in {
            "root fit": lambda model=model: model.fit(X),
            "memberships": lambda model=model: model.predict_proba(X),
            "outlier scores": lambda model=model: model.score_outliers(X),
        }.items():
            start = time.process_time()
            work()
            best[name] = min(best.get(name, np.inf), time.process_time() - start)
    start = time.process_time()
    MinimumDensityTree(2, random_state=0).fit(X)
    best["fit of a tree with two clusters"] = time.process_time() - start
    ratio = (best["memberships"] + best["outlier scores"]) / best["root fit"]
    print("\n| | seconds |\n|---|---|\n" + "\n".join(f"| {name} | {t:.2f} |" for name, t in best.items()))
    print(f"\nmemberships and outlier scores together take {ratio:.1f} times the root fit")


PARTS = {
    "reliability": measure_reliability,
    "outliers": compare_outliers,
    "cost": measure_cost,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    warnings.simplefilter("ignore")
    for part in parser.parse_args().parts or PARTS:
        PARTS[part]()
