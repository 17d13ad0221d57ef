"""
Wines by their chemistry
========================

178 wines of three cultivars, 13 chemical measurements. Four displays describe one tree:
the splits, the rows along the first split, the weights of the direction, and the search
for it.
"""

# %%
# Given three clusters, the tree agrees with the cultivars, which it does not see.

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from ravine import MinimumDensityHyperplane, MinimumDensityTree
from ravine.plotting import DirectionDisplay, HyperplaneDisplay, PathDisplay

wine = load_wine(as_frame=True)
X = StandardScaler().set_output(transform="pandas").fit_transform(wine.data)
mdt = MinimumDensityTree(3, random_state=0).fit(X)
print(
    pd.crosstab(wine.target, mdt.labels_, rownames=["cultivar"], colnames=["cluster"])
)

# %%
# Every split of the tree with the density of its rows.

mdt.plot(X)
plt.show()

# %%
# One hyperplane. Above, the density of the projections and the interval of allowed
# offsets; below, the rows, coloured by cultivar.

mdh = MinimumDensityHyperplane(random_state=0).fit(X)
HyperplaneDisplay.from_estimator(mdh, X, wine.target)
plt.show()

# %%
# The measurements that separate the two sides.

DirectionDisplay.from_estimator(mdh)
plt.show()

# %%
# The search: the interval of allowed offsets widens from the mean, and the direction
# turns.

PathDisplay.from_estimator(mdh, X)
plt.show()
