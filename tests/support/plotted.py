"""Data and settings of the tests of displays."""

from ravine import MinimumDensityHyperplane, PathSettings
from support.simulate import two_clusters

X, TRUTH = two_clusters(150, 4)
QUICK = {"init": "pca", "n_init": 2, "random_state": 0, "path": PathSettings(n_alpha=6, polish=True)}
QUICK_TREE = {"hyperplane": MinimumDensityHyperplane(**QUICK), "random_state": 0}
NASTY = "</script><img src=x onerror=alert(1)> $\\frac{1}$"
