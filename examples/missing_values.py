"""
Missing cells
=============

A quarter of the cells of a table is missing. Medians pile up on lines that run through
other clusters. Filled several times with values of similar rows, the table shows its
three clusters almost as they were, and every row gets an instability.
"""

# %%
# Three clusters; then cells are removed at random. Every row keeps at least one of its
# four cells.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.metrics import adjusted_rand_score

from ravine import MinimumDensityTree, fit_consensus

rng = np.random.default_rng(3)
y = np.arange(240) % 3
centres = np.array([[0.0, 0.0, 3.0, -3.0], [7.0, 1.0, -3.0, 0.0], [3.0, 7.0, 0.0, 3.0]])
complete = centres[y] + rng.normal(size=(240, 4))
gaps = rng.random(complete.shape) < 0.25
gaps[gaps.all(axis=1), 0] = False
X = np.where(gaps, np.nan, complete)

# %%
# The same tree, with medians and with eight random completions.

tree = MinimumDensityTree(random_state=0)
filled = SimpleImputer(strategy="median").fit_transform(X)
median_labels = tree.fit(filled).labels_
consensus = fit_consensus(tree, X)
score = adjusted_rand_score(y, median_labels)
print(f"medians:  {median_labels.max() + 1} clusters, adjusted Rand index {score:.2f}")
score = adjusted_rand_score(y, consensus.labels)
print(
    f"multiple: {consensus.labels.max() + 1} clusters, adjusted Rand index {score:.2f}"
)
print(f"clusters of the completions: {consensus.n_clusters}")

# %%
# Rows that more than a quarter of the completions put into another cluster have a ring.

colours = np.array(
    [
        "#0072b2",
        "#d55e00",
        "#009e73",
        "#cc79a7",
        "#e69f00",
        "#56b4e9",
        "#999999",
        "#f0e442",
    ]
    * 4
)
figure, axes = plt.subplots(
    1, 3, figsize=(10.0, 3.5), layout="constrained", sharex=True, sharey=True
)
axes[0].scatter(*complete[:, :2].T, c=colours[y], s=12)
axes[0].set_title("complete, by true cluster", loc="left", fontsize=10)
axes[1].scatter(*filled[:, :2].T, c=colours[median_labels], s=12)
axes[1].set_title(
    f"medians: {median_labels.max() + 1} clusters", loc="left", fontsize=10
)
true = np.array(
    [
        np.bincount(y[consensus.labels == k]).argmax()
        for k in range(consensus.labels.max() + 1)
    ]
)
axes[2].scatter(*consensus.X[:, :2].T, c=colours[true[consensus.labels]], s=12)
unstable = consensus.instability > 0.25
axes[2].scatter(
    *consensus.X[unstable, :2].T, s=60, facecolors="none", edgecolors="black", lw=0.8
)
axes[2].set_title(
    f"multiple: {consensus.labels.max() + 1} clusters; rings: unstable rows",
    loc="left",
    fontsize=10,
)
for ax in axes:
    ax.set(xlabel="x0")
axes[0].set_ylabel("x1")
plt.show()
