"""
Clusters of any shape
=====================

Hyperplanes cut the rows into cells, and cells that no valley separates are joined. A
ring, a cluster inside it and an arc that bends around the ring are found, and each
cluster stays a union of linear inequalities.
"""

# %%
# Simulate 700 rows and fit a tree with three clusters.

from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np

from ravine import MinimumDensityTree
from ravine.plotting import BoundaryDisplay, CellDisplay
from ravine.rows import as_rows
from ravine.tree.boundaries import label_cells
from ravine.tree.joined_cells import find_joined_cells

rng = np.random.default_rng(0)
angle = 2.0 * np.pi * rng.random(350)
ring = np.c_[np.cos(angle), np.sin(angle)]
bend = rng.uniform(-1.2, 1.2, 250)
arc = 1.85 * np.c_[np.cos(bend), np.sin(bend)]
X = np.concatenate([ring, arc, np.zeros((100, 2))])
X += rng.normal(size=X.shape) * np.repeat([0.11, 0.11, 0.16], [350, 250, 100])[:, None]
mdt = MinimumDensityTree(3, random_state=0).fit(X)
print(mdt.tree_)
print(f"shape: {mdt.shape_}")
print(fill(mdt.shape_reason_, 88))

# %%
# The steps: rows, cells, joined cells. `find_joined_cells` is the function inside the
# estimator that cuts and joins.

shapes = find_joined_cells(as_rows(X), 3, 5, np.random.default_rng(0))


def colour_cells(clusters):
    """Return the tree of all cells with these clusters."""
    leaves = np.sort(shapes.cells.leaves())
    cluster = np.full(len(shapes.cells), -1, dtype=np.intp)
    cluster[leaves] = clusters
    return shapes.cells.with_arrays(cluster=cluster)


n_cells = shapes.cells.n_leaves
figure, axes = plt.subplots(1, 3, figsize=(12.0, 4.6), layout="constrained")
grey = {"color": "#8a8a8a", "s": 9, "edgecolors": "none"}
quiet = {"title": "", "legend": False}
cut = CellDisplay.from_tree(colour_cells(0), X, ax=axes[1], scatter_kw=grey, **quiet)
joined = colour_cells(label_cells(n_cells, shapes.joins))
CellDisplay.from_tree(joined, X, ax=axes[2], scatter_kw={"s": 9}, **quiet)
for patch in cut.cells_.values():
    patch.set(facecolor="white", alpha=1.0)
axes[0].scatter(*X.T, **grey)
axes[0].set(xlim=axes[1].get_xlim(), ylim=axes[1].get_ylim(), aspect="equal")
axes[0].spines[:].set_visible(False)
titles = (
    f"(a) {len(X)} rows",
    f"(b) {n_cells} cells, cut by hyperplanes",
    f"(c) {len(shapes.joins)} joins leave {shapes.n_clusters} clusters",
)
for panel, title in zip(axes, titles, strict=True):
    panel.set_title(title, loc="left", fontsize=11, color="#333333")
    panel.set(xticks=[], yticks=[], xlabel="", ylabel="")
figure.get_layout_engine().set(h_pad=0.12)
plt.show()

# %%
# The fitted tree, with the z-score of each boundary.

CellDisplay.from_estimator(mdt, X)
plt.show()

# %%
# The density across the boundary with the least evidence.

BoundaryDisplay.from_estimator(mdt, X)
plt.show()
