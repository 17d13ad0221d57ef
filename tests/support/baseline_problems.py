"""Small problems and all semi-supervised baselines, which their tests share."""

import numpy as np

from ravine.baselines import SSSL, XNV, GradientTSVM, LaplacianSVM
from support.simulate import two_clusters

METHODS = [LaplacianSVM, SSSL, XNV, GradientTSVM]
# Nothing is chosen by cross-validation.
FIXED = {
    LaplacianSVM: {"penalty": 0.01, "manifold_ratio": 9.0},
    SSSL: {"n_components": 2},
    XNV: {"penalty": 0.1},
    GradientTSVM: {"C": 1.0},
}
GRIDS = {LaplacianSVM: ["penalty", "manifold_ratio"], SSSL: ["n_components"], XNV: ["penalty"], GradientTSVM: ["C"]}


def few_labels(truth, of_each=5):
    """-1 but for the first rows of each class."""
    y = np.full(len(truth), -1)
    for c in np.unique(truth):
        y[np.flatnonzero(truth == c)[:of_each]] = c
    return y


def standardised(X):
    return (X - X.mean(axis=0)) / X.std()


X, TRUTH = two_clusters(120, 3, fraction=0.5)
X = standardised(X)
Y = few_labels(TRUTH)
RNG = np.random.default_rng(0)
TRUTH3 = RNG.permutation(150) % 3
X3 = standardised(RNG.standard_normal((150, 2)) + np.array([[0.0, 0.0], [6.0, 0.0], [3.0, 6.0]])[TRUTH3])
Y3 = few_labels(TRUTH3)
