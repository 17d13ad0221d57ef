"""
Clusters of any shape
=====================

Hyperplanes cut the rows into cells, and cells that no valley separates are joined. A
ring, a cluster inside it and an arc that bends around the ring are found, and each
cluster stays a union of linear inequalities.
"""

# %%
# Simulate 700 rows and fit a tree with three clusters.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

from ravine import MinimumDensityTree
from ravine.plotting import BoundaryDisplay, CellDisplay
from ravine.rows import as_rows
from ravine.tree.graph import NeighbourGraph
from ravine.tree.hyperplanes import plan_splits
from ravine.tree.partitions import cut_cells

SIZES = [350, 250, 100]


def draw_rows(seed):
    """Draw a ring, an arc and a small cluster inside the ring, and their labels."""
    rng = np.random.default_rng(seed)
    angle = 2.0 * np.pi * rng.random(SIZES[0])
    ring = np.c_[np.cos(angle), np.sin(angle)]
    bend = rng.uniform(-1.2, 1.2, SIZES[1])
    arc = 1.85 * np.c_[np.cos(bend), np.sin(bend)]
    X = np.concatenate([ring, arc, np.zeros((SIZES[2], 2))])
    X += rng.normal(size=X.shape) * np.repeat([0.11, 0.11, 0.16], SIZES)[:, None]
    return X, np.repeat([0, 1, 2], SIZES)


X, y = draw_rows(0)
mdt = MinimumDensityTree(3, random_state=0).fit(X)
print(mdt.tree_)

# %%
# The steps: rows, cells, joined cells. The graph of nearest neighbours says where cells
# touch; these are the functions inside the estimator.

rng = np.random.default_rng(0)
graph = NeighbourGraph.of(as_rows(X), rng, n_clusters=3)
cells = cut_cells(graph, 1, 3, rng)[0]
joined = cells.join(3, fewest=10)
plan = plan_splits(graph, joined)
tree, clusters = joined.cells
n_cells = tree.n_leaves
print(f"{n_cells} cells are joined to {plan.n_clusters} clusters.")
print(f"{len(plan.splits)} of {n_cells - 1} hyperplanes separate clusters and stay.")

figure, axes = plt.subplots(1, 3, figsize=(12.0, 4.6), layout="constrained")
grey = {"color": "#8a8a8a", "s": 9, "edgecolors": "none"}
quiet = {"title": "", "legend": False}
points = graph.rows.x  # the rows in the coordinates of the graph
single = tree.with_arrays(cluster=np.where(clusters < 0, -1, 0))
cut = CellDisplay.from_tree(single, points, ax=axes[1], scatter_kw=grey, **quiet)
coloured = tree.with_arrays(cluster=clusters)
CellDisplay.from_tree(coloured, points, ax=axes[2], scatter_kw={"s": 9}, **quiet)
for patch in cut.cells_.values():
    patch.set(facecolor="white", alpha=1.0)
axes[0].scatter(*points.T, **grey)
axes[0].set(xlim=axes[1].get_xlim(), ylim=axes[1].get_ylim(), aspect="equal")
axes[0].spines[:].set_visible(False)
titles = (
    f"(a) {len(X)} rows",
    f"(b) {n_cells} cells, cut by hyperplanes",
    f"(c) {n_cells - plan.n_clusters} joins leave {plan.n_clusters} clusters",
)
for panel, title in zip(axes, titles, strict=True):
    panel.set_title(title, loc="left", fontsize=11, color="#333333")
    panel.set(xticks=[], yticks=[], xlabel="", ylabel="")
figure.get_layout_engine().set(h_pad=0.12)
plt.show()

# %%
# The clusters are regions, so new rows of the same shapes have clusters, too.

X_new, y_new = draw_rows(1)
index = adjusted_rand_score(y_new, mdt.predict(X_new))
print(f"adjusted Rand index: {adjusted_rand_score(y, mdt.labels_):.3f}")
print(f"adjusted Rand index of {len(X_new)} new rows: {index:.3f}")

# %%
# The fitted tree, with the z-score of each boundary.

CellDisplay.from_estimator(mdt, X)
plt.show()

# %%
# The density across the boundary with the least evidence.

BoundaryDisplay.from_estimator(mdt, X)
plt.show()
