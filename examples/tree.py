"""A tree of handwritten digits
============================

Cluster scikit-learn's digits by a tree of minimum density hyperplanes, without giving their number.

python examples/tree.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import numpy as np
from scipy.cluster.hierarchy import dendrogram
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from ravine import MinimumDensityTree

matplotlib.use("Agg")
import matplotlib.pyplot as plt

INK = "#333333"


def draw(mdt: MinimumDensityTree, images: np.ndarray, path: Path) -> None:
    """Draw the tree with the P-value of every split and the mean image of every leaf."""
    tree = mdt.tree_
    leaves = tree.leaves()
    figure = plt.figure(figsize=(10.0, 4.8), layout="constrained")
    grid = figure.add_gridspec(2, len(leaves), height_ratios=[4, 1])
    axes = figure.add_subplot(grid[0, :])
    drawn = dendrogram(
        tree.to_linkage(), no_labels=True, ax=axes, color_threshold=0, above_threshold_color=INK, distance_sort=False
    )
    order = {height: node for node in range(len(tree)) if (height := len(leaves) - 1 - tree.order[node]) < len(leaves)}
    for x, y in zip(drawn["icoord"], drawn["dcoord"], strict=True):
        node = order[int(y[1])]
        middle = 0.5 * (x[1] + x[2])
        axes.annotate(
            f"P = {tree.pvalue[node]:.1g}",
            (middle, y[1]),
            xytext=(0, -3),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize=8,
            color=INK,
        )
    axes.set_axis_off()
    axes.set_title(
        f"{tree.n_clusters} clusters in {tree.size[0]} handwritten digits; their number was chosen by the valley test",
        loc="left",
    )
    for k, leaf in enumerate(drawn["leaves"]):
        cell = figure.add_subplot(grid[1, k])
        cell.imshow(images[mdt.leaves_ == leaves[leaf]].mean(axis=0), cmap="gray_r")
        cell.set_xticks([])
        cell.set_yticks([])
        cell.set_xlabel(f"{tree.size[leaves[leaf]]}", fontsize=9, color=INK)
        cell.spines[:].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main() -> None:
    """Fit the tree, print it and draw it."""
    digits = load_digits()
    varying = digits.data.std(axis=0) > 0
    X = StandardScaler().fit_transform(digits.data[:, varying])
    mdt = MinimumDensityTree(random_state=0).fit(X)
    print(mdt.tree_)
    names = [f"row {j // 8}, column {j % 8}" for j in np.flatnonzero(varying)]
    print("\n" + mdt.tree_.rules(mdt.tree_.leaves()[0], names))
    print(f"\nadjusted Rand index with the true digits: {adjusted_rand_score(digits.target, mdt.labels_):.2f}")
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "out") / "digits_tree.png"
    draw(mdt, digits.images, path)
    print(f"picture: {path}")


if __name__ == "__main__":
    main()
