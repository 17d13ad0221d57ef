"""A new projection index takes one class: here the variance ratio of the projection, split at the mean."""

import numpy as np

from ravine import MinimumDensityTree
from ravine.index import Separation
from ravine.optimise import FunctionObjective
from ravine.rows import as_rows
from ravine.search import Problem, SearchSettings, find_hyperplane
from ravine.tree.splitter import DensitySplitter


class VarianceRatioIndex(FunctionObjective):
    """log(within / total variance) of the two groups on either side of the mean."""

    n_tied = 0
    certified = True
    is_interior = True
    v = None

    def __init__(self, sample, moments, bandwidth, settings):
        super().__init__(self.value, self.gradient_at)
        self.sample, self.bandwidth = sample, bandwidth
        self.alpha, self.gamma = settings.alpha_min, 0.0
        self.rows = sample.fetch(np.arange(sample.n_rows))

    @property
    def n_evaluations(self):
        return self.n_trials

    def groups(self, v):
        sides = self.rows @ v > 0.0
        means = np.array([self.rows[side].mean(axis=0) for side in (sides, ~sides)])
        return means, np.array([sides.mean(), 1.0 - sides.mean()])

    def value(self, v):
        means, shares = self.groups(v)
        return np.log1p(-shares @ (means @ v) ** 2 / np.mean((self.rows @ v) ** 2))

    def gradient_at(self, v):
        means, shares = self.groups(v)
        total, between = np.mean((self.rows @ v) ** 2), shares @ (means @ v) ** 2
        of_total = 2.0 * (self.rows @ v) @ self.rows / len(self.rows)
        of_between = 2.0 * (shares * (means @ v)) @ means
        return (of_total - of_between) / (total - between) - of_total / total

    def is_at(self, v):
        return self.v is not None and np.array_equal(v, self.v)

    def adjust(self, alpha, gamma):
        self.alpha, self.gamma = alpha, gamma
        return True
        yield

    def describe(self, depth=True):
        density = np.mean(np.exp(-0.5 * (self.rows @ self.v / self.bandwidth) ** 2))
        return Separation(b=0.0, log_density=float(np.log(density)), log_depth=-self.value(self.v))
        yield


def test_new_index_of_one_class_finds_its_hyperplane(rng):
    X = rng.standard_normal((400, 5)) * [1.0, 1.0, 0.3, 1.0, 1.0]
    truth = np.arange(400) < 200
    X[truth, 2] += 4.0
    settings = SearchSettings(init="pca", n_init=5, new_index=VarianceRatioIndex)
    fit = find_hyperplane(Problem.of(as_rows(X), settings=settings, rng=rng))
    assert abs(fit.hyperplane.normal[2]) > 0.99
    assert fit.labels.tolist() in (truth.astype(int).tolist(), (~truth).astype(int).tolist())


def test_tree_grows_with_the_new_index(rng):
    X = rng.standard_normal((300, 3)) + 9.0 * np.repeat([[0, 0, 0], [1, 0, 0], [0, 1, 0]], 100, axis=0)
    settings = SearchSettings(init="pca", n_init=3, new_index=VarianceRatioIndex)
    tree = MinimumDensityTree(3, random_state=0, hyperplane=DensitySplitter(settings)).fit(X)
    assert sorted(np.bincount(tree.labels_)) == [100, 100, 100]
