"""Fits of 20 data sets, to compare builds of the kernels, instruction sets and kinds of parallelism."""

from __future__ import annotations

import sys
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs, make_circles, make_moons

from ravine import MinimumDensityClassifier, MinimumDensityHyperplane, MinimumDensityTree, _kernels
from support.simulate import mixture, two_clusters

__all__ = ["DATA_SETS", "fit_all", "fit_one"]

# Name -> function that returns the rows.
DATA_SETS = {
    "iris": lambda: load_iris().data,
    "wine": lambda: _standardise(load_wine().data),
    "breast cancer": lambda: _standardise(load_breast_cancer().data),
    "digits": lambda: load_digits().data,
    "moons": lambda: make_moons(300, noise=0.05, random_state=0)[0],
    "circles": lambda: make_circles(300, noise=0.05, factor=0.4, random_state=0)[0],
    "blobs": lambda: make_blobs([80, 60, 40], random_state=0)[0],
    "two clusters": lambda: two_clusters(200, 3)[0],
    "far apart": lambda: two_clusters(200, 3, separation=40.0)[0],
    "overlap": lambda: two_clusters(2000, 5, separation=3.0)[0],
    "wide": lambda: two_clusters(40, 90)[0],
    "one feature": lambda: mixture(500, 1)[0],
    "mixture": lambda: mixture(600, 8)[0],
    "large": lambda: mixture(50_000, 6)[0],
    "float32": lambda: mixture(3000, 10)[0].astype(np.float32),
    "Fortran order": lambda: np.asfortranarray(mixture(1000, 20, seed=2)[0]),
    "shifted": lambda: 1e9 + two_clusters(300, 4)[0],
    "small": lambda: 1e-100 * mixture(400, 4, seed=5)[0],
    "rounded": lambda: mixture(400, 3, seed=7)[0].round(1),
    "noise": lambda: np.random.default_rng(0).normal(size=(500, 6)),
}


def _standardise(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def fit_one(name, n_jobs=None):
    """Fit a hyperplane, a tree and a classifier; return their labels and normals as a dictionary of arrays."""
    X = DATA_SETS[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        plane = MinimumDensityHyperplane(random_state=0, n_jobs=n_jobs).fit(X)
        tree = MinimumDensityTree(3, random_state=0, n_jobs=n_jobs).fit(X)
        y = np.where(np.arange(len(X)) % 20 == 0, plane.labels_, -1)
        y[[plane.labels_.argmin(), plane.labels_.argmax()]] = 0, 1
        classifier = MinimumDensityClassifier(random_state=0, n_jobs=n_jobs).fit(X, y)
    return {
        "plane labels": plane.labels_,
        "plane predict": plane.predict(X),
        "plane normal": plane.coef_.ravel(),
        "tree labels": tree.labels_,
        "tree predict": tree.predict(X),
        "tree normal": tree.tree_.normal,
        "classifier labels": classifier.transduction_,
        "classifier predict": classifier.predict(X),
        "classifier normal": classifier.coef_.ravel(),
        "classifier probability": classifier.predict_proba(X),
    }


def fit_all():
    """Fit all data sets."""
    return {f"{name}: {key}": value for name in DATA_SETS for key, value in fit_one(name).items()}


if __name__ == "__main__":
    np.savez(sys.argv[1], instruction_set=_kernels.instruction_set(), **fit_all())
