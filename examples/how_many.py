"""
How many clusters?
==================

Without a number of clusters, a test first decides whether there is more than one. Then
the tree has the largest number with a valley at every boundary; ``cut("shown")`` keeps
only the splits that the test shows. With few rows the evidence is thin.
"""

# %%
# Four overlapping clusters, with 30 to 480 rows each. P is that of a single cluster.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from ravine import MinimumDensityTree

CENTERS, COLOURS = (
    [[0, 0], [4, 0], [0, 4], [4, 4]],
    np.array(["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9"]),
)
sizes = (30, 60, 120, 480)
figure, panels = plt.subplots(
    2, len(sizes), figsize=(11.0, 5.6), layout="constrained", sharex=True, sharey=True
)
for (top, bottom), n in zip(panels.T, sizes, strict=True):
    X, _ = make_blobs([n] * 4, centers=CENTERS, random_state=0)
    mdt = MinimumDensityTree(random_state=0).fit(X)
    found, shown, pvalue = mdt.n_clusters_, mdt.n_shown_, mdt.pvalue_
    print(f"{n:4} rows each: {found} found, {shown} shown, P = {pvalue:.2g}")
    for axes, labels in ((top, mdt.labels_), (bottom, mdt.cut("shown"))):
        axes.scatter(
            *X.T, s=60 / n**0.4, c=COLOURS[labels % len(COLOURS)], lw=0, alpha=0.85
        )
        axes.set(xticks=[], yticks=[], aspect="equal")
        axes.spines[:].set_color("#d9d9d9")
    top.set_title(f"4 × {n} rows", fontsize=11)
    top.set_xlabel(f"{found} found")
    bottom.set_xlabel(f"{shown} shown")
plt.show()
