"""
Edit a tree
===========

A tree can be changed after the fit: prune a split, merge leaves, split a leaf again, or
cut the tree at another number of clusters. Every edit returns a copy; labels,
predictions and pictures follow.
"""

# %%
# Five clusters, and a tree that finds them.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from ravine import MinimumDensityTree
from ravine.plotting import CellDisplay

centers = np.array([[0, 0], [4, 0], [2, 4], [9, 4], [9, 0]])
X, _ = make_blobs([150] * 5, centers=centers, cluster_std=0.75, random_state=3)
mdt = MinimumDensityTree(random_state=0).fit(X)
print(mdt.tree_)

# %%
# Merge the two clusters on the right, then split the first leaf by force, although no
# test supports it: with a small bandwidth, its density has a valley.

leaf = {k: int(mdt.tree_.apply(centers[k : k + 1].astype(float))[0]) for k in range(5)}
merged = mdt.merge(leaf[3], leaf[4])
first = merged.tree_.leaves()[0]
forced = merged.split(first, X, hyperplane__bandwidth=0.2)
coarse = mdt.tree_.cut(3)
print(merged.n_clusters_, forced.n_clusters_, coarse.n_clusters)

# %%
# The same rows under four trees.

figure, panels = plt.subplots(2, 2, figsize=(10.0, 6.6), layout="constrained")
trees = {
    f"(a) Fitted: {mdt.n_clusters_} clusters": mdt.tree_,
    f"(b) mdt.merge({leaf[3]}, {leaf[4]}): {merged.n_clusters_} clusters": merged.tree_,
    f"(c) .split({first}, X, ...) of that: {forced.n_clusters_} clusters": forced.tree_,
    "(d) mdt.tree_.cut(3): 3 clusters": coarse,
}
for axes, (title, tree) in zip(panels.ravel(), trees.items(), strict=True):
    CellDisplay.from_tree(tree, X, ax=axes, title="", legend=False, scatter_kw={"s": 8})
    axes.set_title(title, loc="left", fontsize=11)
    axes.set(xticks=[], yticks=[], xlabel="", ylabel="")
plt.show()
