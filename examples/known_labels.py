"""
Labels and sizes that you know
==============================

A tree can respect what you already know: labels of some rows, pairs of rows that belong
together or apart, and limits on the sizes of clusters. Here the labels turn the split
by 90 degrees.
"""

# %%
# Two long clusters side by side. The labels of 8 % of the rows say that top and bottom
# are of interest, not left and right. -1 marks rows without a label.

import matplotlib.pyplot as plt
import numpy as np

from ravine import MinimumDensityTree

rng = np.random.default_rng(3)
X = rng.standard_normal((300, 2)) * [0.8, 2.2]
X[150:, 0] += 3.2
y = np.where(rng.random(300) < 0.08, X[:, 1] > 0.3, -1)

free = MinimumDensityTree(2, random_state=0).fit(X)
labelled = MinimumDensityTree(2, random_state=0).fit(X, labels=y)
limited = MinimumDensityTree(max_cluster_size=0.3, random_state=0).fit(X)

# %%
# ``violated_constraints_`` lists labels that could not be met: here there are none.
# Sizes are at most 30 % of the rows in the third tree.

known = y >= 0
print(f"{known.sum()} labels, {len(labelled.violated_constraints_)} of them violated")
print("sizes with a limit of 90 rows:", np.bincount(limited.labels_))

# %%
# Without labels the tree splits at the valley. With labels it splits where they ask for
# it, at the lowest density that they allow. With a limit on the sizes it splits both
# clusters once more, although no valley separates their halves.

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7")
MARKERS = ("o", "^", "s", "D")
figure, panels = plt.subplots(
    1, 3, figsize=(11.0, 4.0), layout="constrained", sharex=True, sharey=True
)
fits = {
    "Two clusters, no labels": free,
    f"Two clusters, {known.sum()} labels (circled)": labelled,
    "At most 30 % of the rows in a cluster": limited,
}
for axes, (title, mdt) in zip(panels, fits.items(), strict=True):
    for k in range(mdt.n_clusters_):
        rows = X[mdt.labels_ == k]
        axes.scatter(*rows.T, s=14, color=COLOURS[k], marker=MARKERS[k], lw=0)
    axes.set_title(title, loc="left", fontsize=11)
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_color("#d9d9d9")
panels[1].scatter(*X[known].T, s=60, facecolors="none", edgecolors="#333333", lw=1.2)
plt.show()
