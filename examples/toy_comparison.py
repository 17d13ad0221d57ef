"""
Seven clusterings of toy data
=============================

The six data sets of scikit-learn's comparison of clustering algorithms. Every method
that takes a number of clusters is given the true one, 3 for the rows without structure.
Other parameters have their defaults, except for several starts of KMeans and of the
mixture, the graph of nearest neighbours of spectral clustering, and the parameters of
HDBSCAN (``min_cluster_size=15, min_samples=3``), which are those of scikit-learn.
"""

# %%
# The data, standardised.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn import cluster, datasets, mixture
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from ravine import MinimumDensityTree

N_ROWS, SEED = 500, 30
blobs, labels = datasets.make_blobs(n_samples=N_ROWS, random_state=170)
sets = {
    "circles": (
        *datasets.make_circles(
            n_samples=N_ROWS, factor=0.5, noise=0.05, random_state=SEED
        ),
        2,
    ),
    "moons": (*datasets.make_moons(n_samples=N_ROWS, noise=0.05, random_state=SEED), 2),
    "varied": (
        *datasets.make_blobs(
            n_samples=N_ROWS, cluster_std=[1.0, 2.5, 0.5], random_state=170
        ),
        3,
    ),
    "aniso": (blobs @ [[0.6, -0.6], [-0.4, 0.8]], labels, 3),
    "blobs": (*datasets.make_blobs(n_samples=N_ROWS, random_state=SEED), 3),
    "no structure": (
        np.random.RandomState(SEED).rand(N_ROWS, 2),
        np.zeros(N_ROWS, dtype=int),
        3,
    ),
}

# %%
# The methods, as functions of the number of clusters.

methods = {
    "KMeans": lambda k: cluster.KMeans(k, n_init=10, random_state=0),
    "Gaussian\nmixture": lambda k: mixture.GaussianMixture(k, n_init=5, random_state=0),
    "Ward": lambda k: cluster.AgglomerativeClustering(k),
    "Spectral": lambda k: cluster.SpectralClustering(
        k, affinity="nearest_neighbors", random_state=0
    ),
    "HDBSCAN\n(no k)": lambda _: cluster.HDBSCAN(
        min_cluster_size=15, min_samples=3, copy=True
    ),
    "ravine\n(k given)": lambda k: MinimumDensityTree(k, random_state=0),
    "ravine\n(no k)": lambda _: MinimumDensityTree(random_state=0),
}
INK, GREY = "#333333", "#8a8a8a"
COLOURS = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
    "#d55e00",
    "#f0e442",
    "#000000",
)


def draw_panel(axes, X, labels, score):
    """Draw rows by cluster, the largest first, with the score; noise as crosses."""
    groups, sizes = np.unique(labels[labels >= 0], return_counts=True)
    for rank, group in enumerate(groups[np.argsort(-sizes, kind="stable")]):
        axes.scatter(
            *X[labels == group].T, s=4, color=COLOURS[rank % len(COLOURS)], linewidths=0
        )
    axes.scatter(*X[labels < 0].T, s=5, color=GREY, marker="x", linewidths=0.6)
    low, room = X.min(axis=0), np.ptp(X, axis=0)
    axes.set(xlim=(low[0] - 0.06 * room[0], low[0] + 1.06 * room[0]), xticks=[])
    axes.set(ylim=(low[1] - 0.24 * room[1], low[1] + 1.06 * room[1]), yticks=[])
    axes.spines[:].set_color("#d9d9d9")
    axes.text(
        0.03,
        0.02,
        score,
        transform=axes.transAxes,
        fontsize=8,
        va="bottom",
        color=INK,
        weight="bold",
    )


# %%
# The number in a panel is the adjusted Rand index, in the last row the number of
# clusters, where one is right.

figure, panels = plt.subplots(
    len(sets), len(methods), figsize=(9.8, 8.4), layout="constrained"
)
figure.get_layout_engine().set(w_pad=0.01, h_pad=0.01, wspace=0.01, hspace=0.01)
table = {title.replace("\n", " "): [] for title in methods}
for i, (name, (rows, truth, k)) in enumerate(sets.items()):
    rows = StandardScaler().fit_transform(rows)
    panels[i, 0].set_ylabel(name, fontsize=10, color=INK)
    for j, (title, method) in enumerate(methods.items()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            found = method(k).fit_predict(rows)
        n_clusters = len(np.unique(found[found >= 0]))
        index = abs(round(adjusted_rand_score(truth, found), 2))
        score = (
            f"ARI {index:.2f}"
            if truth.any()
            else f"{n_clusters} cluster{'' if n_clusters == 1 else 's'}"
        )
        table[title.replace("\n", " ")].append(score)
        draw_panel(panels[i, j], rows, found, score)
        if i == 0:
            panels[i, j].set_title(
                title,
                fontsize=10,
                color=INK,
                weight="bold" if "ravine" in title else "normal",
            )
print(f"{'':17}", *(f"{name:>12}" for name in sets))
for title, scores in table.items():
    print(f"{title:17}", *(f"{score:>12}" for score in scores))
plt.show()
