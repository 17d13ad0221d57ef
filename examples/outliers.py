"""
Outliers and memberships
========================

Every row gets a cluster. Outlier scores say how untypical a row is for it,
``contamination`` marks the most untypical rows with -1, and ``predict_proba`` says how
close a row is to the other clusters.
"""

# %%
# Three clusters, and 25 rows that belong to none of them.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from ravine import MinimumDensityTree

rng = np.random.default_rng(5)
clusters, _ = make_blobs(
    [220, 180, 150],
    centers=[[-4, 0], [3, -2], [2, 5]],
    cluster_std=[1.0, 0.8, 1.1],
    random_state=5,
)
strays = rng.uniform(-9, 9, (25, 2))
X = np.concatenate([clusters, strays])
mdt = MinimumDensityTree(3, contamination=0.05, random_state=0).fit(X)
strays = np.sum(mdt.labels_[-25:] == -1)
print(f"{mdt.n_outliers_} rows are marked, {strays} of them among the 25 strays")
typical = mdt.find_exemplars(X)
print("most typical rows of each cluster:", [rows.tolist() for rows in typical])

# %%
# Left: clusters, marked rows (crosses) and the most typical rows (rings). Middle:
# outlier scores. Right: the largest membership in every place, which is low where
# clusters are equally close.

COLOURS = np.array(["#0072b2", "#e69f00", "#009e73"])
figure, (left, middle, right) = plt.subplots(
    1, 3, figsize=(12.0, 4.3), layout="constrained", sharex=True, sharey=True
)
marked = mdt.labels_ < 0
left.scatter(*X[~marked].T, s=9, c=COLOURS[mdt.labels_[~marked]], lw=0)
left.scatter(*X[marked].T, s=28, c="#333333", marker="x", lw=1.2)
for rows in typical:
    left.scatter(*X[rows].T, s=80, facecolors="none", edgecolors="#333333", lw=1.2)
left.set_title(f"Three clusters, {marked.sum()} outliers", loc="left", fontsize=11)
points = middle.scatter(*X.T, s=11, c=mdt.outlier_scores_, cmap="magma_r", lw=0)
figure.colorbar(points, ax=middle, shrink=0.8)
middle.set_title("Outlier scores", loc="left", fontsize=11)
grid = np.stack(
    np.meshgrid(np.linspace(-9.5, 9.5, 160), np.linspace(-9.5, 9.5, 160)), axis=-1
)
memberships = mdt.predict_proba(grid.reshape(-1, 2)).reshape(160, 160, 3)
background = right.contourf(
    grid[..., 0],
    grid[..., 1],
    memberships.max(axis=-1),
    levels=np.linspace(0.3, 1.0, 8),
    cmap="bone",
)
right.scatter(*X.T, s=3, c="#0072b2", lw=0, alpha=0.6)
figure.colorbar(background, ax=right, shrink=0.8)
right.set_title("Largest membership", loc="left", fontsize=11)
for axes in (left, middle, right):
    axes.set(xticks=[], yticks=[], xlim=(-9.5, 9.5), ylim=(-9.5, 9.5))
    axes.spines[:].set_color("#d9d9d9")
plt.show()
