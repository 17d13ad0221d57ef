"""
A tree of handwritten digits
============================

The number of clusters is not given: a test shows that there is more than one, and
`MinimumDensityTree` then looks for the largest number with a valley at every boundary.
Every leaf is shown by the mean of its images.
"""

# %%
# The printed tree has the size, the depth and the P-value of every split. A large P
# marks a split that the test does not show.

import matplotlib.pyplot as plt
from scipy.cluster.hierarchy import dendrogram
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from ravine import MinimumDensityTree

digits = load_digits()
X = digits.data  # the pixels have the same unit
mdt = MinimumDensityTree(random_state=0).fit(X)
print(mdt.tree_)
score = adjusted_rand_score(digits.target, mdt.labels_)
print(f"adjusted Rand index with the true digits: {score:.2f}")

# %%
# Every cluster is described by linear inequalities, one for each split above it.

names = [f"row {j // 8}, column {j % 8}" for j in range(64)]
print(mdt.tree_.rules(mdt.tree_.leaves()[0], names))

# %%
# Draw the tree with the P-value of every split and the mean image of every leaf.

INK = "#333333"
tree, leaves = mdt.tree_, mdt.tree_.leaves()
figure = plt.figure(figsize=(10.0, 4.8), layout="constrained")
grid = figure.add_gridspec(2, len(leaves), height_ratios=[4, 1])
axes = figure.add_subplot(grid[0, :])
options = {
    "no_labels": True,
    "color_threshold": 0,
    "above_threshold_color": INK,
    "distance_sort": False,
}
drawn = dendrogram(tree.to_linkage(), ax=axes, **options)
node_at = {
    len(leaves) - 1 - tree.order[node]: node
    for node in range(len(tree))
    if node not in leaves
}
for x, y in zip(drawn["icoord"], drawn["dcoord"], strict=True):
    text, at = f"P = {tree.pvalue[node_at[int(y[1])]]:.1g}", (0.5 * (x[1] + x[2]), y[1])
    below = {
        "xytext": (0, -3),
        "textcoords": "offset points",
        "ha": "center",
        "va": "top",
    }
    axes.annotate(text, at, **below, fontsize=8, color=INK)
axes.set_axis_off()
axes.set_title(
    f"{tree.n_clusters} clusters in {tree.size[0]} handwritten digits; "
    "their number was not given",
    loc="left",
)
for k, leaf in enumerate(drawn["leaves"]):
    cell = figure.add_subplot(grid[1, k])
    cell.imshow(digits.images[mdt.leaves_ == leaves[leaf]].mean(axis=0), cmap="gray_r")
    cell.set(xticks=[], yticks=[])
    cell.set_xlabel(f"{tree.size[leaves[leaf]]}", fontsize=9, color=INK)
    cell.spines[:].set_visible(False)
plt.show()
