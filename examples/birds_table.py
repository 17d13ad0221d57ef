"""
A table of birds
================

Measurements of 400 simulated birds of four species, as a data frame. The tree finds the
species without their number, and says by which measurements every cluster differs from
the others.
"""

# %%
# The table is that of ``ravine demo``. Columns have different units: standardise.

from io import StringIO

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ravine import MinimumDensityTree
from ravine.cli.demo import simulate_birds

birds = pd.read_csv(StringIO(simulate_birds()), index_col="ring")
measurements = birds.drop(columns="kind")
print(birds.head())

model = make_pipeline(
    StandardScaler().set_output(transform="pandas"), MinimumDensityTree(random_state=0)
)
labels = model.fit_predict(measurements)
print(pd.crosstab(birds["kind"], labels, colnames=["cluster"]))

# %%
# A cluster is described by inequalities of standardised measurements.

tree = model[-1].tree_
for leaf in tree.leaves():
    print(tree.rules(leaf, list(measurements.columns)))

# %%
# All pairs of measurements, coloured by cluster; densities on the diagonal.

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7")
names = list(measurements.columns)
figure, panels = plt.subplots(
    4, 4, figsize=(8.6, 8.6), layout="constrained", sharex="col"
)
for i, j in np.ndindex(4, 4):
    axes, x, y = panels[i, j], measurements[names[j]], measurements[names[i]]
    for k, colour in enumerate(COLOURS):
        mine = labels == k
        if i == j:
            axes.hist(
                x[mine],
                bins=np.linspace(x.min(), x.max(), 34),
                color=colour,
                alpha=0.75,
            )
        else:
            axes.scatter(x[mine], y[mine], s=9, color=colour, lw=0, alpha=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    if i == j:
        axes.set_yticks([])
    if j == 0:
        axes.set_ylabel(names[i])
    if i == 3:
        axes.set_xlabel(names[j])
figure.suptitle(
    "Four clusters in four measurements of 400 birds, found without their number"
)
plt.show()
