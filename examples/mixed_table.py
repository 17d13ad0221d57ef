"""
Numbers, categories and missing cells
=====================================

Real tables have text and gaps. ``MixedScaler`` turns a data frame into features of comparable variance: numbers are
standardised, categories become features, and missing cells are filled.
"""

# %%
# The birds of ``ravine demo`` with two more columns: their habitat, which depends on the species, and the month in
# which they were seen, which does not. Every tenth cell is missing.

from io import StringIO

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from ravine import MinimumDensityTree, MixedScaler
from ravine.cli.demo import simulate_birds

rng = np.random.default_rng(0)
birds = pd.read_csv(StringIO(simulate_birds()), index_col="ring")
kinds = birds.pop("kind")
usual = kinds.map({"finch": "hedge", "thrush": "wood", "swift": "town", "wader": "shore"})
birds["habitat"] = np.where(
    rng.random(len(birds)) < 0.75, usual, rng.choice(["hedge", "wood", "town", "shore"], len(birds))
)
birds["month"] = rng.choice(["April", "May", "June"], len(birds))
birds = birds.mask(rng.random(birds.shape) < 0.1)
print(birds.head())

# %%
# Scale, cluster, compare with the species.

scaler = MixedScaler(missing="median")
X = scaler.fit_transform(birds)
labels = MinimumDensityTree(random_state=0).fit_predict(X)
print(f"{X.shape[1]} features, {labels.max() + 1} clusters")
print(pd.crosstab(kinds, labels, colnames=["cluster"]))
print(f"adjusted Rand index {adjusted_rand_score(kinds, labels):.2f}")

# %%
# Clusters in two of the measurements, and the habitats in each cluster.

COLOURS = np.array(["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"])
figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.2), layout="constrained")
left.scatter(birds["wing_mm"], birds["bill_mm"], s=12, c=COLOURS[labels], lw=0)
left.set(xlabel="wing (mm)", ylabel="bill (mm)")
left.set_title("Rows in which both are known", loc="left", fontsize=11)
shares = pd.crosstab(labels, birds["habitat"].fillna("missing"), normalize="index")
start = np.zeros(len(shares))
for habitat, colour in zip(shares, ("#7b9e3f", "#bbbbbb", "#d9b36c", "#8f8fb3", "#3f6f5e"), strict=True):
    right.barh(shares.index, shares[habitat], left=start, color=colour, label=habitat)
    start += shares[habitat].to_numpy()
right.set_yticks(shares.index, [f"cluster {k}" for k in shares.index])
for tick in right.get_yticklabels():
    tick.set_color(COLOURS[int(tick.get_text().split()[1])])
right.invert_yaxis()
right.set(xlabel="share of the habitats")
right.legend(frameon=False, ncols=5, loc="upper center", bbox_to_anchor=(0.5, -0.14), columnspacing=0.8)
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
plt.show()
