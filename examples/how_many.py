"""
How many clusters?
==================

A tree without a number of clusters reports two: the clusters that a test on held-out
rows shows, and those that it suggests because trees of random halves agree on them.
With few rows the evidence is thin and the two differ.
"""

# %%
# Four overlapping clusters, with 15 to 480 rows each.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from ravine import MinimumDensityTree

CENTERS, COLOURS = (
    [[0, 0], [4, 0], [0, 4], [4, 4]],
    np.array(["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9"]),
)
sizes = (15, 30, 120, 480)
figure, panels = plt.subplots(
    2, len(sizes), figsize=(11.0, 5.6), layout="constrained", sharex=True, sharey=True
)
for (top, bottom), n in zip(panels.T, sizes, strict=True):
    X, _ = make_blobs([n] * 4, centers=CENTERS, random_state=0)
    mdt = MinimumDensityTree(random_state=0).fit(X)
    shown, suggested, pvalue = mdt.n_clusters_, mdt.n_suggested_, mdt.tree_.pvalue[0]
    print(f"{n:4} rows each: {shown} shown, {suggested} suggested, P = {pvalue:.2g}")
    for axes, labels in ((top, mdt.labels_), (bottom, mdt.cut("suggested"))):
        axes.scatter(
            *X.T, s=60 / n**0.4, c=COLOURS[labels % len(COLOURS)], lw=0, alpha=0.85
        )
        axes.set(xticks=[], yticks=[], aspect="equal")
        axes.spines[:].set_color("#d9d9d9")
    top.set_title(f"4 × {n} rows", fontsize=11)
    top.set_xlabel(f"{mdt.n_clusters_} shown")
    bottom.set_xlabel(f"{mdt.n_suggested_} suggested")
plt.show()
