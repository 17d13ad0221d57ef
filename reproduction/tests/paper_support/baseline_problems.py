"""Small problems with few labels, and the semi-supervised baselines with fixed parameters."""

import numpy as np

from ravine_paper.baselines import SSSL, XNV, GradientTSVM, LaplacianSVM
from support.simulate import two_clusters

METHODS = [LaplacianSVM, SSSL, XNV, GradientTSVM]
# The documented defaults, without cross-validation.
FIXED = {
    LaplacianSVM: {"penalty": 0.01, "manifold_ratio": 9.0},
    SSSL: {"n_components": 2},
    XNV: {"penalty": 0.1},
    GradientTSVM: {"C": 1.0},
}
GRIDS = {LaplacianSVM: ["penalty", "manifold_ratio"], SSSL: ["n_components"], XNV: ["penalty"], GradientTSVM: ["C"]}


def few_labels(truth, of_each=5):
    """Label the first rows of each class; the others are -1."""
    y = np.full(len(truth), -1)
    for c in np.unique(truth):
        y[np.flatnonzero(truth == c)[:of_each]] = c
    return y


def labelled_problem(n=60, d=4, of_each=6, seed=0, separation=2.0):
    """Return standardised rows, labels with -1 for unlabelled rows, and the labels as signs with 0."""
    X, truth = two_clusters(n, d, seed, separation=separation)
    y = few_labels(truth, of_each)
    return (X - X.mean(axis=0)) / X.std(axis=0), y, np.where(y == -1, 0.0, 2.0 * y - 1.0)


def standardise(X):
    return (X - X.mean(axis=0)) / X.std()


X, TRUTH = two_clusters(120, 3, fraction=0.5)
X = standardise(X)
Y = few_labels(TRUTH)
RNG = np.random.default_rng(0)
TRUTH3 = RNG.permutation(150) % 3
X3 = standardise(RNG.standard_normal((150, 2)) + np.array([[0.0, 0.0], [6.0, 0.0], [3.0, 6.0]])[TRUTH3])
Y3 = few_labels(TRUTH3)
