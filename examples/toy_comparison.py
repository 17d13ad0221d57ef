"""Seven clusterings of toy data
=============================

Compare clusterings of six small data sets, those of scikit-learn's comparison of clustering algorithms.

python examples/toy_comparison.py [folder]

Every method that takes a number of clusters is given the true one, 3 for the rows without structure. Other parameters
have their defaults, except for several starts of KMeans and of the mixture, the graph of nearest neighbours of spectral
clustering, and the parameters of HDBSCAN (min_cluster_size=15, min_samples=3), which are those of scikit-learn.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from sklearn import cluster, datasets, mixture
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from ravine import MinimumDensityTree

matplotlib.use("Agg")
import matplotlib.pyplot as plt

N_ROWS, SEED = 500, 30
INK, GREY = "#333333", "#8a8a8a"
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#000000")


def draw_sets() -> dict[str, tuple[np.ndarray, np.ndarray, int]]:
    """Draw the rows of scikit-learn's comparison, standardised, with their labels and the number of clusters."""
    blobs, labels = datasets.make_blobs(n_samples=N_ROWS, random_state=170)
    sets = {
        "circles": (*datasets.make_circles(n_samples=N_ROWS, factor=0.5, noise=0.05, random_state=SEED), 2),
        "moons": (*datasets.make_moons(n_samples=N_ROWS, noise=0.05, random_state=SEED), 2),
        "varied": (*datasets.make_blobs(n_samples=N_ROWS, cluster_std=[1.0, 2.5, 0.5], random_state=170), 3),
        "aniso": (blobs @ [[0.6, -0.6], [-0.4, 0.8]], labels, 3),
        "blobs": (*datasets.make_blobs(n_samples=N_ROWS, random_state=SEED), 3),
        "no structure": (np.random.RandomState(SEED).rand(N_ROWS, 2), np.zeros(N_ROWS, dtype=int), 3),
    }
    return {name: (StandardScaler().fit_transform(X), y, k) for name, (X, y, k) in sets.items()}


METHODS: dict[str, Callable[[int], Any]] = {
    "KMeans": lambda k: cluster.KMeans(k, n_init=10, random_state=0),
    "Gaussian\nmixture": lambda k: mixture.GaussianMixture(k, n_init=5, random_state=0),
    "Ward": lambda k: cluster.AgglomerativeClustering(k),
    "Spectral": lambda k: cluster.SpectralClustering(k, affinity="nearest_neighbors", random_state=0),
    "HDBSCAN\n(no k)": lambda _: cluster.HDBSCAN(min_cluster_size=15, min_samples=3, copy=True),
    "ravine\n(k given)": lambda k: MinimumDensityTree(k, random_state=0),
    "ravine\n(no k)": lambda _: MinimumDensityTree(random_state=0),
}


def find_labels(method: Callable[[int], Any], X: np.ndarray, k: int) -> np.ndarray:
    """Return the clusters of the rows; -1 for noise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return np.asarray(method(k).fit_predict(X))


def draw_panel(axes: Any, X: np.ndarray, labels: np.ndarray, score: str) -> None:
    """Draw rows by cluster, the largest first, with the score."""
    groups, sizes = np.unique(labels[labels >= 0], return_counts=True)
    for rank, group in enumerate(groups[np.argsort(-sizes, kind="stable")]):
        mine = X[labels == group]
        axes.scatter(mine[:, 0], mine[:, 1], s=4, color=COLOURS[rank % len(COLOURS)], linewidths=0)
    noise = X[labels < 0]
    axes.scatter(noise[:, 0], noise[:, 1], s=5, color=GREY, marker="x", linewidths=0.6)
    low, high = X.min(axis=0), X.max(axis=0)
    room = high - low
    axes.set_xlim(low[0] - 0.06 * room[0], high[0] + 0.06 * room[0])
    axes.set_ylim(low[1] - 0.24 * room[1], high[1] + 0.06 * room[1])
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_color("#d9d9d9")
    axes.text(0.03, 0.02, score, transform=axes.transAxes, fontsize=8, va="bottom", color=INK, weight="bold")


def main() -> None:
    """Fit all methods, print the table and draw the picture."""
    sets = draw_sets()
    figure, panels = plt.subplots(len(sets), len(METHODS), figsize=(9.8, 8.4), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.01, h_pad=0.01, wspace=0.01, hspace=0.01)
    scores = np.zeros((len(sets), len(METHODS)))
    for i, (name, (X, y, k)) in enumerate(sets.items()):
        panels[i, 0].set_ylabel(name, fontsize=10, color=INK)
        for j, (title, method) in enumerate(METHODS.items()):
            labels = find_labels(method, X, k)
            n_clusters = len(np.unique(labels[labels >= 0]))
            # Adding zero turns -0.0 into 0.0.
            scores[i, j] = round(adjusted_rand_score(y, labels), 2) + 0.0 if y.any() else n_clusters
            score = f"ARI {scores[i, j]:.2f}" if y.any() else f"{n_clusters} cluster{'' if n_clusters == 1 else 's'}"
            draw_panel(panels[i, j], X, labels, score)
            if i == 0:
                panels[i, j].set_title(title, fontsize=10, color=INK, weight="bold" if "ravine" in title else "normal")
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "out") / "toy_comparison.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100, pil_kwargs={"optimize": True})
    print("| rows | " + " | ".join(title.replace("\n", " ") for title in METHODS) + " |")
    print("|---|" + "---|" * len(METHODS))
    for name, values in zip(sets, scores, strict=True):
        texts = [f"{value:.0f}" if name == "no structure" else f"{value:.2f}" for value in values]
        print(f"| {name} | " + " | ".join(texts) + " |")
    print("\nAdjusted Rand index; number of clusters in the last line, where one is right.")
    print(f"picture: {path}")


if __name__ == "__main__":
    main()
