"""
Numbers and categories
======================

Birds with two measurements, an island and a colour: neither the numbers nor the
categories alone tell the four kinds apart. ``MixedScaler`` gives both a comparable
variance, and a tree of hyperplanes finds the kinds.
"""

# %%
# Two groups differ in their measurements; within each, two kinds differ in island,
# colour and nest.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

from ravine import MinimumDensityTree, MixedScaler

rng = np.random.default_rng(0)
n = 600
kind = rng.integers(0, 4, n)
large, northern = kind // 2, kind % 2
columns = {
    "wing": 90.0 + 28.0 * large + 4.0 * rng.normal(size=n),
    "bill": 14.0 + 7.0 * large + 1.5 * rng.normal(size=n),
    "island": np.where(
        rng.random(n) < 0.95, np.array(["South", "North"])[northern], "Middle"
    ).astype(object),
    "colour": np.where(
        rng.random(n) < 0.95, np.array(["brown", "grey"])[northern], "white"
    ).astype(object),
    "nest": np.where(
        rng.random(n) < 0.95, np.array(["tree", "cliff"])[northern], "ground"
    ).astype(object),
}
table = np.column_stack([values.astype(object) for values in columns.values()])

# %%
# Scale and cluster. The features are named after the columns and categories.

scaler = MixedScaler()
features = scaler.fit_transform(table)
print(*scaler.get_feature_names_out(list(columns)), sep="\n")
tree = MinimumDensityTree(4, random_state=0).fit(features)
print(
    f"four clusters: adjusted Rand index {adjusted_rand_score(kind, tree.labels_):.2f}"
)
for name, chosen in {"numbers": slice(0, 2), "categories": slice(2, None)}.items():
    labels = MinimumDensityTree(2, random_state=0).fit(features[:, chosen]).labels_
    print(f"two clusters of the {name} alone: {adjusted_rand_score(kind, labels):.2f}")

# %%
# Clusters in the two measurements, and the shares of the categories in each.

colours = np.array(["#0072b2", "#d55e00", "#009e73", "#cc79a7"])
figure, (left, right) = plt.subplots(
    1, 2, figsize=(10.0, 3.8), layout="constrained", width_ratios=(1.0, 1.3)
)
left.scatter(columns["wing"], columns["bill"], c=colours[tree.labels_], s=10)
left.set(xlabel="wing (mm)", ylabel="bill (mm)")
left.set_title("Measurements, by cluster", loc="left", fontsize=11)
heads = [
    (name, text)
    for name in ("island", "colour", "nest")
    for text in np.unique(columns[name].astype(str))
]
shares = np.array(
    [
        [np.mean(columns[name][tree.labels_ == k] == text) for name, text in heads]
        for k in range(4)
    ]
)
right.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
for i, j in np.ndindex(*shares.shape):
    shade = "white" if shares[i, j] > 0.6 else "black"
    right.text(
        j,
        i,
        f"{100 * shares[i, j]:.0f}",
        ha="center",
        va="center",
        fontsize=8,
        color=shade,
    )
right.set_xticks(
    range(len(heads)),
    [f"{name}={text}" for name, text in heads],
    rotation=40,
    ha="right",
    fontsize=8,
)
right.set_yticks(
    range(4),
    [f"cluster {k} ({np.sum(tree.labels_ == k)} rows)" for k in range(4)],
    fontsize=8,
)
for tick, colour in zip(right.get_yticklabels(), colours, strict=True):
    tick.set_color(colour)
right.set_title("Share of each category, %", loc="left", fontsize=11)
plt.show()
